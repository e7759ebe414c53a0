#include "server/serve/transport/header_limit.h"

#include <grpc/grpc.h>

#include "server/serve/transport/received_bytes.h"

namespace headgate::transport {
namespace {

// What gRPC reads at once from one connection, before others have their turn. It is read before any
// of it is understood: of headers a hundred times as much may become of it in memory, and whoever
// is cut meanwhile takes nothing of it back.
constexpr int kMaxReadBytes = 8 << 10;

}  // namespace

void SetHeaderLimit(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOnConnection);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadBytes);
  // Else gRPC measures how much more each connection could bring, and asks it to.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

void SetMessageLimit(int64_t max_message_bytes, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes));
  RefuseCompression(builder);
}

}  // namespace headgate::transport
