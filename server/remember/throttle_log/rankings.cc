#include "server/remember/throttle_log/rankings.h"

#include <algorithm>
#include <utility>

namespace headgate::throttle_log {

uint64_t Rankings::Keep(std::string question, std::vector<Sum> sums, Now now) {
  if (sums.size() > options_.most_groups) return 0;
  size_t bytes = 0;
  for (const Sum& sum : sums) bytes += sum.bytes();
  MutexLock lock(&mutex_);
  DropOld(now);
  groups_ += sums.size();
  held_.Add(static_cast<int64_t>(bytes));
  rankings_.push_back({.number = next_number_++,
                       .question = std::move(question),
                       .sums = std::move(sums),
                       .bytes = static_cast<int64_t>(bytes),
                       .asked_ns = now.monotonic_ns});
  while (groups_ > options_.most_groups || rankings_.size() > options_.most_rankings) {
    groups_ -= rankings_.front().sums.size();
    held_.Add(-rankings_.front().bytes);
    rankings_.pop_front();
  }
  return rankings_.back().number;
}

std::optional<SumPage> Rankings::Page(RankingPlace place, std::string_view question,
                                      size_t page_size, Now now) {
  MutexLock lock(&mutex_);
  DropOld(now);
  const auto found = std::find_if(rankings_.begin(), rankings_.end(), [&](const Ranking& ranking) {
    return ranking.number == place.number && ranking.question == question;
  });
  if (found == rankings_.end() || place.first >= found->sums.size()) return std::nullopt;
  found->asked_ns = now.monotonic_ns;
  SumPage page;
  const size_t end = place.first + std::min(page_size, found->sums.size() - place.first);
  page.sums.assign(found->sums.begin() + static_cast<std::ptrdiff_t>(place.first),
                   found->sums.begin() + static_cast<std::ptrdiff_t>(end));
  page.more = end < found->sums.size();
  return page;
}

void Rankings::DropOld(Now now) {
  const int64_t before_ns = now.monotonic_ns - absl::ToInt64Nanoseconds(options_.keep);
  for (auto ranking = rankings_.begin(); ranking != rankings_.end();) {
    if (ranking->asked_ns >= before_ns) {
      ++ranking;
      continue;
    }
    groups_ -= ranking->sums.size();
    held_.Add(-ranking->bytes);
    ranking = rankings_.erase(ranking);
  }
}

}  // namespace headgate::throttle_log
