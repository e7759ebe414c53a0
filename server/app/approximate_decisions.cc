#include "server/app/approximate_decisions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/app/server_log.h"

namespace headgate::app {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kBetweenAnswersNs = kMs;
constexpr int64_t kBetweenPreparationsNs = 1000 * kMs;

engine::HealthStatus StatusOf(v1::HealthState state) {
  switch (state) {
    case v1::HEALTH_STATE_HEALTHY:
      return engine::HealthStatus::kHealthy;
    case v1::HEALTH_STATE_STALE:
      return engine::HealthStatus::kStale;
    case v1::HEALTH_STATE_UNMONITORED:
      return engine::HealthStatus::kUnmonitored;
    default:
      return engine::HealthStatus::kWarming;
  }
}

bool IsShut(const v1::Decision& decision) {
  return std::ranges::any_of(decision.violations(), [](const v1::Violation& violation) {
    return violation.limit_kind() == v1::LIMIT_KIND_HEALTH;
  });
}

}  // namespace

void ApproximateDecisions::SetConfig(const config::Config& config) {
  const MutexLock lock(&mutex_);
  profiles_.clear();
  for (const health::ProfileSpec& profile : config.profiles) {
    profiles_.push_back({.name = profile.name, .on_stale = profile.on_stale});
  }
  is_measured_.clear();
  for (const config::TargetSettings& target : config.targets) {
    is_measured_[target.name] = target.primary.has_value();
  }
  next_prepare_ns_.clear();
}

void ApproximateDecisions::Prepare(const std::string& target) {
  if (!is_deciding_.exchange(true, std::memory_order_relaxed)) {
    LogWarning("decides approximately: no owner of a target can be reached",
               {{"target", target}, {"servers", absl::StrCat(limits_.stats().servers)}});
  }
  const Now now = options_.clock.Read();
  const MutexLock lock(&mutex_);
  int64_t& next_ns = next_prepare_ns_[target];
  if (now.monotonic_ns < next_ns) return;
  next_ns = now.monotonic_ns + kBetweenPreparationsNs;
  const auto measured = is_measured_.find(target);
  if (measured == is_measured_.end() || !measured->second || options_.targets.Measures(target)) {
    return;
  }
  for (const Profile& profile : profiles_) {
    const auto known = known_.find({target, profile.name});
    const engine::Health health = known != known_.end()
                                      ? known->second
                                      : engine::Health{.speed = profile.on_stale.speed,
                                                       .status = engine::HealthStatus::kWarming,
                                                       .gate_shut = profile.on_stale.shut};
    (void)options_.engine.SetHealth(target, profile.name, health, now);
  }
}

void ApproximateDecisions::OnAnswer(const std::string& target,
                                    const peer::v1::ForwardedAnswer& answer) {
  const int64_t now_ns = options_.clock.Read().monotonic_ns;
  if (now_ns < next_answer_ns_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(&mutex_);
  next_answer_ns_.store(now_ns + kBetweenAnswersNs, std::memory_order_relaxed);
  if (answer.has_check()) NoteHealth(target, answer.check().decision());
  for (const v1::CheckResult& result : answer.batch().results()) {
    if (result.has_decision()) NoteHealth(target, result.decision());
  }
}

void ApproximateDecisions::NoteHealth(const std::string& target, const v1::Decision& decision) {
  if (!decision.has_health() || !is_measured_.contains(target)) return;
  const v1::Health& told = decision.health();
  known_[{target, told.profile()}] = {.speed = told.speed(),
                                      .status = StatusOf(told.state()),
                                      .gate_shut = IsShut(decision),
                                      .pressure = static_cast<float>(told.pressure())};
}

void ApproximateDecisions::NoteRound(bool went_well) {
  if (!went_well || !is_deciding_.exchange(false, std::memory_order_relaxed)) return;
  const approximate::ApproximateStats stats = limits_.stats();
  LogInfo("decides approximately no longer: the store answers",
          {{"admitted", absl::StrCat(stats.admitted)},
           {"untracked", absl::StrCat(stats.untracked)},
           {"uncharged_buckets", absl::StrCat(stats.uncharged_buckets)}});
}

void ApproximateDecisions::NoteStop() {
  const int64_t buckets = limits_.stats().uncharged_buckets;
  if (buckets > 0) OnLost("", static_cast<size_t>(buckets), "the server stops");
}

cluster::ApproximationView ApproximateDecisions::View() const {
  const approximate::ApproximateStats stats = limits_.stats();
  return {.is_deciding = is_deciding_.load(std::memory_order_relaxed),
          .servers = stats.servers,
          .admitted = stats.admitted,
          .untracked = stats.untracked,
          .uncharged_buckets = stats.uncharged_buckets,
          .charged_buckets = stats.charged_buckets,
          .lost_buckets = stats.lost_buckets};
}

void ApproximateDecisions::OnCharged(const std::string& target, size_t buckets) {
  LogInfo("what was admitted approximately has been charged to the owner",
          {{"target", target}, {"buckets", absl::StrCat(buckets)}});
}

void ApproximateDecisions::OnLost(const std::string& target, size_t buckets, std::string_view why) {
  LogError("what was admitted approximately cannot be charged to the owner",
           {{"target", target}, {"buckets", absl::StrCat(buckets)}, {"why", why}});
}

}  // namespace headgate::app
