// Callers x identities x RPCs, over real TLS: what each may, and nothing else.
//
// A row's letters are the callers' outcomes, in the order of kCallers: '+' allowed, 'P'
// PERMISSION_DENIED, 'U' UNAUTHENTICATED, 'N' allowed and NOT_FOUND.

#include <google/protobuf/descriptor.h>
#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <set>

#include "tests/security/access_fixture.h"
#include "tests/security/matrix_calls.h"

namespace headgate::security {
namespace {

const char* const kCallers[] = {
    "backfill",   // by URI, for `backfill`, may tag it urgent
    "dba",        // by DNS name, for `backfill`, may override, see and forget costs, forgive
    "auditor",    // by token, for `etl`, may read logs
    "dashboard",  // by URI, may read status
    "sre",        // by token, may do everything but tag it urgent
    "exempter",   // by DNS name, for `backfill`, may exempt
    "keeper",     // by DNS name, for `backfill`, may see and forget costs, and forgive debts
    "pager",      // by token, may stop everything
    "stranger",   // a good certificate that nobody is listed for
    "nobody",     // no certificate and no token
    "forger",     // a token that does not exist
};

struct Row {
  const char* method;
  const char* what;
  const char* outcomes;
  MatrixCall call;
};

std::vector<Row> Rows() {
  using Status = v1::StatusService;
  using Overrides = v1::OverrideService;
  return {
      {"ThrottlerService.Check", "backfill", "++PP+++PUUU", Check(CheckOf("backfill", 1))},
      {"ThrottlerService.Check", "below", "++PP+++PUUU", Check(CheckOf("x:orders:backfill", 1))},
      {"ThrottlerService.Check", "etl", "PP+P+PPPUUU", Check(CheckOf("a:etl", 1))},
      {"ThrottlerService.Check", "ends alike", "PPPP+PPPUUU", Check(CheckOf("hot-backfill", 1))},
      {"ThrottlerService.Check", "above", "PPPP+PPPUUU", Check(CheckOf("backfill:online", 1))},
      {"ThrottlerService.Check", "tag", "+PPPPPPPUUU", Check(Tagged("backfill", "urgent", "true"))},
      {"ThrottlerService.Check", "other tag", "++PP+++PUUU",
       Check(Tagged("backfill", "urgent", "no"))},
      {"ThrottlerService.Check", "segment", "PPPP+PPPUUU", Check(CheckOf("vip:backfill", 1))},
      {"ThrottlerService.BatchCheck", "one of two", "++PP+++PUUU",
       BatchCheck(CheckOf("orders:backfill", 1))},
      {"ThrottlerService.BatchCheck", "tag", "+PPPPPPPUUU",
       BatchCheck(Tagged("backfill", "urgent", "true"))},
      {"ThrottlerService.BatchCheck", "segment", "PPPP+PPPUUU",
       BatchCheck(CheckOf("vip:backfill", 1))},
      {"ThrottlerService.CheckStream", "backfill", "++PP+++PUUU",
       CheckStream(CheckOf("orders:backfill", 1))},
      {"ThrottlerService.CheckStream", "tag", "+PPPPPPPUUU",
       CheckStream(Tagged("backfill", "urgent", "true"))},
      {"ThrottlerService.CheckStream", "segment", "PPPP+PPPUUU",
       CheckStream(CheckOf("vip:backfill", 1))},
      {"ThrottlerService.Report", "backfill's permit", "+NNNNNNNUUU", Report},
      {"ThrottlerService.Explain", "backfill", "++PP+++PUUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(CheckOf("backfill", 1)))},
      {"ThrottlerService.Explain", "tag", "+PPPPPPPUUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(Tagged("backfill", "urgent", "true")))},
      {"ThrottlerService.Explain", "segment", "PPPP+PPPUUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(CheckOf("vip:backfill", 1)))},
      {"ThrottlerService.Explain", "etl", "PP+P+PPPUUU",
       Call(&v1::ThrottlerService::Stub::Explain, Explain(CheckOf("etl", 1)))},
      {"OverrideService.CreateOverride", "backfill", "P+PP+PPPUUU", Create(Pause("backfill"))},
      {"OverrideService.CreateOverride", "below", "P+PP+PPPUUU", Create(Pause("orders:backfill"))},
      {"OverrideService.CreateOverride", "etl", "PPPP+PPPUUU", Create(Pause("etl"))},
      {"OverrideService.CreateOverride", "a segment", "PPPP+PPPUUU",
       Create(PauseOfSegment("vcopier"))},
      {"OverrideService.CreateOverride", "exempt backfill", "PPPP++PPUUU",
       Create(OfKind(v1::OVERRIDE_KIND_EXEMPT, Pause("backfill")))},
      {"OverrideService.CreateOverride", "exempt etl", "PPPP+PPPUUU",
       Create(OfKind(v1::OVERRIDE_KIND_EXEMPT, Pause("etl")))},
      {"OverrideService.CreateOverride", "exempt a segment", "PPPP+PPPUUU",
       Create(OfKind(v1::OVERRIDE_KIND_EXEMPT, PauseOfSegment("vcopier")))},
      {"OverrideService.CreateOverride", "throttle backfill", "P+PP+PPPUUU",
       Create(OfKind(v1::OVERRIDE_KIND_THROTTLE, Pause("backfill")))},
      {"OverrideService.CreateOverride", "resume backfill", "P+PP+PPPUUU",
       Create(OfKind(v1::OVERRIDE_KIND_RESUME, Pause("backfill")))},
      {"OverrideService.CreateOverride", "resume backfill under a stop", "PPPP+PPPUUU",
       ResumeUnderAStop},
      {"OverrideService.CreateOverride", "pause everything", "PPPP+PP+UUU",
       Create(OfEverything(v1::OVERRIDE_KIND_PAUSE))},
      {"OverrideService.CreateOverride", "throttle everything", "PPPP+PP+UUU",
       Create(OfEverything(v1::OVERRIDE_KIND_THROTTLE))},
      {"OverrideService.CreateOverride", "resume everything", "PPPP+PP+UUU",
       Create(OfEverything(v1::OVERRIDE_KIND_RESUME))},
      {"OverrideService.ListOverrides", "on backfill", "PPP++PPPUUU",
       List(Pause("backfill").selector())},
      {"OverrideService.ListOverrides", "on everything", "PPP++PP+UUU",
       List(OfEverything(v1::OVERRIDE_KIND_PAUSE).selector())},
      {"OverrideService.DeleteOverride", "exempt backfill", "PNPP++PNUUU",
       Delete(overrides::Selector{.identity = "backfill"}, overrides::Kind::kExempt)},
      {"OverrideService.DeleteOverride", "on everything", "PPPP+PP+UUU",
       Delete(overrides::Selector{.everything = true})},
      {"OverrideService.ListOverrides", "", "PPP++PPPUUU", Call(&Overrides::Stub::ListOverrides)},
      {"OverrideService.DeleteOverride", "on backfill", "P+PP+NPNUUU",
       Delete(overrides::Selector{.identity = "backfill"})},
      {"OverrideService.DeleteOverride", "on etl", "PNPP+NPNUUU",
       Delete(overrides::Selector{.identity = "etl"})},
      {"OverrideService.DeleteOverride", "of none", "PNPPNNPNUUU", Delete(std::nullopt)},
      {"OverrideService.ListOverrideEvents", "", "PPP++PPPUUU",
       Call(&Overrides::Stub::ListOverrideEvents)},
      {"CostService.ListCosts", "all", "P+PP+P+PUUU",
       Call(&v1::CostService::Stub::ListCosts, CostsOf(""))},
      {"CostService.ListCosts", "backfill", "P+PP+P+PUUU",
       Call(&v1::CostService::Stub::ListCosts, CostsOf("orders:backfill"))},
      {"CostService.ListCosts", "etl", "PPPP+PPPUUU",
       Call(&v1::CostService::Stub::ListCosts, CostsOf("etl"))},
      // Learnt of the report above: the reporter's own, and of others only his who speaks for all.
      {"CostService.ForgetCosts", "backfill", "PNPP+PNPUUU",
       Call(&v1::CostService::Stub::ForgetCosts, Forgetting("backfill"))},
      {"CostService.ForgetCosts", "etl", "PPPPNPPPUUU",
       Call(&v1::CostService::Stub::ForgetCosts, Forgetting("etl"))},
      {"CostService.ForgetCosts", "a pattern", "PNPPNPNPUUU",
       Call(&v1::CostService::Stub::ForgetCosts, Forgetting("", "copy"))},
      {"CostService.ForgiveDebt", "backfill, which does not pay into it", "PNPPNPNPUUU",
       Call(&v1::CostService::Stub::ForgiveDebt, Forgiving("backfill"))},
      {"CostService.ForgiveDebt", "etl", "PPPP+PPPUUU",
       Call(&v1::CostService::Stub::ForgiveDebt, Forgiving("etl"))},
      {"ThrottleLogService.QueryThrottleLog", "etl", "PP+P+PPPUUU", Query("etl")},
      {"ThrottleLogService.QueryThrottleLog", "backfill", "PPPP+PPPUUU", Query("backfill")},
      {"ThrottleLogService.QueryThrottleLog", "all", "PPPP+PPPUUU", Query("")},
      {"ThrottleLogService.QueryThrottleLog", "the rest", "PPPP+PPPUUU", Query("*")},
      {"ThrottleLogService.ListThrottledIntervals", "etl", "PP+P+PPPUUU", Intervals("etl")},
      {"ThrottleLogService.ListThrottledIntervals", "all", "PPPP+PPPUUU", Intervals("")},
      {"ThrottleLogService.ListDenials", "etl", "PP+P+PPPUUU", Denials("etl")},
      {"ThrottleLogService.ListDenials", "all", "PPPP+PPPUUU", Denials("")},
      {"ThrottleLogService.ReplayThrottleLog", "etl", "PP+P+PPPUUU", Replay("etl")},
      {"ThrottleLogService.ReplayThrottleLog", "all", "PPPP+PPPUUU", Replay("")},
      {"StatusService.GetStatus", "", "PPP++PPPUUU", Call(&Status::Stub::GetStatus)},
      {"StatusService.GetConfiguration", "", "PPP++PPPUUU", Call(&Status::Stub::GetConfiguration)},
      {"StatusService.ListBudgets", "", "PPP++PPPUUU", Call(&Status::Stub::ListBudgets)},
      {"StatusService.ListBuckets", "", "PPP++PPPUUU", Call(&Status::Stub::ListBuckets)},
      {"StatusService.ListLines", "", "PPP++PPPUUU", Call(&Status::Stub::ListLines)},
      {"StatusService.ListLeases", "", "PPP++PPPUUU", Call(&Status::Stub::ListLeases)},
      {"StatusService.ListRules", "", "PPP++PPPUUU", Call(&Status::Stub::ListRules)},
      {"ClusterService.ListMembers", "", "PPP++PPPUUU",
       Call(&v1::ClusterService::Stub::ListMembers)},
      {"ClusterService.MoveTarget", "", "PPPP+PPPUUU",
       Call(&v1::ClusterService::Stub::MoveTarget, Moving())},
      {"ClusterService.DrainMember", "", "PPPP+PPPUUU",
       Call(&v1::ClusterService::Stub::DrainMember, Draining())},
      {"ClusterService.UndrainMember", "", "PPPP+PPPUUU",
       Call(&v1::ClusterService::Stub::UndrainMember, Undraining())},
      {"AgentService.Watch", "", "PPPP+PPPUUU", WatchAsAgent},
      {"grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo", "", "++++++++UUU", Reflect},
      {"grpc.health.v1.Health.Check", "", "+++++++++++",
       Call(&grpc::health::v1::Health::Stub::Check)},
      {"grpc.health.v1.Health.Watch", "", "+++++++++++", Watch},
  };
}

enum class Way { kGrpc, kHttp };

std::vector<Peer> Peers(GuardedServer& server, Way way = Way::kGrpc) {
  const bool over_grpc = way == Way::kGrpc;
  const auto certified = [&](const TestCertificateSpec& spec) {
    return over_grpc ? server.Certified(spec) : server.CertifiedOverHttp(spec);
  };
  const auto bare = [&](const std::string& authorization = "") {
    return over_grpc ? server.Bare(authorization) : server.BareOverHttp(authorization);
  };
  return {certified({.uri = {"spiffe://prod/ns/jobs/sa/backfill"}}),
          certified({.dns = {"dba.example"}}),
          bare(Bearer(kAuditorToken)),
          certified({.uri = {"spiffe://prod/ns/web/sa/dash"}}),
          bare(Bearer(kSreToken)),
          certified({.dns = {"exempter.example"}}),
          certified({.dns = {"keeper.example"}}),
          bare(Bearer(kPagerToken)),
          certified({.uri = {"spiffe://prod/ns/jobs/sa/stranger"}}),
          bare(),
          bare(Bearer("forged-0123456789abcdef0123456789abcdef"))};
}

// Whether HTTP has it as well.
bool IsOfTheApi(const Row& row) {
  const std::string_view method = row.method;
  return !method.starts_with("grpc.") && method != "ThrottlerService.CheckStream" &&
         method != "AgentService.Watch";
}

void ExpectOutcomes(Way way) {
  GuardedServer server;
  const std::vector<Peer> peers = Peers(server, way);
  for (const Row& row : Rows()) {
    if (way == Way::kHttp && !IsOfTheApi(row)) continue;
    const std::string expected = row.outcomes;
    ASSERT_EQ(expected.size(), std::size(kCallers)) << row.method;
    for (size_t i = 0; i < peers.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(kCallers[i], " calls ", row.method, " ", row.what));
      EXPECT_EQ(std::string(1, row.call(server, peers[i])), expected.substr(i, 1));
    }
  }
}

TEST(AccessMatrix, EveryCallerMayDoWhatItIsGrantedAndNothingElse) { ExpectOutcomes(Way::kGrpc); }

TEST(AccessMatrix, OverHttpEveryCallerMayDoTheSame) { ExpectOutcomes(Way::kHttp); }

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
  EXPECT_EQ(served.size(), 31U);
}

TEST(AccessMatrix, StatusTellsWhoAskedWhatElseItMayDo) {
  GuardedServer server;
  const auto caller_of = [&](const Peer& peer) {
    return AnswerOf(peer, &v1::StatusService::Stub::GetStatus).caller();
  };
  const std::vector<Peer> peers = Peers(server);
  const v1::CallerStatus dashboard = caller_of(peers[3]);
  EXPECT_EQ(dashboard.name(), "dashboard");
  EXPECT_FALSE(dashboard.overrides() || dashboard.everything() || dashboard.logs());
  const v1::CallerStatus sre = caller_of(peers[4]);
  EXPECT_EQ(sre.name(), "sre");
  EXPECT_TRUE(sre.overrides() && sre.exempt_overrides() && sre.everything() && sre.logs());
  EXPECT_TRUE(sre.costs() && sre.forgive() && sre.servers() && sre.any_identity());
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
