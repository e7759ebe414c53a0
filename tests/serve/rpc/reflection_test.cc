// What reflection answers to each question, and to what it does not know.

#include <google/protobuf/descriptor.pb.h>
#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using grpc::reflection::v1alpha::ServerReflection;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;
using testing::ElementsAre;

class ReflectionAnswers : public testing::Test {
 protected:
  ServerReflectionResponse Ask(const ServerReflectionRequest& request) {
    const auto stub = ServerReflection::NewStub(server_.channel);
    Context context;
    const auto stream = stub->ServerReflectionInfo(&context);
    EXPECT_TRUE(stream->Write(request));
    ServerReflectionResponse response;
    EXPECT_TRUE(stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return response;
  }
  static std::vector<std::string> Files(const ServerReflectionResponse& response) {
    std::vector<std::string> names;
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      names.push_back(file.name());
    }
    return names;
  }

  InProcessServer server_{engine::OneBudget(engine::RateBudget("b", 10, 100))};
};

TEST_F(ReflectionAnswers, SendsAFileBehindAllThatItImports) {
  ServerReflectionRequest request;
  request.set_file_containing_symbol("headgate.v1.StatusService.GetStatus");
  EXPECT_THAT(
      Files(Ask(request)),
      ElementsAre("google/protobuf/duration.proto", "google/protobuf/timestamp.proto",
                  "headgate/v1/agent_service.proto", "headgate/v1/cluster_service.proto",
                  "headgate/v1/override_service.proto", "headgate/v1/throttler_service.proto",
                  "headgate/v1/status_service.proto"));
  request.set_file_by_filename("google/protobuf/duration.proto");
  EXPECT_THAT(Files(Ask(request)), ElementsAre("google/protobuf/duration.proto"));
}

TEST_F(ReflectionAnswers, KnowsExtensions) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type("google.protobuf.FileOptions");
  EXPECT_EQ(Ask(request).all_extension_numbers_response().base_type_name(),
            "google.protobuf.FileOptions");
  request.mutable_file_containing_extension()->set_containing_type("google.protobuf.FileOptions");
  request.mutable_file_containing_extension()->set_extension_number(1);
  EXPECT_EQ(Ask(request).error_response().error_code(), 5);
}

TEST_F(ReflectionAnswers, SaysWhatItDoesNotKnow) {
  ServerReflectionRequest request;
  request.set_host("h");
  const auto expect = [&](const auto& set) {
    set(std::string("no.such.thing"));
    const ServerReflectionResponse response = Ask(request);
    EXPECT_EQ(response.error_response().error_code(), 5);
    EXPECT_EQ(response.error_response().error_message(), "not found: no.such.thing");
    EXPECT_EQ(response.valid_host(), "h");
    EXPECT_EQ(response.original_request().host(), "h");
  };
  expect([&](const std::string& name) { request.set_file_by_filename(name); });
  expect([&](const std::string& name) { request.set_file_containing_symbol(name); });
  expect([&](const std::string& name) { request.set_all_extension_numbers_of_type(name); });
  EXPECT_EQ(Ask({}).error_response().error_code(), 3);
}

}  // namespace
}  // namespace headgate::rpc
