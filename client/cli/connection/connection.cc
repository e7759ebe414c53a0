#include "client/cli/connection/connection.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/server_address.h"
#include "client/cli/connection/http_probe.h"
#include "client/cli/connection/tls_probe.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr int kMaxAnswerBytes = 64 << 20;
constexpr absl::Duration kMaxProbeTime = absl::Seconds(2);

constexpr char kSpeaksHttp1[] =
    "what answers there speaks HTTP/1, such as headgated's HTTP port; give the address of its gRPC "
    "port (server.grpc_address)";

// As the SDK has them: gRPC's own pauses between attempts to connect grow to two minutes.
constexpr int kFirstReconnectMs = 100;
constexpr int kLongestReconnectMs = 2000;

// gRPC's message is a chain of causes, of which the last one says why.
std::string_view Reason(std::string_view message) {
  for (const std::string_view mark :
       {"last error: ", "UNKNOWN: ", "Failed to connect to remote host: "}) {
    const size_t at = message.rfind(mark);
    if (at != std::string_view::npos) message.remove_prefix(at + mark.size());
  }
  return message;
}

}  // namespace

client::ConnectionOptions OptionsOf(const Globals& globals) {
  return {
      .address = WithPort(globals.address), .tls = globals.tls, .token_file = globals.token_file};
}

std::shared_ptr<client::internal::ChannelSource> OpenChannels(
    const Globals& globals, const std::shared_ptr<client::TimeSource>& time) {
  grpc::ChannelArguments arguments;
  // Headgate is never reached by an HTTP proxy, even where the environment names one.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  const auto channels =
      client::internal::ChannelSource::Create(OptionsOf(globals), arguments, time);
  return channels.ok() ? *channels : nullptr;
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  // The deadline is a span from now on, so that only gRPC reads the clock.
  context.set_deadline(gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

absl::Status DescribeUnreachable(const absl::Status& status, const std::string& address,
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

absl::Status WithReason(absl::Status status, const Globals& globals) {
  const bool late = absl::IsDeadlineExceeded(status);
  if (!late && !absl::IsUnavailable(status)) return status;
  const absl::Duration limit = std::min(globals.timeout, kMaxProbeTime);
  const client::ConnectionOptions options = OptionsOf(globals);
  const auto unreachable = [&](std::string_view why) {
    return absl::UnavailableError(absl::StrCat("cannot reach ", options.address, ": ", Sv(why)));
  };
  // TLS that failed would have been told of at once.
  if (late && !SpeaksHttp1(options.address, limit)) return status;
  const TlsFinding tls = ProbeTls(options, limit);
  // A server that speaks TLS is not asked in plaintext, which it would log as an error.
  const bool http1 = !tls.speaks_tls && (late || SpeaksHttp1(options.address, limit));
  if (http1) return unreachable(kSpeaksHttp1);
  return late || tls.why.empty() ? status : unreachable(tls.why);
}

Connection::Connection(const Globals& globals, const std::shared_ptr<client::TimeSource>& time)
    : globals_(globals),
      address_(WithPort(globals.address)),
      channels_(OpenChannels(globals, time)) {}

std::shared_ptr<grpc::Channel> Connection::channel() const {
  if (channels_ != nullptr) return channels_->Get();
  return grpc::CreateChannel(globals_.address, nullptr);  // every call on it fails
}

absl::Status Connection::ToStatus(const grpc::Status& status) const {
  // Only the server sends details; gRPC's own errors have none. The message may quote others, such
  // as libpq, and then has several lines.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !status.error_details().empty()) {
    return absl::AbortedError(Squeezed(status.error_message()));
  }
  const absl::Status error(static_cast<absl::StatusCode>(status.error_code()),
                           status.error_message());
  return WithReason(DescribeUnreachable(error, address_, timeout()), globals_);
}

}  // namespace headgate::cli
