// What can be told of a request's bytes before they are parsed: whether parsing them would cost
// more than the request could ever be worth.
//
// gRPC limits the bytes of a message as they come. Two kinds of messages grow beyond it afterwards:
// - compressed ones, a thousand times. gRPC would inflate them before anybody sees them, so it is
//   told not to (RefuseCompression), and they arrive as they were sent;
// - those of many small parts: an empty Check in a batch is two bytes on the wire and some two
//   hundred in memory, an unknown field likewise. They are counted first, without keeping any.
//
// Pure functions, thread-safe. Counting takes some ten nanoseconds for each part, and is done only
// of messages that have the bytes for so many.
//
//   RefuseCompression(builder);
//   ...
//   if (IsCompressed(bytes)) return CompressedError();
//   if (HasTooManyParts(bytes, *v1::BatchCheckRequest::descriptor())) return TooManyPartsError();

#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace headgate::transport {

// Fields that are present, of the message and of all messages within it. 1,000 Checks with all
// their fields and 32 tags each have 103,000.
inline constexpr size_t kMaxParts = size_t{1} << 17;
// A message of fewer bytes cannot have more: each part has a tag and a value.
inline constexpr size_t kLeastBytesOfTooMany = 2 * kMaxParts;

// The server neither inflates requests nor compresses answers, nor says that it could.
void RefuseCompression(grpc::ServerBuilder& builder);

// By an encoding that gRPC knows. It takes any other, which its caller has made up, for none.
bool IsCompressed(grpc::ByteBuffer& bytes);

// Of bytes that are no such message: whether there are too many before the fault.
bool HasTooManyParts(grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type);

}  // namespace headgate::transport
