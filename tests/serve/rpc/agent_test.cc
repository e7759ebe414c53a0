// AgentService: what agents tell, who may, and how a stream ends.

#include <headgate/v1/agent_service.grpc.pb.h>

#include <limits>

#include "gmock/gmock.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using testing::ElementsAre;
using testing::HasSubstr;

engine::PolicySpec OrdersAndBilling() {
  engine::PolicySpec policy = OneBudget(RateBudget("b", 10, 100));
  policy.targets.resize(2);
  policy.targets[0].name = "orders";
  policy.targets[1].name = "billing";
  return policy;
}

v1::WatchRequest Telling(const std::string& target, int64_t yielding = 3) {
  v1::WatchRequest request;
  request.set_target(target);
  v1::AgentState& state = *request.mutable_state();
  state.set_yields(true);
  state.set_means("SCHED_IDLE");
  state.set_yielding(yielding);
  state.set_raised(1);
  state.set_raises(7);
  state.set_processor_seconds(12.5);
  state.mutable_work()->set_processor(20);
  state.mutable_work()->set_disk(1);
  state.mutable_work()->set_locks(2);
  state.mutable_work()->set_standbys(3);
  state.mutable_work()->set_other(4);
  state.mutable_recent_work()->set_disk(0.5);
  state.add_yielding_sessions()->set_pid(4711);
  v1::RaisedSession& raised = *state.add_raised_sessions();
  raised.mutable_session()->set_pid(4712);
  raised.mutable_waiter()->set_pid(99);
  raised.mutable_waiter()->set_application_name("orders-api");
  return request;
}

struct AgentStream {
  explicit AgentStream(const Peer& peer) {
    peer.Fill(context);
    stream = v1::AgentService::Stub(peer.channel).Watch(&context);
  }
  // Ok, or how the stream has ended.
  grpc::Status Tell(const v1::WatchRequest& request) {
    if (stream->Write(request) && stream->Read(&response)) return grpc::Status();
    return stream->Finish();
  }
  grpc::Status Close() {
    stream->WritesDone();
    return stream->Finish();
  }

  Context context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WatchRequest, v1::WatchResponse>> stream;
  v1::WatchResponse response;
};

class AgentServiceTest : public testing::Test {
 protected:
  std::vector<std::string> Targets() {
    std::vector<std::string> targets;
    for (const agents::AgentView& view : server_.agents.Views(server_.clock.Read())) {
      if (view.is_here) targets.push_back(view.target);
    }
    return targets;
  }

  InProcessServer server_{OrdersAndBilling()};
};

TEST_F(AgentServiceTest, WhatIsToldIsKept) {
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  EXPECT_EQ(agent.response.lease().seconds(), 1);
  EXPECT_EQ(agent.response.lease().nanos(), 500'000'000);
  const std::vector<agents::AgentView> views = server_.agents.Views(server_.clock.Read());
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].target, "orders");
  EXPECT_THAT(views[0].peer, HasSubstr("127.0.0.1:"));
  const control::Yielding expected = {.works = true,
                                      .means = "SCHED_IDLE",
                                      .sessions = 3,
                                      .raised = 1,
                                      .processor_seconds = 12.5,
                                      .raises = 7};
  EXPECT_EQ(views[0].state.yielding, expected);
  EXPECT_EQ(
      views[0].state.work,
      (agents::WorkSeconds{.processor = 20, .disk = 1, .locks = 2, .standbys = 3, .other = 4}));
  EXPECT_EQ(views[0].state.recent_work, agents::WorkSeconds{.disk = 0.5});
  EXPECT_THAT(views[0].state.yielding_sessions, ElementsAre(agents::Session{.pid = 4711}));
  EXPECT_THAT(views[0].state.raised_sessions,
              ElementsAre(agents::RaisedSession{
                  .session = {.pid = 4712},
                  .waiter = agents::Session{.pid = 99, .application_name = "orders-api"}}));
}

TEST_F(AgentServiceTest, WhereThereIsOneTargetItNeedsNoName) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  AgentStream agent(server.channel);
  ASSERT_TRUE(agent.Tell(Telling("")).ok());
  EXPECT_EQ(server.agents.Views(server.clock.Read()).size(), 1U);
}

TEST_F(AgentServiceTest, AHalfCloseEndsWhatWasToldAtOnce) {
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  EXPECT_TRUE(agent.Close().ok());
  EXPECT_TRUE(WaitUntil([&] { return Targets().empty(); }));
}

TEST_F(AgentServiceTest, AnAgentThatGoesEndsWhatItToldAtOnce) {
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  agent.context.TryCancel();
  EXPECT_TRUE(WaitUntil([&] { return Targets().empty(); }));
}

TEST_F(AgentServiceTest, AServerThatStopsEndsItsAgentsStreams) {
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  server_.Stop();
  EXPECT_FALSE(agent.stream->Read(&agent.response));
  EXPECT_EQ(agent.stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Targets(), ElementsAre());
}

TEST_F(AgentServiceTest, ASecondAgentOfATargetIsRefusedUntilTheFirstOneIsSilent) {
  AgentStream first(server_.channel);
  ASSERT_TRUE(first.Tell(Telling("orders")).ok());
  const grpc::Status refused = AgentStream(server_.Connect()).Tell(Telling("orders", 9));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(refused.error_message(), HasSubstr("tells of target 'orders' already"));
  EXPECT_EQ(DetailsOf(refused).reason, "OTHER_AGENT");
  server_.clock.Advance(agents::AgentRegistry::kLease);
  AgentStream second(server_.Connect());
  EXPECT_TRUE(second.Tell(Telling("orders", 9)).ok());
  EXPECT_EQ(first.Tell(Telling("orders")).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(server_.agents.Views(server_.clock.Read())[0].state.yielding.sessions, 9);
}

TEST_F(AgentServiceTest, AnAgentMayGoOnByAnotherStream) {
  v1::WatchRequest request = Telling("orders");
  request.set_agent("a1b2");
  AgentStream first(server_.channel), second(server_.Connect());
  ASSERT_TRUE(first.Tell(request).ok());
  EXPECT_TRUE(second.Tell(request).ok());
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(second.Tell(request).ok());
  EXPECT_THAT(Targets(), ElementsAre("orders"));
  request.set_agent(std::string(65, 'a'));
  EXPECT_EQ(FieldAtFault(second.Tell(request)), "agent");
}

TEST_F(AgentServiceTest, TargetsHaveAgentsOfTheirOwn) {
  AgentStream orders(server_.channel);
  AgentStream billing(server_.channel);
  EXPECT_TRUE(orders.Tell(Telling("orders")).ok());
  EXPECT_TRUE(billing.Tell(Telling("billing")).ok());
  EXPECT_THAT(Targets(), ElementsAre("billing", "orders"));
}

TEST_F(AgentServiceTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(AgentStream(server_.channel).Tell(Telling("payments")).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(Telling(""))), "target");
  v1::WatchRequest request = Telling("orders");
  request.clear_state();
  EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(request)), "state");
  request = Telling("orders");
  request.mutable_state()->set_means(std::string(1025, 'm'));
  EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(request)), "state.means");
  EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(Telling("orders", -1))),
            "state.yielding");
  for (const double seconds :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    request = Telling("orders");
    request.mutable_state()->set_processor_seconds(seconds);
    EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(request)), "state.processor_seconds");
    request = Telling("orders");
    request.mutable_state()->mutable_recent_work()->set_other(seconds);
    EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(request)), "state.recent_work.other");
  }
  request = Telling("orders");
  for (int i = 0; i < 16; ++i) request.mutable_state()->add_yielding_sessions();
  EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(request)), "state.yielding_sessions");
  request = Telling("orders");
  request.mutable_state()->mutable_raised_sessions(0)->mutable_waiter()->set_role(
      std::string(129, 'r'));
  EXPECT_EQ(FieldAtFault(AgentStream(server_.channel).Tell(request)),
            "state.raised_sessions[0].waiter.role");
  EXPECT_THAT(Targets(), ElementsAre());
}

TEST_F(AgentServiceTest, AStreamIsAboutOneTarget) {
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  EXPECT_EQ(FieldAtFault(agent.Tell(Telling("billing"))), "target");
  EXPECT_TRUE(WaitUntil([&] { return Targets().empty(); }));
}

TEST_F(AgentServiceTest, SaysWhatBatchWorkIsInTheConfiguration) {
  auto config = std::make_shared<config::Config>();
  config->targets.resize(2);
  config->targets[0].name = "billing";
  config->targets[1].name = "orders";
  config->targets[1].batch_work = {.roles = {"etl"}, .application_names = {"backfill*"}};
  server_.status.in_force = config;
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  EXPECT_THAT(agent.response.batch_roles(), ElementsAre("etl"));
  EXPECT_THAT(agent.response.batch_application_names(), ElementsAre("backfill*"));
}

TEST_F(AgentServiceTest, AGrantThatIsTakenAwayEndsItsStream) {
  access::PolicySpec policy{.callers = {{.name = "any", .anybody = true, .agent = true}}};
  server_.access.SetPolicy(policy);
  AgentStream agent(server_.channel);
  ASSERT_TRUE(agent.Tell(Telling("orders")).ok());
  policy.callers[0].agent = false;
  policy.callers[0].status = true;
  server_.access.SetPolicy(policy);
  const grpc::Status refused = agent.Tell(Telling("orders"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(DetailsOf(refused).reason, "AGENT_NOT_GRANTED");
  EXPECT_TRUE(WaitUntil([&] { return Targets().empty(); }));
}

TEST_F(AgentServiceTest, StatusShowsAnAgentThatIsHere) {
  std::vector<health::TargetSnapshot> targets(2);
  targets[0].name = "orders";
  targets[1].name = "billing";
  server_.status.targets = targets;
  agents::AgentView here{.target = "orders",
                         .peer = "ipv4:10.0.0.1:99",
                         .is_here = true,
                         .since_ns = server_.clock.Read().monotonic_ns};
  here.state.yielding = {.works = true, .means = "SCHED_IDLE", .sessions = 2};
  here.told_ns = here.since_ns + 500'000'000;
  agents::AgentView gone = here;
  gone.target = "billing";
  gone.is_here = false;
  server_.status.agents = {gone, here};
  server_.clock.Advance(absl::Seconds(1));
  const auto status = AnswerOf(server_.channel, &v1::StatusService::Stub::GetStatus);
  ASSERT_EQ(status.targets_size(), 2);
  const v1::AgentStatus& agent = status.targets(0).agent();
  EXPECT_EQ(agent.peer(), "ipv4:10.0.0.1:99");
  EXPECT_EQ(agent.since().seconds(), 1);
  EXPECT_EQ(agent.told_ago().nanos(), 500'000'000);
  EXPECT_TRUE(agent.state().yields());
  EXPECT_EQ(agent.state().yielding(), 2);
  EXPECT_FALSE(status.targets(1).has_agent());
}

}  // namespace
}  // namespace headgate::rpc
