// Held against protobuf's own JSON: over messages that are generated, and over texts good and bad.

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <headgate/v1/cost_service.pb.h>
#include <headgate/v1/override_service.pb.h>
#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/serve/json/json_reader.h"
#include "server/serve/json/json_writer.h"

namespace headgate::json {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Messages with any of their fields set to values that are at the edges, or any.
class Generator {
 public:
  void Fill(Message& message, int depth) {
    const Descriptor& type = *message.GetDescriptor();
    if (type.well_known_type() == Descriptor::WELLKNOWNTYPE_DURATION) return FillTime(message, 0);
    if (type.well_known_type() == Descriptor::WELLKNOWNTYPE_TIMESTAMP) {
      return FillTime(message, 1'700'000'000);
    }
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (Roll(3) == 0 || (depth == 0 && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE))
        continue;
      for (size_t count = field.is_repeated() ? Roll(4) : 1; count > 0; --count)
        Set(message, field, depth);
    }
  }
  size_t Roll(size_t sides) { return random_() % sides; }

 private:
  void FillTime(Message& message, int64_t around) {
    const Descriptor& type = *message.GetDescriptor();
    const Reflection& reflection = *message.GetReflection();
    const int32_t nanos[] = {0, 1, 1'000, 1'500'000, 120'000'000, 999'999'999};
    const bool negative = around == 0 && Roll(4) == 0;
    const auto seconds = static_cast<int64_t>(Roll(100'000)) + around;
    reflection.SetInt64(&message, type.FindFieldByName("seconds"), negative ? -seconds : seconds);
    const int32_t part = nanos[Roll(6)];
    reflection.SetInt32(&message, type.FindFieldByName("nanos"), negative ? -part : part);
  }
  std::string Text() {
    static const std::string kTexts[] = {"",
                                         "etl",
                                         "\"quoted\" \\ / \b\f\n\r\t",
                                         "\x01\x1f\x7f",
                                         "žluťoučký \xf0\x9f\x90\x98",
                                         "\xe2\x80\xa8</script>",
                                         std::string("a\0b", 3)};
    return kTexts[Roll(7)];
  }
  double Double() {
    static const double kDoubles[] = {
        0,        1,         0.1,         0.1 + 0.2,
        100'000,  1e15,      1e16,        123456789012345680.0,
        1e300,    5e-324,    -2.5,        std::numeric_limits<double>::max(),
        HUGE_VAL, -HUGE_VAL, std::nan("")};
    return kDoubles[Roll(std::size(kDoubles))];
  }
  template <typename Number>
  Number Whole() {
    const Number edges[] = {0, 1, std::numeric_limits<Number>::max(),
                            std::numeric_limits<Number>::min(), static_cast<Number>(random_())};
    return edges[Roll(5)];
  }
  void Set(Message& message, const FieldDescriptor& field, int depth) {
    const Reflection& reflection = *message.GetReflection();
    const bool many = field.is_repeated();
    const auto put = [&](auto value, auto set, auto add) {
      many ? (reflection.*add)(&message, &field, value)
           : (reflection.*set)(&message, &field, value);
    };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return put(Whole<int32_t>(), &Reflection::SetInt32, &Reflection::AddInt32);
      case FieldDescriptor::CPPTYPE_UINT32:
        return put(Whole<uint32_t>(), &Reflection::SetUInt32, &Reflection::AddUInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return put(Whole<int64_t>(), &Reflection::SetInt64, &Reflection::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(Whole<uint64_t>(), &Reflection::SetUInt64, &Reflection::AddUInt64);
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(Roll(2) == 1, &Reflection::SetBool, &Reflection::AddBool);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(Double(), &Reflection::SetDouble, &Reflection::AddDouble);
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(static_cast<int>(Roll(30)), &Reflection::SetEnumValue,
                   &Reflection::AddEnumValue);
      case FieldDescriptor::CPPTYPE_STRING:
        return put(Text(), &Reflection::SetString, &Reflection::AddString);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (field.is_map()) {
          Message& entry = *reflection.AddMessage(&message, &field);
          const Reflection& inner = *entry.GetReflection();
          inner.SetString(&entry, entry.GetDescriptor()->map_key(), absl::StrCat("key", ++keys_));
          return inner.SetString(&entry, entry.GetDescriptor()->map_value(), Text());
        }
        return Fill(many ? *reflection.AddMessage(&message, &field)
                         : *reflection.MutableMessage(&message, &field),
                    depth - 1);
      default:
        FAIL() << "the API has a " << field.cpp_type_name() << " now: " << field.full_name();
    }
  }

  std::mt19937_64 random_{7};
  int keys_ = 0;
};

// All that any method of the API takes or gives.
std::vector<const Descriptor*> Messages() {
  std::vector<const Descriptor*> all;
  for (const auto* const file :
       {v1::CheckRequest::descriptor()->file(), v1::ListCostsRequest::descriptor()->file(),
        v1::CreateOverrideRequest::descriptor()->file(), v1::GetStatusRequest::descriptor()->file(),
        v1::ReplayThrottleLogRequest::descriptor()->file()}) {
    for (int i = 0; i < file->message_type_count(); ++i) all.push_back(file->message_type(i));
  }
  return all;
}

std::unique_ptr<Message> New(const Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::string Written(const Message& message) {
  std::string json;
  JsonWriter().Append(message, json);
  return json;
}

std::string WrittenByProtobuf(const Message& message, bool camel_case = false) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = !camel_case;
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

bool IsReadByProtobuf(const std::string& json, Message& message) {
  return google::protobuf::util::JsonStringToMessage(json, &message).ok();
}

TEST(Json, WritesAndReadsWhatProtobufDoes) {
  Generator generator;
  JsonReader reader(1'000'000);
  for (const Descriptor* const type : Messages()) {
    for (int i = 0; i < 40; ++i) {
      const auto message = New(*type);
      generator.Fill(*message, 4);
      const auto by_protobuf = New(*type);
      ASSERT_TRUE(IsReadByProtobuf(Written(*message), *by_protobuf)) << Written(*message);
      // Not a comparison of fields: NaN is not NaN.
      EXPECT_EQ(by_protobuf->DebugString(), message->DebugString());
      for (const bool camel_case : {false, true}) {
        const std::string json = WrittenByProtobuf(*message, camel_case);
        const auto read = New(*type);
        const auto fault = reader.Read(json, *read);
        ASSERT_FALSE(fault.has_value()) << fault->field << ": " << fault->what << "\n" << json;
        EXPECT_EQ(read->DebugString(), message->DebugString()) << json;
      }
    }
  }
}

struct Case {
  const char* json;
  bool is_taken;
};

// Whatever is taken is taken by protobuf too, as the same; what is refused here and taken there is
// in the second list.
TEST(Json, TakesNothingThatProtobufWouldTakeOtherwise) {
  JsonReader reader(1'000);
  for (const Case& each : {
           Case{"{}", true},
           Case{R"({"identity": "a"})", true},
           Case{R"({"identity": "aé😀\/"})", true},
           Case{R"({"identity": "\ud800"})", false},
           Case{R"({"identity": 1})", false},
           Case{R"({"identity": null})", true},
           Case{R"({"identity": {}})", false},
           Case{R"({"identity": ["a"]})", false},
           Case{R"({"nothing": 1})", false},
           Case{R"({"estimated_cost": 1.5})", true},
           Case{R"({"estimatedCost": 1e2})", true},
           Case{R"({"estimated_cost": "1.5"})", true},
           Case{R"({"estimated_cost": "NaN"})", true},
           Case{R"({"estimated_cost": -0})", true},
           Case{R"({"estimated_cost": -0.0})", true},
           Case{R"({"estimated_cost": 9007199254740993})", true},
           Case{R"({"estimated_cost": "-Infinity"})", true},
           Case{R"({"estimated_cost": " 1"})", false},
           Case{R"({"estimated_cost": "one"})", false},
           Case{R"({"estimated_cost": true})", false},
           Case{R"({"estimated_cost": 1e999})", false},
           Case{R"({"estimated_cost": NaN})", false},
           Case{R"({"estimated_cost": 01})", false},
           Case{R"({"validate_only": true})", true},
           Case{R"({"validate_only": 1})", false},
           Case{R"({"tags": {"a": "b", "c": ""}})", true},
           Case{R"({"tags": {"a": 1}})", false},
           Case{R"({"pattern": "\ud83d\ude00\ud7ff\ue000"})", true},
           Case{R"({"pattern": "\ud800"})", false},
           Case{R"({"pattern": "a\udc00"})", false},
           Case{R"({"tags": {"\udfff": "a"}})", false},
           Case{R"({"tags": {"a": "\udfff\ud800"}})", false},
           Case{R"({"\udfff": "a"})", false},
           Case{R"({"tags": {"a": null}})", false},
           Case{R"({"tags": [{"key": "a", "value": "b"}]})", false},
           Case{R"({"tags": "a"})", false},
           Case{R"({"tags": null})", true},
           Case{R"({"max_wait": "1.5s"})", true},
           Case{R"({"max_wait": "-0.000000001s"})", true},
           Case{R"({"max_wait": "315576000001s"})", false},
           Case{R"({"max_wait": "1.0000000001s"})", false},
           Case{R"({"max_wait": "1"})", false},
           Case{R"({"max_wait": "s"})", false},
           Case{R"({"max_wait": 1})", false},
           Case{R"({"max_wait": {"seconds": 1}})", false},
           Case{R"([])", false},
           Case{R"("a")", false},
           Case{"null", false},
           Case{"", false},
           Case{"{", false},
           Case{"{} {}", false},
       }) {
    v1::CheckRequest ours, theirs;
    const auto fault = reader.Read(each.json, ours);
    EXPECT_EQ(!fault.has_value(), each.is_taken)
        << each.json << (fault.has_value() ? fault->what : "");
    if (fault.has_value()) continue;
    EXPECT_TRUE(IsReadByProtobuf(each.json, theirs)) << each.json;
    EXPECT_EQ(ours.DebugString(), theirs.DebugString()) << each.json;
  }
}

TEST(Json, RefusesWhatIsAmbiguousOrNoJsonThoughProtobufTakesIt) {
  JsonReader reader(1'000);
  for (const char* json :
       {R"({"identity": "a", "identity": "b"})", R"({"estimated_cost": 1, "estimatedCost": 2})",
        R"({"tags": {"a": "1", "a": "2"}})", R"({"identity": "a",})", R"({identity: "a"})",
        R"({'identity': 'a'})", R"({"validate_only": "true"})"}) {
    v1::CheckRequest request;
    EXPECT_TRUE(reader.Read(json, request).has_value()) << json;
  }
}

TEST(Json, ReadsNumbersOfAllKinds) {
  JsonReader reader(1'000);
  for (const Case& each :
       {Case{R"({"reports": [{"permit_id": "18446744073709551615"}]})", true},
        Case{R"({"reports": [{"permit_id": 18446744073709551615}]})", true},
        Case{R"({"reports": [{"permit_id": 18446744073709551616}]})", false},
        Case{R"({"reports": [{"permit_id": -1}]})", false},
        Case{R"({"reports": [{"permit_id": 1.0}]})", true},
        Case{R"({"reports": [{"permit_id": 1e3}]})", true},
        Case{R"({"reports": [{"permit_id": 1.5}]})", false},
        Case{R"({"reports": [{"permit_id": ""}]})", false}, Case{R"({"reports": [null]})", false},
        Case{R"({"reports": [[]]})", false}, Case{R"({"reports": {}})", false}}) {
    v1::ReportRequest ours, theirs;
    const auto fault = reader.Read(each.json, ours);
    EXPECT_EQ(!fault.has_value(), each.is_taken) << each.json;
    if (fault.has_value()) continue;
    EXPECT_TRUE(IsReadByProtobuf(each.json, theirs)) << each.json;
    EXPECT_EQ(ours.DebugString(), theirs.DebugString()) << each.json;
  }
}

TEST(Json, TakesANumberThatIsTooSmallForZeroAndSaysWhatIsTooLarge) {
  JsonReader reader(1'000);
  for (const char* const number : {"1e-400", "-1e-400", "\"1e-400\"", "0.1e-99999", "1e-324"}) {
    v1::CheckRequest request;
    request.set_estimated_cost(7);
    const auto fault = reader.Read(absl::StrCat(R"({"estimated_cost": )", number, "}"), request);
    EXPECT_FALSE(fault.has_value()) << number << " " << fault->what;
    EXPECT_EQ(request.estimated_cost(), 0) << number;
    EXPECT_FALSE(std::signbit(request.estimated_cost())) << number;
  }
  for (const char* const number : {"1e400", "-1e400", "\"1e400\""}) {
    v1::CheckRequest request;
    const auto fault = reader.Read(absl::StrCat(R"({"estimated_cost": )", number, "}"), request);
    ASSERT_TRUE(fault.has_value()) << number;
    EXPECT_EQ(fault->what, absl::StrCat("must be a number below 1.8e308; it is ", number));
  }
  v1::ReportRequest request;
  const auto fault = reader.Read(R"({"reports": [{"permit_id": 1e-400}]})", request);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->what, "must be a whole number of 64 bits; it is 1e-400");
}

TEST(Json, ReadsTimes) {
  JsonReader reader(1'000);
  for (const Case& each :
       {Case{R"({"from": "2026-03-01T06:00:00Z"})", true},
        Case{R"({"from": "2026-03-01T06:00:00.25+02:00"})", true},
        Case{R"({"from": "0001-01-01T00:00:00Z"})", true},
        Case{R"({"from": "9999-12-31T23:59:59.999999999Z"})", true},
        Case{R"({"from": "2026-02-30T06:00:00Z"})", false},
        Case{R"({"from": "2026-03-01T24:00:00Z"})", false},
        Case{R"({"from": "2026-03-01 06:00:00Z"})", false},
        Case{R"({"from": "2026-03-01T06:00:00"})", false},
        Case{R"({"from": "0000-01-01T00:00:00Z"})", false}, Case{R"({"from": "today"})", false}}) {
    v1::ListOverrideEventsRequest ours, theirs;
    const auto fault = reader.Read(each.json, ours);
    EXPECT_EQ(!fault.has_value(), each.is_taken) << each.json;
    if (fault.has_value()) continue;
    EXPECT_TRUE(IsReadByProtobuf(each.json, theirs)) << each.json;
    EXPECT_EQ(ours.DebugString(), theirs.DebugString()) << each.json;
  }
}

TEST(Json, TakesOneOfSeveralAlternatives) {
  JsonReader reader(1'000);
  v1::ForgetCostsRequest request;
  EXPECT_FALSE(reader.Read(R"({"identity": "etl", "pattern": null})", request).has_value());
  EXPECT_EQ(request.identity(), "etl");
  v1::ForgetCostsRequest both;
  const auto fault = reader.Read(R"({"identity": "etl", "pattern": "copy"})", both);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->field, "pattern");
}

TEST(Json, NamesThePlaceOfWhatIsWrong) {
  JsonReader reader(1'000);
  for (const auto& [json, field] : std::vector<std::pair<const char*, const char*>>{
           {R"({"checks": [{}, {"estimated_cost": true}]})", "checks[1].estimated_cost"},
           {R"({"checks": [{}, 1]})", "checks[1]"},
           {R"({"checks": [{"tags": {"team": 1}}]})", "checks[0].tags.team"},
           {R"({"checks": [{"nothing": 1}]})", "checks[0].nothing"},
           {R"({"checks": 1})", "checks"},
           {R"({"checks": [{"max_wait": "soon"}]})", "checks[0].max_wait"}}) {
    v1::BatchCheckRequest request;
    const auto fault = reader.Read(json, request);
    ASSERT_TRUE(fault.has_value()) << json;
    EXPECT_EQ(fault->field, field) << fault->what;
  }
}

TEST(Json, BoundsDepthAndNumberOfValues) {
  JsonReader reader(100);
  v1::BatchCheckRequest request;
  EXPECT_TRUE(reader.Read(std::string(1'000'000, '['), request).has_value());
  EXPECT_TRUE(reader.Read(R"({"checks": )" + std::string(1'000'000, '['), request).has_value());
  std::string many = R"({"checks": [{})";
  for (int i = 0; i < 200; ++i) many += ",{}";
  const auto fault = reader.Read(many + "]}", request);
  ASSERT_TRUE(fault.has_value());
  EXPECT_TRUE(fault->too_many);
  EXPECT_LE(request.checks_size(), 100);
}

TEST(Json, WritesTheDetailsOfAnError) {
  google::rpc::Status status;
  status.set_code(3);
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("identity");
  status.add_details()->PackFrom(bad);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  status.add_details()->PackFrom(retry);
  EXPECT_EQ(Written(status), WrittenByProtobuf(status));
}

}  // namespace
}  // namespace headgate::json
