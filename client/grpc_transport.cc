#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <headgate/time_source.h>
#include <headgate/transport.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "client/channel_source.h"
#include "client/convert.h"
#include "client/grpc_call.h"
#include "common/mutex.h"

namespace headgate::client {
namespace {

// gRPC's own pauses between attempts to connect grow to two minutes, far too long for a service
// that is back after a restart of seconds.
constexpr int kFirstReconnectMs = 100;
constexpr int kLongestReconnectMs = 2000;
constexpr int kConnectTimeoutMs = 5000;
// Finds connections whose other end has vanished: what was sent has to be acknowledged in time.
constexpr int kKeepaliveMs = 30'000;
constexpr int kAcknowledgeMs = 5000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // Headgate is near
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAcknowledgeMs);
  return arguments;
}

// One call's context: its deadline, and its cancellation.
class Call {
 public:
  Call(absl::Duration timeout, const std::stop_token& stop)
      : cancel_(stop, [this] { context_.TryCancel(); }) {
    const absl::Duration bounded = std::clamp(timeout, absl::ZeroDuration(), absl::Hours(24) * 365);
    // A span, from now on: gRPC reads the clock.
    context_.set_deadline(gpr_time_from_nanos(absl::ToInt64Nanoseconds(bounded), GPR_TIMESPAN));
  }

  grpc::ClientContext* context() { return &context_; }

 private:
  grpc::ClientContext context_;
  std::stop_callback<std::function<void()>> cancel_;  // last: it uses the context
};

// A server takes 128 calls of a connection at a time, and lets others wait.
constexpr int kWaitingOnOneConnection = 100;

using Stub = v1::ThrottlerService::Stub;

// A connection, and how many Checks wait on it.
class Connection {
 public:
  explicit Connection(std::shared_ptr<internal::ChannelSource> channels)
      : channels_(std::move(channels)) {}

  // Of the channel at present: certificates may have changed.
  std::shared_ptr<Stub> CurrentStub() {
    std::shared_ptr<grpc::Channel> channel = channels_->Get();
    const MutexLock lock(&mutex_);
    if (channel != channel_) {
      stub_ = v1::ThrottlerService::NewStub(channel);
      channel_ = std::move(channel);
    }
    return stub_;
  }

 private:
  const std::shared_ptr<internal::ChannelSource> channels_;
  Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Stub> stub_ ABSL_GUARDED_BY(mutex_);
};

// Connections for Checks that wait in the server, a few of which would otherwise hold up all
// Reports. There are as many as it takes, and they stay.
class WaitingConnections {
 public:
  using MakeSource = std::function<absl::StatusOr<std::shared_ptr<internal::ChannelSource>>(int)>;
  explicit WaitingConnections(MakeSource make) : make_(std::move(make)) {}

  // One with room, until it is let go of; null: there is none and none can be made.
  std::shared_ptr<Connection> Take() {
    const MutexLock lock(&mutex_);
    for (const auto& each : connections_) {
      // Each that waits has one reference, and this list has one.
      if (each.use_count() <= kWaitingOnOneConnection) return each;
    }
    auto source = make_(static_cast<int>(connections_.size()) + 1);
    if (!source.ok()) return nullptr;
    return connections_.emplace_back(std::make_shared<Connection>(*std::move(source)));
  }

 private:
  const MakeSource make_;
  Mutex mutex_;
  std::vector<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
};

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(std::shared_ptr<internal::ChannelSource> channels,
                WaitingConnections::MakeSource make)
      : connection_(std::move(channels)), waiting_(std::move(make)) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    Call call(timeout, stop);
    const v1::CheckRequest sent = internal::ToProto(request);
    v1::CheckResponse response;
    std::shared_ptr<Connection> waits;
    if (request.max_wait > absl::ZeroDuration()) waits = waiting_.Take();
    const auto stub = waits == nullptr ? connection_.CurrentStub() : waits->CurrentStub();
    const grpc::Status status = internal::WaitForCall([&](auto done) {
      stub->async()->Check(call.context(), &sent, &response, std::move(done));
    });
    if (!status.ok()) return internal::FromCall(status, stop);
    return internal::FromProto(response);
  }

  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) override {
    v1::ReportRequest request;
    for (const PermitReport& report : reports) *request.add_reports() = internal::ToProto(report);
    Call call(timeout, stop);
    v1::ReportResponse response;
    const auto stub = connection_.CurrentStub();
    const grpc::Status status = internal::WaitForCall([&](auto done) {
      stub->async()->Report(call.context(), &request, &response, std::move(done));
    });
    if (!status.ok()) return internal::FromCall(status, stop);
    std::vector<absl::StatusOr<ReportResult>> results;
    results.reserve(static_cast<size_t>(response.results_size()));
    for (const v1::ReportResult& result : response.results())
      results.push_back(internal::FromProto(result));
    return results;
  }

 private:
  Connection connection_;
  WaitingConnections waiting_;
};

}  // namespace

std::shared_ptr<Transport> NewGrpcTransport(const std::string& address) {
  // Without files there is nothing that could be wrong but an empty address, which no server has.
  return *NewGrpcTransport(ConnectionOptions{.address = address.empty() ? ":0" : address});
}

absl::StatusOr<std::shared_ptr<Transport>> NewGrpcTransport(const ConnectionOptions& options) {
  // gRPC shares connections between channels that are alike: a number tells them apart.
  const auto make = [options](int number) {
    grpc::ChannelArguments arguments = Arguments();
    arguments.SetInt("headgate.connection", number);
    return internal::ChannelSource::Create(options, arguments, NewRealTime());
  };
  absl::StatusOr<std::shared_ptr<internal::ChannelSource>> channels = make(0);
  if (!channels.ok()) return channels.status();
  return std::make_shared<GrpcTransport>(*std::move(channels), make);
}

}  // namespace headgate::client
