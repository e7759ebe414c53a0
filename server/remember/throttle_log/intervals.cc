#include "server/remember/throttle_log/intervals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/remember/throttle_log/query.h"
#include "server/remember/throttle_log/row_filter.h"

namespace headgate::throttle_log {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

bool HoldsBack(Outcome outcome) {
  return outcome == Outcome::kDenied || outcome == Outcome::kWaited;
}

int64_t WaitedFor(const CauseCount& cause) { return cause.counts.waits.value().waited_ns; }

using RowPlace = std::tuple<int64_t, std::string, std::string>;  // time, identity, target

RowPlace PlaceOf(const Interval& interval, bool newest_first) {
  const int64_t time = newest_first ? -interval.tally.to_s : interval.tally.from_s;
  return {time, interval.identity, interval.target};
}

class Finder {
 public:
  explicit Finder(const IntervalQuery& query)
      : query_(query), denials_(query.filter), held_(query.held) {
    denials_.outcomes.clear();
    if (query.after.has_value()) after_ = PlaceOf(*query.after, query.newest_first);
  }

  // False: too many identities.
  bool Add(const Row& row) {
    const bool held_back = HoldsBack(row.key.outcome);
    if (held_back && !TakesWhat(denials_, row.key.outcome, row.key.cause)) return true;
    const std::string_view identity = LevelOf(row.key.identity, query_.level);
    const auto [place, made] =
        tracks_.try_emplace(std::pair(std::string(identity), row.key.target));
    if (made) {
      held_.Add(static_cast<int64_t>(sizeof(Who) + sizeof(Track) + identity.size() +
                                     row.key.target.size()));
    }
    if (tracks_.size() > kMaxTracked) return false;
    Track& track = place->second;
    if (!track.step.empty() && track.step.from_s != row.step_s) Settle(place->first, track);
    track.step.Add(row);
    if (row.key.outcome == Outcome::kWaited) track.AddHeld(row);
    return true;
  }

  absl::StatusOr<IntervalPage> Finish() {
    if (tracks_.size() > kMaxTracked) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", kMaxTracked, " identities: narrow it down"));
    }
    for (auto& [who, track] : tracks_) {
      Settle(who, track);
      Close(who, track);
    }
    IntervalPage page;
    page.more = found_.size() > query_.page_size;
    if (page.more) found_.erase(--found_.end());
    for (auto& [place, interval] : found_) page.intervals.push_back(std::move(interval));
    return page;
  }

 private:
  using Who = std::pair<std::string, std::string>;  // identity, target
  struct Track {
    Tally step;   // that rows are being added to
    Tally since;  // the last throttled step: the interval's only if another one follows
    Tally open;   // the interval
    // Of the step: whose rows come now, as those of one identity come together.
    std::string identity;
    int64_t held_ns = 0;

    void AddHeld(const Row& row) {
      if (identity != row.key.identity) {
        identity = row.key.identity;
        held_ns = 0;
      }
      held_ns += row.counts.waits.value().held_ns;
      const int64_t length_ns = row.length_s * kNsPerSecond;
      step.held_ns = std::min(std::max(step.held_ns, held_ns), length_ns);
    }
  };

  bool IsThrottled(const Tally& step) const {
    constexpr double kRounding = 1e-9;  // of a ratio such as 0.1, which is not one in binary
    const double least = query_.min_denied_ratio - kRounding;
    const auto all = static_cast<double>(step.allowed + step.denied);
    return (step.denied > 0 && static_cast<double>(step.denied) >= least * all) ||
           (step.held_ns > 0 && step.HeldShare(query_.now_s) >= least);
  }

  void Settle(const Who& who, Track& track) {
    Tally step = std::exchange(track.step, {});
    track.identity.clear();
    track.held_ns = 0;
    const bool apart = !track.open.empty() && step.from_s - track.open.to_s > query_.max_gap_s;
    if (apart) Close(who, track);
    if (IsThrottled(step)) {
      track.open.Add(std::exchange(track.since, {}));
      track.open.Add(step);
    } else if (!track.open.empty()) {
      track.since.Add(step);
    }
  }

  void Close(const Who& who, Track& track) {
    Tally tally = std::exchange(track.open, {});
    track.since = {};
    if (tally.empty()) return;
    const double held_share = tally.HeldShare(query_.now_s);
    Interval interval{who.first, who.second, std::move(tally), held_share};
    RowPlace place = PlaceOf(interval, query_.newest_first);
    if (after_.has_value() && place <= *after_) return;
    if (found_.size() > query_.page_size && place > found_.rbegin()->first) return;
    auto& causes = interval.tally.causes;
    std::sort(causes.begin(), causes.end(), [](const CauseCount& a, const CauseCount& b) {
      return std::tuple(WaitedFor(b), b.counts.checks, a.cause) <
             std::tuple(WaitedFor(a), a.counts.checks, b.cause);
    });
    found_.emplace(std::move(place), std::move(interval));
    if (found_.size() > query_.page_size + 1) found_.erase(--found_.end());
  }

  const IntervalQuery& query_;
  ScanFilter denials_;
  std::optional<RowPlace> after_;
  absl::flat_hash_map<Who, Track> tracks_;
  std::map<RowPlace, Interval> found_;  // the page, and one more
  HeldBytes::Share held_;
};

void AddCause(const Cause& cause, const Counts& counts, std::vector<CauseCount>& causes) {
  const auto same = std::find_if(causes.begin(), causes.end(),
                                 [&](const CauseCount& known) { return known.cause == cause; });
  if (same == causes.end()) {
    causes.push_back({cause, counts});
  } else {
    same->counts.Add(counts);
  }
}

}  // namespace

void Tally::Add(const Row& row) {
  if (empty()) from_s = row.step_s;
  to_s = std::max(to_s, row.step_s + row.length_s);
  if (!HoldsBack(row.key.outcome)) {
    allowed += row.counts.checks;
    return;
  }
  denied += row.counts.checks;
  denied_cost += row.counts.cost;
  waits.Add(row.counts.waits);
  AddCause(row.key.cause, row.counts, causes);
}

void Tally::Add(const Tally& later) {
  if (later.empty()) return;
  if (empty()) from_s = later.from_s;
  to_s = std::max(to_s, later.to_s);
  allowed += later.allowed;
  denied += later.denied;
  denied_cost += later.denied_cost;
  waits.Add(later.waits);
  held_ns += later.held_ns;
  for (const CauseCount& cause : later.causes) AddCause(cause.cause, cause.counts, causes);
}

double Tally::HeldShare(int64_t now_s) const {
  const int64_t passed_s = std::max<int64_t>(std::min(to_s, now_s) - from_s, 1);
  return std::min(static_cast<double>(held_ns) / static_cast<double>(passed_s * kNsPerSecond), 1.0);
}

absl::StatusOr<IntervalPage> FindIntervals(const Store& store, const IntervalQuery& query) {
  ScanFilter filter = query.filter;
  filter.outcomes.clear();  // causes too: allowed Checks have none
  filter.reasons.clear();
  filter.budgets.clear();
  filter.signals.clear();
  filter.sum_over_s = 0;
  Finder finder(query);
  const absl::Status scanned = store.Scan(filter, [&](const Row& row) { return finder.Add(row); });
  if (!scanned.ok()) return scanned;
  return finder.Finish();
}

}  // namespace headgate::throttle_log
