// The callers of the RPC benchmark: another process that does what its standard input says.
//
//   empty N | check N | batch N | stream N   so many RPCs, or messages on streams
//   settle                                   reports every permit that it holds
//
// It answers each line with one of its own: the 99th percentile of the latencies, in microseconds.
// Requests are serialised beforehand, and answers looked at for their permits only once all have
// come, so that one thread can keep the server busy.

#pragma once

#include <google/protobuf/empty.pb.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/own_channel.h"

namespace headgate::bench {

inline constexpr char kEmptyMethod[] = "/headgate.bench.Empty/Call";
inline constexpr int kChannels = 4;
inline constexpr int kOutstanding = 64;
inline constexpr int kInBatch = 100;
inline constexpr int kInMessage = 64;

class RpcLoad {
 public:
  explicit RpcLoad(int port) : RpcLoad(absl::StrCat("127.0.0.1:", port)) {}
  explicit RpcLoad(const std::string& address,
                   const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                       grpc::InsecureChannelCredentials()) {
    for (int i = 0; i < kChannels; ++i) {
      channels_.push_back(OwnChannel(address, credentials));
      stubs_.push_back(std::make_unique<grpc::GenericStub>(channels_.back()));
    }
    empty_.push_back(Serialise(google::protobuf::Empty()));
    for (int i = 0; i < kIdentities; ++i) checks_.push_back(Serialise(Check(i)));
    for (int i = 0; i < kIdentities / 10; ++i) {
      batches_.push_back(Serialise(Batch<v1::BatchCheckRequest>(i, kInBatch)));
      messages_.push_back(Serialise(Batch<v1::CheckStreamRequest>(i, kInMessage)));
    }
  }

  // Until the input ends.
  void Obey() {
    std::string what;
    int count = 0;
    while (std::cin >> what) {
      if (what == "settle") {
        Settle();
        std::cout << 0 << std::endl;
        continue;
      }
      std::cin >> count;
      latencies_us_.clear();
      answers_.clear();
      if (what == "empty") Unary(kEmptyMethod, empty_, count);
      if (what == "check") Unary("/headgate.v1.ThrottlerService/Check", checks_, count);
      if (what == "batch") Unary("/headgate.v1.ThrottlerService/BatchCheck", batches_, count);
      if (what == "stream") Stream(count);
      std::cout << Percentile99() << std::endl;
      if (what == "check") Keep<v1::CheckResponse>();
      if (what == "batch") Keep<v1::BatchCheckResponse>();
      if (what == "stream") Keep<v1::CheckStreamResponse>();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kIdentities = 1000;
  static constexpr int kMessagesInFlight = kOutstanding / kChannels;  // on each stream

  struct Call {
    std::optional<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    grpc::ByteBuffer answer;
    grpc::Status status;
    Clock::time_point began;
    grpc::GenericStub* stub = nullptr;
  };

  struct Streaming {
    enum Tag { kStarted, kRead, kWritten, kTags };
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    grpc::ByteBuffer answer;
    int left = 0;  // to write
    int unread = 0;
    bool writing = false;
    char tags[kTags];
  };

  [[noreturn]] static void Fail(const std::string& what) {
    std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
    std::exit(1);
  }

  static v1::CheckRequest Check(int number) {
    v1::CheckRequest check;
    char id[9];
    std::snprintf(id, sizeof(id), "%08x", static_cast<unsigned>(number));
    check.set_identity(
        absl::StrCat("d666bbfc_", id, "_11ef_b0b3_0a43f95f28a3:vcopier:vreplication:online-ddl"));
    check.set_estimated_cost(1);
    return check;
  }

  template <typename Request>
  static Request Batch(int number, int size) {
    Request request;
    for (int i = 0; i < size; ++i) {
      *request.add_checks() = Check((number * size + i) % kIdentities);
    }
    return request;
  }

  template <typename Message>
  static grpc::ByteBuffer Serialise(const Message& message) {
    grpc::ByteBuffer buffer;
    bool own = false;
    const grpc::Status status =
        grpc::SerializationTraits<Message>::Serialize(message, &buffer, &own);
    if (!status.ok()) Fail(status.error_message());
    return buffer;
  }

  void Start(Call& call, const std::string& method, const grpc::ByteBuffer& request) {
    call.context.emplace();
    call.began = Clock::now();
    call.reader = call.stub->PrepareUnaryCall(&*call.context, method, request, &queue_);
    call.reader->StartCall();
    call.reader->Finish(&call.answer, &call.status, &call);
  }

  void Unary(const std::string& method, const std::vector<grpc::ByteBuffer>& requests, int count) {
    std::vector<Call> calls(kOutstanding);
    int started = 0;
    const auto next = [&](Call& call) {
      Start(call, method, requests[static_cast<size_t>(started) * 7919 % requests.size()]);
      ++started;
    };
    for (size_t i = 0; i < calls.size(); ++i) {
      calls[i].stub = stubs_[i % stubs_.size()].get();
      next(calls[i]);
    }
    void* tag = nullptr;
    bool ok = false;
    for (int done = 0; done < started && queue_.Next(&tag, &ok); ++done) {
      Call& call = *static_cast<Call*>(tag);
      const std::chrono::duration<double, std::micro> took = Clock::now() - call.began;
      latencies_us_.push_back(took.count());
      if (!call.status.ok()) Fail(call.status.error_message());
      answers_.push_back(call.answer);
      if (started < count) next(call);
    }
  }

  void WriteSome(Streaming& streaming) {
    if (streaming.writing || streaming.left == 0 || streaming.unread >= kMessagesInFlight) return;
    --streaming.left;
    ++streaming.unread;
    streaming.writing = true;
    streaming.stream->Write(messages_[static_cast<size_t>(streaming.left) % messages_.size()],
                            &streaming.tags[Streaming::kWritten]);
  }

  void StreamEvent(std::vector<Streaming>& all, void* tag) {
    for (Streaming& one : all) {
      const std::ptrdiff_t which = static_cast<char*>(tag) - one.tags;
      if (which < 0 || which >= Streaming::kTags) continue;
      if (which == Streaming::kWritten) one.writing = false;
      if (which == Streaming::kRead) {
        answers_.push_back(one.answer);
        --one.unread;
      }
      if (which != Streaming::kWritten && (one.left > 0 || one.unread > 0)) {
        one.stream->Read(&one.answer, &one.tags[Streaming::kRead]);
      }
      WriteSome(one);
    }
  }

  // One stream on each channel, a few messages under way on each.
  void Stream(int count) {
    std::vector<Streaming> all(kChannels);
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].left = count / kChannels;
      all[i].stream = stubs_[i]->PrepareCall(&all[i].context,
                                             "/headgate.v1.ThrottlerService/CheckStream", &queue_);
      all[i].stream->StartCall(&all[i].tags[Streaming::kStarted]);
    }
    void* tag = nullptr;
    bool ok = false;
    const auto answers = static_cast<size_t>(count / kChannels * kChannels);
    while (answers_.size() < answers && queue_.Next(&tag, &ok)) {
      if (!ok) Fail("a stream broke");
      StreamEvent(all, tag);
    }
    const auto writing = [&] {
      return std::any_of(all.begin(), all.end(), [](const Streaming& one) { return one.writing; });
    };
    while (writing() && queue_.Next(&tag, &ok)) StreamEvent(all, tag);
    for (Streaming& one : all) {
      grpc::Status status;
      one.stream->WritesDone(&one);
      queue_.Next(&tag, &ok);
      one.stream->Finish(&status, &one);
      queue_.Next(&tag, &ok);
      if (!status.ok()) Fail(status.error_message());
    }
  }

  static void KeepPermit(const v1::Decision& decision, std::vector<uint64_t>& permits) {
    if (decision.verdict() != v1::VERDICT_ALLOWED) Fail("a Check was not allowed");
    permits.push_back(decision.permit_id());
  }

  template <typename Response>
  void Keep() {
    Response response;
    for (grpc::ByteBuffer& answer : answers_) {
      if (!grpc::SerializationTraits<Response>::Deserialize(&answer, &response).ok()) {
        Fail("an answer cannot be read");
      }
      if constexpr (std::is_same_v<Response, v1::CheckResponse>) {
        KeepPermit(response.decision(), permits_);
      } else {
        for (const v1::CheckResult& result : response.results()) {
          KeepPermit(result.decision(), permits_);
        }
      }
    }
  }

  void Settle() {
    const auto stub = v1::ThrottlerService::NewStub(channels_[0]);
    while (!permits_.empty()) {
      v1::ReportRequest request;
      for (int i = 0; i < 1000 && !permits_.empty(); ++i) {
        v1::PermitReport& report = *request.add_reports();
        report.set_permit_id(permits_.back());
        report.set_actual_cost(1);
        permits_.pop_back();
      }
      grpc::ClientContext context;
      v1::ReportResponse response;
      const grpc::Status status = stub->Report(&context, request, &response);
      if (!status.ok()) Fail(status.error_message());
    }
  }

  double Percentile99() {
    if (latencies_us_.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(latencies_us_.size() * 99 / 100);
    std::nth_element(latencies_us_.begin(), latencies_us_.begin() + at, latencies_us_.end());
    return latencies_us_[static_cast<size_t>(at)];
  }

  grpc::CompletionQueue queue_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<grpc::ByteBuffer> empty_;
  std::vector<grpc::ByteBuffer> checks_;
  std::vector<grpc::ByteBuffer> batches_;
  std::vector<grpc::ByteBuffer> messages_;
  std::vector<grpc::ByteBuffer> answers_;
  std::vector<double> latencies_us_;
  std::vector<uint64_t> permits_;
};

}  // namespace headgate::bench
