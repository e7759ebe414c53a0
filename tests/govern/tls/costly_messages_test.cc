// Messages that are small on the wire and large once they are read: none is read.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"

namespace headgate::tls {
namespace {

using ::testing::HasSubstr;

// Half of what each of these messages would take. Peaks are of the process's whole life.
#if defined(__SANITIZE_ADDRESS__)
constexpr double kMostGrowthMiB = 1024;  // AddressSanitizer keeps what is freed
#else
constexpr double kMostGrowthMiB = 60;
#endif
constexpr size_t kInflated = size_t{128} << 20;
constexpr size_t kMostBytes = (size_t{4} << 20) - 16;

constexpr const char* kMethods[] = {
    "headgate.v1.ThrottlerService/Check",
    "headgate.v1.ThrottlerService/BatchCheck",
    "headgate.v1.ThrottlerService/CheckStream",
    "headgate.v1.ThrottlerService/Report",
    "headgate.v1.ThrottlerService/Explain",
    "headgate.v1.StatusService/GetStatus",
    "headgate.v1.OverrideService/CreateOverride",
    "headgate.v1.ThrottleLogService/ReplayThrottleLog",
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
};

std::string Times(size_t count, const std::string& text) {
  std::string all;
  all.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

class CostlyMessages : public testing::Test {
 protected:
  // The end of a call of any method with these bytes; what it answers before is not read.
  grpc::Status Call(const std::string& method, const std::string& bytes,
                    grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) const {
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    context.set_deadline(gpr_time_from_seconds(60, GPR_TIMESPAN));  // a Watch ends by itself never
    grpc::CompletionQueue queue;
    const auto next = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    // A connection for each: one that brings as much as all of these is cut.
    grpc::GenericStub stub(OwnChannel(server_.address()));
    const auto call = stub.PrepareCall(&context, "/" + method, &queue);
    call->StartCall(nullptr);
    next();
    const grpc::Slice slice(bytes);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    next();
    grpc::ByteBuffer answer;
    do {
      call->Read(&answer, nullptr);
    } while (next());
    grpc::Status status;
    call->Finish(&status, nullptr);
    next();
    return status;
  }
  double PeakMiB() const { return UsageOf(server_.pid()).value_or(ProcessUsage()).peak_mib; }

  RunningHeadgated server_{{.stateless = true}};
};

TEST_F(CostlyMessages, CompressedOnesAreRefusedByEveryMethodBeforeTheyAreInflated) {
  const std::string zeros(kInflated, '\0');
  const double before_mib = PeakMiB();
  for (const char* const method : kMethods) {
    const grpc::Status status = Call(method, zeros, GRPC_COMPRESS_GZIP);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("send them without compression")) << method;
  }
  const grpc::Status deflate = Call(kMethods[0], zeros, GRPC_COMPRESS_DEFLATE);
  EXPECT_EQ(deflate.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_LT(PeakMiB() - before_mib, kMostGrowthMiB);
}

// gRPC's clients name the encoding in each call, and compress only what gets smaller by it.
TEST_F(CostlyMessages, EncodingThatIsNamedAndNotUsedIsNoReasonToRefuse) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::CheckRequest request;
  request.set_identity("job");
  v1::CheckResponse response;
  const grpc::Status status =
      v1::ThrottlerService::NewStub(server_.channel())->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(CostlyMessages, OnesOfTooManyPartsAreRefusedByEveryMethodBeforeTheyAreParsed) {
  const double before_mib = PeakMiB();
  const std::string empty_first_field("\x0a\0", 2);
  const std::string empty_tag("\x2a\0", 2);
  const std::string unknown_field("\xfa\x01\0", 3);
  const std::string unknown_group("\xfb\x01\xfc\x01");
  for (const char* const method : kMethods) {
    for (const std::string& part : {empty_first_field, empty_tag, unknown_field, unknown_group}) {
      const grpc::Status status = Call(method, Times(kMostBytes / part.size(), part));
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
      EXPECT_THAT(status.error_message(), HasSubstr("more than 131072 fields")) << method;
    }
  }
  EXPECT_LT(PeakMiB() - before_mib, kMostGrowthMiB);
}

TEST_F(CostlyMessages, LargestBatchThatIsAllowedIsAnswered) {
  v1::BatchCheckRequest batch;
  for (int i = 0; i < 1000; ++i) {
    v1::CheckRequest& check = *batch.add_checks();
    check.set_identity("a:b:c:d:e:f:g:h");
    check.set_target("main");
    check.set_pattern("p");
    check.set_estimated_cost(1);
    check.set_validate_only(true);
    for (int tag = 0; tag < 32; ++tag) (*check.mutable_tags())["key" + std::to_string(tag)] = "v";
  }
  grpc::ClientContext context;
  v1::BatchCheckResponse response;
  const grpc::Status status =
      v1::ThrottlerService::NewStub(server_.channel())->BatchCheck(&context, batch, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.results_size(), 1000);
}

// What was parsed of one message is not kept for the next where it takes much.
TEST_F(CostlyMessages, MemoryOfManyPartsIsGivenBack) {
  constexpr size_t kParts = 120'000;
  const double before_mib = UsageOf(server_.pid())->rss_mib;
  for (int i = 0; i < 20; ++i) {
    const grpc::Status status =
        Call("headgate.v1.ThrottlerService/BatchCheck", Times(kParts, std::string("\x0a\0", 2)));
    EXPECT_THAT(status.error_message(), HasSubstr("at most 1000"));
  }
  EXPECT_LT(PeakMiB() - before_mib, kMostGrowthMiB);
}

}  // namespace
}  // namespace headgate::tls
