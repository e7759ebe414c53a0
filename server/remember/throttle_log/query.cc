// In the order of names the smallest page of keys behind the last page's end is kept: a key that is
// pushed out by smaller ones would be pushed out again. An order by counts takes all keys.

#include "server/remember/throttle_log/query.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace headgate::throttle_log {
namespace {

int64_t Floor(int64_t time_s, int64_t step_s) {
  const int64_t rest = time_s % step_s;
  return time_s - (rest < 0 ? rest + step_s : rest);
}

size_t NameBytes(const GroupKey& key) {
  return key.identity.size() + key.target.size() + key.budget.size() + key.rule.size() +
         key.signal.size() + key.server.size();
}

class Summing {
 public:
  explicit Summing(const SumQuery& query) : query_(query), held_(query.held) {}

  // False: the page is full, and later rows cannot change it.
  bool Add(const Row& row) {
    GroupKey key = KeyOf(row);
    if (by_name() && query_.after.has_value() && key <= query_.after->key) return true;
    if (by_name() && full()) {
      const GroupKey& last = sums_.rbegin()->first;
      if (key > last) return !query_.by.step || key.step_s == last.step_s;
    }
    auto [place, made] = sums_.try_emplace(std::move(key));
    place->second.Add(row);
    // Its name is in the group as well as in what it is found by. A page by names is small.
    if (made && !by_name())
      held_.Add(static_cast<int64_t>(2 * (sizeof(Sum) + NameBytes(place->first))));
    if (made && by_name() && sums_.size() > query_.page_size + 1) sums_.erase(--sums_.end());
    too_many_ = !by_name() && sums_.size() > query_.max_groups;
    return !too_many_;
  }

  absl::StatusOr<SumPage> Finish() {
    if (too_many_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", query_.max_groups,
                       " groups to sort by counts: narrow it down, or split by less"));
    }
    SumPage page;
    for (auto& [key, sum] : sums_) {
      sum.key = key;
      if (IsBehindLastPage(sum)) page.sums.push_back(std::move(sum));
    }
    std::sort(page.sums.begin(), page.sums.end(),
              [this](const Sum& a, const Sum& b) { return Before(a, b); });
    page.more = page.sums.size() > query_.page_size;
    if (page.more) {
      const auto end = page.sums.begin() + static_cast<std::ptrdiff_t>(query_.page_size);
      if (!by_name())
        page.rest.assign(std::move_iterator(end), std::move_iterator(page.sums.end()));
      page.sums.erase(end, page.sums.end());
    }
    return page;
  }

 private:
  bool by_name() const { return query_.order == SumOrder::kName; }
  bool full() const { return sums_.size() > query_.page_size; }

  GroupKey KeyOf(const Row& row) const {
    const Grouping& by = query_.by;
    GroupKey key;
    if (by.step) key.step_s = query_.step_s > 0 ? Floor(row.step_s, query_.step_s) : row.step_s;
    if (by.identity) key.identity = LevelOf(row.key.identity, query_.level);
    if (by.target) key.target = row.key.target;
    if (by.outcome) key.outcome = row.key.outcome;
    if (by.reason) key.reason = row.key.cause.reason;
    if (by.budget) key.budget = row.key.cause.budget;
    if (by.rule) key.rule = row.key.cause.rule;
    if (by.signal) key.signal = row.key.cause.signal;
    if (by.server) key.server = row.key.server;
    return key;
  }

  double RankOf(const Sum& sum) const {
    switch (query_.order) {
      case SumOrder::kMaxChecks:
        return static_cast<double>(sum.allowed + sum.would_be_denied + sum.denied);
      case SumOrder::kMaxCostDenied:
        return sum.denied_cost;
      case SumOrder::kMaxHeldBack:
        return static_cast<double>(sum.waits.value().waited_ns) / 1e9 +
               static_cast<double>(sum.denied);
      case SumOrder::kMaxDenied:
      case SumOrder::kName:
        break;
    }
    return static_cast<double>(sum.denied);
  }
  bool Before(const Sum& a, const Sum& b) const {
    if (by_name()) return a.key < b.key;
    const double rank_a = RankOf(a);
    const double rank_b = RankOf(b);
    return rank_a != rank_b ? rank_a > rank_b : a.key < b.key;
  }
  bool IsBehindLastPage(const Sum& sum) const {
    return !query_.after.has_value() || Before(*query_.after, sum);
  }

  const SumQuery& query_;
  absl::btree_map<GroupKey, Sum> sums_;
  bool too_many_ = false;
  HeldBytes::Share held_;
};

ScanFilter FilterOf(const SumQuery& query) {
  ScanFilter filter = query.filter;
  if (!query.by.step) {
    filter.sum_over_s = filter.to_s - filter.from_s + 1;
    return filter;
  }
  if (query.coarse_s > 0 && query.step_s % query.coarse_s == 0) filter.sum_over_s = query.step_s;
  if (query.order == SumOrder::kName && query.after.has_value()) {
    filter.from_s = std::max(filter.from_s, query.after->key.step_s);
  }
  return filter;
}

}  // namespace

Period WholeSteps(Period period, const Retention& retention, absl::Time now) {
  const int64_t fine_s = absl::ToInt64Seconds(retention.step);
  const int64_t coarse_s = absl::ToInt64Seconds(retention.coarse_step);
  const int64_t coarse_before_s = absl::ToUnixSeconds(now - retention.coarsen_after);
  const auto step_at = [&](int64_t time_s) { return time_s < coarse_before_s ? coarse_s : fine_s; };
  const int64_t to_step_s = step_at(period.to_s);
  return {.from_s = Floor(period.from_s, step_at(period.from_s)),
          .to_s = Floor(period.to_s + to_step_s - 1, to_step_s)};
}

std::string_view LevelOf(std::string_view identity, int level) {
  size_t begin = identity.size();
  for (int depth = 0; level > 0 && depth < level; ++depth) {
    const size_t colon = begin == 0 ? identity.npos : identity.rfind(':', begin - 1);
    if (colon == identity.npos) return identity;
    begin = colon;
  }
  return level > 0 ? identity.substr(begin + 1) : identity;
}

void Sum::Add(const Row& row) {
  const int64_t checks = row.counts.checks;
  switch (row.key.outcome) {
    case Outcome::kAllowed:
      allowed += checks;
      break;
    case Outcome::kWouldBeDenied:
      would_be_denied += checks;
      break;
    case Outcome::kDenied:
      denied += checks;
      break;
    case Outcome::kWaited:
      break;
  }
  waits.Add(row.counts.waits);
  if (row.key.folded) folded += checks;
  (row.key.outcome == Outcome::kDenied ? denied_cost : allowed_cost) += row.counts.cost;
}

size_t Sum::bytes() const { return sizeof(Sum) + NameBytes(key); }

absl::StatusOr<SumPage> QuerySums(const Store& store, const SumQuery& query) {
  Summing summing(query);
  const absl::Status scanned =
      store.Scan(FilterOf(query), [&](const Row& row) { return summing.Add(row); });
  if (!scanned.ok()) return scanned;
  return summing.Finish();
}

}  // namespace headgate::throttle_log
