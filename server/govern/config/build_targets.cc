// Targets: where to measure, and on which standbys.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/ip_prefix.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/fingerprint.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

class TargetBuilder {
 public:
  TargetBuilder(Builder& builder, const v1::Target& proto)
      : builder_(builder), findings_(builder.findings), proto_(proto) {}

  void Run() {
    settings_.name = proto_.name();
    if (proto_.has_primary()) settings_.primary = builder_.BuildSource(proto_.primary());
    Standbys();
    Polling();
    BatchWork();
    Policy();
    settings_.fingerprint = FingerprintOf(builder_.proto, proto_.name());
    builder_.config.targets.push_back(std::move(settings_));
  }

 private:
  using Proto = v1::Target;

  bool Given(int field) const { return findings_.positions().Given(proto_, field); }

  void Standbys() {
    if (proto_.standbys_size() > 0 && !Given(Proto::kPrimaryFieldNumber)) {
      findings_.Say(proto_, Proto::kStandbysFieldNumber,
                    "a target with standbys needs a primary, from which they are watched");
    }
    NameTable names("standby", NameTable::Completeness::kComplete, findings_);
    names.AddAll(proto_.standbys());
    std::map<std::array<std::string, 3>, std::string> known;
    for (const v1::Standby& standby : proto_.standbys()) {
      health::StandbySpec spec = Standby(standby);
      const auto [first, is_new] = known.emplace(
          std::array{spec.application_name, spec.client_address, spec.slot}, spec.name);
      if (!is_new && !spec.is_cascading && first->second != spec.name) {
        findings_.Warn(standby, v1::Standby::kApplicationNameFieldNumber,
                       absl::StrCat("nothing tells it from standby ", Quoted(first->second),
                                    ": where one of them is missing nobody knows which; give each "
                                    "its slot or client_address"));
      }
      settings_.standbys.push_back(std::move(spec));
      settings_.standby_sources.push_back(
          standby.has_connection() ? std::optional(builder_.BuildSource(standby.connection()))
                                   : std::nullopt);
    }
  }

  health::StandbySpec Standby(const v1::Standby& from) {
    using Field = v1::Standby;
    health::StandbySpec to;
    to.name = from.name();
    to.application_name = from.application_name();
    to.client_address = from.client_address();
    to.slot = from.slot();
    to.is_cascading = from.cascading();
    if (to.application_name.empty() && to.client_address.empty() && to.slot.empty()) {
      to.application_name = from.name();
    }
    to.has_connection = from.has_connection();
    Matching(from);
    if (from.has_set_aside_until()) {
      to.set_aside_until = absl::UnixEpoch() + absl::Seconds(from.set_aside_until().seconds()) +
                           absl::Nanoseconds(from.set_aside_until().nanos());
    } else if (!from.set_aside_reason().empty() &&
               !findings_.positions().Given(from, Field::kSetAsideUntilFieldNumber)) {
      findings_.Say(from, Field::kSetAsideReasonFieldNumber,
                    "a set_aside_reason needs a set_aside_until");
    }
    to.set_aside_reason = from.set_aside_reason();
    if (to.name == "primary") {
      findings_.Say(from, Field::kNameFieldNumber,
                    "a standby may not be called primary, which is what status calls the primary");
    }
    return to;
  }

  // What finds it among those that the primary sees.
  void Matching(const v1::Standby& from) {
    using Field = v1::Standby;
    if (!from.client_address().empty() && !engine::IpAddress::Parse(from.client_address()).ok()) {
      findings_.Say(from, Field::kClientAddressFieldNumber,
                    absl::StrCat("client_address ", Quoted(from.client_address()),
                                 " is no IP address, which is what pg_stat_replication shows"));
    }
    if (!from.cascading()) return;
    if (!findings_.positions().Given(from, Field::kConnectionFieldNumber)) {
      findings_.Say(from, Field::kCascadingFieldNumber,
                    "a cascading standby needs a connection: the primary does not see it");
    }
    for (const auto& [field, name] :
         {std::pair(Field::kApplicationNameFieldNumber, "application_name"),
          std::pair(Field::kClientAddressFieldNumber, "client_address"),
          std::pair(Field::kSlotFieldNumber, "slot")}) {
      if (!findings_.positions().Given(from, field)) continue;
      findings_.Say(from, field,
                    absl::StrCat("a cascading standby has no ", name,
                                 " on the primary, which does not see it"));
    }
  }

  void Polling() {
    using Field = v1::Polling;
    const v1::Polling& from = proto_.polling();
    health::PollingSpec& to = settings_.polling;
    const auto read = [&](bool has, int field, const auto& value, absl::Duration least,
                          absl::Duration most, absl::Duration& into) {
      if (has) into = findings_.InRange(from, field, value, least, most);
    };
    read(from.has_interval(), Field::kIntervalFieldNumber, from.interval(), absl::Milliseconds(50),
         absl::Minutes(1), to.interval);
    read(from.has_timeout(), Field::kTimeoutFieldNumber, from.timeout(), absl::Milliseconds(100),
         absl::Minutes(1), to.timeout);
    read(from.has_idle_after(), Field::kIdleAfterFieldNumber, from.idle_after(), absl::Seconds(1),
         absl::Hours(24), to.idle_after);
    read(from.has_idle_interval(), Field::kIdleIntervalFieldNumber, from.idle_interval(),
         absl::Milliseconds(50), absl::Minutes(10), to.idle_interval);
    if (to.idle_interval >= to.interval) return;
    if (from.has_idle_interval()) {
      findings_.Say(
          from, Field::kIdleIntervalFieldNumber,
          absl::StrCat("idle_interval ", absl::FormatDuration(to.idle_interval),
                       " is shorter than the interval, ", absl::FormatDuration(to.interval)));
    } else {
      to.idle_interval = to.interval;  // a default must not turn slowing down into its opposite
    }
  }

  void BatchWork() {
    using Field = v1::BatchWork;
    const v1::BatchWork& from = proto_.batch_work();
    settings_.batch_work.roles.assign(from.roles().begin(), from.roles().end());
    settings_.batch_work.application_names.assign(from.application_names().begin(),
                                                  from.application_names().end());
    const SourcePositions& positions = findings_.positions();
    if (proto_.has_batch_work() && from.roles().empty() && from.application_names().empty() &&
        !positions.Spoilt(from, Field::kRolesFieldNumber) &&
        !positions.Spoilt(from, Field::kApplicationNamesFieldNumber)) {
      findings_.Say(from, "batch_work needs roles or application_names");
    }
    for (int i = 0; i < from.roles_size(); ++i) {
      const bool is_blank = from.roles(i).find_first_not_of(' ') == std::string::npos;
      if (!is_blank && from.roles(i).find('*') == std::string::npos) continue;
      findings_.Say(positions.AtItem(from, Field::kRolesFieldNumber, i),
                    is_blank ? std::string("a role of batch_work has no name")
                             : absl::StrCat("role ", Quoted(from.roles(i)),
                                            " has a '*', which stands for nothing else: name each "
                                            "role that jobs run as"));
    }
    for (int i = 0; i < from.application_names_size(); ++i) {
      const std::string& name = from.application_names(i);
      if (name == "*") {
        findings_.Say(positions.AtItem(from, Field::kApplicationNamesFieldNumber, i),
                      "application name '*' is every session's: no foreground would be left to "
                      "protect");
      }
      if (name.find('*') + 1 >= name.size() || name.find('*') == std::string::npos) continue;
      findings_.Say(positions.AtItem(from, Field::kApplicationNamesFieldNumber, i),
                    absl::StrCat("application name ", Quoted(name),
                                 " has a '*' before its end; it stands for any rest, at the end"));
    }
  }

  void Policy() {
    engine::TargetSpec spec;
    spec.name = NameOr(proto_.name());
    if (proto_.has_capacity()) spec.capacity = proto_.capacity();
    // Whatever it was meant to be, there is one.
    if (findings_.positions().Spoilt(proto_, Proto::kCapacityFieldNumber)) spec.capacity = 1;
    engine::PolicySpec alone;
    alone.targets = {spec};
    findings_.AskEngine(alone, absl::StrCat("target '", spec.name, "': "), proto_);
    spec.default_health = proto_.default_health();
    builder_.config.policy.targets.push_back(spec);
    if (spec.default_health.empty()) return;
    const Position at = findings_.positions().At(proto_, Proto::kDefaultHealthFieldNumber);
    if (!builder_.profiles.Require(at, spec.default_health)) return;
    if (!Given(Proto::kPrimaryFieldNumber)) {
      findings_.Say(proto_, Proto::kDefaultHealthFieldNumber,
                    absl::StrCat("health profile ", Quoted(spec.default_health),
                                 " cannot be measured: the target has no primary"));
    }
  }

  Builder& builder_;
  Findings& findings_;
  const v1::Target& proto_;
  TargetSettings settings_;
};

}  // namespace

void Builder::BuildTargets() {
  for (const v1::Target& target : proto.targets()) TargetBuilder(*this, target).Run();
}

}  // namespace headgate::config
