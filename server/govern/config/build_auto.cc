// Budgets whose rate is auto: what their controllers need, and how they are adjusted.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

class AutoBuilder {
 public:
  AutoBuilder(Builder& builder, const v1::Budget& proto)
      : builder_(builder), findings_(builder.findings), proto_(proto) {}

  void Run() {
    if (proto_.has_auto_tuning()) Tuning();
    if (!proto_.rate().has_auto_() || proto_.mode() == v1::MODE_DISABLED) return;
    if (proto_.mode() == v1::MODE_WARN) {
      findings_.Say(proto_, Proto::kModeFieldNumber,
                    "an auto budget cannot be WARN: its controller learns by holding work back");
    }
    if (findings_.positions().Given(proto_, Proto::kSplitFieldNumber)) {
      findings_.Say(proto_, Proto::kSplitFieldNumber,
                    "an auto budget cannot be split: each bucket would get the whole rate; split "
                    "another budget, and charge both");
    }
    if (!findings_.positions().Spoilt(builder_.proto, v1::Config::kTargetsFieldNumber)) Targets();
    budget_.budget = proto_.name();
    builder_.config.auto_budgets.push_back(std::move(budget_));
  }

 private:
  using Proto = v1::Budget;

  void Tuning() {
    using Field = v1::AutoTuning;
    const v1::AutoTuning& tuning = proto_.auto_tuning();
    if (!proto_.rate().has_auto_() &&
        !findings_.positions().Spoilt(proto_, Proto::kRateFieldNumber)) {
      findings_.Say(proto_, Proto::kAutoTuningFieldNumber,
                    "auto_tuning is for a budget whose rate is auto");
    }
    if (tuning.has_tolerance()) {
      budget_.tolerance = tuning.tolerance();
      findings_.InRange(tuning, Field::kToleranceFieldNumber, tuning.tolerance(), 0.01, 0.5);
    }
    if (tuning.has_latency_tolerance()) {
      budget_.latency_tolerance = tuning.latency_tolerance();
      findings_.InRange(tuning, Field::kLatencyToleranceFieldNumber, tuning.latency_tolerance(),
                        0.01, 1.0);
    }
    if (tuning.has_tail_tolerance()) {
      budget_.tail_tolerance = tuning.tail_tolerance();
      findings_.InRange(tuning, Field::kTailToleranceFieldNumber, tuning.tail_tolerance(), 0.01,
                        4.0);
    }
    if (tuning.has_weight()) {
      budget_.weight = tuning.weight();
      findings_.InRange(tuning, Field::kWeightFieldNumber, tuning.weight(), 0.001, 1000.0);
    }
    if (tuning.has_max_rate()) {
      budget_.max_rate = tuning.max_rate();
      findings_.InRange(tuning, Field::kMaxRateFieldNumber, tuning.max_rate(), 0.01, 1024.0);
    }
    if (tuning.has_cores()) {
      budget_.cores = tuning.cores();
      findings_.InRange(tuning, Field::kCoresFieldNumber, tuning.cores(), 1, 4096);
    }
  }

  // The controller compares the foreground with and without batch work, so it must see both.
  void Targets() {
    if (builder_.proto.targets().empty()) {
      findings_.Say(proto_, Proto::kRateFieldNumber,
                    "rate auto needs a target with a primary and batch_work; there is no target");
      return;
    }
    const absl::flat_hash_set<std::string> charged = ChargedTargets();
    for (const v1::Target& target : builder_.proto.targets()) {
      if (!charged.contains("") && !charged.contains(target.name())) continue;
      const SourcePositions& positions = findings_.positions();
      const char* lacks = nullptr;
      if (!positions.Given(target, v1::Target::kBatchWorkFieldNumber)) lacks = "no batch_work";
      if (!positions.Given(target, v1::Target::kPrimaryFieldNumber)) lacks = "no primary";
      if (lacks == nullptr) continue;
      findings_.Say(proto_, Proto::kRateFieldNumber,
                    absl::StrCat("rate auto needs a primary and batch_work on each target where "
                                 "rules charge it; target ",
                                 Quoted(target.name()), " has ", lacks));
    }
  }

  // The targets of all rules that charge this budget; an empty name stands for every target.
  absl::flat_hash_set<std::string> ChargedTargets() const {
    absl::flat_hash_set<std::string> targets;
    for (const v1::Rule& rule : builder_.proto.rules()) {
      const auto& charge = rule.charge();
      if (std::find(charge.begin(), charge.end(), proto_.name()) == charge.end()) continue;
      targets.insert(rule.match().target());
    }
    return targets;
  }

  Builder& builder_;
  Findings& findings_;
  const v1::Budget& proto_;
  AutoBudget budget_;
};

}  // namespace

void Builder::BuildAuto(const v1::Budget& budget) { AutoBuilder(*this, budget).Run(); }

}  // namespace headgate::config
