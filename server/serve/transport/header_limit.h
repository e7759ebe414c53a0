// What gRPC is told of sizes: the headers of a call, a message, the calls of one connection at a
// time, and what is read of a connection at once.
//
// gRPC 1.51 has no other way to refuse headers that are too large than to end their connection,
// with all calls on it. And it holds a connection to what is said here of headers and calls only
// once the other end has acknowledged the SETTINGS that say so, and then each frame of headers by
// itself: who never acknowledges, or never ends its headers, is for the HeaderGuard.
//
//   SetHeaderLimit(builder);
//   SetMessageLimit(4 << 20, builder);

#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace headgate::transport {

// Of one call's headers, as HTTP/2 counts them: names and values, and 32 bytes for each.
inline constexpr int kMaxHeaderBytes = 64 << 10;
// Calls at once on one connection, streams among them: the next ones wait on the caller's side. The
// SDK's and the benchmarks' callers have fewer.
inline constexpr int kMaxCallsOnConnection = 128;

// Headers, calls at once, and how much gRPC reads of a connection before others have their turn.
void SetHeaderLimit(grpc::ServerBuilder& builder);

// Of a message; it must be 1 to INT32_MAX. Compressed ones are refused.
void SetMessageLimit(int64_t max_message_bytes, grpc::ServerBuilder& builder);

}  // namespace headgate::transport
