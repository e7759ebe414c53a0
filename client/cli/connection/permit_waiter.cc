#include "client/cli/connection/permit_waiter.h"

#include <grpcpp/client_context.h>
#include <headgate/transport.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "client/cli/arguments/server_address.h"
#include "client/cli/connection/connection.h"
#include "client/convert.h"
#include "client/grpc_call.h"
#include "common/mutex.h"

namespace headgate::cli {
namespace {

client::OnUnreachable ToSdk(OnUnreachable choice) {
  switch (choice) {
    case OnUnreachable::kWait:
      return client::OnUnreachable::Wait();
    case OnUnreachable::kProceed:
      return client::OnUnreachable::Proceed();
    case OnUnreachable::kFail:
      break;
  }
  return client::OnUnreachable::Fail();
}

}  // namespace

// Reports go through the SDK's own transport. Nobody asks this one to stop, because a signal ends
// the program.
class PermitWaiter::Recorder final : public client::Transport {
 public:
  Recorder(std::string address, std::shared_ptr<client::internal::ChannelSource> channels,
           std::shared_ptr<client::Transport> reporter, OnUnreachable on_unreachable,
           OnWaiting on_waiting)
      : address_(std::move(address)),
        on_unreachable_(on_unreachable),
        on_waiting_(std::move(on_waiting)),
        channels_(std::move(channels)),
        reporter_(std::move(reporter)) {}

  absl::StatusOr<client::Answer> Check(const client::CheckRequest& request, absl::Duration timeout,
                                       const std::stop_token& stop) override {
    v1::CheckResponse response;
    const absl::Status status = client::internal::FromCall(
        Call(client::internal::ToProto(request), timeout, response), stop);
    TellOfWaiting(status, response.decision(), timeout);
    MutexLock lock(&mutex_);
    last_error_ = status;
    last_answer_ = status.ok() ? std::optional(response) : std::nullopt;
    if (!status.ok()) return last_error_;
    return client::internal::FromProto(response);
  }

  absl::StatusOr<std::vector<absl::StatusOr<client::ReportResult>>> Report(
      absl::Span<const client::PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) override {
    auto results = reporter_->Report(reports, timeout, stop);
    MutexLock lock(&mutex_);
    last_report_error_ = results.status();
    return results;
  }

  std::optional<v1::CheckResponse> last_answer() const {
    MutexLock lock(&mutex_);
    return last_answer_;
  }
  absl::Status last_error() const {
    MutexLock lock(&mutex_);
    return last_error_;
  }
  absl::Status last_report_error() const {
    MutexLock lock(&mutex_);
    return last_report_error_;
  }

 private:
  grpc::Status Call(const v1::CheckRequest& request, absl::Duration timeout,
                    v1::CheckResponse& response) {
    grpc::ClientContext context;
    SetDeadline(context, timeout);
    const auto stub = v1::ThrottlerService::NewStub(channels_->Get());
    return client::internal::WaitForCall(
        [&](auto done) { stub->async()->Check(&context, &request, &response, std::move(done)); });
  }

  // Client makes its Checks on the thread that waits for them, so this needs no lock.
  void TellOfWaiting(const absl::Status& status, const v1::Decision& decision,
                     absl::Duration timeout) {
    if (on_waiting_ == nullptr) return;
    if (status.ok()) {
      if (!decision.has_retry_after()) return;
      on_waiting_(decision.message());
    } else {
      if (on_unreachable_ != OnUnreachable::kWait) return;
      on_waiting_(std::string(DescribeUnreachable(status, address_, timeout).message()));
    }
    on_waiting_ = nullptr;
  }

  const std::string address_;
  const OnUnreachable on_unreachable_;
  OnWaiting on_waiting_;
  const std::shared_ptr<client::internal::ChannelSource> channels_;
  const std::shared_ptr<client::Transport> reporter_;
  mutable Mutex mutex_;
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_report_error_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::CheckResponse> last_answer_ ABSL_GUARDED_BY(mutex_);
};

PermitWaiter::PermitWaiter(const Globals& globals, std::shared_ptr<Recorder> recorder,
                           std::unique_ptr<client::Client> client)
    : globals_(globals), recorder_(std::move(recorder)), client_(std::move(client)) {}

absl::StatusOr<std::unique_ptr<PermitWaiter>> PermitWaiter::Create(const Globals& globals,
                                                                   OnUnreachable on_unreachable,
                                                                   OnWaiting on_waiting) {
  client::ClientOptions options{.on_unreachable = ToSdk(on_unreachable)};
  options.check_deadline = globals.timeout;
  options.flush_timeout = absl::ZeroDuration();  // whoever reports flushes
  const auto channels = OpenChannels(globals);
  auto reporter = client::NewGrpcTransport(OptionsOf(globals));
  if (!reporter.ok()) return reporter.status();
  if (channels == nullptr) return absl::InvalidArgumentError("a file has vanished");
  auto recorder =
      std::make_shared<Recorder>(WithPort(globals.address), channels, *std::move(reporter),
                                 on_unreachable, std::move(on_waiting));
  absl::StatusOr<std::unique_ptr<client::Client>> client =
      client::Client::Create(options, recorder);
  if (!client.ok()) return client.status();
  return std::unique_ptr<PermitWaiter>(
      new PermitWaiter(globals, std::move(recorder), *std::move(client)));
}

absl::StatusOr<client::Permit> PermitWaiter::Wait(const client::CheckRequest& request,
                                                  absl::Duration most) {
  absl::StatusOr<client::Permit> permit = client_->CheckOrWait(request, most);
  // All other errors are the SDK's own, and say more than that there was no answer.
  if (!permit.ok() && permit.status() == recorder_->last_error()) {
    return WithReason(
        DescribeUnreachable(permit.status(), WithPort(globals_.address), globals_.timeout),
        globals_);
  }
  return permit;
}

std::optional<v1::CheckResponse> PermitWaiter::last_answer() const {
  return recorder_->last_answer();
}

absl::Status PermitWaiter::last_report_error() const { return recorder_->last_report_error(); }

}  // namespace headgate::cli
