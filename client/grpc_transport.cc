#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <headgate/time_source.h>
#include <headgate/transport.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/convert.h"
#include "client/grpc_call.h"
#include "client/known_owners.h"
#include "client/server_connections.h"

namespace headgate::client {
namespace {

// gRPC's own pauses between attempts to connect grow to two minutes, far too long for a service
// that is back after a restart of seconds.
constexpr int kFirstReconnectMs = 100;
constexpr int kLongestReconnectMs = 2000;
constexpr int kLongestOwnerReconnectMs = 30'000;
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

// The owner of a target, as a server says that forwards: "ADDRESS TARGET".
constexpr char kOwnerKey[] = "headgate-owner";

// The address; empty: it decided itself, or what it says is about another target.
std::string_view OwnerIn(const grpc::ClientContext& context, std::string_view target) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(kOwnerKey);
  if (found == metadata.end()) return {};
  const std::string_view hint(found->second.data(), found->second.size());
  const size_t space = std::min(hint.find(' '), hint.size());
  const std::string_view about = hint.substr(std::min(space + 1, hint.size()));
  return about == target ? hint.substr(0, space) : std::string_view();
}

// Whether a server that was asked directly has decided, if only to refuse. What else may have
// become of the call is not told to the caller, as long as there is another way to ask.
bool IsDecided(const absl::Status& status) {
  return status.ok() || absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
         absl::IsFailedPrecondition(status) || absl::IsResourceExhausted(status) ||
         absl::IsCancelled(status);
}

// What a call that goes to an owner leaves of its time for the way round by the configured address.
absl::Duration LeftForTheOtherWay(absl::Duration timeout, absl::Duration max_wait) {
  return std::max(timeout - max_wait, absl::ZeroDuration()) / 2;
}

class GrpcTransport final : public Transport {
 public:
  using Server = std::shared_ptr<internal::ServerConnections>;
  using Results = absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>>;

  GrpcTransport(Server configured, const ConnectionOptions& options)
      : configured_(std::move(configured)), owners_(options, OwnerArguments()) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    const Server owner = owners_.ReadyFor(request.target);
    if (owner == nullptr) return CheckAt(configured_, request, timeout, stop);
    const absl::Duration rest = LeftForTheOtherWay(timeout, request.max_wait);
    const absl::Duration end = time_->Now() + timeout;
    absl::StatusOr<Answer> answer = CheckAt(owner, request, timeout - rest, stop);
    if (IsDecided(answer.status())) return answer;
    owners_.Forget(owner);
    const absl::Duration left = end - time_->Now();
    if (left <= absl::ZeroDuration()) return answer;
    // The same request, by its id: whatever the owner did counts once.
    CheckRequest again = request;
    again.max_wait = std::clamp(left - rest, absl::ZeroDuration(), request.max_wait);
    return CheckAt(configured_, again, left, stop);
  }

  Results Report(absl::Span<const PermitReport> reports, absl::Duration timeout,
                 const std::stop_token& stop) override {
    v1::ReportRequest request;
    for (const PermitReport& report : reports) *request.add_reports() = internal::ToProto(report);
    // Any server settles them all; that which answered last has most likely issued the permits.
    const Server owner = owners_.ReadyLast();
    if (owner == nullptr) return ReportAt(configured_, request, timeout, stop);
    const absl::Duration end = time_->Now() + timeout;
    Results results = ReportAt(owner, request, timeout / 2, stop);
    if (IsDecided(results.status())) return results;
    owners_.Forget(owner);
    return ReportAt(configured_, request, end - time_->Now(), stop);
  }

  absl::StatusOr<uint64_t> WatchLease(const LeaseWatch& watch, absl::Duration timeout,
                                      const std::stop_token& stop) override {
    // Whoever decides knows of gates, and of what it decides, before others do.
    const Server owner = owners_.ReadyFor(watch.target);
    const Server& server = owner == nullptr ? configured_ : owner;
    Call call(timeout, stop);
    v1::CheckResponse response;
    const grpc::Status status = CallCheck(server, internal::ServerConnections::Call::kWaitsInLine,
                                          call, internal::ToProto(watch), response);
    if (status.ok()) return response.decision().lease().state();
    absl::Status failed = internal::FromCall(status, stop);
    if (owner != nullptr && !IsDecided(failed)) owners_.Forget(owner);
    return failed;
  }

 private:
  // Who is not to be reached from here is tried less and less often.
  static grpc::ChannelArguments OwnerArguments() {
    grpc::ChannelArguments arguments = Arguments();
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestOwnerReconnectMs);
    return arguments;
  }

  static grpc::Status CallCheck(const Server& server, internal::ServerConnections::Call kind,
                                Call& call, const v1::CheckRequest& sent,
                                v1::CheckResponse& response) {
    const auto connection = server->Take(kind);
    const auto stub = connection->CurrentStub();
    return internal::WaitForCall([&](auto done) {
      stub->async()->Check(call.context(), &sent, &response, std::move(done));
    });
  }

  absl::StatusOr<Answer> CheckAt(const Server& server, const CheckRequest& request,
                                 absl::Duration timeout, const std::stop_token& stop) {
    using Kind = internal::ServerConnections::Call;
    const bool waits = request.max_wait > absl::ZeroDuration();
    Call call(timeout, stop);
    v1::CheckResponse response;
    const grpc::Status status =
        CallCheck(server, waits ? Kind::kWaitsInLine : Kind::kAnsweredAtOnce, call,
                  internal::ToProto(request), response);
    if (!status.ok()) return internal::FromCall(status, stop);
    const std::string_view owner = OwnerIn(*call.context(), request.target);
    if (server == configured_ || !owner.empty()) owners_.Learn(request.target, owner);
    return internal::FromProto(response);
  }

  static Results ReportAt(const Server& server, const v1::ReportRequest& request,
                          absl::Duration timeout, const std::stop_token& stop) {
    Call call(timeout, stop);
    v1::ReportResponse response;
    const auto stub =
        server->Take(internal::ServerConnections::Call::kAnsweredAtOnce)->CurrentStub();
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

  const std::shared_ptr<TimeSource> time_ = NewRealTime();
  const Server configured_;
  internal::KnownOwners owners_;
};

}  // namespace

std::shared_ptr<Transport> NewGrpcTransport(const std::string& address) {
  // Without files there is nothing that could be wrong but an empty address, which no server has.
  return *NewGrpcTransport(ConnectionOptions{.address = address.empty() ? ":0" : address});
}

absl::StatusOr<std::shared_ptr<Transport>> NewGrpcTransport(const ConnectionOptions& options) {
  absl::StatusOr<std::shared_ptr<internal::ServerConnections>> configured =
      internal::ServerConnections::Create(options, Arguments());
  if (!configured.ok()) return configured.status();
  return std::make_shared<GrpcTransport>(*std::move(configured), options);
}

}  // namespace headgate::client
