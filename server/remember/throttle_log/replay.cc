// The log is read in parts, so that no transaction of the store stays open while Checks are
// decided. Of the n Checks that a row has in a step, the i-th lies in the i-th of n equal parts of
// it: in the middle where the row is alone. With several rows the places within the parts follow
// multiples of the golden ratio, other ones for each row: evenly distributed, and in no fixed
// order, in which one identity would take all the room that others wait for.

#include "server/remember/throttle_log/replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <span>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/decide/engine/bucket_table.h"
#include "server/remember/throttle_log/replay_engine.h"

namespace headgate::throttle_log {
namespace {

using Decided = ReplayEngine::Decided;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr size_t kRowsAtATime = 100'000;  // and the rest of their step
// Until the year 2255: what can be told in nanoseconds.
constexpr int64_t kMaxUnixS = 9'000'000'000;
constexpr int64_t kChecksBetweenLooks = 4096;  // at whether the caller has gone

using BeforeAndAfter = std::pair<Outcomes, Outcomes>;

// The Checks of one row, one after the other.
struct Demand {
  const Row* row = nullptr;
  BeforeAndAfter* outcomes = nullptr;
  double turn = 0;    // from one Check to the next, in parts
  int64_t steps = 0;  // before this one
  int64_t done = 0;

  int64_t NextNs() const {
    const double length_ns = static_cast<double>(row->length_s) * kSecondNs;
    const double turns = 0.5 + turn * static_cast<double>(steps + done);
    const double part = static_cast<double>(done) + turns - std::floor(turns);
    const double share = part / static_cast<double>(row->counts.checks);
    return row->step_s * kSecondNs + static_cast<int64_t>(length_ns * share);
  }
};

// Of memory, for the buckets of all split budgets.
int64_t BucketBytes(const engine::PolicySpec& policy) {
  size_t buckets = 0;
  for (const engine::BudgetSpec& budget : policy.budgets) {
    if (std::holds_alternative<engine::SplitNone>(budget.split)) continue;
    buckets += policy.targets.size() * engine::BucketTable::CapacityFor(budget.max_buckets);
  }
  return static_cast<int64_t>(buckets * sizeof(engine::Bucket));
}

int64_t BytesOf(const Row& row) {
  return static_cast<int64_t>(sizeof(Row) + row.key.identity.size() + row.key.target.size());
}

class Replaying {
 public:
  explicit Replaying(const ReplayOptions& options)
      : options_(options),
        engine_(options.policy, options.bucket_bytes, options.seed),
        held_(options.held) {}

  absl::StatusOr<ReplayResult> Run(const Store& store) {
    const int64_t from_s = std::min(options_.filter.from_s, kMaxUnixS);
    absl::Status status = engine_.Start(from_s * kSecondNs);
    if (status.ok()) held_.Add(BucketBytes(options_.policy));
    if (status.ok()) status = CountDemand(store);
    for (int64_t at_s = from_s; status.ok() && at_s < options_.filter.to_s;) {
      status = ReplaySome(store, at_s);
    }
    if (!status.ok()) return status;
    return Finish();
  }

 private:
  using Who = std::pair<std::string, std::string>;  // identity, target

  absl::Status TooMuch(int64_t most, const char* what) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", most, " ", what, " to replay: narrow it down"));
  }

  // Refuses what is too much before any of it is decided.
  absl::Status CountDemand(const Store& store) {
    ScanFilter all = options_.filter;
    all.sum_over_s = all.to_s - all.from_s + 1;
    int64_t checks = 0;
    absl::Status refused;
    const absl::Status scanned = store.Scan(all, [&](const Row& row) {
      checks += row.counts.checks;
      if (identities_.try_emplace({row.key.identity, row.key.target}).second) {
        held_.Add(BytesOf(row));
      }
      if (checks > options_.max_checks) refused = TooMuch(options_.max_checks, "Checks");
      if (identities_.size() > options_.max_identities) {
        refused = TooMuch(static_cast<int64_t>(options_.max_identities), "identities");
      }
      return refused.ok();
    });
    return scanned.ok() ? refused : scanned;
  }

  // Replays some steps from `at_s` on, and moves it behind them.
  absl::Status ReplaySome(const Store& store, int64_t& at_s) {
    ScanFilter filter = options_.filter;
    filter.outcomes = {Outcome::kAllowed, Outcome::kWouldBeDenied, Outcome::kDenied};
    filter.from_s = std::exchange(at_s, filter.to_s);
    std::vector<Row> rows;
    HeldBytes::Share held(options_.held);
    absl::Status scanned = store.Scan(filter, [&](const Row& row) {
      if (rows.size() >= kRowsAtATime && row.step_s != rows.back().step_s) {
        at_s = row.step_s;
        return false;
      }
      rows.push_back(row);
      held.Add(BytesOf(row));
      return true;
    });
    if (!scanned.ok()) return scanned;
    for (auto step = rows.begin(); step != rows.end();) {
      const auto end = std::find_if(step, rows.end(),
                                    [&](const Row& row) { return row.step_s != step->step_s; });
      if (!ReplayStep({step, end})) return absl::CancelledError("the caller has gone");
      step = end;
    }
    return absl::OkStatus();
  }

  // False: cancelled.
  bool ReplayStep(std::span<Row> rows) {
    // Stores keep rows of one step and identity in no certain order.
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
    constexpr double kGoldenRatio = 0.61803398874989485;
    const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
    using Next = std::pair<int64_t, Demand>;
    std::priority_queue<Next, std::vector<Next>, decltype(later)> queue(later);
    const size_t others = rows.size() > 1 ? 1 : 0;
    for (size_t k = 0; k < rows.size(); ++k) {
      auto& outcomes = identities_[{rows[k].key.identity, rows[k].key.target}];
      const Demand demand{&rows[k], &outcomes, static_cast<double>(k + others) * kGoldenRatio,
                          steps_};
      if (rows[k].counts.checks > 0) queue.emplace(demand.NextNs(), demand);
      NoteStep(rows[k].length_s);
    }
    ++steps_;
    while (!queue.empty()) {
      auto [at_ns, demand] = queue.top();
      queue.pop();
      Decide(demand, at_ns);
      if (++demand.done < demand.row->counts.checks) queue.emplace(demand.NextNs(), demand);
      if (++checks_ % kChecksBetweenLooks == 0 && options_.cancelled && options_.cancelled()) {
        return false;
      }
    }
    return true;
  }

  void NoteStep(int64_t length_s) {
    if (shortest_step_s_ == 0 || length_s < shortest_step_s_) shortest_step_s_ = length_s;
    longest_step_s_ = std::max(longest_step_s_, length_s);
  }

  void Decide(const Demand& demand, int64_t at_ns) {
    const Row& row = *demand.row;
    const Decided decided = engine_.Decide(row, at_ns);
    if (decided == Decided::kNot) return;
    const double cost = row.counts.cost / static_cast<double>(row.counts.checks);
    const auto count = [cost](bool allowed, Outcomes& outcomes) {
      ++(allowed ? outcomes.allowed : outcomes.denied);
      if (allowed) outcomes.allowed_cost += cost;
    };
    auto& [before, after] = *demand.outcomes;
    count(row.key.outcome != Outcome::kDenied, before);
    count(decided == Decided::kAllowed, after);
  }

  ReplayResult Finish() {
    ReplayResult result;
    for (const auto& [who, outcomes] : identities_) {
      const auto& [before, after] = outcomes;
      if (before.allowed + before.denied == 0) continue;  // left out
      result.identities.push_back({who.first, who.second, before, after});
    }
    ReplayFacts facts = engine_.facts();
    facts.shortest_step_s = shortest_step_s_;
    facts.longest_step_s = longest_step_s_;
    result.caveats = Caveats(options_.policy, facts);
    return result;
  }

  const ReplayOptions& options_;
  ReplayEngine engine_;
  std::map<Who, BeforeAndAfter> identities_;
  HeldBytes::Share held_;
  int64_t checks_ = 0;
  int64_t steps_ = 0;
  int64_t shortest_step_s_ = 0;
  int64_t longest_step_s_ = 0;
};

}  // namespace

absl::StatusOr<ReplayResult> Replay(const Store& store, const ReplayOptions& options) {
  Replaying replaying(options);
  return replaying.Run(store);
}

}  // namespace headgate::throttle_log
