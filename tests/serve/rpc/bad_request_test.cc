// Requests that are wrong, each in one way: whichever RPC they come by, the answer names the field.

#include <functional>
#include <limits>

#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

struct BadCheck {
  const char* name;
  std::function<void(v1::CheckRequest&)> spoil;
  const char* field;
  grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
};

void AddTags(v1::CheckRequest& check, int count, const std::string& value) {
  for (int i = 0; i < count; ++i) (*check.mutable_tags())[absl::StrCat("key", i)] = value;
}

std::vector<BadCheck> BadChecks() {
  using Check = v1::CheckRequest;
  return {
      {"no identity", [](Check& c) { c.clear_identity(); }, "identity"},
      {"nine segments", [](Check& c) { c.set_identity("a:b:c:d:e:f:g:h:i"); }, "identity"},
      {"an empty segment", [](Check& c) { c.set_identity("a::b"); }, "identity"},
      {"a byte that is not allowed", [](Check& c) { c.set_identity("a b"); }, "identity"},
      {"a long segment", [](Check& c) { c.set_identity(std::string(129, 'a')); }, "identity"},
      {"a long identity", [](Check& c) { c.set_identity(std::string(513, 'a')); }, "identity"},
      {"a huge identity", [](Check& c) { c.set_identity(std::string(1 << 20, 'a')); }, "identity"},
      {"text beyond ASCII", [](Check& c) { c.set_identity("caf\u00e9"); }, "identity"},
      {"an unknown target", [](Check& c) { c.set_target("nowhere"); }, "target",
       grpc::StatusCode::NOT_FOUND},
      {"a huge target", [](Check& c) { c.set_target(std::string(1 << 20, 'x')); }, "target",
       grpc::StatusCode::NOT_FOUND},
      {"no target among several", [](Check& c) { c.clear_target(); }, "target"},
      {"a negative cost", [](Check& c) { c.set_estimated_cost(-1e-9); }, "estimated_cost"},
      {"an infinite cost",
       [](Check& c) { c.set_estimated_cost(std::numeric_limits<double>::infinity()); },
       "estimated_cost"},
      {"no number for a cost",
       [](Check& c) { c.set_estimated_cost(std::numeric_limits<double>::quiet_NaN()); },
       "estimated_cost"},
      {"a cost beyond reason", [](Check& c) { c.set_estimated_cost(1e16); }, "estimated_cost"},
      {"a long pattern", [](Check& c) { c.set_pattern(std::string(1025, 'p')); }, "pattern"},
      {"33 tags", [](Check& c) { AddTags(c, 33, "v"); }, "tags"},
      {"a tag without a key", [](Check& c) { (*c.mutable_tags())[""] = "v"; }, "tags"},
      {"a long tag", [](Check& c) { AddTags(c, 1, std::string(256, 'v')); }, "tags"},
  };
}

v1::CheckRequest GoodCheck() {
  v1::CheckRequest check = CheckOf("job:etl", 1);
  check.set_target("one");
  return check;
}

class BadRequest : public testing::Test {
 protected:
  static engine::PolicySpec TwoTargets() {
    engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
    spec.targets.resize(2);
    spec.targets[0].name = "one";
    spec.targets[1].name = "two";
    return spec;
  }

  static v1::CheckRequest Spoilt(const BadCheck& bad) {
    v1::CheckRequest check = GoodCheck();
    bad.spoil(check);
    return check;
  }

  void ExpectError(const grpc::Status& status, const BadCheck& bad, const std::string& field) {
    EXPECT_EQ(status.error_code(), bad.code) << status.error_message();
    const ErrorDetails details = DetailsOf(status);
    EXPECT_EQ(details.fields, std::vector<std::string>{field});
    EXPECT_EQ(details.domain, "headgate");
    EXPECT_NE(details.reason, "");
    EXPECT_NE(details.description, "");
    EXPECT_LT(status.error_message().size(), 600U);
  }

  InProcessServer server_{TwoTargets()};
};

TEST_F(BadRequest, CheckNamesTheField) {
  for (const BadCheck& bad : BadChecks()) {
    SCOPED_TRACE(bad.name);
    v1::Decision decision;
    v1::CheckRequest check = Spoilt(bad);
    ExpectError(server_.TryCheck(check, decision), bad, bad.field);
    check.set_validate_only(true);
    ExpectError(server_.TryCheck(check, decision), bad, bad.field);
  }
  EXPECT_EQ(server_.Check(GoodCheck()).verdict(), v1::VERDICT_ALLOWED);
}

TEST_F(BadRequest, ExplainNamesTheField) {
  for (const BadCheck& bad : BadChecks()) {
    SCOPED_TRACE(bad.name);
    v1::ExplainRequest request;
    *request.mutable_check() = Spoilt(bad);
    ExpectError(CallRpc(server_.channel, &v1::ThrottlerService::Stub::Explain, request), bad,
                absl::StrCat("check.", bad.field));
  }
}

TEST_F(BadRequest, BatchCheckNamesThePlaceAndTheField) {
  v1::BatchCheckRequest request;
  const std::vector<BadCheck> all = BadChecks();
  for (const BadCheck& bad : all) {
    *request.add_checks() = GoodCheck();
    *request.add_checks() = Spoilt(bad);
  }
  const v1::BatchCheckResponse response = server_.Batch(request);
  ASSERT_EQ(response.results_size(), request.checks_size());
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    const int at = 2 * static_cast<int>(i);
    EXPECT_TRUE(response.results(at).has_decision());
    const v1::Error& error = response.results(at + 1).error();
    EXPECT_EQ(error.code(), all[i].code);
    EXPECT_EQ(error.field(), absl::StrCat("checks[", at + 1, "].", all[i].field));
    EXPECT_LT(error.message().size(), 600U);
  }
}

TEST_F(BadRequest, CheckStreamNamesThePlaceAndTheField) {
  OpenStream open(server_.channel);
  for (const BadCheck& bad : BadChecks()) {
    SCOPED_TRACE(bad.name);
    v1::CheckStreamRequest request;
    *request.add_checks() = Spoilt(bad);
    v1::CheckStreamResponse response;
    ASSERT_TRUE(open.stream->Write(request));
    ASSERT_TRUE(open.stream->Read(&response));
    EXPECT_EQ(response.results(0).error().code(), bad.code);
    EXPECT_EQ(response.results(0).error().field(), absl::StrCat("checks[0].", bad.field));
  }
  EXPECT_TRUE(open.Close().ok());
}

TEST_F(BadRequest, ARequestIdIsAtMost128Bytes) {
  v1::CheckRequest check = GoodCheck();
  check.set_request_id(std::string(129, 'r'));
  v1::Decision decision;
  const grpc::Status status = server_.TryCheck(check, decision);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"request_id"});
}

TEST_F(BadRequest, ATagIsNamedByItsKey) {
  v1::CheckRequest check = GoodCheck();
  (*check.mutable_tags())["fine"] = "v";
  (*check.mutable_tags())["team"] = std::string(253, 'v');
  v1::Decision decision;
  const ErrorDetails details = DetailsOf(server_.TryCheck(check, decision));
  EXPECT_EQ(details.description.substr(0, 8), "'team': ");
}

// Bytes that are no such message; `field` where it is one text that is not UTF-8.
TEST_F(BadRequest, BytesThatAreNoMessageAreInvalidAndNotInternal) {
  const std::string text("\x0a\x02\xff\xfe", 4);  // field 1, two bytes that are not UTF-8
  const std::string nested("\x0a\x04\x0a\x02\xff\xfe", 6);
  const std::string cut("\x0a\x7f", 2);  // field 1, 127 bytes that never come
  const std::string service = "/headgate.v1.ThrottlerService/";
  const struct {
    std::string method;
    std::string bytes;
    std::vector<std::string> fields;
  } cases[] = {
      {service + "Check", text, {"identity"}},
      {service + "Check", std::string("\x22\x01\xff", 3), {"pattern"}},
      {service + "Check", cut, {}},
      {service + "Check", "\x2a\x06\x0a\x01\x61\x12\x01\xff", {}},  // a tag's value
      {service + "BatchCheck", nested, {"checks[0].identity"}},
      {service + "BatchCheck", cut, {}},
      {service + "Report", cut, {}},
      {service + "Explain", nested, {"check.identity"}},
      {service + "Explain", cut, {}},
      {"/headgate.v1.StatusService/GetStatus", text, {"target"}},
      {"/headgate.v1.StatusService/ListBudgets", text, {"target"}},
      {"/headgate.v1.StatusService/ListBuckets", cut, {}},
      {"/headgate.v1.StatusService/ListLines", text, {"target"}},
      {"/headgate.v1.StatusService/ListLines", cut, {}},
      {"/headgate.v1.StatusService/ListLeases", text, {"target"}},
      {"/headgate.v1.StatusService/ListLeases", cut, {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.method);
    const grpc::Status status = server_.Send(one.method, one.bytes);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(DetailsOf(status).fields, one.fields);
  }
}

TEST_F(BadRequest, AMethodThatDoesNotExistIsUnimplemented) {
  EXPECT_EQ(server_.Send("/headgate.v1.ThrottlerService/Guess", "").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(BadRequest, EveryMethodOfTheProtocolIsServed) {
  for (const auto* file :
       {v1::CheckRequest::descriptor()->file(), v1::GetStatusRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const std::string method = absl::StrCat("/", file->service(s)->full_name(), "/",
                                                file->service(s)->method(m)->name());
        EXPECT_NE(server_.Send(method, "\xff").error_code(), grpc::StatusCode::UNIMPLEMENTED)
            << method;
      }
    }
  }
}

TEST_F(BadRequest, AMessageOverTheLimitIsRefusedAndTheServerLivesOn) {
  v1::CheckRequest check = GoodCheck();
  check.set_pattern(std::string((4 << 20) + 1, 'p'));
  v1::Decision decision;
  EXPECT_EQ(server_.TryCheck(check, decision).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server_.Check(GoodCheck()).verdict(), v1::VERDICT_ALLOWED);
}

TEST_F(BadRequest, WhereThePermitTableIsFullTheCallerIsToldWhenToRetry) {
  engine::PolicySpec spec = OneBudget(engine::ConcurrencyBudget("b", 65535));
  InProcessServer server(std::move(spec));
  v1::Decision decision;
  grpc::Status status;
  for (int i = 0; i < 3000 && status.ok(); ++i) {
    status = server.TryCheck(CheckOf("job:etl", 1), decision);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(DetailsOf(status).retry);
}

}  // namespace
}  // namespace headgate::rpc
