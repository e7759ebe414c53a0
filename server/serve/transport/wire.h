// Decoded and Encoded: requests and responses as gRPC hands them over and takes them.
//
// gRPC answers bytes that it cannot parse with INTERNAL, "Unable to parse request", and ends a
// stream as if the caller had half-closed it. A method that takes Decoded<Request> instead is
// called all the same, sees what could be read, and can say INVALID_ARGUMENT and which field it
// was. What would cost too much to read (received_bytes.h) is not read at all. Encoded<Response> is
// measured once, not twice, and written into one piece of memory.
//
// Both are meant to be reused from one call to the next: the memory of a usual request is kept,
// that of a large one is given back. Thread-compatible.
//
//   Decoded<v1::CheckRequest> request;
//   request.Decode(bytes);
//   if (!request.complete()) return request.Error();

#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>  // how gRPC serialises protobuf messages
#include <grpcpp/impl/serialization_traits.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>

#include "server/serve/transport/error_status.h"
#include "server/serve/transport/received_bytes.h"

namespace headgate::transport {

template <typename Message>
struct Decoded {
  // Of requests up to so many bytes the memory is kept for the next one.
  static constexpr size_t kKeptBytes = size_t{1} << 18;

  // kMalformed: `message` is what could be read. The last two: it is empty.
  enum class Outcome : uint8_t { kComplete, kMalformed, kCompressed, kTooManyParts };

  Message message;
  Outcome outcome = Outcome::kComplete;
  size_t wire_bytes = 0;

  bool complete() const { return outcome == Outcome::kComplete; }
  // For the caller, unless it is complete.
  grpc::Status Error() const {
    switch (outcome) {
      case Outcome::kCompressed:
        return CompressedError();
      case Outcome::kTooManyParts:
        return TooManyPartsError(kMaxParts);
      default:
        return MalformedError(message);
    }
  }

  void Decode(grpc::ByteBuffer& bytes) {
    if (HoldsMuch()) message = Message();
    wire_bytes = bytes.Length();
    if (wire_bytes >= kLeastBytesOfTooMany && HasTooManyParts(bytes, *Message::descriptor()))
        [[unlikely]]
      return Refuse(Outcome::kTooManyParts);
    grpc::Slice slice;
    if (bytes.TrySingleSlice(&slice).ok()) [[likely]] {  // never of a compressed one
      return Parsed(message.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    }
    if (IsCompressed(bytes)) [[unlikely]]
      return Refuse(Outcome::kCompressed);
    grpc::ProtoBufferReader reader(&bytes);
    Parsed(reader.status().ok() && message.ParseFromZeroCopyStream(&reader));
  }

 private:
  // Many small parts take far more memory than bytes on the wire.
  bool HoldsMuch() const {
    if (wire_bytes <= kKeptBytes / 16) [[likely]]
      return false;
    return wire_bytes > kKeptBytes || message.SpaceUsedLong() > 16 * kKeptBytes;
  }
  void Parsed(bool whole) { outcome = whole ? Outcome::kComplete : Outcome::kMalformed; }
  void Refuse(Outcome why) {
    outcome = why;
    message.Clear();
  }
};

template <typename Message>
grpc::ByteBuffer EncodeMessage(const Message& message) {
  const grpc::Slice slice(message.ByteSizeLong());
  // The slice is new: nobody else sees it being written.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

template <typename Message>
struct Encoded {
  Message message;

  grpc::ByteBuffer Encode() const { return EncodeMessage(message); }
};

// A message of somebody else's, to be written now.
template <typename Message>
struct Encodable {
  const Message& message;
};

}  // namespace headgate::transport

namespace grpc {

template <typename Message>
class SerializationTraits<headgate::transport::Decoded<Message>, void> {
 public:
  static Status Deserialize(ByteBuffer* bytes, headgate::transport::Decoded<Message>* to) {
    to->Decode(*bytes);
    bytes->Clear();
    return Status();
  }
};

template <typename Message>
class SerializationTraits<headgate::transport::Encoded<Message>, void> {
 public:
  static Status Serialize(const headgate::transport::Encoded<Message>& from, ByteBuffer* bytes,
                          bool* own) {
    *own = true;
    *bytes = from.Encode();
    return Status();
  }
};

template <typename Message>
class SerializationTraits<headgate::transport::Encodable<Message>, void> {
 public:
  static Status Serialize(const headgate::transport::Encodable<Message>& from, ByteBuffer* bytes,
                          bool* own) {
    *own = true;
    *bytes = headgate::transport::EncodeMessage(from.message);
    return Status();
  }
};

}  // namespace grpc
