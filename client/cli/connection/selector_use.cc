#include "client/cli/connection/selector_use.h"

#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/override_words.h"
#include "client/cli/output/proto_text.h"
#include "common/nearest_word.h"

namespace headgate::cli {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
constexpr int kMostIdentities = 10'000;
constexpr int kMostLines = 1000;
constexpr int kMostWaiters = 100;

// The levels of an identity, or its segments.
std::vector<std::string> NamesIn(const std::string& identity, const v1::Selector& selector) {
  std::vector<std::string> segments = absl::StrSplit(identity, ':');
  if (selector.has_segment()) return segments;
  std::vector<std::string> levels;
  for (size_t at = 0; at != std::string::npos;) {
    levels.push_back(identity.substr(at));
    at = identity.find(':', at);
    if (at != std::string::npos) ++at;
  }
  return levels;
}

const std::string& NameOf(const v1::Selector& selector) {
  return selector.has_segment() ? selector.segment() : selector.identity();
}

v1::QueryThrottleLogRequest Request(const v1::Selector& selector, absl::Time from) {
  v1::QueryThrottleLogRequest request;
  request.mutable_filter()->set_target(selector.target());
  SetTimestamp(from, *request.mutable_filter()->mutable_from());
  return request;
}

// Absent where the log cannot be read.
absl::StatusOr<bool> IsLogged(Connection& connection, const v1::Selector& selector,
                              absl::Time from) {
  v1::QueryThrottleLogRequest request = Request(selector, from);
  request.mutable_filter()->set_identity(selector.identity());
  request.mutable_filter()->set_segment(selector.segment());
  const auto sums = connection.Call(&v1::ThrottleLogService::Stub::QueryThrottleLog, request);
  if (!sums.ok()) return sums.status();
  return sums->waiting_checks() > 0 ||
         std::any_of(sums->sums().begin(), sums->sums().end(),
                     [](const v1::LogSum& sum) { return Checks(sum) > 0; });
}

// Who waits is in the log once the wait has ended.
bool Waits(Connection& connection, const v1::Selector& selector) {
  v1::ListLinesRequest request;
  request.set_target(selector.target());
  request.set_page_size(kMostLines);
  request.set_waiters(kMostWaiters);
  const auto lines = connection.Call(&v1::StatusService::Stub::ListLines, request);
  if (!lines.ok()) return false;
  for (const v1::LineStatus& line : lines->lines()) {
    for (const v1::LineWaiter& waiter : line.next()) {
      const std::vector<std::string> names = NamesIn(waiter.identity(), selector);
      if (std::find(names.begin(), names.end(), NameOf(selector)) != names.end()) return true;
    }
  }
  return false;
}

// Empty where the name itself was used in the last day.
std::string NearestUsed(Connection& connection, const v1::Selector& selector, absl::Time now) {
  v1::QueryThrottleLogRequest request = Request(selector, now - kDay);
  request.add_group_by(v1::LOG_GROUP_IDENTITY);
  request.set_order(v1::LOG_ORDER_MOST_CHECKS);
  request.set_page_size(kMostIdentities);
  const auto sums = connection.Call(&v1::ThrottleLogService::Stub::QueryThrottleLog, request);
  if (!sums.ok()) return "";
  std::set<std::string> names;
  for (const v1::LogSum& sum : sums->sums()) {
    for (std::string& name : NamesIn(sum.identity(), selector)) names.insert(std::move(name));
  }
  const std::string& name = NameOf(selector);
  if (names.count(name) > 0) return "";
  return NearestWord(name, std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace

std::string SelectorUse::Sentence() const {
  const int64_t days = absl::ToInt64Hours(absl::Ceil(within, kDay)) / 24;
  return absl::StrCat("nobody has used ", selector, " in the last ",
                      within < kDay ? "hour"
                      : days == 1   ? "day"
                                    : absl::StrCat(days, " days"),
                      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"));
}

SelectorUse FindUse(Connection& connection, const v1::Selector& selector,
                    const UseOptions& options) {
  SelectorUse use;
  use.selector = SelectorText(selector);
  use.within = options.within;
  if (NameOf(selector).empty()) return use;
  const absl::StatusOr<bool> logged = IsLogged(connection, selector, options.now - options.within);
  use.is_used = !logged.ok() || *logged || Waits(connection, selector);
  if (!use.is_used) use.nearest = NearestUsed(connection, selector, options.now);
  return use;
}

}  // namespace headgate::cli
