#include "server/app/state_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/app/server_log.h"

namespace headgate::app {
namespace {

int64_t CountOwing(const engine::SavedState& state) {
  int64_t owing = 0;
  for (const engine::SavedLedger& ledger : state.ledgers) {
    owing += static_cast<int64_t>(ledger.table.buckets.size()) + (ledger.empties_at_ns > 0 ? 1 : 0);
  }
  return owing;
}

void LogChange(const absl::Status& status) {
  if (status.ok()) {
    LogInfo("the engine's state is written again");
  } else {
    LogError("the engine's state cannot be written; a restart would lose what is owed",
             {{"why", std::string(status.message())}});
  }
}

std::string Explained(const std::string& path, const absl::Status& why) {
  return absl::StrCat(
      "the engine's state cannot be read: ", why.message(),
      ". Headgate does not start without it, as it would forget what is owed and which permits are "
      "out. Let this user read it; or, to start with nothing, move it away: mv ",
      path, " ", path, ".unread");
}

}  // namespace

StateFile::StateFile(const std::string& state_dir, Clock& clock)
    : path_(absl::StrCat(state_dir, "/engine.snapshot")),
      clock_(clock),
      loaded_(snapshot::Load(path_, clock.Read())) {
  at_start_.path = path_;
}

void StateFile::Remember(const engine::SavedState& state) {
  at_start_.restored_from = state.saved_at.wall();
  at_start_.restored_permits = static_cast<int64_t>(state.permits.size());
  at_start_.restored_buckets = CountOwing(state);
  LogInfo("restored", {{"permits", absl::StrCat(at_start_.restored_permits)},
                       {"buckets", absl::StrCat(at_start_.restored_buckets)},
                       {"age", absl::FormatDuration(absl::Nanoseconds(loaded_.elapsed_ns))}});
}

absl::StatusOr<std::unique_ptr<engine::Engine>> StateFile::MakeEngine(
    engine::EngineOptions& options) {
  if (!loaded_.unreadable.ok()) {
    return absl::UnavailableError(Explained(path_, loaded_.unreadable));
  }
  std::unique_ptr<engine::Engine> engine;
  if (loaded_.state.has_value()) {
    engine::EngineOptions with_seed = options;
    with_seed.seed = loaded_.state->seed;
    engine = std::make_unique<engine::Engine>(with_seed);
    const absl::Status restored =
        engine->Restore(*loaded_.state, clock_.Read(), loaded_.elapsed_ns);
    if (restored.ok()) {
      options = with_seed;
      Remember(*loaded_.state);
    } else {
      snapshot::Refuse(path_, restored, loaded_);
      engine = nullptr;
    }
  }
  if (!loaded_.refused.ok()) {
    at_start_.refused = loaded_.refused;
    at_start_.set_aside = loaded_.set_aside;
    in_the_way_ = loaded_.set_aside.empty();
    LogError("the engine's state is refused; nothing is owed, and no permit is out",
             {{"file", path_},
              {"why", std::string(loaded_.refused.message())},
              {"set_aside", loaded_.set_aside}});
  }
  loaded_ = {};
  return engine != nullptr ? std::move(engine) : std::make_unique<engine::Engine>(options);
}

void StateFile::Keep(engine::Engine& engine) {
  writer_ = std::make_unique<snapshot::SnapshotWriter>(
      snapshot::SnapshotWriterOptions{
          .path = path_, .in_the_way = in_the_way_, .on_change = LogChange},
      engine, clock_);
  // Before the first permit is issued, so that a server that is killed soon and comes back from
  // what is on disk does not give the same numbers again.
  writer_->Round();
  writer_->Start();
}

void StateFile::Stop() {
  if (writer_ == nullptr || std::exchange(stopped_, true)) return;
  writer_->Stop();
  const snapshot::SnapshotView view = View();
  if (view.status.ok()) return;
  LogError("stopped without the engine's state: the next start forgets what was charged since",
           {{"since", view.as_of == absl::InfinitePast()
                          ? "the start"
                          : absl::FormatTime(absl::RFC3339_sec, view.as_of, absl::UTCTimeZone())},
            {"file", path_},
            {"why", std::string(view.status.message())}});
}

snapshot::SnapshotView StateFile::View() const {
  snapshot::SnapshotView view = at_start_;
  if (writer_ == nullptr) return view;
  const snapshot::SnapshotWriterState state = writer_->State();
  if (state.as_of_ns != 0) {
    const Now now = clock_.Read();
    view.as_of =
        now.wall() - absl::Nanoseconds(std::max<int64_t>(now.monotonic_ns - state.as_of_ns, 0));
  }
  view.bytes = state.bytes;
  view.status = state.status;
  view.failed_writes = state.failures;
  return view;
}

}  // namespace headgate::app
