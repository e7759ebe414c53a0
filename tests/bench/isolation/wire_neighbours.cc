#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tests/bench/isolation/bytes.h"
#include "tests/bench/isolation/calls.h"
#include "tests/bench/isolation/neighbours.h"
#include "tests/govern/tls/raw_caller.h"

namespace headgate::bench {
namespace {

using tls::Frame;
using tls::Headers;
using tls::kPreface;
using tls::Number;
using tls::Raw;

constexpr char kCheck[] = "/headgate.v1.ThrottlerService/Check";
constexpr char kBatchCheck[] = "/headgate.v1.ThrottlerService/BatchCheck";
constexpr uint32_t kMostBytes = (4 << 20) - 16;

// A message of any bytes, by any method that takes one.
void SendBytes(grpc::GenericStub& stub, const std::string& method, const grpc::ByteBuffer& bytes) {
  grpc::ClientContext context;
  SetTwoSeconds(context);
  grpc::CompletionQueue queue;
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, method, bytes, &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
}

Act Bytes(const AttackedServer& server, const std::string& method, const std::string& bytes) {
  const grpc::Slice slice(bytes);
  const auto stub = std::make_shared<grpc::GenericStub>(ChannelTo(server));
  return [=, buffer = grpc::ByteBuffer(&slice, 1)] { SendBytes(*stub, method, buffer); };
}

Act ManyParts(const AttackedServer& server) {
  return Bytes(server, kBatchCheck, Times(kMostBytes / 2, std::string("\x0a\0", 2)));
}

Act UnknownFields(const AttackedServer& server) {
  return Bytes(server, "/headgate.v1.StatusService/GetStatus",
               Times(kMostBytes / 3, std::string("\xfa\x01\0", 3)));
}

Act DeepMessages(const AttackedServer& server) {
  return Bytes(server, kCheck, Times(kMostBytes / 2, "\xfb\x01"));
}

// Sends frames until its connection is closed, and then comes again.
class Sender {
 public:
  explicit Sender(int port) : port_(port) {}

  void Send(const std::string& frames) {
    if (!raw_.has_value()) {
      raw_.emplace(port_);
      stream_ = 1;
      raw_->Send(kPreface);
    }
    std::string ignored;
    if (!raw_->Send(frames) || !raw_->Receive(absl::ZeroDuration(), ignored)) raw_.reset();
  }
  // The next one of a new call.
  uint32_t NextStream() { return std::exchange(stream_, stream_ + 2); }
  void Leave() { raw_.reset(); }

 private:
  const int port_;
  std::optional<Raw> raw_;
  uint32_t stream_ = 1;
};

Act CompressedBombs(const AttackedServer& server) {
  const std::string bomb = Bomb();
  const size_t size = bomb.size();
  const std::string headers = Headers(1, kCheck).substr(9) + std::string("\0\x0d", 2) +
                              "grpc-encoding" + "\x07" + "deflate";
  std::string call = Frame(1, 4, 1, headers) +
                     Frame(0, 0, 1, Number(1, 1) + Number(static_cast<uint32_t>(size), 4));
  constexpr size_t kInFrame = 16'384;
  for (size_t sent = 0; sent < size; sent += kInFrame) {
    const bool is_last = sent + kInFrame >= size;
    call += Frame(0, is_last ? 1 : 0, 1, bomb.substr(sent, kInFrame));
  }
  return [port = server.port, call] {
    const Raw raw(port);
    raw.Send(kPreface + call);
    raw.AwaitHeads(1);
  };
}

// Eight messages that end after as much as a stream's first window takes, in frames of `in_frame`.
Act HalfMessages(const AttackedServer& server, size_t in_frame) {
  constexpr size_t kWindow = 65'535;
  constexpr int kConnections = 16;
  auto senders = std::make_shared<std::deque<Sender>>();
  for (int i = 0; i < kConnections; ++i) senders->emplace_back(server.port);
  return [=, turn = 0]() mutable {
    Sender& sender = (*senders)[static_cast<size_t>(turn++ % kConnections)];
    // The connection's window is all that the first of them may use.
    const uint32_t stream = sender.NextStream();
    std::string frames = Headers(stream, kBatchCheck);
    frames += Frame(0, 0, stream, Number(0, 1) + Number(kMostBytes, 4));
    for (size_t sent = 5; sent < kWindow; sent += in_frame) {
      frames += Frame(0, 0, stream, std::string(std::min(in_frame, kWindow - sent), '\0'));
    }
    sender.Send(frames);
    if (turn % (8 * kConnections) == 0) {
      for (Sender& each : *senders) each.Leave();
    }
  };
}

Act HalfSentMessages(const AttackedServer& server) { return HalfMessages(server, 16'384); }
Act FramesOfOneByte(const AttackedServer& server) { return HalfMessages(server, 1); }

// Some thousand a second. Many more take the processor from everybody, for as long as they last.
Act ResetCalls(const AttackedServer& server) {
  return [sender = std::make_shared<Sender>(server.port)] {
    std::string frames;
    for (int i = 0; i < 5; ++i) {
      const uint32_t stream = sender->NextStream();
      frames += Headers(stream, kCheck) + Frame(3, 0, stream, Number(8, 4));
    }
    sender->Send(frames);
  };
}

Act Reconnects(const AttackedServer& server) {
  return [port = server.port] {
    for (int i = 0; i < 5; ++i) {
      const Raw raw(port);
      raw.Send(kPreface);
    }
  };
}

Act Garbage(const AttackedServer& server) {
  return [port = server.port, random = RandomBytes()]() mutable {
    const std::string bytes = random.Next(16'384);
    const Raw plain(port);
    plain.Send(bytes);
    const Raw framed(port);
    framed.Send(kPreface + bytes);
  };
}

// Headers that go on in frame after frame, and never end.
Act EndlessHeaders(const AttackedServer& server) {
  return [sender = std::make_shared<Sender>(server.port), begun = false]() mutable {
    if (!std::exchange(begun, !begun)) {
      sender->Leave();
      const std::string head = Headers(1, kCheck).substr(9);
      sender->Send(Frame(1, 0, 1, head + std::string("\x00\x01k\x7f\xff\xff\xff\x0f", 8)));
    }
    sender->Send(Times(4, Frame(9, 0, 1, std::string(16'384, 'a'))));
  };
}

Act HugeMetadata(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server)] {
    grpc::ClientContext context;
    SetTwoSeconds(context);
    for (int i = 0; i < 1000; ++i) context.AddMetadata(absl::StrCat("x-", i), std::string(60, 'v'));
    v1::CheckRequest request;
    request.set_identity(absl::StrCat("job", kGuest));
    v1::CheckResponse response;
    (void)calls->throttler.Check(&context, request, &response);
  };
}

// Calls that stay open, as many as there may be on a few connections, until all begin again.
Act OpenCalls(const AttackedServer& server, const std::string& path, const std::string& message) {
  constexpr int kConnections = 8;
  auto senders = std::make_shared<std::deque<Sender>>();
  for (int i = 0; i < kConnections; ++i) senders->emplace_back(server.port);
  return [=, turn = 0]() mutable {
    Sender& sender = (*senders)[static_cast<size_t>(turn++ % kConnections)];
    std::string frames;
    for (int i = 0; i < 16; ++i) {
      const uint32_t stream = sender.NextStream();
      frames += Headers(stream, path);
      if (!message.empty()) frames += Frame(0, 1, stream, message);
    }
    sender.Send(frames);
    if (turn % (8 * kConnections) == 0) sender.Leave();
  };
}

Act OpenStreams(const AttackedServer& server) {
  return OpenCalls(server, "/headgate.v1.ThrottlerService/CheckStream", "");
}
Act HealthWatches(const AttackedServer& server) {
  return OpenCalls(server, "/grpc.health.v1.Health/Watch", std::string(5, '\0'));
}
Act ReflectionStreams(const AttackedServer& server) {
  // "list_services" of an empty name.
  return OpenCalls(server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                   std::string("\0\0\0\0\2\x3a\0", 7));
}

constexpr auto kWireNeighbours = std::to_array<Neighbour>({
    {"compressed_bombs", CompressedBombs},
    {"many_parts", ManyParts},
    {"unknown_fields", UnknownFields},
    {"deep_messages", DeepMessages},
    {"half_sent_messages", HalfSentMessages},
    {"frames_of_one_byte", FramesOfOneByte},
    {"reset_calls", ResetCalls},
    {"reconnects", Reconnects},
    {"garbage", Garbage},
    {"endless_headers", EndlessHeaders},
    {"huge_metadata", HugeMetadata},
    {"open_streams", OpenStreams},
    {"health_watches", HealthWatches},
    {"reflection_streams", ReflectionStreams},
});

}  // namespace

std::span<const Neighbour> WireNeighbours() { return kWireNeighbours; }

}  // namespace headgate::bench
