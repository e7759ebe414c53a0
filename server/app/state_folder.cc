#include "server/app/state_folder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/app/server_log.h"

namespace headgate::app {

absl::StatusOr<std::unique_ptr<StateFolder>> StateFolder::Open(const std::string& folder,
                                                               engine::EngineOptions options,
                                                               Clock& clock) {
  // make_unique cannot call the private constructor.
  std::unique_ptr<StateFolder> opened(new StateFolder(folder, clock));
  // The first: their lock keeps the folder to this process, and what another one keeps there is not
  // to be touched.
  if (absl::Status status = opened->OpenOverrides(); !status.ok()) return status;
  if (absl::Status status = opened->MakeEngine(options); !status.ok()) return status;
  return opened;
}

absl::StatusOr<std::unique_ptr<StateFolder>> StateFolder::Shared(
    const std::string& folder, engine::EngineOptions options,
    std::unique_ptr<overrides::Store> overrides, Clock& clock) {
  std::unique_ptr<StateFolder> shared(new StateFolder(folder, clock));
  shared->engine_ = std::make_unique<engine::Engine>(options);
  shared->seed_ = options.seed;
  absl::StatusOr<std::unique_ptr<overrides::Registry>> opened =
      overrides::Registry::Open(std::move(overrides), {.put = shared->PutIntoEngine()}, clock);
  if (!opened.ok()) return opened.status();
  shared->overrides_ = *std::move(opened);
  return shared;
}

std::function<absl::Status(engine::PolicySpec)> StateFolder::PutIntoEngine() {
  return [this](engine::PolicySpec policy) {
    return engine_->Install(std::move(policy), clock_.Read());
  };
}

// An operator's word must not be forgotten: where it cannot be read the server does not start.
absl::Status StateFolder::OpenOverrides() {
  if (path_.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<overrides::Registry>> opened = overrides::Registry::Open(
      {.path = absl::StrCat(path_, "/overrides.db"), .put = PutIntoEngine()}, clock_);
  if (!opened.ok()) return opened.status();
  overrides_ = *std::move(opened);
  const overrides::Registry::State state = overrides_->GetState();
  if (!state.restored.empty()) LogError("the overrides were damaged", {{"why", state.restored}});
  if (!state.status.ok()) {
    LogError("overrides cannot be changed", {{"why", std::string(state.status.message())}});
  }
  return absl::OkStatus();
}

absl::Status StateFolder::MakeEngine(engine::EngineOptions options) {
  if (path_.empty()) {
    engine_ = std::make_unique<engine::Engine>(options);
  } else {
    file_ = std::make_unique<StateFile>(path_, clock_);
    absl::StatusOr<std::unique_ptr<engine::Engine>> engine = file_->MakeEngine(options);
    if (!engine.ok()) return engine.status();
    engine_ = *std::move(engine);
  }
  seed_ = options.seed;
  return absl::OkStatus();
}

absl::Status StateFolder::Install(const engine::PolicySpec& policy) {
  if (overrides_ != nullptr) return overrides_->Install(policy);
  return engine_->Install(policy, clock_.Read());
}

void StateFolder::Keep() {
  if (file_ == nullptr) return;
  file_->Keep(*engine_);
  expiries_.emplace(*overrides_);
}

void StateFolder::Stop() {
  expiries_.reset();
  if (file_ != nullptr) file_->Stop();
}

overrides::OverridesSnapshot StateFolder::OverridesView() const {
  if (overrides_ == nullptr) return {};
  overrides::Registry::State state = overrides_->GetState();
  return {.is_kept = true,
          .in_force = state.in_force,
          .stops = std::move(state.stops),
          .status = state.status};
}

snapshot::SnapshotView StateFolder::SnapshotView() const {
  return file_ == nullptr ? snapshot::SnapshotView{} : file_->View();
}

}  // namespace headgate::app
