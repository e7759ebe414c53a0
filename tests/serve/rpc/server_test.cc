// The server itself: starting, stopping, health, reflection, and callers that go away.

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>

#include "server/serve/rpc/peer_addresses.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

engine::PolicySpec AnyPolicy() { return OneBudget(RateBudget("b", 10, 100)); }

absl::Status StartError(InProcessServer& other, const RpcServerOptions& options) {
  return RpcServer::Start(options, other.dependencies()).status();
}

TEST(RpcServer, RefusesAPortThatIsTaken) {
  InProcessServer server(AnyPolicy());
  RpcServerOptions options;
  options.address = server.address();
  const absl::Status status = StartError(server, options);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(options.address), absl::string_view::npos);
  server.Allowed("job:etl", 1);
}

TEST(RpcServer, RefusesOptionsOutOfRange) {
  InProcessServer server(AnyPolicy());
  RpcServerOptions options = InProcessServer::Rpc();
  options.threads = 0;
  EXPECT_EQ(StartError(server, options).code(), absl::StatusCode::kInvalidArgument);
  options = InProcessServer::Rpc();
  options.max_message_bytes = 0;
  EXPECT_EQ(StartError(server, options).code(), absl::StatusCode::kInvalidArgument);
  options = InProcessServer::Rpc();
  options.address = "nowhere at all";
  EXPECT_EQ(StartError(server, options).code(), absl::StatusCode::kUnavailable);
}

TEST(RpcServer, ServesOnSeveralThreads) {
  RpcServerOptions options = InProcessServer::Rpc();
  options.threads = 3;
  InProcessServer server(OneBudget(RateBudget("b", 1, 300)), {.rpc = options});
  std::atomic<int> allowed{0};
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const auto stub = v1::ThrottlerService::NewStub(server.Connect());
      for (int n = 0; n < 100; ++n) {
        Context context;
        v1::CheckResponse response;
        ASSERT_TRUE(stub->Check(&context, CheckOf("job:etl", 1), &response).ok());
        if (response.decision().verdict() == v1::VERDICT_ALLOWED) ++allowed;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(allowed, 300);
}

// A Check under way.
struct Call {
  Context context;
  v1::CheckResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CheckResponse>> reader;
};

// Calls that are cancelled at once, in whatever state they are by then.
TEST(RpcServer, CancelledCallsLeaveTheServerAsItWas) {
  InProcessServer server(AnyPolicy());
  grpc::CompletionQueue queue;
  for (int round = 0; round < Scaled(10); ++round) {
    std::list<Call> calls(300);
    for (Call& call : calls) {
      call.reader = server.throttler->AsyncCheck(&call.context, CheckOf("job:etl", 0), &queue);
      call.reader->Finish(&call.response, &call.status, nullptr);
      call.context.TryCancel();
    }
    void* tag = nullptr;
    bool ok = false;
    for (size_t i = 0; i < calls.size(); ++i) ASSERT_TRUE(queue.Next(&tag, &ok));
  }
  for (int i = 0; i < 300; ++i) server.Allowed("job:etl", 0);
}

TEST(RpcServer, ShutdownEndsWaitingStreamsAndWatchesAndRefusesNewCalls) {
  InProcessServer server(AnyPolicy());
  Context stream_context;
  const auto stream = server.throttler->CheckStream(&stream_context);
  v1::CheckStreamRequest message;
  *message.add_checks() = CheckOf("job:etl", 1);
  v1::CheckStreamResponse answer;
  ASSERT_TRUE(stream->Write(message));
  ASSERT_TRUE(stream->Read(&answer));
  Context watch_context;
  const auto watch = server.health->Watch(&watch_context, HealthCheckRequest());
  HealthCheckResponse state;
  ASSERT_TRUE(watch->Read(&state));
  EXPECT_EQ(state.status(), HealthCheckResponse::SERVING);

  server->Shutdown(absl::Seconds(30));

  EXPECT_FALSE(stream->Read(&answer));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(ended).reason, "SHUTTING_DOWN");
  ASSERT_TRUE(watch->Read(&state));
  EXPECT_EQ(state.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&state));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  v1::Decision decision;
  EXPECT_EQ(server.TryCheck(CheckOf("job:etl", 1), decision).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST(RpcServer, ShutdownChargesNobodyWhomItDoesNotAnswer) {
  InProcessServer server(OneBudget(RateBudget("b", 1, 1000)));
  grpc::CompletionQueue queue;
  std::list<Call> calls(500);
  for (Call& call : calls) {
    call.reader = server.throttler->AsyncCheck(&call.context, CheckOf("job:etl", 1), &queue);
    call.reader->Finish(&call.response, &call.status, nullptr);
  }
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));  // it has begun
  server->Shutdown(absl::Seconds(30));
  for (size_t i = 1; i < calls.size(); ++i) ASSERT_TRUE(queue.Next(&tag, &ok));
  const auto answered =
      std::count_if(calls.begin(), calls.end(), [](const Call& call) { return call.status.ok(); });
  EXPECT_GT(answered, 0);
  // Whoever got no answer was not charged.
  EXPECT_EQ(server.engine.ReadStats(server.clock.Read()).permits_live,
            static_cast<size_t>(answered));
}

TEST(RpcServer, ShutdownDoesNotWaitLongerThanItsGraceForACallerThatKeepsAStreamBusy) {
  InProcessServer server(AnyPolicy());
  Context context;
  const auto stream = server.throttler->CheckStream(&context);
  v1::CheckStreamRequest message;
  for (int i = 0; i < 1000; ++i) *message.add_checks() = CheckOf("job:etl", 0);
  // A caller that never reads: the server can't write and stops reading.
  std::thread writer([&] {
    while (stream->Write(message)) {
    }
  });
  ASSERT_TRUE(WaitUntil([&] { return server->streams_open() == 1; }));
  server->Shutdown(absl::Milliseconds(100));
  writer.join();
  for (v1::CheckStreamResponse response; stream->Read(&response);) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

TEST(Health, TellsServingFromNotServing) {
  InProcessServer server(AnyPolicy());
  const auto check = [&](const std::string& service, HealthCheckResponse& response) {
    Context context;
    HealthCheckRequest request;
    request.set_service(service);
    return server.health->Check(&context, request, &response);
  };
  HealthCheckResponse response;
  for (const char* service : {"", "headgate.v1.ThrottlerService", "headgate.v1.StatusService"}) {
    ASSERT_TRUE(check(service, response).ok());
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  }
  EXPECT_EQ(check("other", response).error_code(), grpc::StatusCode::NOT_FOUND);
  server->SetServing(false);
  ASSERT_TRUE(check("", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
}

// A probe that ends a server which waits for its store would have it gone when that is back.
TEST(Health, LivenessIsServingWhateverTheServerWaitsFor) {
  InProcessServer server(AnyPolicy());
  HealthCheckRequest request;
  request.set_service("liveness");
  for (const bool serving : {true, false}) {
    server->SetServing(serving);
    Context context;
    HealthCheckResponse response;
    ASSERT_TRUE(server.health->Check(&context, request, &response).ok());
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << serving;
  }
  Context context;
  const auto watch = server.health->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  watch->Finish();
}

TEST(Health, AWatchFollowsEveryChange) {
  InProcessServer server(AnyPolicy());
  Context context;
  const auto watch = server.health->Watch(&context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  server->SetServing(false);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  server->SetServing(true);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  watch->Finish();
  EXPECT_TRUE(WaitUntil([&] { return server->health_watches() == 0; }));
}

TEST(Health, AWatchOfAnUnknownServiceSaysSoAndStays) {
  InProcessServer server(AnyPolicy());
  Context context;
  HealthCheckRequest request;
  request.set_service("other");
  const auto watch = server.health->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  EXPECT_EQ(server->health_watches(), 1);
  context.TryCancel();
  watch->Finish();
}

TEST(Health, ThereAreOnlySoManyWatches) {
  RpcServerOptions options = InProcessServer::Rpc();
  options.max_health_watches = 2;
  InProcessServer server(AnyPolicy(), {.rpc = options});
  std::list<Context> contexts(3);
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> watches;
  HealthCheckResponse response;
  for (Context& context : contexts) {
    watches.push_back(server.health->Watch(&context, HealthCheckRequest()));
    EXPECT_EQ(watches.back()->Read(&response), watches.size() <= 2);
  }
  const grpc::Status status = watches.back()->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(DetailsOf(status).retry);
  server.Allowed("job:etl", 1);
  for (Context& context : contexts) context.TryCancel();
  for (size_t i = 0; i < 2; ++i) watches[i]->Finish();
}

// The reflection protocol's message {list_services: ""} goes in, names come out.
std::string ListServices(InProcessServer& server, grpc::Status& status) {
  grpc::GenericStub stub(server.channel);
  grpc::CompletionQueue queue;
  Context context;
  void* tag = nullptr;
  bool ok = false;
  auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  const auto done = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  done();
  const grpc::Slice slice(std::string("\x3a\x00", 2));
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  done();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  std::string text;
  std::vector<grpc::Slice> slices;
  if (done() && answer.Dump(&slices).ok()) {
    for (const grpc::Slice& part : slices) text.append(part.begin(), part.end());
  }
  call->WritesDone(nullptr);
  done();
  call->Finish(&status, nullptr);
  done();
  return text;
}

TEST(Reflection, ListsEveryServiceHealthIncluded) {
  InProcessServer server(AnyPolicy());
  grpc::Status status;
  const std::string services = ListServices(server, status);
  EXPECT_TRUE(status.ok()) << status.error_message();
  for (const char* service :
       {"headgate.v1.ThrottlerService", "headgate.v1.StatusService", "grpc.health.v1.Health"}) {
    EXPECT_NE(services.find(service), std::string::npos) << service;
  }
}

TEST(Reflection, IsOffForOneServerAndOnForAnother) {
  RpcServerOptions options = InProcessServer::Rpc();
  options.reflection = false;
  InProcessServer without(AnyPolicy(), {.rpc = options});
  InProcessServer with(AnyPolicy());
  grpc::Status status;
  ListServices(without, status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  ListServices(with, status);
  EXPECT_TRUE(status.ok());
}

// Every reflection stream has a thread of gRPC's, and there are only so many.
TEST(Reflection, ACrowdOnItDoesNotHoldUpChecks) {
  InProcessServer server(AnyPolicy());
  grpc::GenericStub stub(server.channel);
  grpc::CompletionQueue queue;
  std::list<Context> contexts(300);
  std::vector<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> streams;
  void* tag = nullptr;
  bool ok = false;
  const auto done = [&] { return queue.Next(&tag, &ok) && ok; };
  const grpc::Slice slice(std::string("\x3a\x00", 2));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer answer;
  grpc::Status status;
  for (Context& context : contexts) {
    streams.push_back(stub.PrepareCall(
        &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue));
    streams.back()->StartCall(nullptr);
    done();
    streams.back()->Write(request, nullptr);
    done();
    streams.back()->Read(&answer, nullptr);
    if (done()) continue;
    streams.back()->Finish(&status, nullptr);
    done();
    break;
  }
  EXPECT_LT(streams.size(), contexts.size());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (int i = 0; i < 100; ++i) server.Allowed("job:etl", 0);
  for (Context& context : contexts) context.TryCancel();
  streams.pop_back();
  for (const auto& stream : streams) {
    stream->Finish(&status, nullptr);
    done();
  }
  HealthCheckResponse response;
  EXPECT_TRUE(WaitUntil([&] {
    Context context;
    return server.health->Check(&context, HealthCheckRequest(), &response).ok();
  }));
}

TEST(PeerAddresses, ReadsEveryFormThatGrpcWrites) {
  const struct {
    const char* peer;
    const char* address;  // null: none
  } cases[] = {
      {"ipv4:10.1.2.3:4711", "10.1.2.3"},
      {"ipv6:%5B2001:db8::1%5D:4711", "2001:db8::1"},
      {"ipv6:[2001:db8::1]:4711", "2001:db8::1"},
      {"ipv6:%5B::ffff:10.0.0.1%5D:80", "10.0.0.1"},
      {"ipv6:%5Bfe80::1%25eth0%5D:80", "fe80::1"},
      {"unix:/run/headgate.sock", nullptr},
      {"unix:", nullptr},
      {"ipv4:", nullptr},
      {"ipv4:nonsense:1", nullptr},
      {"", nullptr},
  };
  PeerAddresses peers;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.peer);
    for (int again = 0; again < 2; ++again) {
      const engine::IpAddress* const found = peers.Find(one.peer);
      ASSERT_EQ(found != nullptr, one.address != nullptr);
      if (found == nullptr) continue;
      EXPECT_EQ(*found, *engine::IpAddress::Parse(one.address));
    }
  }
}

TEST(PeerAddresses, ForgetsWhenThereAreTooMany) {
  PeerAddresses peers;
  for (int i = 0; i < 5000; ++i) {
    const std::string address = absl::StrCat("10.0.", i / 250, ".", i % 250);
    const engine::IpAddress* const found = peers.Find(absl::StrCat("ipv4:", address, ":1"));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->ToString(), address);
  }
}

}  // namespace
}  // namespace headgate::rpc
