// OverrideService: what operators change while the server runs.

#include "gmock/gmock.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/override_requests.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Stub = v1::OverrideService::Stub;

engine::PolicySpec Policy() { return OneBudget(RateBudget("rows", 10, 100)); }

class OverrideRpc : public ::testing::Test {
 protected:
  template <typename Method, typename Request, typename Response>
  grpc::Status Call(Method method, const Request& request, Response& response) {
    return CallRpc(server_.channel, method, request, response);
  }
  v1::Override Create(const v1::CreateOverrideRequest& request) {
    const v1::CreateOverrideResponse response =
        AnswerOf(server_.channel, &Stub::CreateOverride, request);
    return response.override();
  }
  grpc::Status CreateError(const v1::CreateOverrideRequest& request) {
    return CallRpc(server_.channel, &Stub::CreateOverride, request);
  }
  grpc::Status Delete(int64_t id) {
    return CallRpc(server_.channel, &Stub::DeleteOverride, Ending(id));
  }
  std::vector<int64_t> List(v1::ListOverridesRequest request, std::string* next = nullptr) {
    const v1::ListOverridesResponse response =
        AnswerOf(server_.channel, &Stub::ListOverrides, request);
    if (next != nullptr) *next = response.next_page_token();
    std::vector<int64_t> ids;
    for (const v1::Override& override : response.overrides()) ids.push_back(override.id());
    return ids;
  }
  v1::ListOverrideEventsResponse Events(const v1::ListOverrideEventsRequest& request) {
    return AnswerOf(server_.channel, &Stub::ListOverrideEvents, request);
  }

  InProcessServer server_{Policy(), {.overrides = InProcessOptions::kKept, .max_overrides = 5}};
};

TEST_F(OverrideRpc, CreateIsInForceOnTheNextCheckAndShowsWhatWasMade) {
  server_.Allowed("job:etl", 1);
  const v1::Override made = Create(Pause("etl"));
  EXPECT_EQ(made.id(), 1);
  EXPECT_EQ(made.kind(), v1::OVERRIDE_KIND_PAUSE);
  EXPECT_EQ(made.selector().identity(), "etl");
  EXPECT_EQ(made.actor(), "alice");
  EXPECT_EQ(made.reason(), "stuck shard");
  EXPECT_EQ(made.expires_at().seconds() - made.created_at().seconds(), 3600);
  const v1::Decision denied = server_.Denied("job:etl", 1);
  EXPECT_EQ(denied.reason(), v1::REASON_DENY_RULE);
  EXPECT_THAT(denied.message(), HasSubstr("override 1: paused by alice (stuck shard)"));
  server_.clock.Advance(absl::Hours(1));
  server_.Allowed("job:etl", 1);
}

TEST_F(OverrideRpc, EachKindHasItsEffect) {
  v1::CreateOverrideRequest throttle = Pause("slow");
  throttle.set_kind(v1::OVERRIDE_KIND_THROTTLE);
  throttle.set_ratio(1);
  EXPECT_EQ(Create(throttle).ratio(), 1);
  EXPECT_EQ(server_.Denied("slow", 1).reason(), v1::REASON_REJECT_RATIO);
  v1::CreateOverrideRequest exempt = Pause("");
  exempt.set_kind(v1::OVERRIDE_KIND_EXEMPT);
  exempt.mutable_selector()->set_segment("vip");
  Create(exempt);
  EXPECT_EQ(server_.Allowed("vip:slow", 1).reason(), v1::REASON_EXEMPT);
  v1::CreateOverrideRequest resume = Pause("job:slow");
  resume.set_kind(v1::OVERRIDE_KIND_RESUME);
  resume.set_never_expires(true);
  EXPECT_FALSE(Create(resume).has_expires_at());
  server_.Allowed("job:slow", 1);
}

TEST_F(OverrideRpc, ErrorsNameTheField) {
  const auto field = [&](auto change) -> std::string {
    v1::CreateOverrideRequest request = Pause("etl");
    change(request);
    return FieldAtFault(CreateError(request));
  };
  using R = v1::CreateOverrideRequest;
  EXPECT_EQ(field([](R& r) { r.clear_kind(); }), "kind");
  EXPECT_EQ(field([](R& r) { r.set_kind(static_cast<v1::OverrideKind>(17)); }), "kind");
  EXPECT_EQ(field([](R& r) { r.clear_selector(); }), "selector");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_identity("a b"); }), "selector.identity");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_segment("a:b"); }), "selector.segment");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_target("x"); }), "selector.target");
  EXPECT_EQ(field([](R& r) { r.set_ratio(0.5); }), "ratio");
  EXPECT_EQ(field([](R& r) { r.set_kind(v1::OVERRIDE_KIND_THROTTLE); }), "ratio");
  EXPECT_EQ(field([](R& r) { r.clear_actor(); }), "actor");
  EXPECT_EQ(field([](R& r) { r.clear_reason(); }), "reason");
  EXPECT_EQ(field([](R& r) { r.clear_expires_in(); }), "expires_in");
  EXPECT_EQ(field([](R& r) { r.mutable_expires_in()->set_seconds(0); }), "expires_in");
  EXPECT_EQ(field([](R& r) { r.mutable_expires_in()->set_nanos(-1); }), "expires_in");
  EXPECT_EQ(field([](R& r) { r.mutable_expires_at()->set_seconds(1); }), "expires_at");
  EXPECT_EQ(field([](R& r) { r.mutable_expires_at()->set_nanos(-1); }), "expires_at");
  EXPECT_EQ(field([](R& r) { r.set_never_expires(false); }), "never_expires");
  EXPECT_THAT(List({}), IsEmpty());
}

TEST_F(OverrideRpc, DeleteShowsWhatItEndedAndEndsItOnce) {
  Create(Pause("etl"));
  v1::DeleteOverrideResponse response;
  EXPECT_TRUE(Call(&Stub::DeleteOverride, Ending(1), response).ok());
  EXPECT_EQ(response.override().reason(), "stuck shard");
  server_.Allowed("etl", 1);
  const grpc::Status again = Delete(1);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(DetailsOf(again).fields, ElementsAre("id"));
  EXPECT_THAT(DetailsOf(Delete(0)).fields, ElementsAre("id"));
  EXPECT_EQ(Delete(0).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(OverrideRpc, ListsByPagesAndBySelector) {
  for (const char* identity : {"a", "b", "a", "c"}) Create(Pause(identity));
  v1::ListOverridesRequest request;
  EXPECT_THAT(List(request), ElementsAre(4, 3, 2, 1));
  request.set_page_size(3);
  std::string next;
  EXPECT_THAT(List(request, &next), ElementsAre(4, 3, 2));
  Create(Pause("new"));  // moves no page
  request.set_page_token(next);
  EXPECT_THAT(List(request, &next), ElementsAre(1));
  EXPECT_EQ(next, "");
  v1::ListOverridesRequest selected;
  selected.mutable_selector()->set_identity("a");
  EXPECT_THAT(List(selected), ElementsAre(3, 1));
}

TEST_F(OverrideRpc, ListsRefusePagesThatAreNone) {
  v1::ListOverridesRequest request;
  v1::ListOverridesResponse response;
  request.set_page_size(1001);
  EXPECT_THAT(DetailsOf(Call(&Stub::ListOverrides, request, response)).fields,
              ElementsAre("page_size"));
  request.set_page_size(1);
  request.set_page_token("x");
  EXPECT_THAT(DetailsOf(Call(&Stub::ListOverrides, request, response)).fields,
              ElementsAre("page_token"));
  request.clear_page_token();
  request.mutable_selector()->set_target("x");
  EXPECT_THAT(DetailsOf(Call(&Stub::ListOverrides, request, response)).fields,
              ElementsAre("selector"));
  v1::ListOverrideEventsRequest events;
  v1::ListOverrideEventsResponse none;
  events.mutable_from()->set_seconds(10);
  events.mutable_to()->set_seconds(10);
  EXPECT_THAT(DetailsOf(Call(&Stub::ListOverrideEvents, events, none)).fields, ElementsAre("to"));
  events.mutable_from()->set_nanos(-1);
  EXPECT_THAT(DetailsOf(Call(&Stub::ListOverrideEvents, events, none)).fields, ElementsAre("from"));
}

TEST_F(OverrideRpc, EventsTellTheStoryByPages) {
  const int64_t start = Create(Pause("etl")).created_at().seconds();
  Create(Pause("other"));
  server_.clock.Advance(absl::Minutes(1));
  Delete(2);
  server_.clock.Advance(absl::Hours(1));
  v1::ListOverrideEventsRequest request;
  request.set_page_size(3);
  v1::ListOverrideEventsResponse events = Events(request);
  ASSERT_EQ(events.events_size(), 3);
  EXPECT_EQ(events.events(0).kind(), v1::OVERRIDE_EVENT_KIND_EXPIRED);
  EXPECT_EQ(events.events(0).override().id(), 1);
  EXPECT_EQ(events.events(0).happened_at().seconds(), start + 3600);
  EXPECT_EQ(events.events(0).actor(), "");
  EXPECT_EQ(events.events(1).kind(), v1::OVERRIDE_EVENT_KIND_DELETED);
  EXPECT_EQ(events.events(1).actor(), "bob");
  EXPECT_EQ(events.events(1).reason(), "it is over");
  EXPECT_EQ(events.events(1).override().actor(), "alice");
  EXPECT_EQ(events.events(2).kind(), v1::OVERRIDE_EVENT_KIND_CREATED);
  request.set_page_token(events.next_page_token());
  events = Events(request);
  ASSERT_EQ(events.events_size(), 1);
  EXPECT_EQ(events.events(0).id(), 1);
  EXPECT_EQ(events.next_page_token(), "");

  v1::ListOverrideEventsRequest of_one;
  of_one.set_override_id(2);
  of_one.mutable_from()->set_seconds(start);
  of_one.mutable_to()->set_seconds(start + 60);
  EXPECT_EQ(Events(of_one).events_size(), 1);
}

TEST_F(OverrideRpc, TooManyAreResourceExhausted) {
  for (int i = 0; i < 5; ++i) Create(Pause("etl"));
  const grpc::Status status = CreateError(Pause("etl"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(status).reason, "TOO_MANY_OVERRIDES");
}

TEST_F(OverrideRpc, WhatCannotBeDoneIsUnavailableAndChangesNothing) {
  server_.refusal = absl::InternalError("the engine is out of order");
  const grpc::Status status = CreateError(Pause("etl"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "nothing has changed: the engine is out of order");
  EXPECT_EQ(DetailsOf(status).reason, "STORE");
  EXPECT_THAT(List({}), IsEmpty());
}

TEST(OverrideRpcWithoutAStateFolder, ChangesFailAndListsAreEmpty) {
  InProcessServer server(Policy(), {.overrides = InProcessOptions::kWithoutStateFolder});
  for (const grpc::Status& status : {CallRpc(server.channel, &Stub::CreateOverride, Pause("etl")),
                                     CallRpc(server.channel, &Stub::DeleteOverride, Ending(1))}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(DetailsOf(status).reason, "NO_STATE_FOLDER");
    EXPECT_THAT(status.error_message(), HasSubstr("server.state_dir"));
    EXPECT_THAT(status.error_message(), HasSubstr("--state-dir"));
  }
  v1::ListOverridesResponse listed;
  v1::ListOverrideEventsResponse events;
  EXPECT_TRUE(CallRpc(server.channel, &Stub::ListOverrides, {}, listed).ok());
  EXPECT_TRUE(CallRpc(server.channel, &Stub::ListOverrideEvents, {}, events).ok());
  EXPECT_EQ(listed.overrides_size() + events.events_size(), 0);
}

}  // namespace
}  // namespace headgate::rpc
