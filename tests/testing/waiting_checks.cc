#include "tests/testing/waiting_checks.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "tests/testing/error_details.h"
#include "tests/testing/own_channel.h"

namespace headgate {
namespace {

constexpr int kCallsOnConnection = 100;

absl::Time WallTime() { return SystemClock::ReadKernel().wall(); }

bool IsToldWhen(const grpc::Status& status) {
  const std::optional<ErrorDetails> details = ReadDetails(status);
  return details.has_value() && details->retry;
}

}  // namespace

struct WaitingChecks::Call {
  v1::CheckRequest request;
  std::unique_ptr<grpc::ClientContext> context = nullptr;  // null: it was never sent
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CheckResponse>> reader = nullptr;
  v1::CheckResponse response = {};
  grpc::Status status = {};
  bool under_way = false;

  bool IsDecided() const { return context != nullptr && !under_way && status.ok(); }
};

WaitingChecks::WaitingChecks(const std::string& address, const WaitingChecksOptions& options)
    : options_(options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  for (int i = 0; i < options_.checks; ++i) {
    if (i % kCallsOnConnection == 0) {
      stubs_.push_back(std::make_unique<v1::ThrottlerService::Stub>(
          OwnChannel(address, grpc::InsecureChannelCredentials(), arguments)));
    }
    Call& call = *calls_.emplace_back(std::make_unique<Call>());
    call.request.set_identity(absl::StrCat("job-", i, ":", options_.identity));
    call.request.set_estimated_cost(options_.cost);
    call.request.set_request_id(absl::StrCat("waiting-", i));
    call.request.mutable_max_wait()->set_seconds(absl::ToInt64Seconds(options_.max_wait));
    call.request.mutable_max_wait()->set_nanos(static_cast<int32_t>(
        absl::ToInt64Nanoseconds(options_.max_wait) % absl::ToInt64Nanoseconds(absl::Seconds(1))));
  }
}

WaitingChecks::~WaitingChecks() {
  Cancel();
  while (under_way_ > 0 && TakeAnswer(absl::InfiniteFuture())) {
  }
}

void WaitingChecks::Send() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = *calls_[i];
    if (call.under_way || call.IsDecided()) continue;
    call.context = std::make_unique<grpc::ClientContext>();
    call.context->set_wait_for_ready(true);
    call.context->set_deadline(absl::ToChronoTime(WallTime() + options_.patience));
    call.reader =
        stubs_[i / kCallsOnConnection]->AsyncCheck(call.context.get(), call.request, &queue_);
    call.reader->Finish(&call.response, &call.status, &call);
    call.under_way = true;
    ++under_way_;
  }
}

void WaitingChecks::Cancel() {
  for (const auto& call : calls_) {
    if (call->under_way) call->context->TryCancel();
  }
}

bool WaitingChecks::TakeAnswer(absl::Time deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(deadline)) !=
      grpc::CompletionQueue::GOT_EVENT) {
    return false;
  }
  static_cast<Call*>(tag)->under_way = false;
  --under_way_;
  return true;
}

void WaitingChecks::Count(const Call& call, WaitingOutcomes& outcomes) {
  if (call.context == nullptr || call.under_way) {
    ++outcomes.unanswered;
    return;
  }
  switch (call.status.error_code()) {
    case grpc::StatusCode::OK:
      ++(call.response.decision().verdict() == v1::VERDICT_ALLOWED ? outcomes.allowed
                                                                   : outcomes.denied);
      return;
    case grpc::StatusCode::CANCELLED:
      ++outcomes.cancelled;
      return;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      ++outcomes.out_of_time;
      return;
    case grpc::StatusCode::UNAVAILABLE:
      if (IsToldWhen(call.status)) {
        ++outcomes.sent_away;
        return;
      }
      ++outcomes.cut;
      break;
    default:
      ++outcomes.failed;
  }
  outcomes.last_error =
      absl::StrCat(static_cast<int>(call.status.error_code()), " ", call.status.error_message());
}

void WaitingChecks::Listen(absl::Duration time) {
  const absl::Time deadline = WallTime() + time;
  while (TakeAnswer(deadline)) {
  }
}

WaitingOutcomes WaitingChecks::Await(absl::Duration limit) {
  const absl::Time deadline = WallTime() + limit;
  while (under_way_ > 0 && TakeAnswer(deadline)) {
  }
  WaitingOutcomes outcomes;
  for (const auto& call : calls_) Count(*call, outcomes);
  return outcomes;
}

}  // namespace headgate
