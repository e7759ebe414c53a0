#include "server/serve/transport/ports.h"

#include <grpc/grpc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "server/serve/transport/guarded_files.h"
#include "server/serve/transport/header_limit.h"

namespace headgate::transport {
namespace {

// Probes are few. They have room of their own, so that callers cannot take it.
constexpr int kMaxHealthConnections = 64;
// For databases, the log, the configuration, and gRPC itself.
constexpr int kOtherFiles = 128;
constexpr int kLeastPingMs = 10'000;  // callers may ask this often

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, std::int64_t{INT32_MAX}));
}

// Where there are few open files, half of them are for connections.
int MaxConnections(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const auto files = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX));
  const int64_t room = std::max(files / 2, files - kOtherFiles - kMaxHealthConnections);
  return static_cast<int>(std::min<int64_t>(wanted, room));
}

// Of sizes header_limit.h tells it.
void SetTimes(const ConnectionLimits& limits, grpc::ServerBuilder& builder) {
  const auto set = [&](const char* argument, int value) {
    builder.AddChannelArgument(argument, value);
  };
  set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(limits.handshake));
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(limits.idle));
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(limits.age));
  set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(limits.age_grace));
  set(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(limits.keepalive));
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(limits.keepalive_timeout));
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ports>> Ports::Open(const PortOptions& options) {
  // make_unique cannot call the private constructor.
  std::unique_ptr<Ports> ports(new Ports(options));
  absl::Status status =
      ports->OpenPort(options.address, MaxConnections(options.limits.max_open), ports->main_);
  if (status.ok() && !options.health_address.empty()) {
    status = ports->OpenPort(options.health_address, kMaxHealthConnections, ports->health_);
  }
  if (!status.ok()) return status;
  return ports;
}

absl::Status Ports::OpenPort(const std::string& address, int max_connections, Port& port) {
  absl::StatusOr<Listener> listener = Listener::Open(address);
  if (!listener.ok()) return listener.status();
  // What TLS has deciphered is guarded where that is.
  const bool is_plaintext = &port == &health_ || options_.credentials == nullptr;
  port.acceptor = std::make_unique<Acceptor>(
      *std::move(listener),
      AcceptorOptions{.max_connections = static_cast<size_t>(max_connections),
                      .unacknowledged = options_.limits.keepalive_timeout,
                      .callers = [this] { return memory_.LookAtCallers(); },
                      .on_cut_for_memory = [this] { memory_.ExpectRelease(); },
                      .taken = &port == &main_ ? &taken_ : nullptr,
                      .admit = is_plaintext ? GuardConnection : nullptr,
                      .greet = is_plaintext ? nullptr : GuardGreeting,
                      .bytes_of_calls = BytesOfOpenCalls,
                      .on_turn = &port == &main_ ? NextTurnOfCalls : nullptr});
  return absl::OkStatus();
}

ConnectionCounts Ports::counts() const {
  ConnectionCounts counts = main_.acceptor->counts();
  counts.headers = CountEndedForHeaders();
  return counts;
}

void Ports::AddTo(grpc::ServerBuilder& builder) {
  SetTimes(options_.limits, builder);
  SetHeaderLimit(builder);
  AddPort(options_.credentials, builder, main_);
  if (has_health()) AddPort(nullptr, builder, health_);
}

void Ports::AddPort(const std::shared_ptr<grpc::ServerCredentials>& credentials,
                    grpc::ServerBuilder& builder, Port& port) {
  port.grpc = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      credentials != nullptr ? credentials : grpc::InsecureServerCredentials());
}

absl::Status Ports::Start() {
  absl::Status status = StartPort(main_);
  if (status.ok() && has_health()) status = StartPort(health_);
  return status;
}

absl::Status Ports::StartPort(Port& port) {
  return port.acceptor->Start([&grpc = *port.grpc](int listener, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
    taken.listener_fd = listener;
    taken.fd = connection;
    grpc.HandleNewConnection(&taken);
  });
}

void Ports::EndStill(int times) {
  main_.acceptor->EndStill(times);
  if (has_health()) health_.acceptor->EndStill(times);
}

void Ports::Stop() {
  main_.acceptor->Stop();
  if (has_health()) health_.acceptor->Stop();
}

}  // namespace headgate::transport
