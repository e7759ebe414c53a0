#include "server/rpc/throttler.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/decision_proto.h"
#include "server/rpc/errors.h"

namespace headgate::rpc {
namespace {

constexpr int kMostInBatch = 1000;
// Checks that are decided in one go: more would not fit into the cache together.
constexpr int kAtOnce = 128;
// Of so many decisions one is timed.
constexpr uint32_t kTimedOf = 64;

std::string Path(const char* list, int place) { return absl::StrCat(list, "[", place, "]"); }

grpc::Status TooMany(const char* field, int count) {
  return FieldError(field, absl::StrCat("has ", count, " entries; at most ", kMostInBatch));
}

// As many as there are items: those that stay keep their memory.
template <typename Message>
void Resize(google::protobuf::RepeatedPtrField<Message>& list, int size) {
  if (list.size() > size) list.DeleteSubrange(size, list.size() - size);
  list.Reserve(size);
  while (list.size() < size) list.Add();
}

}  // namespace

grpc::Status Throttler::Check(const v1::CheckRequest& check, const engine::IpAddress* address,
                              v1::Decision& decision) {
  if (demand_ != nullptr) demand_->OnCheck(check.target());
  requests_.Assign(check, address);
  const engine::CheckRequest& request = requests_.all()[0];
  engine::CheckAnswer& answer = answers_[0];
  if (check.validate_only()) {
    ExplainInstead(0, clock_.Read());
  } else {
    const Now now = clock_.Read();
    statuses_[0] = engine_.Check(request, now, answer);
    if (latency_ != nullptr && decisions_++ % kTimedOf == 0) [[unlikely]]
      latency_->Add(clock_.Read().monotonic_ns - now.monotonic_ns);
    if (lane_ != nullptr && statuses_[0].ok()) lane_->Record(request, answer, now);
  }
  if (!statuses_[0].ok()) return ToGrpcStatus(statuses_[0], {.tags = request.tags});
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  FillDecision(answer, answer.policy != nullptr ? *answer.policy : *policy, check.identity(),
               decision);
  return grpc::Status();
}

grpc::Status Throttler::BatchCheck(const Checks& checks, const engine::IpAddress* address,
                                   Results& results) {
  if (checks.size() > kMostInBatch) return TooMany("checks", checks.size());
  NoteDemand(checks);
  Resize(results, checks.size());
  const Now now = clock_.Read();
  for (int first = 0; first < checks.size(); first += kAtOnce) {
    DecideSome(checks, first, std::min(kAtOnce, checks.size() - first), address, now, results);
  }
  return grpc::Status();
}

void Throttler::NoteDemand(const Checks& checks) {
  if (demand_ == nullptr) return;
  const std::string* before = nullptr;
  for (const v1::CheckRequest& check : checks) {
    if (before != nullptr && *before == check.target()) continue;
    before = &check.target();
    demand_->OnCheck(*before);
  }
}

void Throttler::DecideSome(const Checks& checks, int first, int count,
                           const engine::IpAddress* address, Now now, Results& results) {
  const auto size = static_cast<size_t>(count);
  requests_.Assign(checks, first, count, address);
  if (answers_.size() < size) answers_.resize(size);
  if (statuses_.size() < size) statuses_.resize(size);
  for (int begin = 0; begin < count;) {
    int end = begin;
    while (end < count && !checks[first + end].validate_only()) ++end;
    const auto from = static_cast<size_t>(begin);
    const auto run = static_cast<size_t>(end - begin);
    engine_.CheckBatch(requests_.all().subspan(from, run), now,
                       absl::MakeSpan(answers_).subspan(from, run),
                       absl::MakeSpan(statuses_).subspan(from, run));
    if (end < count) ExplainInstead(from + run, now);
    begin = end + 1;
  }
  if (lane_ != nullptr) RecordSome(checks, first, count, now);
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(i);
    const engine::CheckAnswer& answer = answers_[place];
    v1::CheckResult& result = *results.Mutable(first + i);
    if (statuses_[place].ok()) [[likely]] {
      FillDecision(answer, answer.policy != nullptr ? *answer.policy : *policy,
                   checks[first + i].identity(), *result.mutable_decision());
    } else {
      FillError(statuses_[place],
                {.path = Path("checks", first + i), .tags = requests_.all()[place].tags},
                *result.mutable_error());
    }
  }
}

void Throttler::RecordSome(const Checks& checks, int first, int count, Now now) {
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(i);
    if (!statuses_[place].ok() || checks[first + i].validate_only()) continue;
    lane_->Record(requests_.all()[place], answers_[place], now);
  }
}

void Throttler::ExplainInstead(size_t at, Now now) {
  absl::StatusOr<engine::Explanation> explained = engine_.Explain(requests_.all()[at], now);
  statuses_[at] = explained.status();
  if (explained.ok()) answers_[at] = std::move(explained->answer);
}

grpc::Status Throttler::Report(const v1::ReportRequest& request, v1::ReportResponse& response) {
  const auto& reports = request.reports();
  if (reports.size() > kMostInBatch) return TooMany("reports", reports.size());
  Resize(*response.mutable_results(), reports.size());
  const Now now = clock_.Read();
  for (int i = 0; i < reports.size(); ++i) {
    ReportOne(reports[i], i, now, *response.mutable_results(i));
  }
  return grpc::Status();
}

void Throttler::ReportOne(const v1::PermitReport& report, int place, Now now,
                          v1::ReportResult& result) {
  absl::Status status;
  if (report.permit_id() == 0) {
    status = absl::InvalidArgumentError("permit_id: is required");
  } else if (!report.has_actual_cost()) {
    status = absl::InvalidArgumentError("actual_cost: is required; 0 is a cost like any other");
  } else {
    const auto outcome = engine_.Report(report.permit_id(), report.actual_cost(), now);
    if (outcome.ok()) {
      // Both sides count alike, from the first that is no error.
      static_assert(v1::REPORT_OUTCOME_SETTLED ==
                    1 + static_cast<int>(engine::ReportOutcome::kSettled));
      static_assert(v1::REPORT_OUTCOME_FORGOTTEN ==
                    1 + static_cast<int>(engine::ReportOutcome::kForgotten));
      result.set_outcome(static_cast<v1::ReportOutcome>(1 + static_cast<int>(*outcome)));
      result.clear_error();
      return;
    }
    status = outcome.status();
    if (absl::IsNotFound(status)) {
      status = absl::NotFoundError(
          absl::StrCat("permit_id: ", report.permit_id(), " was not issued by this server"));
    }
  }
  result.set_outcome(v1::REPORT_OUTCOME_UNSPECIFIED);
  FillError(status, {.path = Path("reports", place)}, *result.mutable_error());
}

grpc::Status Throttler::Explain(engine::Engine& engine, Clock& clock,
                                const v1::ExplainRequest& request, const engine::IpAddress* address,
                                v1::ExplainResponse& response) {
  CheckRequests requests;
  requests.Assign(request.check(), address);
  const engine::CheckRequest& check = requests.all()[0];
  const absl::StatusOr<engine::Explanation> explanation = engine.Explain(check, clock.Read());
  if (!explanation.ok()) {
    return ToGrpcStatus(explanation.status(), {.path = "check", .tags = check.tags});
  }
  FillExplanation(*explanation, request.check().identity(), response);
  return grpc::Status();
}

}  // namespace headgate::rpc
