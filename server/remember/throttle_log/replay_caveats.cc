#include "server/remember/throttle_log/replay_caveats.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/policy.h"

namespace headgate::throttle_log {
namespace {

constexpr size_t kMaxNames = 5;  // that are told; the others are counted

// "'a', 'b' and 3 more".
std::string Quoted(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMaxNames; ++i) {
    absl::StrAppend(&text, i == 0 ? "'" : ", '", names[i], "'");
  }
  if (names.size() > kMaxNames) {
    absl::StrAppend(&text, " and ", names.size() - kMaxNames, " more");
  }
  return text;
}

template <typename Spec, typename Predicate>
std::vector<std::string> NamesWhere(const std::vector<Spec>& specs, Predicate holds) {
  std::vector<std::string> names;
  for (const Spec& spec : specs) {
    if (holds(spec)) names.push_back(spec.name);
  }
  return names;
}

void AddSteps(const ReplayFacts& facts, std::vector<std::string>& caveats) {
  if (facts.shortest_step_s == 0) return;
  std::string steps = absl::StrCat(facts.shortest_step_s, " s");
  if (facts.longest_step_s > facts.shortest_step_s) {
    absl::StrAppend(&steps, " to ", facts.longest_step_s, " s");
  }
  caveats.push_back(absl::StrCat(
      "The log divides time into steps of ", steps,
      ", and a step's Checks are spread evenly over it: bursts shorter than that are not seen, so "
      "a small burst limit would have denied more than is shown."));
}

void AddActivity(std::vector<std::string>& caveats) {
  caveats.push_back(
      "A Check that was denied and asked again counts each time it asked: where much was denied, "
      "demand is overstated.");
  caveats.push_back(
      "Each Check has the mean predicted cost of its step, which also counts as its actual cost: "
      "refunds, late Reports and newly learnt costs are not replayed.");
  caveats.push_back("Budgets begin without debt, and overrides are not replayed.");
}

void AddHealth(const engine::PolicySpec& policy, const ReplayFacts& facts,
               std::vector<std::string>& caveats) {
  if (facts.kept_by_health > 0) {
    caveats.push_back(absl::StrCat(
        facts.kept_by_health,
        " Checks that health denied stay denied: thresholds are not replayed, as the log keeps no "
        "readings of what was allowed."));
  } else if (!policy.profiles.empty()) {
    caveats.push_back("Health denies nothing that it had not denied: thresholds are not replayed.");
  }
  if (facts.slowed > 0) {
    caveats.push_back(absl::StrCat(
        facts.slowed,
        " Checks were denied by budgets that health had slowed; here budgets drain at full speed, "
        "so they look more generous than they would have been."));
  }
}

void AddOpenLimits(const engine::PolicySpec& policy, const ReplayFacts& facts,
                   std::vector<std::string>& caveats) {
  const auto autos = NamesWhere(policy.budgets, engine::IsAuto);
  if (!autos.empty()) {
    caveats.push_back(absl::StrCat("Auto budgets (", Quoted(autos),
                                   ") cannot be simulated: what they denied stays denied (",
                                   facts.kept_by_auto, " Checks), and all else passes them."));
  }
  const auto concurrency = NamesWhere(policy.budgets, [](const engine::BudgetSpec& budget) {
    return budget.max_concurrency.value_or(0) > 0;
  });
  if (!concurrency.empty()) {
    caveats.push_back(absl::StrCat(
        "The log does not know how long work took: what max_concurrency (", Quoted(concurrency),
        ") denied stays denied (", facts.kept_by_concurrency, " Checks), and all else passes it."));
  }
}

void AddUnknown(const engine::PolicySpec& policy, std::vector<std::string>& caveats) {
  const auto blind = NamesWhere(policy.rules, [](const engine::RuleSpec& rule) {
    return !rule.match.tags.empty() || !rule.match.remote_address.empty();
  });
  if (!blind.empty()) {
    caveats.push_back(
        absl::StrCat("The log keeps neither tags nor addresses: rules that ask for "
                     "them never match (",
                     Quoted(blind), ")."));
  }
  const auto split = NamesWhere(policy.budgets, [](const engine::BudgetSpec& budget) {
    return std::holds_alternative<engine::SplitByTag>(budget.split);
  });
  if (!split.empty()) {
    caveats.push_back(absl::StrCat("The log keeps no tags: budgets that are split by one (",
                                   Quoted(split), ") have a single bucket."));
  }
  const auto shares = NamesWhere(policy.rules, [](const engine::RuleSpec& rule) {
    return std::holds_alternative<engine::RejectAction>(rule.action);
  });
  if (!shares.empty()) {
    caveats.push_back(absl::StrCat("Rules that reject a share (", Quoted(shares),
                                   ") roll dice of their own: which Checks they hit is chance."));
  }
}

void AddMissing(const ReplayFacts& facts, std::vector<std::string>& caveats) {
  if (facts.folded > 0) {
    caveats.push_back(absl::StrCat(
        facts.folded,
        " Checks were counted under a level above their identity, because too many identities came "
        "at a time: rules for what is below that level miss them."));
  }
  if (facts.nameless > 0) {
    caveats.push_back(
        absl::StrCat(facts.nameless, " Checks were counted under no identity and are left out."));
  }
  if (facts.undecided > 0) {
    caveats.push_back(absl::StrCat(facts.undecided,
                                   " Checks cannot be decided by this configuration and are left "
                                   "out: ",
                                   facts.why_undecided, "."));
  }
}

}  // namespace

std::vector<std::string> Caveats(const engine::PolicySpec& policy, const ReplayFacts& facts) {
  std::vector<std::string> caveats;
  AddSteps(facts, caveats);
  AddActivity(caveats);
  AddHealth(policy, facts, caveats);
  AddOpenLimits(policy, facts, caveats);
  AddUnknown(policy, caveats);
  AddMissing(facts, caveats);
  return caveats;
}

}  // namespace headgate::throttle_log
