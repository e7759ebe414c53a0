#include "server/app/targets.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace headgate::app {

std::vector<std::shared_ptr<WatchedTarget>> Targets::Current() const {
  MutexLock lock(&mutex_);
  return targets_;
}

void Targets::OwnNone() {
  const MutexLock lock(&apply_mutex_);
  shared_.emplace();
}

void Targets::SetOwned(std::string_view target, bool owned) {
  const MutexLock lock(&owned_mutex_);
  const auto found = owned_.find(target);
  if (owned == (found != owned_.end())) return;
  if (owned) {
    owned_.emplace(target);
  } else {
    owned_.erase(found);
  }
  is_settled_ = false;
}

void Targets::Settle() {
  const MutexLock lock(&apply_mutex_);
  if (!shared_.has_value() || is_stopped_) return;
  {
    const MutexLock owned_lock(&owned_mutex_);
    if (is_settled_) return;
  }
  Install(OfOwned());
}

config::Config Targets::OfOwned() {
  config::Config config = *shared_;
  const MutexLock lock(&owned_mutex_);
  is_settled_ = true;
  for (config::TargetSettings& target : config.targets) {
    if (owned_.contains(target.name)) continue;
    target.primary.reset();
    std::ranges::fill(target.standby_sources, std::nullopt);
  }
  return config;
}

void Targets::Apply(const config::Config& config) {
  const MutexLock lock(&apply_mutex_);
  if (!shared_.has_value()) return Install(config);
  shared_ = config;
  Install(OfOwned());
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
    after.push_back(WatchedTarget::Start(config, i, engine_, clock_, seed_ + i));
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
