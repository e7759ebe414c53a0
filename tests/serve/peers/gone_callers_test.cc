// What a server says of callers whose calls wait at another one: they have their answers, or are
// gone. It is heard whatever else its message carries.

#include <grpcpp/client_context.h>
#include <headgate/peer/v1/peer_service.grpc.pb.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using peer::v1::ForwardRequest;
using peer::v1::ForwardResponse;
using rpc::Waiting;
using rpc::WaitingCaller;

// Another server, as far as the one of this number can tell: it says word for word what a test
// wants said.
class RawPeer {
 public:
  RawPeer(Servers& servers, int to)
      : stub_(peer::v1::PeerService::NewStub(servers[to].ConnectTo(servers[to].own_address))),
        stream_(stub_->Forward(&context_)) {
    ForwardRequest opening;
    opening.set_number(++number_);
    opening.set_opening(true);
    EXPECT_TRUE(stream_->Write(opening));
  }
  ~RawPeer() {
    context_.TryCancel();
    stream_->Finish();
  }

  // The number of its message.
  uint64_t Send(ForwardRequest request) {
    request.set_number(++number_);
    EXPECT_TRUE(stream_->Write(request));
    return number_;
  }
  ForwardResponse Read() {
    ForwardResponse response;
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<peer::v1::PeerService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<ForwardRequest, ForwardResponse>> stream_;
  uint64_t number_ = 0;
};

void AddCheck(const v1::CheckRequest& check, ForwardRequest& request) {
  ForwardedCall& call = *request.add_calls();
  call.set_peer("ipv4:10.0.0.1:4711");
  *call.mutable_check() = check;
}

ForwardRequest Wait(double cost) {
  ForwardRequest request;
  AddCheck(WaitingAt("t1", cost), request);
  return request;
}

// Of so many calls that are decided at once.
ForwardRequest Load(int calls) {
  ForwardRequest request;
  for (int i = 0; i < calls; ++i) AddCheck(CheckAt("t1", "job:other", 1000), request);
  return request;
}

// Beside no call, one, and as many as a message has under load.
class Notices : public testing::TestWithParam<int> {};

TEST_P(Notices, CallerThatIsGoneLeavesTheLine) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  RawPeer other(servers, 1);
  const uint64_t waits = other.Send(Wait(50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  ForwardRequest gone = Load(GetParam());
  gone.add_gone(waits);
  other.Send(gone);
  EXPECT_TRUE(Waiting(servers[1], 0));
  EXPECT_TRUE(WaitUntil([&] { return servers[1].service->kept() == 0; }));
}

TEST_P(Notices, CallerThatIsGoneAfterItsAnswerGivesBackWhatItWasAdmitted) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  const size_t permits = servers[1].permits();
  RawPeer other(servers, 1);
  const uint64_t waits = other.Send(Wait(50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.Advance(absl::Seconds(5));
  const ForwardResponse answer = other.Read();
  EXPECT_EQ(answer.answers(0).check().decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[1].permits(), permits + 1);
  ForwardRequest gone = Load(GetParam());
  gone.add_gone(waits);
  other.Send(gone);
  EXPECT_TRUE(WaitUntil([&] { return servers[1].permits() == permits; }));
  EXPECT_TRUE(WaitUntil([&] { return servers[1].service->kept() == 0; }));
}

TEST_P(Notices, NothingIsKeptOfACallerThatHasItsAnswer) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  RawPeer other(servers, 1);
  const uint64_t waits = other.Send(Wait(50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.Advance(absl::Seconds(5));
  other.Read();
  EXPECT_EQ(servers[1].service->kept(), 1U);
  ForwardRequest delivered = Load(GetParam());
  delivered.add_delivered(waits);
  other.Send(delivered);
  EXPECT_TRUE(WaitUntil([&] { return servers[1].service->kept() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Beside, Notices, testing::Values(0, 1, 2, 1000));

// One message may tell of many.
TEST(NoticesInBulk, AllCallersThatLeaveAtOnceLeaveTheLine) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  RawPeer other(servers, 1);
  constexpr int kCallers = 2000;
  ForwardRequest gone = Load(3);
  for (int i = 0; i < kCallers; ++i) gone.add_gone(other.Send(Wait(50)));
  ASSERT_TRUE(Waiting(servers[1], kCallers));
  other.Send(gone);
  EXPECT_TRUE(Waiting(servers[1], 0));
}

// Callers leave while others of their server keep every message full.
TEST(NoticesUnderLoad, CallersOfAServerThatForwardsMuchLeaveTheLines) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  servers[0].Decide(CheckAt("t1", "job:etl", 100));
  constexpr size_t kCallers = 60;
  std::vector<std::unique_ptr<WaitingCaller>> callers;
  for (size_t i = 0; i < kCallers; ++i) {
    callers.push_back(std::make_unique<WaitingCaller>(servers[0].caller, WaitingAt("t1", 50)));
  }
  ASSERT_TRUE(Waiting(servers[1], kCallers));
  std::atomic<bool> stop{false};
  std::vector<std::thread> load;
  for (int i = 0; i < 8; ++i) {
    load.emplace_back([&] {
      while (!stop.load()) (void)servers[0].Try(CheckAt("t1", "job:other", 1000));
    });
  }
  for (const auto& caller : callers) caller->context.TryCancel();
  EXPECT_TRUE(Waiting(servers[1], 0));
  EXPECT_TRUE(WaitUntil([&] { return servers[1].service->kept() == 0; }));
  stop = true;
  for (std::thread& thread : load) thread.join();
}

}  // namespace
}  // namespace headgate::peers
