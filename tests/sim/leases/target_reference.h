// TargetReference: what all buckets of one target may admit, whoever decides for it.
//
// It goes by what its servers know: their clocks, the speed and the policy that they were told.
// What a server forgets when it is killed is left out (GoOnFrom), and nothing else is.
//
// Thread-compatible. Times are nanoseconds of the simulation, amounts cost units.
//
//   TargetReference::Charge charge = target.Admit("h1:a:etl", now_ns, more);
//   target.Add(charge, 3);

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/leases/bucket_reference.h"
#include "tests/sim/leases/model_policy.h"

namespace headgate::leases {

// Of sums in doubles, and of nanoseconds of drain: so much is nothing.
inline constexpr double kRounding = 1e-3;

class TargetReference {
 public:
  // Where an admission stands in each bucket that it is charged to and that enforces its limit.
  using Charge = std::vector<std::pair<BucketReference*, BucketReference::Place>>;

  explicit TargetReference(const ModelPolicy& policy) : policy_(policy) {}

  void SetPolicy(const ModelPolicy& policy, int64_t now_ns);
  void SetSpeed(double speed, int64_t now_ns);

  // `more` than the burst may be owed by a bucket just then: see Observer.
  using More = std::function<double(const BucketReference*)>;
  Charge Admit(std::string_view identity, int64_t now_ns, const More& more);
  // What is charged to the same buckets whether there is room or not: of those that still enforce
  // their limit.
  Charge AdmitWithoutLimit(const Charge& as, int64_t now_ns);
  void Add(const Charge& charge, double cost);
  // What drains of a bucket in a second at full speed.
  double RateOf(const BucketReference* bucket) const;
  void LowerTo(const Charge& charge, double cost);

  // What a server has saved.
  struct Copy {
    std::array<double, ModelPolicy::kBudgets> drained = {};
    std::array<double, ModelPolicy::kBudgets> draining = {};  // a second
    std::map<const BucketReference*, BucketReference::Place> ends = {};
  };
  Copy Save(int64_t now_ns);
  // What was admitted since the copy is not known to who decides from now on; as much has drained
  // since as in `elapsed_ns` of its clock.
  void GoOnFrom(const Copy& copy, int64_t elapsed_ns, int64_t now_ns);
  // What was charged without a limit since the copy is not known.
  void LoseUnlimited(const Copy& copy);
  // What was admitted before the last two calls is not going to change any more.
  void Trim();

  // By how much the worst interval of any bucket is above the limit; below 0: none is.
  double excess() const { return excess_; }

 private:
  void Advance(int64_t now_ns);
  // Per second, now.
  double Draining(size_t budget) const { return policy_.budgets()[budget].rate * speed_; }
  void Note(const BucketReference& bucket) { excess_ = std::max(excess_, bucket.excess()); }

  ModelPolicy policy_;
  double speed_ = 1;
  int64_t now_ns_ = 0;
  std::array<double, ModelPolicy::kBudgets> drained_ = {};
  std::map<std::string, BucketReference, std::less<>> buckets_;
  std::map<const BucketReference*, size_t> budgets_;  // places
  std::map<BucketReference*, BucketReference::Place> trimmed_;
  double excess_ = -std::numeric_limits<double>::infinity();
};

}  // namespace headgate::leases
