#include "client/cli/connection.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/cli/text.h"
#include "client/cli/tls_probe.h"
#include "client/cli/values.h"
#include "common/host_port.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr int kMaxAnswerBytes = 64 << 20;
constexpr absl::Duration kMaxProbeTime = absl::Seconds(2);

// As the SDK has them: gRPC's own pauses between attempts to connect grow to two minutes.
constexpr int kFirstReconnectMs = 100;
constexpr int kLongestReconnectMs = 2000;

// gRPC tells the whole story; its end says why.
std::string_view Reason(std::string_view message) {
  for (const std::string_view mark :
       {"last error: ", "UNKNOWN: ", "Failed to connect to remote host: "}) {
    const size_t at = message.rfind(mark);
    if (at != std::string_view::npos) message.remove_prefix(at + mark.size());
  }
  return message;
}

// One on which every call fails where there is none.
std::shared_ptr<grpc::Channel> ChannelOf(
    const std::shared_ptr<client::internal::ChannelSource>& channels, const Globals& globals) {
  return channels != nullptr ? channels->Get() : grpc::CreateChannel(globals.address, nullptr);
}

}  // namespace

std::string WithPort(const std::string& address) {
  const bool bare = address.find(':') == std::string::npos || address.back() == ']';
  return bare ? absl::StrCat(address, ":8081") : address;
}

bool IsAddress(const std::string& address) {
  for (const std::string_view scheme :
       {"dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:", "vsock:", "xds:"}) {
    if (std::string_view(address).starts_with(scheme)) return address.size() > scheme.size();
  }
  if (address.empty()) return false;
  const std::optional<HostPort> to = ParseHostPort(WithPort(address));
  return to.has_value() && to->port > 0;
}

client::ConnectionOptions OptionsOf(const Globals& globals) {
  return {
      .address = WithPort(globals.address), .tls = globals.tls, .token_file = globals.token_file};
}

std::shared_ptr<client::internal::ChannelSource> OpenChannels(
    const Globals& globals, const std::shared_ptr<client::TimeSource>& time) {
  grpc::ChannelArguments arguments;
  // A proxy for the web has no say in how Headgate is reached.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  const auto channels =
      client::internal::ChannelSource::Create(OptionsOf(globals), arguments, time);
  return channels.ok() ? *channels : nullptr;
}

std::shared_ptr<grpc::Channel> OpenChannel(const Globals& globals) {
  return ChannelOf(OpenChannels(globals), globals);
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  // A span, from now on: gRPC reads the clock.
  context.set_deadline(gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

absl::Status Explained(const absl::Status& status, const std::string& address,
                       absl::Duration timeout) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(
          absl::StrCat("cannot reach ", address, ": ", Sv(Reason(message))));
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(
          absl::StrCat("no answer from ", address, " within ", ShortDuration(timeout)));
    default:
      return status;
  }
}

absl::Status FromCall(const grpc::Status& status, const std::string& address,
                      absl::Duration timeout) {
  // Details are Headgate's: gRPC itself gives none. What others told it, such as libpq, has lines.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !status.error_details().empty()) {
    return absl::AbortedError(Squeezed(status.error_message()));
  }
  return Explained(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
      address, timeout);
}

absl::Status WithTlsReason(absl::Status status, const Globals& globals) {
  if (!absl::IsUnavailable(status)) return status;
  const std::string why = WhyNoTls(OptionsOf(globals), std::min(globals.timeout, kMaxProbeTime));
  if (why.empty()) return status;
  return absl::UnavailableError(
      absl::StrCat("cannot reach ", WithPort(globals.address), ": ", why));
}

Connection::Connection(const Globals& globals, const std::shared_ptr<client::TimeSource>& time)
    : globals_(globals),
      address_(WithPort(globals.address)),
      channels_(OpenChannels(globals, time)) {}

std::shared_ptr<grpc::Channel> Connection::channel() const {
  return ChannelOf(channels_, globals_);
}

absl::Status Connection::ToStatus(const grpc::Status& status) const {
  return WithTlsReason(FromCall(status, address_, timeout()), globals_);
}

template <typename Response, typename Stub, typename Request>
absl::StatusOr<Response> Connection::Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                                          const Request& request) {
  Stub stub(channel());
  grpc::ClientContext context;
  SetDeadline(context, timeout());
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return ToStatus(status);
  return response;
}

absl::StatusOr<v1::CheckResponse> Connection::Check(const v1::CheckRequest& request) {
  return Call(&v1::ThrottlerService::Stub::Check, request);
}

absl::StatusOr<v1::ReportResponse> Connection::Report(const v1::ReportRequest& request) {
  return Call(&v1::ThrottlerService::Stub::Report, request);
}

absl::StatusOr<v1::ExplainResponse> Connection::Explain(const v1::ExplainRequest& request) {
  return Call(&v1::ThrottlerService::Stub::Explain, request);
}

absl::StatusOr<v1::GetStatusResponse> Connection::GetStatus(const v1::GetStatusRequest& request) {
  return Call(&v1::StatusService::Stub::GetStatus, request);
}

absl::StatusOr<v1::QueryThrottleLogResponse> Connection::QueryThrottleLog(
    const v1::QueryThrottleLogRequest& request) {
  return Call(&v1::ThrottleLogService::Stub::QueryThrottleLog, request);
}

absl::StatusOr<v1::ListThrottledIntervalsResponse> Connection::ListThrottledIntervals(
    const v1::ListThrottledIntervalsRequest& request) {
  return Call(&v1::ThrottleLogService::Stub::ListThrottledIntervals, request);
}

absl::StatusOr<v1::ListDenialsResponse> Connection::ListDenials(
    const v1::ListDenialsRequest& request) {
  return Call(&v1::ThrottleLogService::Stub::ListDenials, request);
}

absl::StatusOr<v1::ReplayThrottleLogResponse> Connection::ReplayThrottleLog(
    const v1::ReplayThrottleLogRequest& request) {
  return Call(&v1::ThrottleLogService::Stub::ReplayThrottleLog, request);
}

}  // namespace headgate::cli
