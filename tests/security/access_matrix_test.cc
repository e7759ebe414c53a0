// Callers x identities x RPCs, over real TLS: what each may, and nothing else.
//
// A row's letters are the callers' outcomes, in the order of kCallers: '+' allowed, 'P'
// PERMISSION_DENIED, 'U' UNAUTHENTICATED, 'N' allowed and NOT_FOUND.

#include <google/protobuf/descriptor.h>
#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <functional>
#include <set>

#include "tests/security/access_fixture.h"

namespace headgate::security {
namespace {

const char* const kCallers[] = {
    "backfill",   // by URI, for `backfill`, may tag it urgent
    "dba",        // by DNS name, for `backfill`, may override
    "auditor",    // by token, for `etl`, may read logs
    "dashboard",  // by URI, may read status
    "sre",        // by token, may do everything but tag it urgent
    "stranger",   // a good certificate that nobody is listed for
    "nobody",     // no certificate and no token
    "forger",     // a token that does not exist
};

struct Row {
  const char* method;
  const char* what;
  const char* outcomes;
  std::function<char(GuardedServer&, const Peer&)> call;
};

// A unary call by its stub.
template <typename Stub, typename Request, typename Response>
std::function<char(GuardedServer&, const Peer&)> Call(
    RpcMethod<Stub, Request, Response> method, const std::type_identity_t<Request>& request = {}) {
  return [=](GuardedServer&, const Peer& peer) { return Outcome(CallRpc(peer, method, request)); };
}

v1::CheckRequest Tagged(const std::string& identity, const std::string& key,
                        const std::string& value) {
  v1::CheckRequest request = CheckOf(identity, 1);
  (*request.mutable_tags())[key] = value;
  return request;
}

std::function<char(GuardedServer&, const Peer&)> Check(const v1::CheckRequest& request) {
  return [=](GuardedServer&, const Peer& peer) { return GuardedServer::Check(peer, request); };
}

v1::ExplainRequest Explain(const v1::CheckRequest& check) {
  v1::ExplainRequest request;
  *request.mutable_check() = check;
  return request;
}

// One Check of two, the other being one that the caller may or may not ask as well.
std::function<char(GuardedServer&, const Peer&)> BatchCheck(const v1::CheckRequest& check) {
  return [=](GuardedServer&, const Peer& peer) {
    v1::BatchCheckRequest request;
    *request.add_checks() = CheckOf("a:etl", 1);
    *request.add_checks() = check;
    v1::BatchCheckResponse response;
    const grpc::Status status =
        CallRpc(peer, &v1::ThrottlerService::Stub::BatchCheck, request, response);
    if (!status.ok()) return Outcome(status);
    return GuardedServer::OutcomeOf(response.results(1).error());
  };
}

std::function<char(GuardedServer&, const Peer&)> CheckStream(const v1::CheckRequest& check) {
  return [=](GuardedServer&, const Peer& peer) {
    OpenStream open(peer);
    v1::CheckStreamRequest request;
    *request.add_checks() = check;
    v1::CheckStreamResponse response;
    if (!open.stream->Write(request) || !open.stream->Read(&response)) {
      return Outcome(open.stream->Finish());
    }
    EXPECT_TRUE(open.Close().ok());
    return GuardedServer::OutcomeOf(response.results(0).error());
  };
}

// Of a permit that the first caller was given.
char Report(GuardedServer& server, const Peer& peer) {
  const Peer backfill = server.WithUri("spiffe://prod/ns/jobs/sa/backfill");
  return GuardedServer::Report(peer, GuardedServer::PermitOf(backfill, "backfill"));
}

v1::CreateOverrideRequest PauseOfSegment(const std::string& segment) {
  v1::CreateOverrideRequest request = Pause("");
  request.mutable_selector()->set_segment(segment);
  return request;
}

std::function<char(GuardedServer&, const Peer&)> Create(const v1::CreateOverrideRequest& request) {
  return Call(&v1::OverrideService::Stub::CreateOverride, request);
}

// An override on this identity that somebody else has made, unless it is empty.
std::function<char(GuardedServer&, const Peer&)> Delete(const std::string& identity) {
  return [=](GuardedServer& server, const Peer& peer) {
    v1::DeleteOverrideRequest request = Ending(4711);
    if (!identity.empty()) {
      const auto made =
          server.registry->Create({.kind = overrides::Kind::kPause,
                                   .selector = {.identity = identity, .segment = "", .target = ""},
                                   .ratio = {},
                                   .actor = "bob",
                                   .reason = "incident",
                                   .expiry = absl::Hours(1)});
      EXPECT_TRUE(made.ok()) << made.status();
      request.set_id(made->id);
    }
    return Call(&v1::OverrideService::Stub::DeleteOverride, request)(server, peer);
  };
}

template <typename Request>
Request Filtered(const std::string& identity) {
  Request request;
  request.mutable_filter()->set_identity(identity);
  return request;
}

std::function<char(GuardedServer&, const Peer&)> Query(const std::string& identity) {
  return Call(&v1::ThrottleLogService::Stub::QueryThrottleLog,
              Filtered<v1::QueryThrottleLogRequest>(identity));
}

std::function<char(GuardedServer&, const Peer&)> Denials(const std::string& identity) {
  v1::ListDenialsRequest request;
  request.set_identity(identity);
  return Call(&v1::ThrottleLogService::Stub::ListDenials, request);
}

std::function<char(GuardedServer&, const Peer&)> Intervals(const std::string& identity) {
  return Call(&v1::ThrottleLogService::Stub::ListThrottledIntervals,
              Filtered<v1::ListThrottledIntervalsRequest>(identity));
}

std::function<char(GuardedServer&, const Peer&)> Replay(const std::string& identity) {
  auto request = Filtered<v1::ReplayThrottleLogRequest>(identity);
  request.set_config_yaml("budgets: [{name: rows, rate: 1, burst: 1}]\n");
  return Call(&v1::ThrottleLogService::Stub::ReplayThrottleLog, request);
}

char Reflect(GuardedServer&, const Peer& peer) {
  Context context;
  peer.Fill(context);
  namespace reflection = grpc::reflection::v1alpha;
  const auto stream =
      reflection::ServerReflection::NewStub(peer.channel)->ServerReflectionInfo(&context);
  reflection::ServerReflectionRequest request;
  request.set_list_services("");
  reflection::ServerReflectionResponse response;
  const bool told = stream->Write(request) && stream->Read(&response);
  stream->WritesDone();
  const char outcome = Outcome(stream->Finish());
  EXPECT_EQ(told, outcome == '+');
  return outcome;
}

char Watch(GuardedServer&, const Peer& peer) {
  Context context;
  peer.Fill(context);
  const auto stream = grpc::health::v1::Health::NewStub(peer.channel)->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  const bool told = stream->Read(&response);
  context.TryCancel();
  const grpc::Status status = stream->Finish();
  return told ? '+' : Outcome(status);
}

std::vector<Row> Rows() {
  using Status = v1::StatusService;
  using Overrides = v1::OverrideService;
  return {
      {"ThrottlerService.Check", "backfill", "++PP+UUU", Check(CheckOf("backfill", 1))},
      {"ThrottlerService.Check", "below", "++PP+UUU", Check(CheckOf("x:orders:backfill", 1))},
      {"ThrottlerService.Check", "etl", "PP+P+UUU", Check(CheckOf("a:etl", 1))},
      {"ThrottlerService.Check", "ends alike", "PPPP+UUU", Check(CheckOf("hot-backfill", 1))},
      {"ThrottlerService.Check", "above", "PPPP+UUU", Check(CheckOf("backfill:online", 1))},
      {"ThrottlerService.Check", "tag", "+PPPPUUU", Check(Tagged("backfill", "urgent", "true"))},
      {"ThrottlerService.Check", "other tag", "++PP+UUU",
       Check(Tagged("backfill", "urgent", "no"))},
      {"ThrottlerService.Check", "segment", "PPPP+UUU", Check(CheckOf("vip:backfill", 1))},
      {"ThrottlerService.BatchCheck", "one of two", "++PP+UUU",
       BatchCheck(CheckOf("orders:backfill", 1))},
      {"ThrottlerService.BatchCheck", "tag", "+PPPPUUU",
       BatchCheck(Tagged("backfill", "urgent", "true"))},
      {"ThrottlerService.BatchCheck", "segment", "PPPP+UUU",
       BatchCheck(CheckOf("vip:backfill", 1))},
      {"ThrottlerService.CheckStream", "backfill", "++PP+UUU",
       CheckStream(CheckOf("orders:backfill", 1))},
      {"ThrottlerService.CheckStream", "tag", "+PPPPUUU",
       CheckStream(Tagged("backfill", "urgent", "true"))},
      {"ThrottlerService.CheckStream", "segment", "PPPP+UUU",
       CheckStream(CheckOf("vip:backfill", 1))},
      {"ThrottlerService.Report", "backfill's permit", "+NNNNUUU", Report},
      {"ThrottlerService.Explain", "backfill", "++PP+UUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(CheckOf("backfill", 1)))},
      {"ThrottlerService.Explain", "tag", "+PPPPUUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(Tagged("backfill", "urgent", "true")))},
      {"ThrottlerService.Explain", "segment", "PPPP+UUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(CheckOf("vip:backfill", 1)))},
      {"ThrottlerService.Explain", "etl", "PP+P+UUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(CheckOf("etl", 1)))},
      {"OverrideService.CreateOverride", "backfill", "P+PP+UUU", Create(Pause("backfill"))},
      {"OverrideService.CreateOverride", "below", "P+PP+UUU", Create(Pause("orders:backfill"))},
      {"OverrideService.CreateOverride", "etl", "PPPP+UUU", Create(Pause("etl"))},
      {"OverrideService.CreateOverride", "a segment", "PPPP+UUU",
       Create(PauseOfSegment("vcopier"))},
      {"OverrideService.ListOverrides", "", "PPP++UUU", Call(&Overrides::Stub::ListOverrides)},
      {"OverrideService.DeleteOverride", "on backfill", "P+PP+UUU", Delete("backfill")},
      {"OverrideService.DeleteOverride", "on etl", "PNPP+UUU", Delete("etl")},
      {"OverrideService.DeleteOverride", "of none", "PNPPNUUU", Delete("")},
      {"OverrideService.ListOverrideEvents", "", "PPP++UUU",
       Call(&Overrides::Stub::ListOverrideEvents)},
      {"ThrottleLogService.QueryThrottleLog", "etl", "PP+P+UUU", Query("etl")},
      {"ThrottleLogService.QueryThrottleLog", "backfill", "PPPP+UUU", Query("backfill")},
      {"ThrottleLogService.QueryThrottleLog", "all", "PPPP+UUU", Query("")},
      {"ThrottleLogService.QueryThrottleLog", "the rest", "PPPP+UUU", Query("*")},
      {"ThrottleLogService.ListThrottledIntervals", "etl", "PP+P+UUU", Intervals("etl")},
      {"ThrottleLogService.ListThrottledIntervals", "all", "PPPP+UUU", Intervals("")},
      {"ThrottleLogService.ListDenials", "etl", "PP+P+UUU", Denials("etl")},
      {"ThrottleLogService.ListDenials", "all", "PPPP+UUU", Denials("")},
      {"ThrottleLogService.ReplayThrottleLog", "etl", "PP+P+UUU", Replay("etl")},
      {"ThrottleLogService.ReplayThrottleLog", "all", "PPPP+UUU", Replay("")},
      {"StatusService.GetStatus", "", "PPP++UUU", Call(&Status::Stub::GetStatus)},
      {"StatusService.ListBudgets", "", "PPP++UUU", Call(&Status::Stub::ListBudgets)},
      {"StatusService.ListBuckets", "", "PPP++UUU", Call(&Status::Stub::ListBuckets)},
      {"grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo", "", "+++++UUU", Reflect},
      {"grpc.health.v1.Health.Check", "", "++++++++", Call(&grpc::health::v1::Health::Stub::Check)},
      {"grpc.health.v1.Health.Watch", "", "++++++++", Watch},
  };
}

std::vector<Peer> Peers(GuardedServer& server) {
  return {server.WithUri("spiffe://prod/ns/jobs/sa/backfill"),
          server.Certified({.dns = {"dba.example"}}),
          server.Bare(Bearer(kAuditorToken)),
          server.WithUri("spiffe://prod/ns/web/sa/dash"),
          server.Bare(Bearer(kSreToken)),
          server.WithUri("spiffe://prod/ns/jobs/sa/stranger"),
          server.Bare(),
          server.Bare(Bearer("forged-0123456789abcdef0123456789abcdef"))};
}

TEST(AccessMatrix, EveryCallerMayDoWhatItIsGrantedAndNothingElse) {
  GuardedServer server;
  const std::vector<Peer> peers = Peers(server);
  for (const Row& row : Rows()) {
    const std::string expected = row.outcomes;
    ASSERT_EQ(expected.size(), std::size(kCallers)) << row.method;
    for (size_t i = 0; i < peers.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(kCallers[i], " calls ", row.method, " ", row.what));
      EXPECT_EQ(std::string(1, row.call(server, peers[i])), expected.substr(i, 1));
    }
  }
}

// What the server says that it serves, and what is in its schema.
TEST(AccessMatrix, HasEveryMethodOfTheServer) {
  GuardedServer server;
  namespace reflection = grpc::reflection::v1alpha;
  Context context;
  const Peer sre = Peers(server)[4];
  sre.Fill(context);
  const auto stream =
      reflection::ServerReflection::NewStub(sre.channel)->ServerReflectionInfo(&context);
  reflection::ServerReflectionRequest request;
  request.set_list_services("");
  reflection::ServerReflectionResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  std::set<std::string> served;
  for (const auto& service : response.list_services_response().service()) {
    const auto* const descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service.name());
    ASSERT_NE(descriptor, nullptr) << service.name();
    const bool ours = descriptor->file()->package() == "headgate.v1";
    const std::string name = ours ? descriptor->name() : descriptor->full_name();
    for (int i = 0; i < descriptor->method_count(); ++i) {
      served.insert(absl::StrCat(name, ".", descriptor->method(i)->name()));
    }
  }
  std::set<std::string> tested;
  for (const Row& row : Rows()) tested.insert(row.method);
  EXPECT_EQ(tested, served);
  EXPECT_EQ(served.size(), 19U);
}

TEST(AccessMatrix, WithoutAPolicyEverybodyMayDoEverything) {
  GuardedServer server(std::nullopt);
  const std::vector<Peer> peers = Peers(server);
  for (const Row& row : Rows()) {
    for (size_t i = 0; i < peers.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(kCallers[i], " calls ", row.method, " ", row.what));
      const char outcome = row.call(server, peers[i]);
      EXPECT_TRUE(outcome == '+' || outcome == 'N') << outcome;
    }
  }
}

}  // namespace
}  // namespace headgate::security
