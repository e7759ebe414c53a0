#include "tests/sim/reference_laws.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/sim/pulse_law.h"

namespace headgate::sim {
namespace {

using control::ControlSample;

constexpr double kLeastRate = 0.02;

// What the foreground did since the sample before.
struct Since {
  double seconds = 0;
  double throughput = 0;
  double occupancy = 0;
};

class Meter {
 public:
  std::optional<Since> Take(const ControlSample& sample) {
    const std::optional<ControlSample> before = last_;
    last_ = sample;
    if (!before.has_value()) return std::nullopt;
    const health::WorkCounters& from = before->work;
    const health::WorkCounters& to = sample.work;
    Since since;
    since.seconds = static_cast<double>(to.sampled_at_ns - from.sampled_at_ns) / 1e9;
    const auto own = static_cast<double>(sample.transactions - before->transactions);
    since.throughput = (static_cast<double>(to.next_xid - from.next_xid) - own) / since.seconds;
    if (from.statements.has_value() && to.statements.has_value()) {
      since.occupancy =
          (to.statements->busy_seconds - from.statements->busy_seconds) / since.seconds;
      if (since.throughput <= 50) {
        since.throughput = (to.statements->calls - from.statements->calls) / since.seconds;
      }
    }
    return since;
  }

 private:
  std::optional<ControlSample> last_;
};

class FixedRate final : public ReferenceLaw {
 public:
  explicit FixedRate(double rate) : rate_(rate) {}
  Verdict Look(const ControlSample&) override { return {.rate = rate_, .next = 1}; }

 private:
  const double rate_;
};

class HardGate final : public ReferenceLaw {
 public:
  explicit HardGate(double sessions) : sessions_(sessions) {}
  Verdict Look(const ControlSample& sample) override {
    const double active = sample.work.foreground_active + sample.work.batch_active;
    return {.rate = 1000, .shut = active >= sessions_, .next = 0.5};
  }

 private:
  const double sessions_;
};

class Aimd final : public ReferenceLaw {
 public:
  Verdict Look(const ControlSample& sample) override {
    const std::optional<Since> since = meter_.Take(sample);
    if (!since.has_value()) return {.rate = rate_};
    best_ = std::max(best_ * std::exp(-since->seconds / 30), since->throughput);
    rate_ = since->throughput < 0.95 * best_ ? std::max(kLeastRate, rate_ * 0.7) : rate_ + 0.01;
    return {.rate = rate_};
  }

 private:
  Meter meter_;
  double rate_ = 0.2;
  double best_ = 0;
};

struct Window {
  double count = 0, seconds = 0, throughput = 0, squares = 0, occupancy = 0;

  void Add(const Since& since) {
    count += 1;
    seconds += since.seconds;
    throughput += since.throughput * since.seconds;
    occupancy += since.occupancy * since.seconds;
    squares += since.throughput * since.throughput;
  }
  void Decay() {
    for (double* sum : {&count, &seconds, &throughput, &squares, &occupancy}) *sum *= 0.6;
  }
  double X() const { return seconds > 0 ? throughput / seconds : 0; }
  double Occupancy() const { return seconds > 0 ? occupancy / seconds : 0; }
  double Variance() const { return count < 1.5 ? 0 : std::max(0.0, squares / count - X() * X()); }
};

class PairedProbing final : public ReferenceLaw {
 public:
  explicit PairedProbing(double cores) : most_(2 * cores), delta_(0.1 * cores) {}

  Verdict Look(const ControlSample& sample) override {
    const std::optional<Since> since = meter_.Take(sample);
    if (!since.has_value()) return Say(0.1);
    const double keep = std::exp2(-since->seconds / 0.25);
    active_ = active_ * keep + sample.work.foreground_active * (1 - keep);
    age_ += since->seconds;
    if (since->throughput <= 20 && active_ <= 0.3) {
      phase_ = Phase::kIdle;
      rate_ = std::min(most_, std::max(rate_, 1.0) * std::pow(4, since->seconds));
    } else if (phase_ == Phase::kIdle) {
      rate_ = std::min(rate_, 0.2);
      off_ = on_ = {};
      length_ = 1.5;
      windows_ = 0;
      Enter(Phase::kOff);
    } else if (phase_ == Phase::kOff) {
      const bool clean = sample.outstanding == 0 && sample.work.batch_active == 0;
      if (clean_ >= 0) off_.Add(*since), clean_ += since->seconds;
      if (clean_ < 0 && clean) clean_ = 0;
      if (clean_ >= 0.5 || age_ > 3) Enter(Phase::kOn);
    } else {
      StepOn(*since);
    }
    return Say(phase_ == Phase::kOff && clean_ < 0 ? 0.1 : 0.25);
  }

 private:
  enum class Phase { kIdle, kOff, kOn };

  Verdict Say(double next) const {
    return {.rate = rate_, .shut = phase_ == Phase::kOff, .next = next};
  }

  void Enter(Phase phase) {
    phase_ = phase;
    age_ = 0;
    clean_ = -1;
  }

  void StepOn(const Since& since) {
    on_.Add(since);
    if (age_ > 0.3 &&
        (since.throughput < 0.7 * off_.X() || since.occupancy > off_.Occupancy() + 4 * delta_)) {
      rate_ = std::max(kLeastRate, rate_ * std::exp2(-since.seconds / 0.25));
      on_ = {};
    }
    if (age_ < length_) return;
    if (on_.seconds > 0 && off_.X() > 0) Adjust();
    off_.Decay();
    on_.Decay();
    Enter(Phase::kOff);
  }

  void Adjust() {
    const double slower = 1 - on_.X() / off_.X();
    const double variance = std::max(off_.Variance(), off_.X() / 0.25);
    const double deviation = std::sqrt(variance * (1 / off_.count + 1 / on_.count)) / off_.X();
    const double by_speed = slower > 2 * deviation ? slower / 0.05 : std::min(slower / 0.05, 1.0);
    const double harm = std::max(by_speed, (on_.Occupancy() - off_.Occupancy()) / delta_);
    rate_ = std::clamp(rate_ * std::exp(0.7 * std::clamp(1 - harm, -2.0, 1.0)), kLeastRate, most_);
    length_ = windows_++ < 4 ? 1.5 : std::abs(1 - harm) < 0.6 ? 4 : 2.5;
  }

  const double most_, delta_;
  Meter meter_;
  Phase phase_ = Phase::kOff;
  double rate_ = 0.2;
  double active_ = 0, age_ = 0, clean_ = -1, length_ = 1.5;
  int windows_ = 0;
  Window off_, on_;
};

class Pulses final : public ReferenceLaw {
 public:
  Pulses(double cores, uint64_t seed)
      : law_({.cores = cores, .max_rate = 2 * cores, .seed = seed}) {}
  Verdict Look(const ControlSample& sample) override {
    const pulses::PulseSetting setting = law_.Step(sample);
    return {.rate = setting.drain,
            .shut = setting.shut,
            .next = absl::ToDoubleSeconds(setting.next),
            .found = setting.rate};
  }

 private:
  pulses::PulseLaw law_;
};

}  // namespace

std::unique_ptr<ReferenceLaw> MakePulses(double cores, uint64_t seed) {
  return std::make_unique<Pulses>(cores, seed);
}
std::unique_ptr<ReferenceLaw> MakeFixedRate(double rate) {
  return std::make_unique<FixedRate>(rate);
}
std::unique_ptr<ReferenceLaw> MakeHardGate(double sessions) {
  return std::make_unique<HardGate>(sessions);
}
std::unique_ptr<ReferenceLaw> MakeAimd() { return std::make_unique<Aimd>(); }
std::unique_ptr<ReferenceLaw> MakePairedProbing(double cores) {
  return std::make_unique<PairedProbing>(cores);
}

}  // namespace headgate::sim
