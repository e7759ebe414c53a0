#include "tests/soak/jobs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace headgate::soak {
namespace {

// A name comes back after so many: the throttle log's cache of names holds 65,536 of them before it
// starts anew, which would be a tooth of many minutes. Names that never come back are the flood's
// (tests/bench/flood_bench.cc). All other tables are far smaller than this.
constexpr uint64_t kRuns = 1500;
constexpr int kInBatch = 40;
constexpr int kInMessage = 10;
constexpr int kMessages = 8;
// Permits that nobody reports fill their table, which is said and may be tried again.
constexpr grpc::StatusCode kFull = grpc::StatusCode::RESOURCE_EXHAUSTED;

}  // namespace

Jobs::Jobs(SoakState& state, uint64_t number)
    : state_(state),
      number_(number),
      random_(number),
      stub_(v1::ThrottlerService::NewStub(state.Connect())) {}

v1::CheckRequest Jobs::NewCheck() {
  v1::CheckRequest check;
  const double which = Share();
  const bool measured = which < 0.3;  // on the target whose database fails
  ++jobs_;
  check.set_identity(
      absl::StrCat("run-", jobs_ % kRuns, ":job-", number_, "-", jobs_ % 300, ":etl"));
  check.set_target(measured ? "shop" : "plain");
  if (which > 0.05) check.set_estimated_cost(1 + static_cast<double>(jobs_ % 5));
  check.set_pattern(absl::StrCat("copy ", jobs_ % 50));
  if (which > 0.7) (*check.mutable_tags())["tenant"] = absl::StrCat("t", jobs_ % 1000);
  if (which > 0.5) check.set_request_id(absl::StrCat(number_, "-", jobs_));
  if (which > 0.97) check.set_validate_only(true);
  return check;
}

bool Jobs::Note(const v1::CheckRequest& check, const v1::Decision& decision, int64_t asked_ns) {
  const int64_t answered_ns = MonotonicNs();
  const bool allowed = decision.verdict() == v1::VERDICT_ALLOWED;
  state_.calls.Require(allowed || decision.verdict() == v1::VERDICT_DENIED, "a Check: no verdict");
  state_.calls.Require(allowed || !decision.has_permit_id(), "a Check: a permit with a denial");
  // On "shop" the budget is another one: budgets are for each target.
  if (allowed && decision.has_permit_id() && check.target() == "plain") {
    state_.rows.Admit(asked_ns, answered_ns, decision.predicted_cost());
  }
  (allowed ? state_.allowed : state_.denied).fetch_add(1, std::memory_order_relaxed);
  return allowed && decision.has_permit_id();
}

void Jobs::RetryOnce(const v1::CheckRequest& check, const v1::Decision& decision) {
  Context context;
  v1::CheckResponse again;
  if (!state_.calls.Expect("retry", stub_->Check(&context, check, &again), {kFull})) return;
  state_.calls.Require(again.decision().permit_id() == decision.permit_id(),
                       absl::StrCat("a retry of ", check.identity(), " got another permit"));
}

void Jobs::AddReport(const v1::CheckRequest& check, const v1::Decision& decision,
                     v1::ReportRequest& reports) {
  if (Share() < 0.15) {  // it has died
    state_.unreported.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  v1::PermitReport& report = *reports.add_reports();
  report.set_permit_id(decision.permit_id());
  // Costs are estimated too high and too low; the mean keeps the learnt factor where it is.
  report.set_actual_cost(decision.predicted_cost() * (0.5 + Share()));
  if (check.target() != "plain") return;
  refunds_ += std::max(0.0, decision.predicted_cost() - report.actual_cost());
}

void Jobs::Send(const v1::ReportRequest& reports) {
  if (reports.reports().empty()) return;
  const int64_t asked_ns = MonotonicNs();
  Context context;
  v1::ReportResponse response;
  const bool answered = state_.calls.Expect("report", stub_->Report(&context, reports, &response));
  state_.rows.Refund(asked_ns, MonotonicNs(), refunds_);
  refunds_ = 0;
  if (!answered) return;
  for (const v1::ReportResult& result : response.results()) {
    state_.calls.Require(!result.has_error(), "a report: " + result.error().message());
  }
}

void Jobs::CheckOnce() {
  const v1::CheckRequest check = NewCheck();
  const int64_t asked_ns = MonotonicNs();
  Context context;
  v1::CheckResponse response;
  if (!state_.calls.Expect("check", stub_->Check(&context, check, &response), {kFull})) return;
  if (!Note(check, response.decision(), asked_ns)) return;
  if (!check.request_id().empty() && Share() < 0.3) RetryOnce(check, response.decision());
  v1::ReportRequest reports;
  AddReport(check, response.decision(), reports);
  Send(reports);
}

void Jobs::BatchOnce() {
  v1::BatchCheckRequest batch;
  for (int i = 0; i < kInBatch; ++i) *batch.add_checks() = NewCheck();
  batch.mutable_checks(kInBatch / 2)->set_identity("no identity");
  const int64_t asked_ns = MonotonicNs();
  Context context;
  v1::BatchCheckResponse response;
  if (!state_.calls.Expect("batch", stub_->BatchCheck(&context, batch, &response))) return;
  state_.calls.Require(response.results_size() == kInBatch, "a batch: answers are missing");
  v1::ReportRequest reports;
  for (int i = 0; i < std::min(kInBatch, response.results_size()); ++i) {
    const v1::CheckResult& result = response.results(i);
    const bool bad = i == kInBatch / 2;
    if (result.has_error()) {
      const bool full = result.error().code() == static_cast<int>(kFull);
      state_.calls.Require(bad || full, "a Check in a batch: " + result.error().message());
      continue;
    }
    state_.calls.Require(!bad, "what is no identity was answered");
    if (Note(batch.checks(i), result.decision(), asked_ns)) {
      AddReport(batch.checks(i), result.decision(), reports);
    }
  }
  Send(reports);
}

void Jobs::StreamOnce() {
  Context context;
  const auto stream = stub_->CheckStream(&context);
  const bool vanishes = Share() < 0.2;
  v1::ReportRequest reports;
  for (int message = 0; message < kMessages; ++message) {
    v1::CheckStreamRequest request;
    for (int i = 0; i < kInMessage; ++i) *request.add_checks() = NewCheck();
    const int64_t asked_ns = MonotonicNs();
    v1::CheckStreamResponse response;
    if (!stream->Write(request)) break;
    if (vanishes && message == kMessages / 2) {
      context.TryCancel();  // charged, and never heard of: what was admitted can only be less
      break;
    }
    if (!stream->Read(&response)) break;
    for (int i = 0; i < response.results_size(); ++i) {
      const v1::CheckResult& result = response.results(i);
      if (result.has_decision() && Note(request.checks(i), result.decision(), asked_ns)) {
        AddReport(request.checks(i), result.decision(), reports);
      }
    }
  }
  if (!vanishes) stream->WritesDone();
  v1::CheckStreamResponse rest;
  while (stream->Read(&rest)) {
  }
  const grpc::Status status = stream->Finish();
  if (vanishes) {
    state_.calls.Expect("cancelled stream", status, {grpc::StatusCode::CANCELLED});
  } else {
    state_.calls.Expect("stream", status);
  }
  Send(reports);
}

}  // namespace headgate::soak
