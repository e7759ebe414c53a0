// The port for probes, which speaks plaintext where the other one speaks TLS.

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <string>

#include "gtest/gtest.h"
#include "tests/tls/tls_fixture.h"

namespace headgate::tls {
namespace {

using grpc::StatusCode;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthPort : public testing::Test {
 protected:
  static rpc::RpcServerOptions Options() {
    rpc::RpcServerOptions options = rpc::TestServer::Options();
    options.health_address = "127.0.0.1:0";
    return options;
  }
  std::shared_ptr<grpc::Channel> Probe() const {
    return grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_.server->server->health_port()),
                               grpc::InsecureChannelCredentials());
  }
  static void ExpectRefused(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
    EXPECT_EQ(rpc::DetailsOf(status).reason, "HEALTH_PORT");
  }

  TlsServer server_{config::ClientCertificates::kRequired, Options()};
};

TEST_F(HealthPort, AnswersProbesWithoutTls) {
  const auto stub = grpc::health::v1::Health::NewStub(Probe());
  rpc::Context context;
  HealthCheckResponse response;
  const grpc::Status status = stub->Check(&context, HealthCheckRequest(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
}

TEST_F(HealthPort, RefusesEveryUnaryCall) {
  const auto throttler = v1::ThrottlerService::NewStub(Probe());
  const auto status = v1::StatusService::NewStub(Probe());
  {
    rpc::Context context;
    v1::CheckResponse response;
    ExpectRefused(throttler->Check(&context, rpc::CheckOf("job:etl", 1), &response));
  }
  {
    rpc::Context context;
    v1::BatchCheckResponse response;
    ExpectRefused(throttler->BatchCheck(&context, {}, &response));
  }
  {
    rpc::Context context;
    v1::ReportResponse response;
    ExpectRefused(throttler->Report(&context, {}, &response));
  }
  {
    rpc::Context context;
    v1::ExplainResponse response;
    ExpectRefused(throttler->Explain(&context, {}, &response));
  }
  {
    rpc::Context context;
    v1::GetStatusResponse response;
    ExpectRefused(status->GetStatus(&context, {}, &response));
  }
}

TEST_F(HealthPort, RefusesStreams) {
  const auto throttler = v1::ThrottlerService::NewStub(Probe());
  rpc::Context context;
  const auto stream = throttler->CheckStream(&context);
  v1::CheckStreamResponse response;
  EXPECT_FALSE(stream->Read(&response));
  ExpectRefused(stream->Finish());
  EXPECT_EQ(server_.server->server->streams_open(), 0);
}

TEST_F(HealthPort, RefusesReflection) {
  using grpc::reflection::v1alpha::ServerReflection;
  const auto stub = ServerReflection::NewStub(Probe());
  rpc::Context context;
  const auto stream = stub->ServerReflectionInfo(&context);
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  EXPECT_FALSE(stream->Read(&response));
  ExpectRefused(stream->Finish());
}

TEST_F(HealthPort, LeavesTheOtherPortAsItIs) {
  EXPECT_TRUE(server_.Check(server_.Caller()).ok());
  EXPECT_EQ(TlsServer::CheckOver(server_.server->Connect()).error_code(), StatusCode::UNAVAILABLE);
}

TEST(HealthPortOptions, NeedTls) {
  rpc::TestServer plain(engine::OneBudget(engine::RateBudget("b", 10, 100)));
  rpc::RpcServerOptions options = rpc::TestServer::Options();
  options.health_address = "127.0.0.1:0";
  const auto started = rpc::RpcServer::Start(options, plain.quiet.all);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace headgate::tls
