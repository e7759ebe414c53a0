// Any bytes as questions to the throttle log, page tokens and requests about overrides: what is
// taken is within bounds whatever it asks for, pages neither repeat nor skip nor grow beyond their
// size, and what is refused names its field.
//
// The first byte chooses the message; the rest is the message, or the token.
#include <google/protobuf/stubs/logging.h>
#include <headgate/v1/override_service.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/fake_clock.h"
#include "server/remember/overrides/request.h"
#include "server/remember/throttle_log/intervals.h"
#include "server/remember/throttle_log/query.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/override_proto.h"
#include "server/serve/rpc/page_token.h"
#include "server/serve/rpc/throttle_log_request.h"
#include "server/serve/transport/error_status.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/rpc_status.h"
#include "tests/remember/throttle_log/fake_store.h"

namespace {

using headgate::fuzz::Require;
using headgate::fuzz::RequireAnswerable;
using namespace headgate::throttle_log;  // NOLINT(google-build-using-namespace)
namespace overrides = headgate::overrides;
namespace rpc = headgate::rpc;
namespace transport = headgate::transport;
namespace v1 = headgate::v1;

constexpr size_t kMaxSums = 10'000;
constexpr size_t kMaxIntervals = 1000;
constexpr int64_t kLastSecond = 253'402'300'799;

const Retention kRetention;

headgate::Now TheNow() {
  headgate::FakeClock clock;
  clock.Advance(absl::Hours(8));
  return clock.Read();
}

// Half a morning of three jobs.
const FakeStore& TheStore() {
  static const FakeStore* const store = [] {
    auto* made = new FakeStore;
    const Cause lag{.reason = headgate::engine::Reason::kHealth, .signal = "lag on standby-2"};
    const Cause full{.reason = headgate::engine::Reason::kCapacity, .budget = "rows"};
    for (int i = 0; i < 40; ++i) {
      made->Add(Allowed(TimeOfDay(7, 0, 0) + 10 * i, "a:etl", 3, 30));
      if (i % 4 != 0) made->Add(Denied(TimeOfDay(7, 0, 0) + 10 * i, "a:etl", 9, lag, 90));
      if (i % 3 == 0) made->Add(Denied(TimeOfDay(7, 0, 0) + 10 * i, "b:etl", 2, full, 20));
      if (i % 2 == 0) made->Add(Denied(TimeOfDay(7, 0, 0) + 10 * i, "c:ddl", 1, full, 5));
    }
    return made;
  }();
  return *store;
}

// Of absl's and ours: the field first, and one that the request has.
void RequireRefused(const absl::Status& status, const google::protobuf::Descriptor& request) {
  Require(absl::IsInvalidArgument(status), "not InvalidArgument: ", status.ToString());
  RequireAnswerable(rpc::ToGrpcStatus(status, {}), request);
}

void RequirePeriod(const ScanFilter& filter) {
  Require(filter.from_s >= 0 && filter.from_s < filter.to_s, "no period");
  Require(filter.to_s <= kLastSecond, "beyond the year 9999");
}

void Sums(const v1::QueryThrottleLogRequest& request) {
  absl::StatusOr<SumQuery> query = rpc::ToSumQuery(request, kRetention, TheNow().wall());
  if (!query.ok()) return RequireRefused(query.status(), *request.GetDescriptor());
  RequirePeriod(query->filter);
  Require(query->page_size >= 1 && query->page_size <= kMaxSums, "page of ", query->page_size);
  const absl::StatusOr<SumPage> page = QuerySums(TheStore(), *query);
  Require(page.ok(), page.status().ToString());
  Require(page->sums.size() <= query->page_size, "a page beyond its size");
  Require(!page->more || page->sums.size() == query->page_size, "more, but not full");
  if (page->sums.empty()) return;
  // The token of this page reads as it was written.
  const rpc::PageStart next{{query->filter.from_s, query->filter.to_s}, page->sums.back()};
  const auto read = rpc::ReadPageToken(rpc::MakePageToken(next));
  Require(read.ok() && read->after.key == next.after.key && read->period.to_s == next.period.to_s,
          "our own token is another");
}

void Intervals(const v1::ListThrottledIntervalsRequest& request) {
  absl::StatusOr<IntervalQuery> query = rpc::ToIntervalQuery(request, kRetention, TheNow().wall());
  if (!query.ok()) return RequireRefused(query.status(), *request.GetDescriptor());
  RequirePeriod(query->filter);
  Require(query->min_denied_ratio > 0 && query->min_denied_ratio <= 1, "a ratio beyond 1");
  Require(query->page_size >= 1 && query->page_size <= kMaxIntervals, "page ", query->page_size);
  const absl::StatusOr<IntervalPage> page = FindIntervals(TheStore(), *query);
  Require(page.ok(), page.status().ToString());
  Require(page->intervals.size() <= query->page_size, "a page beyond its size");
  for (const Interval& interval : page->intervals) {
    Require(interval.tally.from_s < interval.tally.to_s && interval.tally.denied > 0,
            "no interval");
  }
}

void Token(const std::string& token) {
  const auto read = rpc::ReadPageToken(token);
  if (!read.ok()) {
    return RequireRefused(read.status(), *v1::QueryThrottleLogRequest::descriptor());
  }
  Require(read->period.from_s >= 0 && read->period.from_s < read->period.to_s &&
              read->period.to_s <= kLastSecond,
          "no period");
  // Whoever tampers with one reads no more than a page.
  for (const SumOrder order : {SumOrder::kName, SumOrder::kMaxDenied, SumOrder::kMaxCostDenied}) {
    SumQuery query{.by = {.identity = true, .outcome = true}, .order = order, .page_size = 2};
    query.filter.from_s = read->period.from_s;
    query.filter.to_s = read->period.to_s;
    query.after = read->after;
    const auto page = QuerySums(TheStore(), query);
    Require(page.ok() && page->sums.size() <= 2, "not a page of two");
  }
  Require(rpc::ReadPageToken(rpc::MakePageToken(*read)).ok(), "our own token is none");
}

void Create(const v1::CreateOverrideRequest& request) {
  const headgate::Now now = TheNow();
  const auto create = rpc::FromProto(request);
  if (!create.ok()) return RequireRefused(create.status(), *request.GetDescriptor());
  const absl::StatusOr<overrides::Override> draft = overrides::Draft(*create, now);
  if (!draft.ok()) return RequireRefused(draft.status(), *request.GetDescriptor());
  Require(draft->AppliesAt(now.wall()), "an override that has ended");
  Require(draft->expires_at == absl::InfiniteFuture()
              ? request.never_expires()
              : draft->expires_at - now.wall() <= absl::Hours(24 * 366),
          "it lasts longer than anybody said");
  Require((draft->kind == overrides::Kind::kThrottle) == (draft->ratio > 0) && draft->ratio <= 1,
          "a ratio of ", draft->ratio);
  Require(!draft->actor.empty() && !draft->reason.empty(), "by nobody, or for nothing");
  const overrides::Selector& selector = draft->selector;
  const int given = (selector.identity.empty() ? 0 : 1) + (selector.segment.empty() ? 0 : 1) +
                    (selector.everything ? 1 : 0);
  Require(given == 1, "of nothing, or of two things");
  Require(selector.everything == request.selector().everything() &&
              !(selector.everything && draft->kind == overrides::Kind::kExempt),
          "everything is stopped, or exempt, that nobody may have meant");
  v1::Override shown;
  rpc::FillOverride(*draft, shown);
  Require(shown.kind() == request.kind() && shown.ratio() == draft->ratio &&
              shown.actor() == request.actor() && shown.reason() == request.reason(),
          "shown as another");
}

template <typename Message, typename Use>
void With(std::string_view bytes, Use use) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return use(message);
  RequireAnswerable(transport::MalformedError(message), *Message::descriptor());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);  // a line for each string that is not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      With<v1::QueryThrottleLogRequest>(bytes, Sums);
      break;
    case 1:
      With<v1::ListThrottledIntervalsRequest>(bytes, Intervals);
      break;
    case 2:
      Token(std::string(bytes));
      break;
    default:
      With<v1::CreateOverrideRequest>(bytes, Create);
  }
  return 0;
}
