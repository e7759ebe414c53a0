// Callers that are slow, silent or broken: while they hang others are answered, and in the end
// their connections are gone.

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

// With time enough for an honest caller on a busy machine.
rpc::RpcServerOptions Impatient() {
  rpc::RpcServerOptions options = InProcessServer::Rpc();
  options.connections.handshake = absl::Seconds(3);
  options.connections.idle = absl::Seconds(1);
  options.connections.age = absl::Seconds(2);
  options.connections.age_grace = absl::Seconds(10);
  options.connections.keepalive = absl::Milliseconds(500);
  options.connections.keepalive_timeout = absl::Seconds(3);
  return options;
}

engine::PolicySpec AnyPolicy() { return engine::OneBudget(engine::RateBudget("b", 1000, 100'000)); }

TEST(SlowCallers, SayNothing) {
  TlsServer server(config::ClientCertificates::kRequired, {.rpc = Impatient()});
  const grpc::SslCredentialsOptions good = server.Caller();
  std::vector<Raw> silent;
  for (int i = 0; i < 50; ++i) silent.emplace_back(server.port());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(server.Check(good).ok());
  for (const Raw& one : silent) EXPECT_TRUE(WaitUntil([&] { return one.IsClosed(); }));
  EXPECT_TRUE(WaitUntil([&] { return server->connections().open == 0; }));
}

TEST(SlowCallers, SendHalfATlsHello) {
  TlsServer server(config::ClientCertificates::kRequired, {.rpc = Impatient()});
  const grpc::SslCredentialsOptions good = server.Caller();
  std::vector<Raw> halves;
  for (int i = 0; i < 50; ++i) {
    halves.emplace_back(server.port());
    // A handshake record of 512 bytes, of which 5 come.
    EXPECT_TRUE(halves.back().Send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", 10)));
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(server.Check(good).ok());
  for (const Raw& one : halves) EXPECT_TRUE(WaitUntil([&] { return one.IsClosed(); }));
  EXPECT_TRUE(WaitUntil([&] { return server->connections().open == 0; }));
}

TEST(SlowCallers, SayHalfOfHttp2sFirstWords) {
  InProcessServer server(AnyPolicy(), {.rpc = Impatient()});
  const Raw slow(server.port());
  EXPECT_TRUE(slow.Send(kPreface.substr(0, 10)));
  server.Allowed("job:etl", 1);
  EXPECT_TRUE(WaitUntil([&] { return slow.IsClosed(); }));
  server.Allowed("job:etl", 1);
}

TEST(SlowCallers, DribbleHeaders) {
  InProcessServer server(AnyPolicy(), {.rpc = Impatient()});
  const Raw slow(server.port());
  // HEADERS of 8,000 bytes on stream 1, which come one at a time.
  EXPECT_TRUE(slow.Send(kPreface + std::string("\x00\x1f\x40\x01\x04\x00\x00\x00\x01", 9)));
  int sent = 0;
  EXPECT_TRUE(WaitUntil([&] {
    ++sent;
    return !slow.Send("\x40") || slow.IsClosed();
  }));
  EXPECT_LT(sent, 8000);
  server.Allowed("job:etl", 1);
}

// It opens streams, and neither reads nor answers pings.
TEST(SlowCallers, NeverRead) {
  InProcessServer server(AnyPolicy(), {.rpc = Impatient()});
  const Raw deaf(server.port());
  EXPECT_TRUE(deaf.Send(kPreface));
  for (uint32_t stream = 1; stream < 100; stream += 2) {
    EXPECT_TRUE(deaf.Send(Headers(stream, "/headgate.v1.ThrottlerService/CheckStream")));
  }
  EXPECT_TRUE(WaitUntil([&] { return server->streams_open() == 50; }));
  server.Allowed("job:etl", 1);
  EXPECT_TRUE(WaitUntil([&] { return server->streams_open() == 0; }));
  EXPECT_TRUE(WaitUntil([&] { return deaf.IsClosed(); }));
  server.Allowed("job:etl", 1);
}

TEST(SlowCallers, MayKeepAConnectionOnlyForItsAge) {
  InProcessServer server(AnyPolicy(), {.rpc = Impatient()});
  // A channel connects again by itself. A call that began as the end was announced was not sent:
  // clients send it again.
  const auto ask = [&] {
    v1::Decision decision;
    const grpc::Status asked = server.TryCheck(CheckOf("job:etl", 0), decision);
    if (asked.ok()) {
      EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
    } else {
      EXPECT_EQ(asked.error_code(), grpc::StatusCode::UNAVAILABLE) << asked.error_message();
      EXPECT_EQ(asked.error_message(), "GOAWAY received");
    }
  };
  ASSERT_TRUE(WaitUntil([&] {
    ask();
    return server->connections().accepted >= 3;
  }));
  EXPECT_TRUE(WaitUntil([&] {
    ask();
    return server->connections().open <= 2;
  }));
}

TEST(SlowCallers, CannotTakeMoreConnectionsThanThereMayBe) {
  rpc::RpcServerOptions options = Impatient();
  options.connections.max_open = 10;
  InProcessServer server(AnyPolicy(), {.rpc = options});
  std::vector<Raw> silent;
  for (int i = 0; i < 30; ++i) silent.emplace_back(server.port());
  EXPECT_TRUE(WaitUntil([&] { return server->connections().refused == 20; }));
  EXPECT_EQ(server->connections().max_open, 10);
  // Once their time is over there is room again.
  EXPECT_TRUE(WaitUntil([&] {
    v1::Decision decision;
    return server.TryCheck(CheckOf("job:etl", 1), decision).ok();
  }));
}

TEST(SlowCallers, CannotMakeTheServerReadHeadersWithoutEnd) {
  InProcessServer server(AnyPolicy(), {.rpc = Impatient()});
  Context context;
  context.AddMetadata("x-large", std::string(200'000, 'x'));
  v1::CheckResponse response;
  const grpc::Status status = server.throttler->Check(&context, CheckOf("job:etl", 1), &response);
  // The connection may end along with the call.
  EXPECT_THAT(status.error_code(),
              testing::AnyOf(grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNAVAILABLE))
      << status.error_message();
  v1::Decision decision;
  EXPECT_TRUE(WaitUntil([&] { return server.TryCheck(CheckOf("job:etl", 1), decision).ok(); }));
}

}  // namespace
}  // namespace headgate::tls
