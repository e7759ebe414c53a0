#include "tests/bench/line/waiting_streams.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

// Of one connection; a server takes 128.
constexpr int kCallsPerConnection = 100;
constexpr int64_t kLongWaitSeconds = 600;

[[noreturn]] void Broken(const std::string& what) {
  std::fprintf(stderr, "line: %s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

v1::CheckRequest WaitingCheck(const std::string& identity, double cost, int64_t seconds) {
  v1::CheckRequest check;
  check.set_identity(identity);
  check.set_estimated_cost(cost);
  check.mutable_max_wait()->set_seconds(seconds);
  return check;
}

// Until it is shut down. No event is of interest.
void Poll(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

}  // namespace

struct WaitingStreams::Stream {
  struct Tag {
    Stream* stream;
    bool read;
  };

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::CheckStreamRequest, v1::CheckStreamResponse>>
      stream;
  v1::CheckStreamRequest request;
  v1::CheckStreamResponse response;
  Tag wrote{this, false};
  Tag has_read{this, true};
  int sent = 0;
  bool reading = false;
};

WaitingStreams::WaitingStreams(int port, const Options& options) : options_(options) {
  for (int i = 0; i < options.streams; ++i) {
    if (i % kCallsPerConnection == 0) {
      stubs_.push_back(std::make_unique<v1::ThrottlerService::Stub>(OwnChannel(port)));
    }
    Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
    *stream.request.add_checks() = WaitingCheck(absl::StrCat("job-", i, ":", options.identity),
                                                options.cost, options.max_wait_seconds);
    stream.stream = stubs_.back()->AsyncCheckStream(&stream.context, &queue_, &stream.wrote);
  }
  for (int i = 0; i < options.streams; ++i) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok) || !ok) Broken("a stream does not open");
  }
}

WaitingStreams::~WaitingStreams() {
  for (const auto& stream : streams_) stream->context.TryCancel();
  queue_.Shutdown();
  Poll(queue_);
}

void WaitingStreams::Write(Stream& stream) {
  stream.request.set_number(static_cast<uint64_t>(++stream.sent));
  stream.stream->Write(stream.request, &stream.wrote);
}

void WaitingStreams::Send() {
  int left = options_.streams * options_.messages;
  for (const auto& stream : streams_) Write(*stream);
  while (left > 0) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok) || !ok) Broken("a message cannot be sent");
    Stream& stream = *static_cast<Stream::Tag*>(tag)->stream;
    --left;
    if (stream.sent < options_.messages) Write(stream);
  }
}

std::vector<int64_t> WaitingStreams::Receive(int count) {
  std::vector<int64_t> came_ns;
  for (const auto& stream : streams_) {
    if (!stream->reading) stream->stream->Read(&stream->response, &stream->has_read);
    stream->reading = true;
  }
  while (static_cast<int>(came_ns.size()) < count) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok) || !ok) Broken("an answer does not come");
    came_ns.push_back(MonotonicNs());
    Stream& stream = *static_cast<Stream::Tag*>(tag)->stream;
    for (const v1::CheckResult& result : stream.response.results()) {
      if (result.decision().verdict() != v1::VERDICT_ALLOWED) Broken("a Check was not admitted");
    }
    stream.stream->Read(&stream.response, &stream.has_read);
  }
  return came_ns;
}

struct WaitingCalls::Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CheckResponse>> reader;
  v1::CheckResponse response;
  grpc::Status status;
};

WaitingCalls::WaitingCalls(int port, int calls, const std::string& identity) {
  for (int i = 0; i < calls; ++i) {
    if (i % kCallsPerConnection == 0) {
      stubs_.push_back(std::make_unique<v1::ThrottlerService::Stub>(OwnChannel(port)));
    }
    Call& call = *calls_.emplace_back(std::make_unique<Call>());
    call.reader = stubs_.back()->AsyncCheck(
        &call.context, WaitingCheck(absl::StrCat("job:", identity), 1, kLongWaitSeconds), &queue_);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  polling_ = std::thread([this] { Poll(queue_); });
}

WaitingCalls::~WaitingCalls() {
  for (const auto& call : calls_) call->context.TryCancel();
  queue_.Shutdown();
  polling_.join();
}

}  // namespace headgate::bench
