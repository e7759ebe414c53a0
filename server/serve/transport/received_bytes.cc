#include "server/serve/transport/received_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpc/grpc.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstdint>

namespace headgate::transport {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// As deep as protobuf's own parser goes, which refuses what is deeper.
constexpr int kMaxDepth = 100;

// gRPC shows the encoding of a buffer to its own reader only.
class EncodingReader : public grpc::ProtoBufferReader {
 public:
  using ProtoBufferReader::ProtoBufferReader;
  grpc_compression_algorithm encoding() {
    if (!status().ok()) return GRPC_COMPRESS_NONE;
    return reader()->buffer_in->data.raw.compression;
  }
};

// Walks over a message's fields as they come, and ends at the first fault, as a parser does. Which
// bytes are a message within it, and not text, is for its type to say.
class PartCounter {
 public:
  explicit PartCounter(CodedInputStream& input) : input_(input) {}

  // `type` is null within an unknown group. False: a fault, or too many.
  bool Walk(const Descriptor* type, int depth) {
    if (depth > kMaxDepth) return false;
    for (uint32_t tag = input_.ReadTag(); tag != 0; tag = input_.ReadTag()) {
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_END_GROUP) {
        return type == nullptr;
      }
      if (++parts_ > kMaxParts || !Skip(type, tag, depth)) return false;
    }
    return input_.ConsumedEntireMessage();
  }

  size_t parts() const { return parts_; }

 private:
  bool Skip(const Descriptor* type, uint32_t tag, int depth) {
    uint64_t number = 0;
    uint32_t size = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return input_.ReadVarint64(&number);
      case WireFormatLite::WIRETYPE_FIXED32:
        return input_.Skip(sizeof(uint32_t));
      case WireFormatLite::WIRETYPE_FIXED64:
        return input_.Skip(sizeof(uint64_t));
      case WireFormatLite::WIRETYPE_START_GROUP:
        return Walk(nullptr, depth + 1);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        if (!input_.ReadVarint32(&size) || size > INT32_MAX) return false;
        return SkipBytes(MessageIn(type, tag), static_cast<int>(size), depth);
      default:  // an END_GROUP ends a Walk, and there are no others
        return false;
    }
  }

  bool SkipBytes(const Descriptor* inner, int size, int depth) {
    if (inner == nullptr) return input_.Skip(size);
    const CodedInputStream::Limit outer = input_.PushLimit(size);
    const bool walked = Walk(inner, depth + 1) && input_.BytesUntilLimit() == 0;
    input_.PopLimit(outer);
    return walked;
  }

  static const Descriptor* MessageIn(const Descriptor* type, uint32_t tag) {
    if (type == nullptr) return nullptr;
    const FieldDescriptor* const field =
        type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool is_message = field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE;
    return is_message ? field->message_type() : nullptr;
  }

  CodedInputStream& input_;
  size_t parts_ = 0;
};

}  // namespace

void RefuseCompression(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
}

bool IsCompressed(grpc::ByteBuffer& bytes) {
  return EncodingReader(&bytes).encoding() != GRPC_COMPRESS_NONE;
}

bool HasTooManyParts(grpc::ByteBuffer& bytes, const Descriptor& type) {
  if (bytes.Length() < kLeastBytesOfTooMany) return false;
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return false;
  CodedInputStream input(&reader);
  PartCounter counter(input);
  counter.Walk(&type, 0);
  return counter.parts() > kMaxParts;
}

}  // namespace headgate::transport
