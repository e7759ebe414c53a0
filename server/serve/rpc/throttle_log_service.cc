#include "server/serve/rpc/throttle_log_service.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/govern/config/load.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/page_size.h"
#include "server/serve/rpc/page_token.h"
#include "server/serve/rpc/throttle_log_proto.h"
#include "server/serve/rpc/throttle_log_request.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;
constexpr int64_t kMaxReplayedS = 7 * int64_t{86'400};
constexpr size_t kMaxBucketBytes = size_t{256} << 20;
// Each target has budgets and profiles of its own: some hundred megabytes.
constexpr size_t kMaxPerTarget = 100'000;
constexpr size_t kMaxFindingBytes = 1400;
// A store that is slower than this is not waited for: the answer says what it lacks.
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr int kDenialsOnPage = 100;
constexpr int kMaxDenialsOnPage = 1000;

// What the log's own rooms refuse. What is wrong with a field is ToGrpcStatus's.
grpc::Status FromLog(const absl::Status& status) {
  const std::string what(status.message());
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return transport::TooMuch(what);
    case absl::StatusCode::kCancelled:
      return transport::Failure(absl::StatusCode::kCancelled, "CANCELLED", what);
    default:
      return transport::Failure(absl::StatusCode::kUnavailable, "THROTTLE_LOG_STORE",
                                absl::StrCat("the throttle log cannot be read: ", what));
  }
}

grpc::Status TooManyReads() {
  return transport::Overloaded(
      "TOO_MANY_LOG_READS",
      absl::StrCat(ReadCount::kMax, " reads of the throttle log are running"));
}

// As many findings as an error can carry, one a line.
std::string Findings(const std::vector<config::Problem>& problems) {
  std::string text;
  size_t told = 0;
  for (const config::Problem& problem : problems) {
    std::string line = problem.at.line == 0 ? problem.text
                                            : absl::StrCat("line ", problem.at.line, ", column ",
                                                           problem.at.column, ": ", problem.text);
    if (told > 0 && text.size() + line.size() > kMaxFindingBytes) break;
    absl::StrAppend(&text, told == 0 ? "" : "\n", line);
    ++told;
  }
  if (told < problems.size()) absl::StrAppend(&text, "\nand ", problems.size() - told, " more");
  return text;
}

grpc::Status BadConfig(const std::string& findings) {
  return transport::FieldError("config_yaml", findings, kMaxFindingBytes + 100);
}

// A short text can list so many that the engine would take all memory there is.
absl::Status ValidateSize(const engine::PolicySpec& policy) {
  const size_t targets = std::max<size_t>(policy.targets.size(), 1);
  const size_t each = policy.budgets.size() + policy.profiles.size();
  if (each <= kMaxPerTarget / targets) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("has ", each, " budgets and profiles for each of ",
                                                 targets, " targets; at most ", kMaxPerTarget,
                                                 " in all can be replayed"));
}

// The demand to replay.
absl::StatusOr<throttle_log::ScanFilter> DemandOf(const v1::LogFilter& from,
                                                  const throttle_log::Retention& retention,
                                                  absl::Time now) {
  const auto unwanted = [](const char* field) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter.", field, ": must not be set: all activity is replayed"));
  };
  if (!from.outcomes().empty()) return unwanted("outcomes");
  if (!from.reasons().empty()) return unwanted("reasons");
  if (!from.budgets().empty()) return unwanted("budgets");
  if (!from.signals().empty()) return unwanted("signals");
  auto filter = ToScanFilter(from, retention, now);
  // Widening to whole steps is not the caller's doing.
  const int64_t slack_s = 2 * absl::ToInt64Seconds(retention.coarse_step);
  if (filter.ok() && filter->to_s - filter->from_s > kMaxReplayedS + slack_s) {
    return absl::InvalidArgumentError("filter.from: must be seven days before filter.to, or later");
  }
  return filter;
}

// Whether it is about the Checks that no rule matched, and no others.
bool IsOfUnmatched(const v1::QueryThrottleLogRequest& request) {
  const auto& reasons = request.filter().reasons();
  return reasons.size() == 1 && reasons[0] == v1::REASON_UNMATCHED;
}

// Whose log a request reads, and the field that says so.
template <typename Request>
std::pair<std::string_view, const char*> WhoseLog(const Request& request) {
  if constexpr (requires { request.filter(); }) {
    return {request.filter().identity(), "filter.identity"};
  } else {
    return {request.identity(), "identity"};
  }
}

}  // namespace

template <typename Request, typename Response>
void ThrottleLogService::AddForReaders(const char* path,
                                       grpc::Status (ThrottleLogService::*run)(const Context&,
                                                                               const Request&,
                                                                               Response&)) {
  AddGuarded<Request, Response>(
      path, [this, run](const Asked& asked, const Request& request, Response& response) {
        const auto [identity, field] = WhoseLog(request);
        const auto refused = access_.MayReadLogs(asked.who, identity, field);
        return refused.has_value() ? ToGrpcStatus(*refused)
                                   : (this->*run)(asked.context, request, response);
      });
}

ThrottleLogService::ThrottleLogService(const ThrottleLogSources& sources)
    : GuardedService(sources.access),
      sources_(sources),
      rankings_(
          {.first_number = static_cast<uint64_t>(sources.clock.Read().wall_ns), .held = &held_}) {
  using Log = ThrottleLogService;
  AddForReaders("/headgate.v1.ThrottleLogService/QueryThrottleLog", &Log::Query);
  AddForReaders("/headgate.v1.ThrottleLogService/ListThrottledIntervals", &Log::ListIntervals);
  AddForReaders("/headgate.v1.ThrottleLogService/ListDenials", &Log::ListDenials);
  AddForReaders("/headgate.v1.ThrottleLogService/ReplayThrottleLog", &Log::Replay);
}

grpc::Status ThrottleLogService::Query(const Context&, const v1::QueryThrottleLogRequest& request,
                                       v1::QueryThrottleLogResponse& response) {
  auto query = ToSumQuery(request, sources_.retention, sources_.clock.Read().wall());
  if (!query.ok()) return ToGrpcStatus(query.status(), {});
  const ReadCount::Place place(reads_);
  if (!place.taken()) return TooManyReads();
  if (request.page_token().empty()) {
    CatchUp();
    // What has just been counted may belong to a step that has begun since.
    query = ToSumQuery(request, sources_.retention, sources_.clock.Read().wall());
    if (!query.ok()) return ToGrpcStatus(query.status(), {});
  }
  throttle_log::RankingPlace next;
  const auto page = PageOf(request, *query, next);
  if (!page.ok()) return FromLog(page.status());
  for (const throttle_log::Sum& sum : page->sums) FillSum(sum, query->by, *response.add_sums());
  if (IsOfUnmatched(request) && query->by.identity) SuggestIdentities(response);
  SetSeconds(query->filter.from_s, *response.mutable_from());
  SetSeconds(query->filter.to_s, *response.mutable_to());
  response.set_waiting_checks(ChecksWaiting(query->filter));
  if (page->more) {
    const throttle_log::Period period{query->filter.from_s, query->filter.to_s};
    response.set_next_page_token(MakePageToken({period, page->sums.back(), next}));
  }
  return grpc::Status();
}

void ThrottleLogService::SuggestIdentities(v1::QueryThrottleLogResponse& response) const {
  const std::shared_ptr<const config::Config> in_force =
      sources_.in_force ? sources_.in_force() : nullptr;
  if (in_force == nullptr || in_force->identity_names == nullptr) return;
  for (v1::LogSum& sum : *response.mutable_sums()) {
    const auto meaning = in_force->identity_names->MeantBy(sum.identity());
    if (meaning.has_value()) sum.set_did_you_mean(meaning->meant);
  }
}

absl::StatusOr<throttle_log::SumPage> ThrottleLogService::PageOf(
    const v1::QueryThrottleLogRequest& request, const throttle_log::SumQuery& query,
    throttle_log::RankingPlace& next) {
  v1::QueryThrottleLogRequest question = request;
  question.clear_page_token();
  question.clear_page_size();
  const std::string asked = question.SerializeAsString();
  const Now now = sources_.clock.Read();
  if (query.after.has_value()) {
    const absl::StatusOr<PageStart> start = ReadPageToken(request.page_token());
    if (!start.ok()) return start.status();
    auto kept = rankings_.Page(start->ranking, asked, query.page_size, now);
    if (kept.has_value()) {
      next = {start->ranking.number, start->ranking.first + kept->sums.size()};
      return *std::move(kept);
    }
  }
  throttle_log::SumQuery counted = query;
  counted.held = &held_;
  auto page = throttle_log::QuerySums(sources_.store, counted);
  if (page.ok() && !page->rest.empty()) {
    next.number = rankings_.Keep(asked, std::move(page->rest), now);
  }
  return page;
}

void ThrottleLogService::CatchUp() const {
  if (sources_.writer != nullptr) sources_.writer->CatchUp(kPatience);
}

int64_t ThrottleLogService::ChecksWaiting(const throttle_log::ScanFilter& filter) const {
  return sources_.writer == nullptr ? 0 : sources_.writer->ChecksWaiting(filter);
}

grpc::Status ThrottleLogService::ListIntervals(const Context&,
                                               const v1::ListThrottledIntervalsRequest& request,
                                               v1::ListThrottledIntervalsResponse& response) {
  auto query = ToIntervalQuery(request, sources_.retention, sources_.clock.Read().wall());
  if (!query.ok()) return ToGrpcStatus(query.status(), {});
  const ReadCount::Place place(reads_);
  if (!place.taken()) return TooManyReads();
  if (request.page_token().empty()) {
    CatchUp();
    query = ToIntervalQuery(request, sources_.retention, sources_.clock.Read().wall());
    if (!query.ok()) return ToGrpcStatus(query.status(), {});
  }
  query->held = &held_;
  const auto page = throttle_log::FindIntervals(sources_.store, *query);
  if (!page.ok()) return FromLog(page.status());
  for (const throttle_log::Interval& interval : page->intervals) {
    FillInterval(interval, *response.add_intervals());
  }
  response.set_waiting_checks(ChecksWaiting(query->filter));
  if (page->more) {
    const throttle_log::Interval& last = page->intervals.back();
    PageStart next{{query->filter.from_s, query->filter.to_s}, {}};
    next.after.key.step_s = query->newest_first ? last.tally.to_s : last.tally.from_s;
    next.after.key.identity = last.identity;
    next.after.key.target = last.target;
    response.set_next_page_token(MakePageToken(next));
  }
  return grpc::Status();
}

grpc::Status ThrottleLogService::ListDenials(const Context&, const v1::ListDenialsRequest& request,
                                             v1::ListDenialsResponse& response) {
  const auto page_size = PageSizeOf(request.page_size(), kDenialsOnPage, kMaxDenialsOnPage);
  absl::Status status = ValidateSelector("identity", request.identity());
  status.Update(ValidateSegment("segment", request.segment()));
  status.Update(page_size.status());
  if (request.after() < 0) {
    status.Update(absl::InvalidArgumentError("after: must not be negative"));
  }
  if (!status.ok()) return ToGrpcStatus(status, {});
  throttle_log::ScanFilter whose;
  whose.identity = request.identity();
  whose.segment = request.segment();
  whose.target = request.target();
  for (const throttle_log::Denial& denial :
       sources_.recorder.RecentDenials(whose, request.after(), *page_size)) {
    FillDenial(denial, *response.add_denials());
  }
  return grpc::Status();
}

grpc::Status ThrottleLogService::Replay(const Context& context,
                                        const v1::ReplayThrottleLogRequest& request,
                                        v1::ReplayThrottleLogResponse& response) {
  if (request.config_yaml().size() > kMaxConfigBytes) {
    return BadConfig(
        absl::StrCat("has ", request.config_yaml().size(), " bytes; at most ", kMaxConfigBytes));
  }
  auto filter = DemandOf(request.filter(), sources_.retention, sources_.clock.Read().wall());
  if (!filter.ok()) return ToGrpcStatus(filter.status(), {});
  // Reading a configuration takes time as well.
  const std::unique_lock<std::mutex> mine(replaying_, std::try_to_lock);
  if (!mine.owns_lock())
    return transport::Overloaded("REPLAY_RUNNING", "another replay is running");
  config::LoadResult loaded = config::Parse(request.config_yaml(), "config_yaml");
  if (!loaded.config.has_value()) return BadConfig(Findings(loaded.problems));
  const absl::Status fits = ValidateSize(loaded.config->policy);
  if (!fits.ok()) return BadConfig(std::string(fits.message()));
  if (context.IsCancelled()) return FromLog(absl::CancelledError("the caller has gone"));
  CatchUp();

  throttle_log::ReplayOptions options;
  options.policy = std::move(loaded.config->policy);
  options.bucket_bytes = std::min(loaded.config->engine.bucket_bytes, kMaxBucketBytes);
  options.filter = *std::move(filter);
  options.seed = sources_.seed;
  options.cancelled = [&context] { return context.IsCancelled(); };
  options.held = &held_;
  const auto result = throttle_log::Replay(sources_.store, options);
  if (result.status().code() == absl::StatusCode::kInvalidArgument) {
    return BadConfig(std::string(result.status().message()));
  }
  if (!result.ok()) return FromLog(result.status());
  for (const auto& identity : result->identities) {
    FillReplayed(identity, *response.add_identities());
  }
  const std::shared_ptr<const config::Config> in_force =
      sources_.in_force ? sources_.in_force() : nullptr;
  if (in_force != nullptr) {
    options.policy = in_force->policy;
    options.bucket_bytes = std::min(in_force->engine.bucket_bytes, kMaxBucketBytes);
    const auto baseline = throttle_log::Replay(sources_.store, options);
    if (!baseline.ok()) return FromLog(baseline.status());
    FillBaseline(baseline->identities, response);
  }
  for (const std::string& caveat : result->caveats) response.add_caveats(caveat);
  SetSeconds(options.filter.from_s, *response.mutable_from());
  SetSeconds(options.filter.to_s, *response.mutable_to());
  return grpc::Status();
}

}  // namespace headgate::rpc
