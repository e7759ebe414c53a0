// A token is a response with nothing but its period, its last sum, and in the place of its own
// token "NUMBER:FIRST" of a ranking.

#include "server/serve/rpc/page_token.h"

#include <headgate/v1/throttle_log_service.pb.h>

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/serve/rpc/proto_time.h"
#include "server/serve/rpc/throttle_log_proto.h"

namespace headgate::rpc {
namespace {

// Takes all fields over.
constexpr throttle_log::Grouping kEverything = {.step = true,
                                                .identity = true,
                                                .target = true,
                                                .outcome = true,
                                                .reason = true,
                                                .budget = true,
                                                .rule = true,
                                                .signal = true,
                                                .server = true};

bool IsValid(const v1::QueryThrottleLogResponse& page) {
  const auto in_range = [](const google::protobuf::Timestamp& time) {
    return time.seconds() >= 0 && time.seconds() <= kLastUnixSecond;
  };
  return in_range(page.from()) && in_range(page.to()) &&
         page.from().seconds() < page.to().seconds() && page.sums_size() == 1 &&
         in_range(page.sums(0).from()) && v1::Outcome_IsValid(page.sums(0).outcome()) &&
         page.sums(0).outcome() != v1::OUTCOME_UNSPECIFIED &&
         v1::Reason_IsValid(page.sums(0).reason());
}

bool ReadRanking(const std::string& text, throttle_log::RankingPlace& place) {
  if (text.empty()) return true;
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], &place.number) &&
         absl::SimpleAtoi(parts[1], &place.first);
}

}  // namespace

std::string MakePageToken(const PageStart& start) {
  v1::QueryThrottleLogResponse page;
  SetSeconds(start.period.from_s, *page.mutable_from());
  SetSeconds(start.period.to_s, *page.mutable_to());
  FillSum(start.after, kEverything, *page.add_sums());
  if (start.ranking.number != 0) {
    page.set_next_page_token(absl::StrCat(start.ranking.number, ":", start.ranking.first));
  }
  return absl::WebSafeBase64Escape(page.SerializeAsString());
}

absl::StatusOr<PageStart> ReadPageToken(const std::string& token) {
  std::string bytes;
  v1::QueryThrottleLogResponse page;
  PageStart start;
  if (!absl::WebSafeBase64Unescape(token, &bytes) || !page.ParseFromString(bytes) ||
      !IsValid(page) || !ReadRanking(page.next_page_token(), start.ranking)) {
    return absl::InvalidArgumentError("page_token: is not one that this server gave out");
  }
  const v1::LogSum& sum = page.sums(0);
  start.period = {page.from().seconds(), page.to().seconds()};
  start.after.key = {.step_s = sum.from().seconds(),
                     .identity = sum.identity(),
                     .target = sum.target(),
                     .outcome = static_cast<throttle_log::Outcome>(sum.outcome() - 1),
                     .reason = static_cast<engine::Reason>(sum.reason()),
                     .budget = sum.budget(),
                     .rule = sum.rule(),
                     .signal = sum.signal(),
                     .server = sum.server()};
  start.after.allowed = sum.allowed();
  start.after.would_be_denied = sum.would_be_denied();
  start.after.denied = sum.denied();
  start.after.denied_cost = sum.denied_cost();
  if (sum.has_waiting()) {
    const absl::Duration waited = DurationOf(sum.waiting().waited());
    start.after.waits.Add({.waited_ns = absl::ToInt64Nanoseconds(waited)});
  }
  return start;
}

}  // namespace headgate::rpc
