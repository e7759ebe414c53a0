#include "server/app/targets.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::app {

std::vector<std::shared_ptr<WatchedTarget>> Targets::Current() const {
  MutexLock lock(&mutex_);
  return targets_;
}

void Targets::SetAwaited(IsAwaited is_awaited) {
  const MutexLock lock(&apply_mutex_);
  is_awaited_ = std::move(is_awaited);
}

void Targets::MeasureNone(WatchedTarget::OnMeasured on_measured) {
  const MutexLock lock(&apply_mutex_);
  shared_.emplace();
  on_measured_ = std::move(on_measured);
}

void Targets::SetMeasured(std::string_view target, bool measured) {
  const MutexLock lock(&measured_mutex_);
  const auto found = measured_.find(target);
  if (measured == (found != measured_.end())) return;
  if (measured) {
    measured_.emplace(target);
  } else {
    measured_.erase(found);
  }
  is_settled_ = false;
}

void Targets::Settle() {
  const MutexLock lock(&apply_mutex_);
  if (!shared_.has_value() || is_stopped_) return;
  {
    const MutexLock measured_lock(&measured_mutex_);
    if (is_settled_) return;
  }
  Install(OfMeasured());
  TellMeasured();
}

void Targets::TellMeasured() {
  if (!on_measured_) return;
  for (const auto& target : Current()) target->TellMeasured();
  for (const config::TargetSettings& target : shared_->targets) {
    if (target.primary.has_value()) continue;
    {
      const MutexLock measured_lock(&measured_mutex_);
      if (!measured_.contains(target.name)) continue;
    }
    on_measured_(target.name, cluster::Measures::kAll, "");  // there is nothing to measure
  }
}

absl::StatusOr<cluster::Offer> Targets::Try(std::string_view target) {
  std::optional<config::TargetSettings> settings;
  {
    const MutexLock lock(&shared_mutex_);
    const auto found = std::ranges::find_if(
        all_, [&](const config::TargetSettings& known) { return known.name == target; });
    if (found != all_.end()) settings = *found;
  }
  if (settings.has_value()) return WatchedTarget::Try(*settings, clock_);
  return absl::NotFoundError(absl::StrCat("has no target ", Sv(target), " in its configuration"));
}

std::shared_ptr<WatchedTarget> Targets::Find(std::string_view target) const {
  const std::vector<std::shared_ptr<WatchedTarget>> all = Current();
  const auto found =
      std::ranges::find_if(all, [&](const auto& known) { return known->name() == target; });
  return found == all.end() ? nullptr : *found;
}

bool Targets::Measures(std::string_view target) const {
  const std::shared_ptr<WatchedTarget> found = Find(target);
  return found != nullptr && found->activity() != nullptr;
}

health::HandedSample Targets::Hand(std::string_view target) const {
  const std::shared_ptr<WatchedTarget> found = Find(target);
  return found == nullptr ? health::HandedSample() : found->Hand();
}

void Targets::Adopt(std::string_view target, const health::HandedSample& handed) {
  if (const std::shared_ptr<WatchedTarget> found = Find(target); found != nullptr) {
    found->Adopt(handed);
  }
}

void Targets::OnYielding(std::string_view target, const control::Yielding& told, Now now) {
  if (const std::shared_ptr<WatchedTarget> found = Find(target); found != nullptr) {
    found->OnYielding(told, now);
  }
}

config::Config Targets::OfMeasured() {
  config::Config config = *shared_;
  const MutexLock lock(&measured_mutex_);
  is_settled_ = true;
  for (config::TargetSettings& target : config.targets) {
    if (measured_.contains(target.name)) continue;
    target.primary.reset();
    std::ranges::fill(target.standby_sources, std::nullopt);
  }
  return config;
}

void Targets::Apply(const config::Config& config) {
  const MutexLock lock(&apply_mutex_);
  if (!shared_.has_value()) return Install(config);
  shared_ = config;
  {
    const MutexLock shared_lock(&shared_mutex_);
    all_ = config.targets;
  }
  Install(OfMeasured());
  TellMeasured();
}

void Targets::Install(const config::Config& config) {
  const std::vector<std::shared_ptr<WatchedTarget>> before = Current();
  std::vector<std::shared_ptr<WatchedTarget>> after;
  for (size_t i = 0; i < config.targets.size(); ++i) {
    const std::string& name = config.targets[i].name;
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&](const auto& target) { return target->name() == name; });
    if (known != before.end() && (*known)->Reconfigure(config, i)) {
      after.push_back(*known);
      continue;
    }
    // Two at once would tell the engine different things.
    if (known != before.end()) (*known)->Stop();
    WatchedTarget::Parts parts{
        .engine = engine_, .clock = clock_, .seed = seed_ + i, .on_measured = on_measured_};
    if (is_awaited_) parts.is_awaited = [asks = is_awaited_, name] { return asks(name); };
    after.push_back(WatchedTarget::Start(config, i, parts));
  }
  for (const auto& target : before) {
    if (std::find(after.begin(), after.end(), target) == after.end()) target->Stop();
  }
  health::CheckActivityBook::Entries entries;
  for (const auto& target : after) {
    if (target->activity() != nullptr) entries.emplace_back(target->name(), target->activity());
  }
  activity_.Set(std::move(entries));
  MutexLock lock(&mutex_);
  targets_ = std::move(after);
}

void Targets::Stop() {
  {
    const MutexLock lock(&apply_mutex_);
    is_stopped_ = true;
  }
  for (const auto& target : Current()) target->Stop();
}

std::vector<health::TargetSnapshot> Targets::Snapshots() const {
  std::vector<health::TargetSnapshot> snapshots;
  for (const auto& target : Current()) snapshots.push_back(target->Snapshot());
  return snapshots;
}

}  // namespace headgate::app
