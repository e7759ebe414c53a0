// A CheckRequest that outlives what it was made of.
#include "server/decide/line/kept_request.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gtest/gtest.h"

namespace headgate::line {
namespace {

TEST(KeptRequest, SaysWhatWasAskedWhenThatIsGone) {
  std::optional<KeptRequest> kept;
  {
    const std::array<std::string, 9> texts = {"job-7:etl", "orders", "select 1", "once", "airflow",
                                              "team",      "dwh",    "",         "x"};
    const std::array<engine::Tag, 2> tags = {engine::Tag{texts[5], texts[6]},
                                             engine::Tag{texts[7], texts[8]}};
    const engine::IpAddress address = *engine::IpAddress::Parse("10.1.2.3");
    kept.emplace(engine::CheckRequest{.identity = texts[0],
                                      .target = texts[1],
                                      .estimated_cost = 45,
                                      .pattern = texts[2],
                                      .tags = tags,
                                      .remote_address = &address,
                                      .request_id = texts[3],
                                      .caller = texts[4]});
  }
  const KeptRequest moved = *std::move(kept);
  const engine::CheckRequest request = moved.request();
  EXPECT_EQ(request.identity, "job-7:etl");
  EXPECT_EQ(request.target, "orders");
  EXPECT_EQ(request.estimated_cost, 45);
  EXPECT_EQ(request.pattern, "select 1");
  ASSERT_EQ(request.tags.size(), 2u);
  EXPECT_EQ(request.tags[0].key, "team");
  EXPECT_EQ(request.tags[0].value, "dwh");
  EXPECT_EQ(request.tags[1].key, "");
  EXPECT_EQ(request.tags[1].value, "x");
  ASSERT_NE(request.remote_address, nullptr);
  EXPECT_EQ(request.remote_address->ToString(), "10.1.2.3");
  EXPECT_EQ(request.request_id, "once");
  EXPECT_EQ(request.caller, "airflow");
}

TEST(KeptRequest, SaysNothingOfWhatWasNotAsked) {
  const KeptRequest kept(engine::CheckRequest{.identity = "etl"});
  const engine::CheckRequest request = kept.request();
  EXPECT_EQ(request.identity, "etl");
  EXPECT_FALSE(request.estimated_cost.has_value());
  EXPECT_EQ(request.remote_address, nullptr);
  EXPECT_TRUE(request.tags.empty());
  for (const std::string_view text :
       {request.target, request.pattern, request.request_id, request.caller}) {
    EXPECT_TRUE(text.empty());
  }
}

}  // namespace
}  // namespace headgate::line
