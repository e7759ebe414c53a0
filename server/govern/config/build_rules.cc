// Rules: who is matched, and the one thing that happens to them.

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

// Monday first, as ScheduleWindow counts.
const std::vector<std::string>& Days() {
  static const std::vector<std::string> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
  return kDays;
}

// "HH:MM" as the minute of the day, 24:00 included.
std::optional<int> MinuteOf(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  int hour = 0;
  int minute = 0;
  const auto read = [](std::string_view digits, int& value) {
    const auto result = std::from_chars(digits.data(), digits.data() + 2, value);
    return result.ec == std::errc() && result.ptr == digits.data() + 2 && digits[0] != '-';
  };
  if (!read(text.substr(0, 2), hour) || !read(text.substr(3, 2), minute)) return std::nullopt;
  if (minute > 59 || hour > 24 || (hour == 24 && minute > 0)) return std::nullopt;
  return hour * 60 + minute;
}

class RuleBuilder {
 public:
  RuleBuilder(Builder& builder, const v1::Rule& proto)
      : builder_(builder), findings_(builder.findings), proto_(proto) {}

  void Run() {
    spec_.name = NameOr(proto_.name());
    if (proto_.has_expires_at()) {
      spec_.expires_at = absl::UnixEpoch() + absl::Seconds(proto_.expires_at().seconds()) +
                         absl::Nanoseconds(proto_.expires_at().nanos());
      if (spec_.expires_at <= builder_.now) {
        findings_.Warn(
            proto_, Proto::kExpiresAtFieldNumber,
            absl::StrCat("rule ", Quoted(spec_.name), " has expired: it matches nothing"));
      }
    }
    Match();
    if (spec_.expires_at > builder_.now) WarnOfTwins();
    // Nothing can be wrong with a priority, so that the rest of the rule is looked at all the same.
    if (!Action()) spec_.action = engine::PriorityAction{};
    AskEngine();
    builder_.config.policy.rules.push_back(std::move(spec_));
  }

 private:
  using Proto = v1::Rule;

  const SourcePositions& positions() const { return findings_.positions(); }

  // Its conditions were taken away, or never written: the rule would hold for everybody.
  void SaysNothing(const v1::Match& from) {
    const int field = Proto::kMatchFieldNumber;
    if (!positions().Given(proto_, field) || positions().Spoilt(proto_, field)) return;
    const google::protobuf::Descriptor& conditions = *v1::Match::descriptor();
    for (int i = 0; i < conditions.field_count(); ++i) {
      if (positions().Given(from, conditions.field(i)->number())) return;
    }
    findings_.Say(proto_, field,
                  "match has no condition; leave it out if the rule is for everybody");
  }

  void Match() {
    const v1::Match& from = proto_.match();
    engine::MatchSpec& to = spec_.match;
    if (from.ByteSizeLong() == 0) SaysNothing(from);
    to.identity = from.identity();
    to.segment = from.segment();
    to.tags.assign(from.tags().begin(), from.tags().end());
    std::sort(to.tags.begin(), to.tags.end());  // protobuf's maps have no order
    to.remote_address = from.remote_address();
    to.target = from.target();
    if (!to.target.empty()) {
      builder_.targets.Require(positions().At(from, v1::Match::kTargetFieldNumber), to.target);
    }
    if (from.has_schedule()) to.schedule = Schedule(from.schedule());
  }

  void WarnOfTwins() {
    IdentityNames& names = *builder_.identity_names;
    const bool is_segment = spec_.match.identity.empty();
    const auto twin = is_segment ? names.AddSegment(spec_.match.segment, spec_.name)
                                 : names.AddIdentity(spec_.match.identity, spec_.name);
    if (!twin.has_value()) return;
    findings_.Warn(proto_.match(),
                   is_segment ? v1::Match::kSegmentFieldNumber : v1::Match::kIdentityFieldNumber,
                   absl::StrCat("rule ", Quoted(spec_.name), " is for ", Quoted(twin->spelled),
                                ", and rule ", Quoted(twin->rule), " for ", Quoted(twin->known),
                                ": identities are case-sensitive, and these are two"));
  }

  // Absent if something is wrong with it, which the engine then need not repeat.
  std::optional<engine::ScheduleSpec> Schedule(const v1::Schedule& from) {
    engine::ScheduleSpec to;
    bool fine = true;
    for (const v1::Window& window : from.windows()) {
      const std::optional<engine::ScheduleWindow> read = Window(window);
      fine = fine && read.has_value();
      if (read.has_value()) to.windows.push_back(*read);
    }
    if (from.windows().empty()) {
      if (!positions().Spoilt(from, v1::Schedule::kWindowsFieldNumber)) {
        findings_.Say(from, "a schedule needs at least one window");
      }
      fine = false;
    }
    if (from.time_zone().empty()) {
      if (!positions().Given(from, v1::Schedule::kTimeZoneFieldNumber)) {
        findings_.Say(from, "a schedule needs a time_zone such as Europe/Berlin or UTC");
      }
      fine = false;
    } else {
      fine = TimeZone(from) && fine;
    }
    to.time_zone = from.time_zone();
    return fine ? std::optional(std::move(to)) : std::nullopt;
  }

  bool TimeZone(const v1::Schedule& from) {
    const engine::ScheduleWindow any = {.days = 1, .start_minute = 0, .end_minute = 1};
    if (engine::Schedule::Create({.windows = {any}, .time_zone = from.time_zone()}).ok()) {
      return true;
    }
    findings_.Say(from, v1::Schedule::kTimeZoneFieldNumber,
                  absl::StrCat("unknown time_zone ", Quoted(from.time_zone()),
                               "; write an IANA name such as Europe/Berlin or UTC"));
    return false;
  }

  std::optional<engine::ScheduleWindow> Window(const v1::Window& from) {
    using Field = v1::Window;
    engine::ScheduleWindow to;
    bool fine = !positions().Spoilt(from, Field::kDaysFieldNumber);
    for (int i = 0; i < from.days_size(); ++i) {
      const auto day = std::find(Days().begin(), Days().end(), from.days(i));
      if (day == Days().end()) {
        findings_.Say(positions().AtItem(from, Field::kDaysFieldNumber, i),
                      absl::StrCat("unknown day ", Quoted(from.days(i)),
                                   "; known: mon, tue, wed, thu, fri, sat, sun"));
        fine = false;
      } else {
        to.days = static_cast<uint8_t>(to.days | 1U << (day - Days().begin()));
      }
    }
    if (from.days().empty()) to.days = 0b1111111;
    if (!positions().Given(from, Field::kFromFieldNumber) ||
        !positions().Given(from, Field::kToFieldNumber)) {
      findings_.Say(from, "a window needs from and to, such as 22:00 and 06:00");
    }
    const std::optional<int> begin = Minute(from, Field::kFromFieldNumber, from.from());
    const std::optional<int> end = Minute(from, Field::kToFieldNumber, from.to());
    if (!begin.has_value() || !end.has_value()) return std::nullopt;
    if (*begin == 24 * 60) {
      findings_.Say(from, Field::kFromFieldNumber, "a window cannot begin at 24:00; write 00:00");
      return std::nullopt;
    }
    if (*begin == *end) {
      findings_.Say(from, Field::kToFieldNumber,
                    "a window cannot end when it begins; the whole day is 00:00 to 24:00");
      return std::nullopt;
    }
    to.start_minute = *begin;
    to.end_minute = *end == 0 ? 24 * 60 : *end;
    return fine ? std::optional(to) : std::nullopt;
  }

  std::optional<int> Minute(const v1::Window& window, int field, const std::string& text) {
    const std::optional<int> minute = MinuteOf(text);
    if (!minute.has_value() && !text.empty()) {
      findings_.Say(window, field,
                    absl::StrCat("expected HH:MM from 00:00 to 24:00, got ", Quoted(text)));
    }
    return minute;
  }

  // Whether there is one action that could be read.
  bool Action() {
    std::vector<int> given;
    for (const int field :
         {Proto::kChargeFieldNumber, Proto::kExemptFieldNumber, Proto::kDenyFieldNumber,
          Proto::kRejectRatioFieldNumber, Proto::kHealthFieldNumber, Proto::kPriorityFieldNumber,
          Proto::kWeightFieldNumber}) {
      if (positions().Given(proto_, field)) given.push_back(field);
    }
    constexpr std::string_view kActions =
        "charge, exempt, deny, reject_ratio, health, priority, weight";
    if (given.empty()) {
      findings_.Say(proto_, absl::StrCat("a rule needs an action: one of ", Sv(kActions)));
    }
    for (size_t i = 1; i < given.size(); ++i) {
      findings_.Say(proto_, given[i],
                    absl::StrCat("a rule has one action, and this one has ",
                                 Proto::descriptor()->FindFieldByNumber(given[0])->name(),
                                 " as well; write two rules"));
    }
    for (const int field : given) SetAction(field);
    return given.size() == 1 && !positions().Spoilt(proto_, given[0]);
  }

  void SetAction(int field) {
    switch (field) {
      case Proto::kChargeFieldNumber:
        return Charge();
      case Proto::kExemptFieldNumber:
        spec_.action = engine::ExemptAction{};
        return RequireTrue(field, !proto_.has_exempt() || proto_.exempt());
      case Proto::kDenyFieldNumber:
        spec_.action = engine::DenyAction{};
        return RequireTrue(field, !proto_.has_deny() || proto_.deny());
      case Proto::kRejectRatioFieldNumber:
        spec_.action = engine::RejectAction{.ratio = proto_.reject_ratio()};
        return;
      case Proto::kHealthFieldNumber:
        spec_.action = engine::HealthAction{.profile = proto_.health()};
        return builder_.RequireProfile(proto_, field, proto_.health());
      case Proto::kWeightFieldNumber:
        spec_.action = engine::WeightAction{.weight = proto_.weight()};
        return;
      default:
        spec_.action = engine::PriorityAction{.priority = proto_.priority()};
    }
  }

  void RequireTrue(int field, bool is_true) {
    if (is_true) return;
    findings_.Say(proto_, field, "write true, or leave it out and give another action");
  }

  void Charge() {
    spec_.action =
        engine::ChargeAction{.budgets = {proto_.charge().begin(), proto_.charge().end()}};
    std::set<std::string_view> charged;
    for (int i = 0; i < proto_.charge_size(); ++i) {
      builder_.budgets.Require(positions().AtItem(proto_, Proto::kChargeFieldNumber, i),
                               proto_.charge(i));
      if (charged.insert(proto_.charge(i)).second) continue;
      findings_.Warn(
          positions().AtItem(proto_, Proto::kChargeFieldNumber, i),
          absl::StrCat("rule ", Quoted(spec_.name), " charges budget ", Quoted(proto_.charge(i)),
                       " already: a Check is charged to it once"));
    }
    if (proto_.charge_size() > engine::kMaxBudgetsPerCheck) {
      findings_.Say(proto_, Proto::kChargeFieldNumber,
                    absl::StrCat("a Check can be charged to ", engine::kMaxBudgetsPerCheck,
                                 " budgets at most; these are ", proto_.charge_size()));
    }
  }

  // Names have been looked up; the engine is given just the ones that the rule refers to.
  void AskEngine() {
    engine::PolicySpec policy;
    policy.rules = {spec_};
    if (!spec_.match.target.empty()) policy.targets.emplace_back().name = spec_.match.target;
    if (const auto* charge = std::get_if<engine::ChargeAction>(&spec_.action)) {
      for (const std::string& name : charge->budgets) policy.budgets.emplace_back().name = name;
    }
    if (const auto* health = std::get_if<engine::HealthAction>(&spec_.action)) {
      policy.profiles.emplace_back().name = health->profile;
    }
    findings_.AskEngine(policy, absl::StrCat("rule '", spec_.name, "': "), proto_);
  }

  Builder& builder_;
  Findings& findings_;
  const v1::Rule& proto_;
  engine::RuleSpec spec_;
};

}  // namespace

void Builder::BuildRules() {
  for (const v1::Rule& rule : proto.rules()) RuleBuilder(*this, rule).Run();
  WarnOfUnchargedBudgets();
}

void Builder::WarnOfUnchargedBudgets() {
  std::set<std::string> charged;
  for (const v1::Rule& rule : proto.rules()) {
    charged.insert(rule.charge().begin(), rule.charge().end());
  }
  for (const v1::Budget& budget : proto.budgets()) {
    if (budget.mode() == v1::MODE_DISABLED || charged.contains(budget.name())) continue;
    findings.Warn(
        budget, v1::Budget::kNameFieldNumber,
        absl::StrCat("no rule charges budget ", Quoted(budget.name()), ": it limits nothing"));
  }
}

}  // namespace headgate::config
