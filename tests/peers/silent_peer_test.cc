// A peer that takes what it is sent and says nothing.

#include <string>

#include "gtest/gtest.h"
#include "tests/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

// Opens its stream, reads, and never answers.
class SilentPeer final : public peer::v1::PeerService::Service {
 public:
  explicit SilentPeer(Shared& shared) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = shared.authority.certificate();
    tls.pem_key_cert_pairs = {{shared.certificate.key, shared.certificate.certificate}};
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~SilentPeer() override { server_->Shutdown(gpr_time_from_seconds(0, GPR_TIMESPAN)); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  int calls() const { return calls_.load(); }

 private:
  grpc::Status Forward(grpc::ServerContext* /*context*/,
                       grpc::ServerReaderWriter<peer::v1::ForwardResponse,
                                                peer::v1::ForwardRequest>* stream) override {
    peer::v1::ForwardRequest request;
    while (stream->Read(&request)) calls_ += request.calls_size();
    return grpc::Status();
  }

  int port_ = 0;
  std::atomic<int> calls_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct WithSilentPeer {
  WithSilentPeer() {
    servers[0].owners.Set("t1",
                          {.kind = cluster::Owner::Kind::kOther, .address = silent.address()});
  }
  bool HasCalls(int count) {
    return WaitUntil([&] { return silent.calls() == count; });
  }

  Servers servers{2};
  SilentPeer silent{servers.shared()};
};

TEST(SilentPeer, FailsWhatItWasSentAfterAWhile) {
  WithSilentPeer with;
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  with.servers.Advance(Link::kSilence);
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "OWNER_LOST");
}

TEST(SilentPeer, IsNoticedByThoseWhoWaitThere) {
  WithSilentPeer with;
  v1::CheckRequest check = rpc::WaitingCheck("job:etl", 50);
  check.set_target("t1");
  rpc::WaitingCaller caller(with.servers[0].caller, check);
  ASSERT_TRUE(with.HasCalls(1));
  // It is asked whether it is there first.
  const bool ended = WaitUntil([&] {
    with.servers.Advance(absl::Seconds(1));
    return with.servers[0].forwarder->taken_bytes() == 0;
  });
  EXPECT_TRUE(ended);
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(SilentPeer, NextOwnerAnswersTheRetry) {
  WithSilentPeer with;
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  with.servers.Advance(Link::kSilence);
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  with.servers.Give("t1", 1);
  EXPECT_EQ(with.servers[0].Decide(CheckAt("t1", "job:etl", 5)).verdict(), v1::VERDICT_ALLOWED);
}

}  // namespace
}  // namespace headgate::peers
