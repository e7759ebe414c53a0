// The port for probes, which speaks plaintext where the other one speaks TLS.

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>
#include <malloc.h>

#include <cstddef>
#include <string>

#include "gtest/gtest.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

using grpc::StatusCode;
using grpc::health::v1::HealthCheckResponse;

class HealthPort : public testing::Test {
 protected:
  static rpc::RpcServerOptions Options() {
    rpc::RpcServerOptions options = InProcessServer::Rpc();
    options.health_address = "127.0.0.1:0";
    return options;
  }
  std::shared_ptr<grpc::Channel> Probe() const {
    return grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->health_port()),
                               grpc::InsecureChannelCredentials());
  }
  static void ExpectRefused(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
    EXPECT_EQ(DetailsOf(status).reason, "HEALTH_PORT");
  }

  TlsServer server_{config::ClientCertificates::kRequired, {.rpc = Options()}};
};

TEST_F(HealthPort, AnswersProbesWithoutTls) {
  EXPECT_EQ(AnswerOf(Probe(), &grpc::health::v1::Health::Stub::Check).status(),
            HealthCheckResponse::SERVING);
}

TEST_F(HealthPort, RefusesEveryUnaryCall) {
  using Throttler = v1::ThrottlerService::Stub;
  ExpectRefused(CallRpc(Probe(), &Throttler::Check, CheckOf("job:etl", 1)));
  ExpectRefused(CallRpc(Probe(), &Throttler::BatchCheck));
  ExpectRefused(CallRpc(Probe(), &Throttler::Report));
  ExpectRefused(CallRpc(Probe(), &Throttler::Explain));
  ExpectRefused(CallRpc(Probe(), &v1::StatusService::Stub::GetStatus));
}

TEST_F(HealthPort, RefusesStreams) {
  const OpenStream open(Probe());
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  ExpectRefused(open.stream->Finish());
  EXPECT_EQ(server_->streams_open(), 0);
}

TEST_F(HealthPort, RefusesReflection) {
  using grpc::reflection::v1alpha::ServerReflection;
  const auto stub = ServerReflection::NewStub(Probe());
  Context context;
  const auto stream = stub->ServerReflectionInfo(&context);
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  EXPECT_FALSE(stream->Read(&response));
  ExpectRefused(stream->Finish());
}

// What was allocated and is not freed. Nothing is known of it under AddressSanitizer: 0.
size_t HeapBytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// All messages under way may have 128 MiB, and whoever is refused here needs no certificate.
TEST_F(HealthPort, KeepsNothingOfWhatItRefuses) {
  const auto probe = Probe();
  const v1::CheckRequest large = CheckOf(std::string(3'900'000, 'x'), 1);
  const auto refuse = [&] {
    ExpectRefused(CallRpc(probe, &v1::ThrottlerService::Stub::Check, large));
  };
  refuse();
  const size_t before = HeapBytes();
  for (int i = 0; i < 10; ++i) refuse();
  EXPECT_TRUE(WaitUntil([&] { return HeapBytes() < before + 10'000'000; })) << HeapBytes();
}

TEST_F(HealthPort, LeavesTheOtherPortAsItIs) {
  EXPECT_TRUE(server_.Check(server_.Caller()).ok());
  EXPECT_EQ(TlsServer::CheckOver(server_.channel).error_code(), StatusCode::UNAVAILABLE);
}

TEST(HealthPortOptions, NeedTls) {
  InProcessServer plain(engine::OneBudget(engine::RateBudget("b", 10, 100)));
  rpc::RpcServerOptions options = InProcessServer::Rpc();
  options.health_address = "127.0.0.1:0";
  const auto started = rpc::RpcServer::Start(options, plain.dependencies());
  EXPECT_EQ(started.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace headgate::tls
