// Refunds against a model that is exact because it is naive: a list of the charges of a bucket in
// their order, drained from the front, of which each refund takes from its own charge alone.
//
// Never too much, whatever happens; and all of it, or almost, as long as nothing was forgotten.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/test_scale.h"

namespace headgate::engine {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// What is left of the charges of one bucket, in their order.
class ExactBucket {
 public:
  using Place = int64_t;

  Place Add(int64_t cost_ns, int64_t now_ns) {
    Drain(now_ns);
    left_ns_[++last_] = cost_ns;
    return last_;
  }
  int64_t Left(Place place, int64_t now_ns) {
    Drain(now_ns);
    const auto it = left_ns_.find(place);
    return it == left_ns_.end() ? 0 : it->second;
  }
  void Refund(Place place, int64_t refund_ns) {
    if (refund_ns > 0) left_ns_.at(place) -= refund_ns;
  }
  int64_t Owes(int64_t now_ns) {
    Drain(now_ns);
    int64_t owes = 0;
    for (const auto& [place, left_ns] : left_ns_) owes += left_ns;
    return owes;
  }
  // A newcomer owes what another one did, and that stands in front of all.
  void Inherit(int64_t owes_ns, int64_t now_ns) {
    const int64_t more = owes_ns - Owes(now_ns);
    if (more > 0) left_ns_[--first_] = more;
  }

 private:
  void Drain(int64_t now_ns) {
    int64_t drained_ns = now_ns - drained_until_ns_;
    drained_until_ns_ = now_ns;
    while (!left_ns_.empty()) {
      int64_t& left_ns = left_ns_.begin()->second;
      const int64_t of_this = std::min(drained_ns, left_ns);
      left_ns -= of_this;
      drained_ns -= of_this;
      if (left_ns > 0) return;
      left_ns_.erase(left_ns_.begin());
    }
  }

  std::map<Place, int64_t> left_ns_;
  Place first_ = 0, last_ = 0;
  int64_t drained_until_ns_ = 0;
};

struct Out {
  uint64_t tag = 0;
  Ledger::Charged charged;
  int64_t cost_ns = 0;
  ExactBucket::Place place = 0;
};

struct Share {
  double due = 0, granted = 0;
  double value() const { return due == 0 ? 1 : granted / due; }
};

// One ledger and its exact image.
class Pair {
 public:
  explicit Pair(size_t buckets)
      : clock_(std::make_shared<VirtualClock>(0)),
        ledger_(std::make_unique<Ledger>(
            Ledger::Axis{.clock = clock_, .ns_per_unit = 1},
            Ledger::Layout{
                .buckets = buckets, .split = buckets == 0 ? "" : "depth 2", .version = 1},
            orders_)) {}

  int64_t now_ns = 0;

  Out Charge(uint64_t tag, int64_t cost_ns) {
    ExactBucket& exact = exact_[tag];
    // Before the charge: a newcomer may owe what another one did.
    const int64_t owes = std::max<int64_t>(ledger_->EmptiesAt(tag, now_ns) - now_ns, 0);
    exact.Inherit(owes, now_ns);
    const ChargeResult result = ledger_->Charge(tag, now_ns, cost_ns, kNoLimit);
    EXPECT_EQ(result.outcome, ChargeOutcome::kCharged);
    return {tag, {tag, result.empties_at, result.refunded_ns}, cost_ns, exact.Add(cost_ns, now_ns)};
  }

  // Never more than what is left of the charge.
  void Refund(const Out& out, int64_t refund_ns, Share& share) {
    const int64_t due = std::min(exact_[out.tag].Left(out.place, now_ns), refund_ns);
    const int64_t granted = ledger_->Refund(out.charged, out.cost_ns, refund_ns, now_ns);
    ASSERT_LE(granted, due);
    exact_[out.tag].Refund(out.place, granted);
    share.due += static_cast<double>(due);
    share.granted += static_cast<double>(granted);
  }

  // Never less than what is left of all charges.
  void ExpectOwes(uint64_t tag) {
    ASSERT_GE(std::max<int64_t>(ledger_->EmptiesAt(tag, now_ns) - now_ns, 0),
              exact_[tag].Owes(now_ns));
  }

  void Restart(std::vector<Out>& permits) {
    SavedLedger saved;
    ledger_->Save(now_ns, saved);
    for (Out& out : permits) {
      const int64_t since = ledger_->RefundedSince(1, out.charged);
      out.charged.refunded_ns = Ledger::StampAfterRestart(since);
    }
    ledger_ =
        std::make_unique<Ledger>(Ledger::Axis{.clock = clock_, .ns_per_unit = 1}, saved, orders_);
  }

 private:
  RefundOrders orders_{1024};
  std::shared_ptr<VirtualClock> clock_;
  std::unique_ptr<Ledger> ledger_;
  std::map<uint64_t, ExactBucket> exact_;
};

struct Trace {
  size_t buckets = 0;
  int tags = 1;
  size_t most_out = 16;       // permits at a time
  int64_t most_step_ns = 40;  // between two actions; a charge is of 100 on average
  uint64_t restart_one_in = 0;
  bool evicts = false;  // a key that comes back may owe less, by refunds to others: algorithm.md
};

// Random charges and Reports in any order.
void RunTrace(const Trace& trace, uint64_t seed, int actions, Share& share) {
  std::mt19937_64 random(seed);
  Pair pair(trace.buckets);
  std::vector<Out> out;
  for (int i = 0; i < actions; ++i) {
    pair.now_ns += static_cast<int64_t>(random() % static_cast<uint64_t>(trace.most_step_ns));
    const uint64_t who = random() % static_cast<uint64_t>(trace.tags);
    // Spread as hashes are.
    const uint64_t tag = trace.buckets == 0 ? Ledger::kSingleTag : (who + 1) * 0x9e3779b97f4a7c15;
    if (trace.restart_one_in > 0 && random() % trace.restart_one_in == 0) pair.Restart(out);
    if (out.size() < trace.most_out && random() % 2 == 0) {
      out.push_back(pair.Charge(tag, 1 + static_cast<int64_t>(random() % 200)));
      continue;
    }
    if (out.empty()) continue;
    const size_t which = random() % out.size();
    const Out report = out[which];
    out.erase(out.begin() + static_cast<int64_t>(which));
    const auto spent = static_cast<int64_t>(random() % 100);  // hundredths
    pair.Refund(report, report.cost_ns - report.cost_ns * spent / 100, share);
    if (testing::Test::HasFatalFailure()) return;
    if (!trace.evicts) pair.ExpectOwes(report.tag);
    if (testing::Test::HasFatalFailure()) return;
  }
}

double ShareOf(const Trace& trace, int actions = 3000) {
  Share share;
  const int traces = Scaled(40);
  for (int i = 0; i < traces; ++i) {
    RunTrace(trace, static_cast<uint64_t>(i), actions, share);
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "trace " << i;
      return 0;
    }
  }
  return share.value();
}

TEST(RefundExact, OnOneBucketGivesBackExactlyWhatIsLeft) {
  EXPECT_EQ(ShareOf({.buckets = 0, .most_out = 8}), 1);
}

TEST(RefundExact, OnOneBucketWithManyPermitsGivesBackAlmostAll) {
  EXPECT_GE(ShareOf({.buckets = 0, .most_out = 200, .most_step_ns = 20}), 0.98);
}

TEST(RefundExact, OfASplitBudgetGivesBackExactlyWhatIsLeft) {
  EXPECT_EQ(ShareOf({.buckets = 256, .tags = 30, .most_out = 60, .most_step_ns = 4}), 1);
}

// Far more keys than cells: who is evicted owing something may get less.
TEST(RefundExact, UnderEvictionIsNeverTooMuch) {
  ShareOf({.buckets = 8, .tags = 40, .most_out = 60, .most_step_ns = 10, .evicts = true});
  ShareOf({.buckets = 8, .tags = 10, .most_out = 60, .most_step_ns = 30, .evicts = true});
  ShareOf({.buckets = 16, .tags = 18, .most_out = 30, .most_step_ns = 60, .evicts = true});
}

TEST(RefundExact, AcrossRestartsIsNeverTooMuch) {
  EXPECT_GE(ShareOf({.buckets = 0, .most_out = 8, .restart_one_in = 50}), 0.98);
  // More than can be noted: what a permit remembers is not exact.
  ShareOf({.buckets = 0, .most_out = 200, .most_step_ns = 20, .restart_one_in = 300});
  EXPECT_GE(
      ShareOf(
          {.buckets = 256, .tags = 30, .most_out = 60, .most_step_ns = 4, .restart_one_in = 50}),
      0.98);
  ShareOf({.buckets = 8,
           .tags = 20,
           .most_out = 60,
           .most_step_ns = 20,
           .restart_one_in = 50,
           .evicts = true});
}

}  // namespace
}  // namespace headgate::engine
