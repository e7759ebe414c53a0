// Health profiles: which signals, with which thresholds, measurable where.

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"
#include "server/observe/health/signal_catalog.h"

namespace headgate::config {
namespace {

std::vector<std::string> BuiltInNames() {
  std::vector<std::string> names;
  for (const health::SignalInfo& info : health::AllSignals()) names.emplace_back(info.name);
  return names;
}

class ProfileBuilder {
 public:
  // A signal of the operator's own, by name: one query everywhere.
  using CustomSignals = absl::flat_hash_map<std::string, health::SignalSpec>;

  ProfileBuilder(Builder& builder, const v1::HealthProfile& proto, CustomSignals& customs)
      : builder_(builder), findings_(builder.findings), proto_(proto), customs_(customs) {}

  void Run() {
    spec_.name = proto_.name();
    Numbers();
    NameTable names("signal", NameTable::Completeness::kComplete, findings_);
    names.AddAll(proto_.signals());
    for (const v1::Signal& signal : proto_.signals()) AddSignal(signal);
    if (proto_.signals().empty() && !Spoilt(proto_, Proto::kSignalsFieldNumber)) {
      findings_.Say(proto_, "a health profile needs at least one signal");
    }
    Instances();
  }

 private:
  using Proto = v1::HealthProfile;

  bool Spoilt(const google::protobuf::Message& message, int field) const {
    return findings_.positions().Spoilt(message, field);
  }

  void Numbers() {
    if (proto_.has_min_speed()) {
      spec_.min_speed = proto_.min_speed();
      findings_.InRange(proto_, Proto::kMinSpeedFieldNumber, spec_.min_speed, 0.0, 1.0);
    }
    if (proto_.has_recovery()) {
      spec_.recovery = findings_.InRange(proto_, Proto::kRecoveryFieldNumber, proto_.recovery(),
                                         absl::ZeroDuration(), absl::Hours(1));
    }
    if (proto_.has_stale_after()) {
      spec_.stale_after =
          findings_.InRange(proto_, Proto::kStaleAfterFieldNumber, proto_.stale_after(),
                            absl::Milliseconds(100), absl::Hours(1));
    }
    const v1::OnStale& on_stale = proto_.on_stale();
    if (on_stale.has_allow()) spec_.on_stale = {.shut = false, .speed = 1};
    if (on_stale.has_speed()) {
      spec_.on_stale = {.shut = false, .speed = on_stale.speed()};
      findings_.InRange(on_stale, v1::OnStale::kSpeedFieldNumber, on_stale.speed(), 0.0, 1.0);
    }
    for (const TargetSettings& target : builder_.config.targets) {
      if (!target.primary.has_value() || spec_.stale_after > target.polling.interval) continue;
      findings_.Say(
          proto_, Proto::kStaleAfterFieldNumber,
          absl::StrCat("stale_after ", absl::FormatDuration(spec_.stale_after),
                       " is not longer than the interval at which target ", Quoted(target.name),
                       " is measured, ", absl::FormatDuration(target.polling.interval),
                       ": every sample would be stale"));
    }
  }

  void AddSignal(const v1::Signal& from) {
    if (from.name().empty()) return;
    health::SignalSpec to;
    to.name = from.name();
    const health::SignalInfo* const known = health::FindSignal(from.name());
    const bool custom = findings_.positions().Given(from, v1::Signal::kSqlFieldNumber);
    if (known != nullptr) {
      to.scope = known->scope;
      to.soft = known->soft;
      to.hard = known->hard;
      to.every = known->every;
    }
    if (custom) {
      AddCustom(from, known != nullptr, to);
    } else {
      CheckBuiltIn(from, known != nullptr);
    }
    Thresholds(from, known != nullptr || custom, to);
    if (from.has_every()) {
      to.every = findings_.InRange(from, v1::Signal::kEveryFieldNumber, from.every(),
                                   absl::Milliseconds(50), absl::Hours(24));
    }
    Measurable(from, to);
    spec_.signals.push_back(std::move(to));
  }

  void CheckBuiltIn(const v1::Signal& from, bool known) {
    if (!known) {
      static const std::vector<std::string> kNames = BuiltInNames();
      findings_.Say(from, v1::Signal::kNameFieldNumber,
                    absl::StrCat("no built-in signal is called ", Quoted(from.name()),
                                 ", and a signal of your own needs sql",
                                 findings_.full() ? "" : Suggestion(from.name(), kNames)));
    }
    if (from.server() != v1::SIGNAL_SERVER_UNSPECIFIED) {
      findings_.Say(from, v1::Signal::kServerFieldNumber,
                    "server is for a signal with sql; where a built-in one is asked is fixed");
    }
  }

  void AddCustom(const v1::Signal& from, bool known, health::SignalSpec& to) {
    if (known) {
      findings_.Say(
          from, v1::Signal::kNameFieldNumber,
          absl::StrCat(Quoted(from.name()),
                       " is a built-in signal; give yours another name, or leave out sql"));
    }
    if (from.name().find(' ') != std::string::npos) {
      findings_.Say(from, v1::Signal::kNameFieldNumber, "the name of a signal has no spaces");
    }
    to.sql = from.sql();
    to.scope = from.server() == v1::SIGNAL_SERVER_STANDBYS ? health::Scope::kStandby
                                                           : health::Scope::kPrimary;
    if (to.sql.empty()) return;
    const auto [first, is_new] = customs_.emplace(to.name, to);
    if (!is_new && (first->second.sql != to.sql || first->second.scope != to.scope)) {
      findings_.Say(from, v1::Signal::kNameFieldNumber,
                    absl::StrCat("signal ", Quoted(to.name),
                                 " is another query in another profile; give it another name"));
    }
  }

  void Thresholds(const v1::Signal& from, bool known, health::SignalSpec& to) {
    using Field = v1::Signal;
    if (from.has_soft()) to.soft = from.soft();
    if (from.has_hard()) to.hard = from.hard();
    const SourcePositions& positions = findings_.positions();
    const bool soft_given = positions.Given(from, Field::kSoftFieldNumber);
    const bool hard_given = positions.Given(from, Field::kHardFieldNumber);
    const bool has_defaults = to.sql.empty();
    if (!has_defaults && !(soft_given && hard_given)) {
      findings_.Say(from, absl::StrCat("signal ", Quoted(to.name),
                                       " needs soft and hard; only built-in ones have defaults"));
      return;
    }
    const bool spoilt =
        Spoilt(from, Field::kSoftFieldNumber) || Spoilt(from, Field::kHardFieldNumber);
    if (!known || spoilt || to.soft < to.hard) return;
    const int field = soft_given ? Field::kSoftFieldNumber : Field::kHardFieldNumber;
    findings_.Say(
        from, field,
        absl::StrCat("soft must be below hard; soft is ", to.soft, soft_given ? "" : " by default",
                     ", hard is ", to.hard, hard_given ? "" : " by default"));
  }

  // The standbys of every target that is measured.
  std::vector<std::vector<health::StandbySpec>> Standbys() const {
    std::vector<std::vector<health::StandbySpec>> standbys;
    for (const TargetSettings& target : builder_.config.targets) {
      if (target.primary.has_value()) standbys.push_back(target.standbys);
    }
    return standbys;
  }

  void Measurable(const v1::Signal& from, const health::SignalSpec& signal) {
    const auto standbys = Standbys();
    if (standbys.empty() || TargetsUncertain()) return;
    health::ProfileSpec alone;
    alone.signals = {signal};
    if (!health::InstancesOnAll(alone, standbys).empty()) return;
    findings_.Say(from, absl::StrCat("signal ", Quoted(signal.name), " is measured on no target: ",
                                     signal.scope == health::Scope::kStandby
                                         ? "none has a standby with a connection"
                                         : "none has standbys"));
  }

  // Whether standbys may be missing because they could not be read.
  bool TargetsUncertain() const {
    if (Spoilt(builder_.proto, v1::Config::kTargetsFieldNumber)) return true;
    for (const v1::Target& target : builder_.proto.targets()) {
      if (Spoilt(target, v1::Target::kStandbysFieldNumber)) return true;
      for (const v1::Standby& standby : target.standbys()) {
        if (Spoilt(standby, v1::Standby::kConnectionFieldNumber)) return true;
      }
    }
    return false;
  }

  void Instances() {
    for (int i = 0; i < builder_.proto.targets_size() && !spec_.signals.empty(); ++i) {
      const TargetSettings& target = builder_.config.targets[static_cast<size_t>(i)];
      const v1::Target& proto = builder_.proto.targets(i);
      if (proto.default_health() != spec_.name || !target.primary.has_value() ||
          TargetsUncertain() || !health::InstancesOf(spec_, target.standbys).empty()) {
        continue;
      }
      findings_.Say(proto, v1::Target::kDefaultHealthFieldNumber,
                    absl::StrCat("health profile ", Quoted(spec_.name),
                                 " has no signal that this target could be measured by"));
    }
    engine::HealthProfileSpec& profile = builder_.config.policy.profiles.emplace_back();
    profile.name = spec_.name;
    profile.signals = health::InstancesOnAll(spec_, Standbys());
    for (const std::string& instance : profile.signals) {
      profile.thresholds.push_back(ThresholdsOf(instance));
    }
    builder_.config.profiles.push_back(std::move(spec_));
  }

  // An instance begins with the name of its signal, which has no spaces.
  engine::SignalThresholds ThresholdsOf(const std::string& instance) const {
    const std::string name = instance.substr(0, instance.find(' '));
    for (const health::SignalSpec& signal : spec_.signals) {
      if (signal.name == name) return {.soft = signal.soft, .hard = signal.hard};
    }
    return {};  // only where the signal's name has been refused
  }

  Builder& builder_;
  Findings& findings_;
  const v1::HealthProfile& proto_;
  CustomSignals& customs_;
  health::ProfileSpec spec_;
};

}  // namespace

void Builder::BuildProfiles() {
  ProfileBuilder::CustomSignals customs;
  for (const v1::HealthProfile& profile : proto.health_profiles()) {
    ProfileBuilder(*this, profile, customs).Run();
  }
}

}  // namespace headgate::config
