#include "server/observe/health/health_gate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "server/observe/health/condition.h"
#include "server/observe/health/signal_catalog.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Far ends of time stay where they are.
int64_t Later(int64_t at_ns, absl::Duration by) {
  const int64_t by_ns = absl::ToInt64Nanoseconds(by);
  return by_ns > HealthGate::kNever - std::max<int64_t>(at_ns, 0) ? HealthGate::kNever
                                                                  : at_ns + by_ns;
}

double PressureOf(double value, double soft, double hard) {
  // Configuration refuses thresholds without a distance; here they make a step.
  if (!(hard > soft)) return value >= hard ? 1 : 0;
  return std::max(0.0, (value - soft) / (hard - soft));
}

}  // namespace

struct HealthGate::Look {
  enum class State { kRead, kBlind, kPending };
  State state = State::kBlind;
  double pressure = 0;  // of one that is read
  bool unread = false;  // blind, though its server's newest sample is not stale
  int64_t next_sample_ns = 0;
};

struct HealthGate::Findings {
  int counted = 0;
  int read = 0;
  double pressure = 0;
  const Instance* worst = nullptr;  // null: nothing that is read has pressure
  const Instance* blind = nullptr;  // the first of them
  bool unread = false;              // of `blind`: see Look
  bool unsampled = false;           // a server was never sampled
  int64_t oldest_ns = kNever;
  int64_t next_sample_ns = kNever;
  int64_t shut_until_ns = 0;  // when all that shuts the gate may have gone
  int64_t valid_until_ns = kNever;

  // Something that counts is not known.
  bool dark() const { return blind != nullptr || (counted > 0 && read == 0); }

  HealthStatus status() const {
    if (counted == 0) return HealthStatus::kUnmonitored;
    if (!dark()) return HealthStatus::kHealthy;
    return unsampled || blind == nullptr ? HealthStatus::kWarming : HealthStatus::kStale;
  }

  void Add(const Instance& instance, const Look& look, bool blind_shuts) {
    bool shuts = false;
    if (look.state == Look::State::kRead) {
      ++read;
      if (look.pressure > pressure) worst = &instance;
      pressure = std::max(pressure, look.pressure);
      shuts = look.pressure >= 1;
    } else if (look.state == Look::State::kBlind) {
      if (blind == nullptr) {
        blind = &instance;
        unread = look.unread;
      }
      shuts = blind_shuts;
    }
    if (shuts) shut_until_ns = std::max(shut_until_ns, look.next_sample_ns);
  }
};

HealthGate::HealthGate(const WatchedProfile& profile, absl::Span<const StandbySpec> standbys)
    : spec_(profile.spec) {
  const std::vector<std::string> signals =
      profile.signals.empty() ? InstancesOf(profile.spec, standbys) : profile.signals;
  for (const SignalSpec& signal : spec_.signals) {
    if (signal.scope == Scope::kPrimary) AddInstance(signal, 0, nullptr, signals);
    size_t connection = 0;
    for (const StandbySpec& standby : standbys) {
      if (standby.has_connection) ++connection;
      if (!HasInstance(signal.scope, standby)) continue;
      const bool on_primary = signal.scope == Scope::kStandbyOnPrimary;
      AddInstance(signal, on_primary ? 0 : connection, &standby, signals);
    }
  }
}

void HealthGate::AddInstance(const SignalSpec& signal, size_t server, const StandbySpec* standby,
                             const std::vector<std::string>& engine_signals) {
  Instance& instance = instances_.emplace_back();
  instance.name = standby == nullptr ? signal.name : InstanceName(signal.name, standby->name);
  instance.server = server;
  instance.soft = signal.soft;
  instance.hard = signal.hard;
  instance.infinite_if_absent = signal.scope == Scope::kStandbyOnPrimary;
  if (standby != nullptr) instance.set_aside_until = standby->set_aside_until;
  const auto known = std::find(engine_signals.begin(), engine_signals.end(), instance.name);
  if (known != engine_signals.end()) {
    instance.signal = static_cast<int16_t>(known - engine_signals.begin());
  }
}

void HealthGate::Resume(const HealthGate& before) {
  speed_ = before.speed_;
  settled_ = before.settled_;
  rising_ = before.rising_;
  updated_at_ns_ = before.updated_at_ns_;
  verdict_ = before.verdict_;
}

const HealthGate::Verdict& HealthGate::Update(const TargetSample& sample, Now now) {
  const Findings found = Examine(sample, now);
  MoveSpeed(found, now.monotonic_ns);
  NameSignal(found);
  engine::Health& health = verdict_.health;
  const ConditionKind before = KindOf(health);
  health.status = found.status();
  health.speed = speed_;
  health.pressure = static_cast<float>(found.pressure);
  health.gate_shut = found.pressure >= 1 || (found.dark() && spec_.on_stale.shut);
  const bool any = found.counted > 0;
  health.sampled_at_ns = any ? found.oldest_ns : 0;
  health.next_sample_at_ns = health.gate_shut ? found.shut_until_ns
                             : any            ? found.next_sample_ns
                                              : 0;
  verdict_.valid_until_ns = found.valid_until_ns;
  if (KindOf(health) != before || verdict_.since_ns == 0) verdict_.since_ns = now.monotonic_ns;
  return verdict_;
}

HealthGate::Look HealthGate::LookAt(const Instance& instance, const TargetSample& sample,
                                    bool stale) {
  const TargetSample::Server& server = sample.servers[instance.server];
  Look look;
  look.next_sample_ns = server.next_sample_at_ns;
  if (server.sampled_at_ns == 0 || stale) return look;
  const auto known = sample.instances.find(instance.name);
  if (known == sample.instances.end()) {
    look.state = Look::State::kPending;
    return look;
  }
  look.next_sample_ns = std::max(look.next_sample_ns, known->second.next_sample_at_ns);
  const Reading& reading = known->second.reading;
  std::optional<double> value = reading.value;
  if (reading.is_absent && instance.infinite_if_absent) value = kInfinity;
  if (!value.has_value() && reading.error.empty()) look.state = Look::State::kPending;
  look.unread = !value.has_value() || std::isnan(*value);
  if (look.unread) return look;
  look.state = Look::State::kRead;
  look.pressure = PressureOf(*value, instance.soft, instance.hard);
  return look;
}

HealthGate::Findings HealthGate::Examine(const TargetSample& sample, Now now) const {
  Findings found;
  for (const Instance& instance : instances_) {
    if (now.wall() < instance.set_aside_until) {
      const int64_t ends_ns = Later(now.monotonic_ns, instance.set_aside_until - now.wall());
      found.valid_until_ns = std::min(found.valid_until_ns, ends_ns);
      continue;
    }
    const TargetSample::Server& server = sample.servers[instance.server];
    const int64_t stale_from_ns =
        Later(server.sampled_at_ns + server.grace_ns, spec_.stale_after + absl::Nanoseconds(1));
    const bool stale = now.monotonic_ns >= stale_from_ns;
    if (!stale) found.valid_until_ns = std::min(found.valid_until_ns, stale_from_ns);
    ++found.counted;
    found.unsampled |= server.sampled_at_ns == 0;
    found.oldest_ns = std::min(found.oldest_ns, server.sampled_at_ns);
    found.next_sample_ns = std::min(found.next_sample_ns, server.next_sample_at_ns);
    found.Add(instance, LookAt(instance, sample, stale), spec_.on_stale.shut);
  }
  return found;
}

double HealthGate::SpeedUnder(double pressure) const {
  if (pressure >= 1) return 0;
  return pressure > 0 ? std::max(spec_.min_speed, 1 - pressure) : 1;
}

// The lower of what pressure and on_stale grant.
double HealthGate::Target(const Findings& found) const {
  const double speed = SpeedUnder(found.pressure);
  if (!found.dark()) return speed;
  return spec_.on_stale.shut ? 0 : std::min(speed, spec_.on_stale.speed);
}

void HealthGate::MoveSpeed(const Findings& found, int64_t now_ns) {
  const double target = Target(found);
  if (!settled_ || target <= speed_ || spec_.recovery <= absl::ZeroDuration()) {
    speed_ = target;
  } else {
    const absl::Duration calm = absl::Nanoseconds(rising_ ? now_ns - updated_at_ns_ : 0);
    const double climbed = speed_ + absl::FDivDuration(calm, spec_.recovery);
    speed_ = std::min(target, std::max(climbed, spec_.min_speed));
  }
  // Where on_stale keeps the gate open, a server that never answers must not keep the climb away.
  settled_ |= !found.dark() || (found.pressure > 0 && !spec_.on_stale.shut);
  rising_ = speed_ < target;
  updated_at_ns_ = now_ns;
}

// The instance that the verdict is owed to; null: none.
const HealthGate::Instance* HealthGate::Binding(const Findings& found) const {
  const OnStale& on_stale = spec_.on_stale;
  const double speed = SpeedUnder(found.pressure);
  const bool blind_binds = found.pressure < 1 && (on_stale.shut || on_stale.speed < speed);
  return found.blind != nullptr && blind_binds ? found.blind : found.worst;
}

void HealthGate::NameSignal(const Findings& found) {
  const Instance* binding = Binding(found);
  // While the speed climbs, the last one that slowed it is still to blame.
  for (const Instance& instance : instances_) {
    if (binding != nullptr || speed_ >= 1) break;
    if (instance.name == verdict_.signal) binding = &instance;
  }
  verdict_.signal = binding == nullptr ? "" : binding->name;
  verdict_.health.signal = binding == nullptr ? int16_t{-1} : binding->signal;
  verdict_.health.unread = binding != nullptr && binding == found.blind && found.unread;
}

}  // namespace headgate::health
