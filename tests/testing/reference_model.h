// A second Engine, simple enough to be believed: one thread, maps keyed by text, every rule asked,
// every wait found by search. It never forgets anything for want of room.
//
// What it answers is what concepts.md and the engine's headers promise, so an engine whose tables
// evict nothing must give the very same answers, number for number. Where several rules would do as
// the reason, it names them all.
//
//   ReferenceModel model(absl::Seconds(10));
//   model.Install(spec, now);
//   Decision expected = model.Decide(request, now, Purpose::kCheck);
//   absl::Status status = engine.Check(request, now, answer);
//   ... compare ...
//   if (answer.verdict == Verdict::kAllowed) model.Admit(expected, answer.permit, now);
//
// It is told of each policy in force and of no refused one. Thread-compatible.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine.h"
#include "tests/testing/model_costs.h"
#include "tests/testing/model_ledger.h"
#include "tests/testing/model_policy.h"

namespace headgate::model {

struct ExpectedViolation {
  engine::Limit limit = engine::Limit::kRule;
  bool warn = false;
  std::set<uint32_t> budgets = {engine::Violation::kNoBudget};  // any of these
  std::set<uint32_t> rules = {engine::kNoRule};                 // any of these
  uint32_t profile = 0;
  int level = 0;
  int signal = engine::Violation::kNoSignal;
  double observed = 0;
  double limit_value = 0;
  std::optional<absl::Duration> retry_after = {};  // empty: nobody can know, so any time above zero
  bool may_be_missing = false;                     // another violation says as much
};

struct ExpectedAnswer {
  engine::Verdict verdict = engine::Verdict::kAllowed;
  engine::Reason reason = engine::Reason::kNone;
  int priority = 0;
  // A rule refuses what more budgets match than one Check may have: it is priced by as many of them
  // as it may have, whichever those are, and explained with these.
  bool any_budgets = false;
  double predicted_cost = 0;
  std::optional<absl::Duration> predicted_busy_time;
  bool probe = false;
  double chunk_scale = 0;
  double granted = 0;    // of a lease
  double safe_rate = 0;  // of a lease that is granted, at most
  absl::Duration lasts;  // likewise
  std::vector<ExpectedViolation> violations;
  std::set<uint32_t> slowest_profiles = {engine::kNoRule};  // any of these
  double speed = 1;
};

// One bucket that a Check would be charged to.
struct ExpectedBucket {
  uint32_t budget = 0;
  std::set<uint32_t> rules;
  int level = 0;
  std::string shown;    // as explanations show it
  std::string key;      // as the model keeps it
  double asked = 0;     // predicted
  double cost = 0;      // to be charged
  int64_t cost_ns = 0;  // likewise, in virtual time of its ledger
  bool skip = false;    // a WARN budget that would have refused
  bool probes = false;  // let through though nothing would ever admit what is predicted
  engine::BudgetUnit unit = engine::BudgetUnit::kCost;
  // As explanations show them.
  double debt = 0;
  std::optional<double> burst;
  std::optional<double> rate;
  double speed = 1;
  int64_t outstanding = 0;
  int64_t overdue = 0;  // permits past their time that nobody may have noticed yet
  absl::Duration room_in;
  bool ask_again = false;
};

struct Decision {
  std::set<absl::StatusCode> faults;  // any of these; empty: answered
  ExpectedAnswer answer;
  engine::PermitId repeats = 0;  // the permit of the Check that this one repeats
  std::vector<ExpectedBucket> buckets;
  std::set<uint32_t> rules;
  std::set<uint32_t> resumed_by = {engine::kNoRule};  // any of these
  std::set<uint32_t> lifted;
  double reject_ratio = 0;

  // What Admit needs to know.
  std::string target;
  CostKey pattern;
  std::set<CostKey> probed;  // whose turns it takes
  std::string request_key;
  std::optional<double> estimate;
  bool is_lease = false;
  absl::Duration safe_time;  // of a lease: for which its rate is reserved
};

struct Reported {
  absl::StatusCode code = absl::StatusCode::kOk;
  engine::ReportOutcome outcome = engine::ReportOutcome::kSettled;
  bool late = false;
  std::vector<ModelLedger::Settled> charges;
};

enum class Purpose : uint8_t { kCheck, kExplain };

class ReferenceModel {
 public:
  explicit ReferenceModel(absl::Duration permit_ttl);

  struct Moves {
    int same_split = 0;
    int new_split = 0;
    int kept = 0;       // of budgets that are gone and owe something
    int forgotten = 0;  // of budgets that are gone and owe nothing
  };
  Moves Install(const engine::PolicySpec& spec, Now now);
  // Nothing is lost but warnings and probes in answers that were given under another policy. What
  // time had shown before, it does not show again, should it run back.
  void Restart(Now now);

  Decision Decide(const engine::CheckRequest& request, Now now, Purpose purpose) const;
  // Charges an allowed decision that repeats none, made at the same `now`. `safe_rate`: of a lease,
  // what was reserved.
  void Admit(const Decision& decision, engine::PermitId permit, double safe_rate, Now now);
  // Charges what is reserved of leases that are over, as far as it is due. Before whatever is
  // asked.
  void ChargeSafeRates(Now now);
  Reported Report(engine::PermitId permit, const engine::ActualCost& actual, Now now);

  absl::StatusCode SetHealth(std::string_view target, std::string_view profile,
                             const engine::Health& health, Now now);
  absl::StatusCode SetAutoRate(std::string_view target, std::string_view budget,
                               const engine::Engine::AutoRateSetting& setting, Now now);

  size_t LivePermits(Now now) const;
  // Not reported though their time is over.
  std::vector<engine::PermitId> OverduePermits(Now now) const;
  const ModelPolicy* policy() const { return policy_.get(); }

 private:
  using Key = std::pair<std::string, std::string>;                           // target and budget
  using ConcurrencyKey = std::tuple<std::string, std::string, std::string>;  // and bucket

  struct Charge {
    Key budget;
    std::string bucket;
    double cost = 0;
    engine::BudgetUnit unit = engine::BudgetUnit::kCost;
    std::optional<ModelLedger::Place> place;  // empty: only concurrency was taken
  };
  struct Permit {
    CostKey pattern;
    std::optional<double> estimate;
    uint64_t version = 0;
    int64_t issued_at_ns = 0;
    int64_t expires_at_ns = 0;
    std::set<engine::BudgetUnit> teaches = {};
    bool reported = false;
    std::vector<Charge> charges = {};
    std::vector<ConcurrencyKey> holds = {};
  };
  // What is reserved for whoever holds a lease.
  struct Safe {
    double rate = 0;  // in the estimate's unit a second
    double charged = 0;
    uint64_t version = 0;
    int64_t charged_until_ns = 0, until_ns = 0;
    struct Bucket {
      Key budget;
      std::string bucket;
      double per_unit = 0;
      engine::BudgetUnit unit = engine::BudgetUnit::kCost;
    };
    std::vector<Bucket> buckets = {};
  };
  struct Request {
    engine::PermitId permit;
    ExpectedAnswer answer;
    std::string shape;  // of the policy that it refers to
  };

  class Examination;

  // What one Report may charge for a charge that was made, and the most debt that it may leave.
  struct Most {
    double cost = 0;
    std::optional<int64_t> debt_ns;  // none: the budget has gone
  };
  // A budget that the policy has, with a rate.
  struct BudgetThere {
    const engine::BudgetSpec* spec;
    double burst = 0;
  };
  std::optional<BudgetThere> Find(const Key& key) const;
  static int64_t MostDebt(const BudgetThere& there, const ModelLedger& ledger);
  // `since`: seconds since the permit was issued.
  Most MostCharged(const Charge& charge, const ModelLedger& ledger, double since) const;
  bool IsLive(engine::PermitId permit, Now now) const;
  // Of the buckets that a lease charges. None: it gets no safe rate.
  std::optional<std::vector<Safe::Bucket>> SafeBuckets(const Decision& decision) const;
  // The most that a lease may have reserved of what it asks for.
  double MostOfSafeRate(const Decision& decision, double wanted) const;
  // Whether any bucket was charged.
  bool ChargeSafe(const Safe& safe, double seconds, int64_t late_ns, Now now);
  std::set<absl::StatusCode> Faults(const engine::CheckRequest& request, Purpose purpose) const;
  // Permits of a bucket that are outstanding, and those past their time.
  std::pair<int64_t, int64_t> CountHolders(const ConcurrencyKey& key, Now now) const;
  std::shared_ptr<ModelClock> ClockFor(const std::string& target, const std::string& name, Now now);
  const ModelLedger* FindLedger(const std::string& target, const std::string& budget) const;
  ModelLedger::Shape ShapeOf(uint32_t target, uint32_t budget, const ModelLedger* before, Now now);

  const int64_t permit_ttl_ns_;
  std::unique_ptr<const ModelPolicy> policy_;
  uint64_t installs_ = 0;
  std::string shape_;  // of the policy: the names that places stand for
  std::map<Key, std::shared_ptr<ModelClock>> clocks_;  // by target and profile
  const std::shared_ptr<ModelClock> frozen_;
  std::map<Key, ModelLedger> ledgers_;
  std::set<Key> idle_;  // ledgers of budgets that the policy does not name
  ModelCosts costs_;
  std::map<CostKey, int64_t> next_probe_ns_;
  std::map<engine::PermitId, Permit> permits_;
  std::map<ConcurrencyKey, std::set<engine::PermitId>> holders_;
  std::map<std::string, Request> requests_;
  std::map<engine::PermitId, Safe> safe_;
};

}  // namespace headgate::model
