// Everything that is wrong with a policy, found in one go.

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/identity.h"
#include "common/strings.h"
#include "server/decide/engine/policy.h"

namespace headgate::engine {
namespace {

constexpr size_t kMaxFindings = 50;

class Validator {
 public:
  explicit Validator(const PolicySpec& spec) : spec_(spec) {}

  absl::Status Run() {
    for (const TargetSpec& target : spec_.targets) Unique("target", target.name, targets_);
    for (const HealthProfileSpec& profile : spec_.profiles) {
      Unique("health profile", profile.name, profiles_);
      CheckThresholds(profile);
    }
    for (const BudgetSpec& budget : spec_.budgets) Unique("budget", budget.name, budgets_);
    for (const TargetSpec& target : spec_.targets) CheckTarget(target);
    for (const BudgetSpec& budget : spec_.budgets) CheckBudget(budget);
    for (const RuleSpec& rule : spec_.rules) CheckRule(rule);
    if (findings_.empty()) return absl::OkStatus();
    if (found_ > findings_.size()) {
      findings_.push_back(absl::StrCat("and ", found_ - findings_.size(), " more"));
    }
    return absl::InvalidArgumentError(absl::StrJoin(findings_, "\n"));
  }

 private:
  using Names = absl::flat_hash_set<std::string>;

  template <typename... Parts>
  void Say(const Parts&... parts) {
    if (++found_ <= kMaxFindings) findings_.push_back(absl::StrCat(where_, ": ", parts...));
  }

  void Unique(std::string_view what, const std::string& name, Names& names) {
    where_ = absl::StrCat(Sv(what), " '", name, "'");
    if (name.empty()) Say("has no name");
    if (!names.insert(name).second) Say("is defined twice");
  }

  void CheckThresholds(const HealthProfileSpec& profile) {
    if (!profile.thresholds.empty() && profile.thresholds.size() != profile.signals.size()) {
      Say("has ", profile.signals.size(), " signals and ", profile.thresholds.size(),
          " thresholds");
    }
    for (const SignalThresholds& of : profile.thresholds) {
      if (std::isfinite(of.soft) && std::isfinite(of.hard) && of.soft < of.hard) continue;
      Say("soft must be below hard; soft is ", of.soft, ", hard is ", of.hard);
    }
  }

  void CheckProfile(const std::string& profile) {
    if (!profile.empty() && !profiles_.contains(profile)) {
      Say("names an unknown health profile '", profile, "'");
    }
  }

  void CheckAmount(std::string_view what, double value, double least_above_zero = 0) {
    if (!std::isfinite(value) || value < 0) {
      Say(Sv(what), " must be a finite number, 0 or more; it is ", value);
    } else if (value > kMaxAmount) {
      Say(Sv(what), " must be at most ", kMaxAmount, "; it is ", value);
    } else if (value != 0 && value < least_above_zero) {
      Say(Sv(what), " must be 0 or at least ", least_above_zero, "; it is ", value);
    }
  }

  void CheckTarget(const TargetSpec& target) {
    where_ = absl::StrCat("target '", target.name, "'");
    if (target.capacity.has_value()) CheckAmount("capacity", *target.capacity, kMinRate);
    CheckProfile(target.default_health);
  }

  void CheckBudget(const BudgetSpec& budget) {
    where_ = absl::StrCat("budget '", budget.name, "'");
    CheckRateAndBurst(budget);
    if (budget.max_cost.has_value()) CheckAmount("max_cost", *budget.max_cost);
    CheckAmount("default_cost", budget.default_cost);
    if (!(budget.max_overrun >= 1 && budget.max_overrun <= kMaxMaxOverrun)) {
      Say("max_overrun must be 1 to ", kMaxMaxOverrun, "; it is ", budget.max_overrun);
    }
    if (!(budget.max_debt >= kMinMaxDebt && budget.max_debt <= kMaxMaxDebt)) {
      Say("max_debt must be ", absl::FormatDuration(kMinMaxDebt), " to ",
          absl::FormatDuration(kMaxMaxDebt), "; it is ", absl::FormatDuration(budget.max_debt));
    }
    if (budget.max_concurrency.has_value() &&
        (*budget.max_concurrency < 0 || *budget.max_concurrency > ConcurrencyTable::kMaxLimit)) {
      Say("max_concurrency must be 0 to ", ConcurrencyTable::kMaxLimit, "; it is ",
          *budget.max_concurrency);
    }
    CheckProfile(budget.health);
    if (const auto* by_depth = std::get_if<SplitByDepth>(&budget.split)) {
      if (by_depth->depth < 1 || by_depth->depth > Identity::kMaxSegments) {
        Say("split depth must be 1 to ", Identity::kMaxSegments, "; it is ", by_depth->depth);
      }
    }
    if (const auto* by_tag = std::get_if<SplitByTag>(&budget.split)) {
      if (by_tag->key.empty() || by_tag->key.size() > kMaxTagBytes) {
        Say("split tag must have 1 to ", kMaxTagBytes, " bytes");
      }
    }
    constexpr size_t kMaxBuckets = size_t{1} << 28;
    if (budget.max_buckets < 1 || budget.max_buckets > kMaxBuckets) {
      Say("max_buckets must be 1 to ", kMaxBuckets, "; it is ", budget.max_buckets);
    }
  }

  void CheckRateAndBurst(const BudgetSpec& budget) {
    if (budget.rate.has_value() && !budget.burst.has_value()) {
      Say("has a rate but no burst, so it would refuse nothing; add a burst");
    }
    if (budget.burst.has_value() && !budget.rate.has_value()) {
      Say("has a burst but no rate: without one debt drains at once; add a rate, or use max_cost");
    }
    if (!budget.rate.has_value()) return;
    CheckUnit(budget);
    if (const auto* fixed = std::get_if<UnitsPerSecond>(&*budget.rate)) {
      CheckAmount("rate", fixed->value, kMinRate);
    } else if (const auto* share = std::get_if<ServerShare>(&*budget.rate)) {
      CheckShare(share->percent);
    }
    if (!budget.burst.has_value()) return;
    if (const auto* units = std::get_if<double>(&*budget.burst)) {
      CheckAmount("burst", *units);
    } else {
      const absl::Duration span = std::get<absl::Duration>(*budget.burst);
      if (span < absl::ZeroDuration() || span > absl::Hours(24 * 365)) {
        Say("burst must be 0 to one year of rate; it is ", absl::FormatDuration(span));
      }
      if (IsAuto(budget)) {
        Say("has an auto rate, so its burst must be in cost units, not a duration");
      }
    }
  }

  void CheckUnit(const BudgetSpec& budget) {
    if (IsAuto(budget) && UnitOf(budget) != BudgetUnit::kBusyTime) {
      Say("unit cannot be COST where the rate is auto, which is found in busy time: leave unit "
          "out");
    }
    if (UnitOf(budget) == BudgetUnit::kBusyTime &&
        std::holds_alternative<ServerShare>(*budget.rate)) {
      Say("unit cannot be BUSY_TIME where the rate is a share of a capacity in cost units: give "
          "the "
          "rate in busy seconds a second");
    }
  }

  void CheckShare(double percent) {
    if (!(percent >= 0 && percent <= 100)) {
      Say("rate must be a share of 0% to 100% of the target's capacity; it is ", percent, "%");
    }
    for (const TargetSpec& target : spec_.targets) {
      if (!target.capacity.has_value()) {
        Say("rate is a share, but target '", target.name, "' has no capacity");
      } else if (percent > 0 && *target.capacity > 0 &&
                 percent / 100 * *target.capacity < kMinRate) {
        Say("rate is a share that on target '", target.name, "' is below the least rate, ",
            kMinRate);
      }
    }
    if (spec_.targets.empty()) Say("rate is a share, but no target has a capacity");
  }

  void CheckRule(const RuleSpec& rule) {
    Unique("rule", rule.name, rules_);
    const MatchSpec& match = rule.match;
    if (!match.identity.empty()) Include("identity", Identity::Parse(match.identity, 0).status());
    if (!match.segment.empty()) Include("segment", Identity::ValidateSegment(match.segment));
    if (!match.target.empty() && !targets_.contains(match.target)) {
      Say("names an unknown target '", match.target, "'");
    }
    if (!match.remote_address.empty()) {
      Include("remote_address", IpPrefix::Parse(match.remote_address).status());
    }
    if (match.schedule.has_value()) Include("schedule", Schedule::Create(*match.schedule).status());
    CheckTags(match);
    if (rule.expires_at == absl::InfinitePast()) Say("expires in the infinite past");
    std::visit([&](const auto& action) { CheckAction(action); }, rule.action);
  }

  void Include(std::string_view field, const absl::Status& status) {
    if (!status.ok()) Say(Sv(field), ": ", status.message());
  }

  void CheckTags(const MatchSpec& match) {
    if (match.tags.size() > kMaxTags) Say("has more than ", kMaxTags, " tags");
    Names keys;
    for (const auto& [key, value] : match.tags) {
      if (key.empty()) Say("has a tag with no key");
      if (key.size() + value.size() > kMaxTagBytes) {
        Say("tag '", key, "' is longer than ", kMaxTagBytes, " bytes");
      }
      if (!keys.insert(key).second) Say("asks for tag '", key, "' twice, which cannot hold");
    }
  }

  void CheckAction(const ChargeAction& action) {
    if (action.budgets.empty()) Say("charges no budget");
    for (const std::string& name : action.budgets) {
      if (!budgets_.contains(name)) Say("names an unknown budget '", name, "'");
    }
  }
  void CheckAction(const ExemptAction&) {}
  void CheckAction(const DenyAction&) {}
  void CheckAction(const ResumeAction&) {}
  void CheckAction(const RejectAction& action) {
    if (!(action.ratio >= 0 && action.ratio <= 1)) {
      Say("reject_ratio must be 0 to 1; it is ", action.ratio);
    }
  }
  void CheckAction(const HealthAction& action) {
    if (action.profile.empty()) Say("names no health profile");
    CheckProfile(action.profile);
  }
  void CheckAction(const PriorityAction&) {}
  void CheckAction(const WeightAction& action) {
    if (!(action.weight >= kMinWeight && action.weight <= kMaxWeight)) {  // NaN is not
      Say("weight must be ", kMinWeight, " to ", kMaxWeight, "; it is ", action.weight);
    }
  }

  const PolicySpec& spec_;
  Names targets_, profiles_, budgets_, rules_;
  std::string where_;
  std::vector<std::string> findings_;
  size_t found_ = 0;
};

}  // namespace

absl::Status Validate(const PolicySpec& spec) { return Validator(spec).Run(); }

}  // namespace headgate::engine
