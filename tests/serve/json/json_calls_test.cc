// The calls of a batch: cut out of the text as they were sent, or refused with what is wrong.

#include "server/serve/json/json_calls.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::json {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// "field: what"; empty: it was taken.
std::string FaultOf(std::string_view text) {
  std::vector<JsonCall> calls;
  const std::optional<JsonFault> fault = SplitCalls(text, 3, calls);
  return fault.has_value() ? absl::StrCat(fault->field, ": ", fault->what) : "";
}

TEST(SplitCalls, CutsRequestsOutAsTheyWereSent) {
  const std::string text =
      R"( {"calls" : [ {"get_status": { "target" : "a}\"]" }}, {"list\u005flines":{}},
          {"explain": {"check": {"tags": {"x": [1, {"y": null}]}}} }]} )";
  std::vector<JsonCall> calls;
  ASSERT_EQ(SplitCalls(text, 3, calls), std::nullopt);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "get_status");
  EXPECT_EQ(calls[0].request, R"({ "target" : "a}\"]" })");
  EXPECT_EQ(calls[1].name, "list_lines");
  EXPECT_EQ(calls[1].request, "{}");
  EXPECT_EQ(calls[2].name, "explain");
  EXPECT_EQ(calls[2].request, R"({"check": {"tags": {"x": [1, {"y": null}]}}})");
}

TEST(SplitCalls, SayWhatIsNotABatch) {
  EXPECT_EQ(FaultOf("[]"), ": must be an object");
  EXPECT_EQ(FaultOf("7"), ": must be an object");
  EXPECT_EQ(FaultOf("{}"), "calls: must have a call at least");
  EXPECT_EQ(FaultOf(R"({"calls": []})"), "calls: must have a call at least");
  EXPECT_EQ(FaultOf(R"({"calls": {}})"), "calls: must be a list");
  EXPECT_EQ(FaultOf(R"({"calls": null})"), "calls: must be a list");
  EXPECT_EQ(FaultOf(R"({"calls": [[]]})"), "calls: must have objects");
  EXPECT_EQ(FaultOf(R"({"calls": [null]})"), "calls: must have objects");
  EXPECT_EQ(FaultOf(R"({"more": []})"), "more: is not a field of a batch of reads");
  EXPECT_EQ(FaultOf(R"({"calls": [{"a": {}}], "calls": [{"a": {}}]})"), "calls: is there twice");
  EXPECT_EQ(FaultOf(R"({"calls": [{"a":{}}, {"a":{}}, {"a":{}}, {"a":{}}]})"),
            "calls: has more than 3 calls");
}

TEST(SplitCalls, SayWhichIsNoCall) {
  for (const char* call : {"{}", R"({"a": {}, "b": {}})", R"({"a": 1})", R"({"a": []})",
                           R"({"a": null})", R"({"": {}})"}) {
    EXPECT_THAT(FaultOf(absl::StrCat(R"({"calls": [{"a": {}}, )", call, "]}")),
                StartsWith("calls[1]: must be an object with the name of a method"))
        << call;
  }
}

TEST(SplitCalls, SayWhereItIsNotJson) {
  EXPECT_THAT(FaultOf(R"({"calls": [{"a": {}})"), HasSubstr("not JSON"));
  EXPECT_THAT(FaultOf(R"({"calls": [{"a": {]}]})"), HasSubstr("At byte 18"));
  EXPECT_THAT(FaultOf(std::string_view("{\"calls\": [{\"a\": {}}]}\0", 23)),
              HasSubstr("it has a byte 0"));
  EXPECT_THAT(FaultOf(""), HasSubstr("not JSON"));
}

// Depth costs no stack.
TEST(SplitCalls, TakeANestedRequestAsFarAsItGoes) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(FaultOf(absl::StrCat(R"({"calls": [{"a": {"b": )", deep, "}}]}")), "");
}

}  // namespace
}  // namespace headgate::json
