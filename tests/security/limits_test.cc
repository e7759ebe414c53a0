// Every limit on what a caller sends: at the limit it is taken, one beyond it is refused. What an
// operator configures has its limits in tests/govern/config; connections and slow callers in
// tests/govern/tls.

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <cmath>
#include <list>
#include <thread>

#include "gmock/gmock.h"
#include "tests/security/access_fixture.h"

namespace headgate::security {
namespace {

using grpc::StatusCode;

class Limits : public testing::Test {
 protected:
  static std::string Times(size_t count, char c = 'a') { return std::string(count, c); }

  StatusCode Try(const v1::CheckRequest& request) {
    v1::Decision decision;
    return plain().TryCheck(request, decision).error_code();
  }
  // The first is taken, the second one byte or item too much.
  void ExpectEdge(const v1::CheckRequest& most, const v1::CheckRequest& more) {
    EXPECT_EQ(Try(most), StatusCode::OK);
    EXPECT_EQ(Try(more), StatusCode::INVALID_ARGUMENT);
  }
  template <typename Set>
  static v1::CheckRequest With(Set set) {
    v1::CheckRequest request = CheckOf("job:etl", 0);
    set(request);
    return request;
  }
  InProcessServer& plain() { return plain_; }

 private:
  InProcessServer plain_{engine::OneBudget(engine::RateBudget("b", 1e9, 1e9))};
};

TEST_F(Limits, Identity) {
  ExpectEdge(CheckOf(Times(128), 0), CheckOf(Times(129), 0));
  ExpectEdge(CheckOf("a:b:c:d:e:f:g:h", 0), CheckOf("a:b:c:d:e:f:g:h:i", 0));
  const std::string three = Times(128) + ":" + Times(128) + ":" + Times(128) + ":";
  ExpectEdge(CheckOf(three + Times(125), 0), CheckOf(three + Times(126), 0));
}

TEST_F(Limits, Tags) {
  const auto tags = [](int count, size_t bytes) {
    return With([&](v1::CheckRequest& request) {
      for (int i = 0; i < count; ++i) {
        const std::string key = absl::StrCat("k", i);
        (*request.mutable_tags())[key] = Times(bytes - key.size(), 'v');
      }
    });
  };
  ExpectEdge(tags(32, 256), tags(33, 256));
  ExpectEdge(tags(1, 256), tags(1, 257));
}

TEST_F(Limits, PatternAndRequestId) {
  const auto pattern = [](size_t bytes) {
    return With([&](v1::CheckRequest& request) { request.set_pattern(Times(bytes)); });
  };
  ExpectEdge(pattern(1024), pattern(1025));
  const auto id = [](size_t bytes) {
    return With([&](v1::CheckRequest& request) { request.set_request_id(Times(bytes)); });
  };
  ExpectEdge(id(128), id(129));
}

TEST_F(Limits, Cost) {
  constexpr double kMax = 1e15;
  ExpectEdge(CheckOf("job:none", kMax), CheckOf("job:none", std::nextafter(kMax, 2 * kMax)));
}

TEST_F(Limits, BatchesStreamsAndReports) {
  v1::BatchCheckRequest batch;
  v1::CheckStreamRequest message;
  v1::ReportRequest report;
  for (int i = 0; i < 1000; ++i) {
    *batch.add_checks() = CheckOf("job:etl", 0);
    *message.add_checks() = CheckOf("job:etl", 0);
    report.add_reports()->set_permit_id(1);
  }
  const auto try_all = [&] {
    OpenStream open(plain().channel);
    open.stream->Write(message);
    v1::CheckStreamResponse answer;
    open.stream->Read(&answer);
    using Stub = v1::ThrottlerService::Stub;
    return std::vector<StatusCode>{CallRpc(plain().channel, &Stub::BatchCheck, batch).error_code(),
                                   open.Close().error_code(),
                                   CallRpc(plain().channel, &Stub::Report, report).error_code()};
  };
  EXPECT_THAT(try_all(), testing::Each(StatusCode::OK));
  *batch.add_checks() = CheckOf("job:etl", 0);
  *message.add_checks() = CheckOf("job:etl", 0);
  report.add_reports()->set_permit_id(1);
  EXPECT_THAT(try_all(), testing::Each(StatusCode::INVALID_ARGUMENT));
}

TEST_F(Limits, MessageBytes) {
  rpc::RpcServerOptions options = InProcessServer::Rpc();
  options.max_message_bytes = 4096;
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)), {.rpc = options});
  v1::Decision decision;
  v1::CheckRequest request = CheckOf("job:etl", 0);
  // Before the text stand three bytes: the field and its length.
  request.set_request_id(Times(100));
  request.set_pattern(Times(4096 - request.ByteSizeLong() - 3));
  ASSERT_EQ(request.ByteSizeLong(), 4096U);
  EXPECT_EQ(server.TryCheck(request, decision).error_code(), StatusCode::INVALID_ARGUMENT);
  request.mutable_pattern()->append("a");
  EXPECT_EQ(server.TryCheck(request, decision).error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(Limits, ReflectionStreams) {
  using grpc::reflection::v1alpha::ServerReflection;
  const auto stub = ServerReflection::NewStub(plain().channel);
  std::list<Context> contexts(17);
  std::vector<std::unique_ptr<
      grpc::ClientReaderWriter<grpc::reflection::v1alpha::ServerReflectionRequest,
                               grpc::reflection::v1alpha::ServerReflectionResponse>>>
      streams;
  for (Context& context : contexts) {
    streams.push_back(stub->ServerReflectionInfo(&context));
    grpc::reflection::v1alpha::ServerReflectionRequest request;
    request.set_list_services("");
    grpc::reflection::v1alpha::ServerReflectionResponse response;
    streams.back()->Write(request);
    EXPECT_EQ(streams.back()->Read(&response), streams.size() <= 16);
  }
  EXPECT_EQ(streams.back()->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  for (Context& context : contexts) context.TryCancel();
  for (size_t i = 0; i < 16; ++i) streams[i]->Finish();
}

class OperatorLimits : public testing::Test {
 protected:
  StatusCode Create(size_t actor_bytes, size_t reason_bytes) {
    return GuardedServer::TryToPause(peer_, std::string(actor_bytes, 'a'),
                                     std::string(reason_bytes, 'r'))
        .error_code();
  }
  template <typename Stub, typename Request, typename Response>
  StatusCode Page(RpcMethod<Stub, Request, Response> method, int size) {
    Request request;
    request.set_page_size(size);
    return CallRpc(peer_, method, request).error_code();
  }
  template <typename Stub, typename Request, typename Response>
  void ExpectPages(RpcMethod<Stub, Request, Response> method, int most) {
    EXPECT_EQ(Page(method, most), StatusCode::OK);
    EXPECT_EQ(Page(method, most + 1), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(Page(method, -1), StatusCode::INVALID_ARGUMENT);
  }

  GuardedServer server_{std::nullopt};
  const Peer peer_ = server_.Bare();
};

TEST_F(OperatorLimits, ActorAndReason) {
  EXPECT_EQ(Create(256, 1024), StatusCode::OK);
  EXPECT_EQ(Create(257, 1024), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(256, 1025), StatusCode::INVALID_ARGUMENT);
}

TEST_F(OperatorLimits, Pages) {
  ExpectPages(&v1::StatusService::Stub::ListBudgets, 1000);
  ExpectPages(&v1::StatusService::Stub::ListBuckets, 1000);
  ExpectPages(&v1::StatusService::Stub::ListLines, 1000);
  ExpectPages(&v1::StatusService::Stub::ListLeases, 1000);
  ExpectPages(&v1::OverrideService::Stub::ListOverrides, 1000);
  ExpectPages(&v1::OverrideService::Stub::ListOverrideEvents, 1000);
  ExpectPages(&v1::ThrottleLogService::Stub::QueryThrottleLog, 10'000);
  ExpectPages(&v1::ThrottleLogService::Stub::ListThrottledIntervals, 1000);
  ExpectPages(&v1::ThrottleLogService::Stub::ListDenials, 1000);
}

TEST_F(OperatorLimits, FilterAlternativesAndReplayedConfiguration) {
  v1::QueryThrottleLogRequest query;
  for (int i = 0; i < 100; ++i) query.mutable_filter()->add_budgets("b");
  const auto ask = [&] {
    return CallRpc(peer_, &v1::ThrottleLogService::Stub::QueryThrottleLog, query).error_code();
  };
  EXPECT_EQ(ask(), StatusCode::OK);
  query.mutable_filter()->add_budgets("b");
  EXPECT_EQ(ask(), StatusCode::INVALID_ARGUMENT);
  v1::ReplayThrottleLogRequest replay;
  replay.set_config_yaml("{} " + std::string((1 << 20) - 3, '#'));
  const auto run = [&] {
    return CallRpc(peer_, &v1::ThrottleLogService::Stub::ReplayThrottleLog, replay).error_code();
  };
  EXPECT_EQ(run(), StatusCode::OK);
  replay.mutable_config_yaml()->append("#");
  EXPECT_EQ(run(), StatusCode::INVALID_ARGUMENT);
}

TEST(LimitsOfCallers, ACallerHasOnlyItsShareOfCheckStreams) {
  GuardedServer server;
  const Peer sre = server.Bare(Bearer(kSreToken));
  OpenStream first(sre);
  // Whose they are counts, not by which connection they come.
  OpenStream second(server.Bare(Bearer(kSreToken)));
  EXPECT_TRUE(first.Exchange() && second.Exchange());
  OpenStream third(sre);
  EXPECT_FALSE(third.Exchange());
  const grpc::Status refused = third.Close();
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "no room for another CheckStream of caller sre, which has as many as one may");
  OpenStream other(server.Bare(Bearer(kAuditorToken)));
  EXPECT_TRUE(other.Exchange());
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(OpenStream(sre).Exchange());
  EXPECT_TRUE(second.Close().ok());
  EXPECT_TRUE(other.Close().ok());
}

TEST(LimitsOfCallers, WhoeverHearsOfTheEndOfAStreamHasRoomForAnother) {
  GuardedServer server;
  const Peer sre = server.Bare(Bearer(kSreToken));
  OpenStream held(sre);
  EXPECT_TRUE(held.Exchange());
  for (int i = 0; i < 200; ++i) {
    OpenStream open(sre);
    ASSERT_TRUE(open.Exchange()) << i;
    ASSERT_TRUE(open.Close().ok()) << i;
  }
  EXPECT_TRUE(held.Close().ok());
}

TEST(LimitsOfCallers, WhoeverHasNoNameHasTheShareOfItsAddress) {
  GuardedServer server(
      access::PolicySpec{.callers = {{.name = "guest", .anybody = true, .identities = {"etl"}}}});
  OpenStream first(server.Bare()), second(server.Bare());
  EXPECT_TRUE(first.Exchange() && second.Exchange());
  OpenStream third(server.Bare());
  EXPECT_FALSE(third.Exchange());
  EXPECT_EQ(third.Close().error_message(),
            "no room for another CheckStream of caller at 127.0.0.1, which has as many as one may");
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(second.Close().ok());
}

TEST(LimitsOfCallers, ACallerHasOnlyItsShareOfOverrides) {
  GuardedServer server(MatrixPolicy(), 4);
  const Peer dba = server.Certified({.dns = {"dba.example"}});
  // Whom the request names as actor changes nothing about who calls.
  EXPECT_TRUE(GuardedServer::TryToPause(dba, "ann", "stuck").ok());
  EXPECT_TRUE(GuardedServer::TryToPause(dba, "bob", "stuck").ok());
  const grpc::Status refused = GuardedServer::TryToPause(dba, "eve", "stuck");
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "caller dba has 2 overrides in force, the most that one may have: delete some");
  const Peer sre = server.Bare(Bearer(kSreToken));
  EXPECT_TRUE(GuardedServer::TryToPause(sre, "", "incident").ok());
}

}  // namespace
}  // namespace headgate::security
