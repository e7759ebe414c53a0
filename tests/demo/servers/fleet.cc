#include "tests/demo/servers/fleet.h"

#include <csignal>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "server/share/store/admin.h"
#include "tests/testing/free_port.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/wait_until.h"

namespace headgate::demo {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

void SetDeadline(grpc::ClientContext& context, absl::Duration limit) {
  context.set_deadline(gpr_time_from_millis(absl::ToInt64Milliseconds(limit), GPR_TIMESPAN));
}

}  // namespace

const std::vector<std::string>& Fleet::Databases() {
  static const auto* const names = new std::vector<std::string>{"shop", "billing"};
  return *names;
}

std::string Fleet::NameOf(int server) { return absl::StrCat("headgate-", server); }

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Start(const FleetOptions& options,
                                                    const Interrupt& interrupt, const Say& say) {
  std::unique_ptr<Fleet> fleet(new Fleet(options));
  say("starting three PostgreSQL: the store, and two databases to protect");
  absl::Status status = fleet->StartPostgres(interrupt);
  say("starting three headgateds, which share the databases through the store");
  if (status.ok()) status = fleet->StartServers();
  if (status.ok()) status = fleet->AwaitShares(interrupt);
  if (!status.ok()) return status;
  return fleet;
}

absl::Status Fleet::StartPostgres(const Interrupt& interrupt) {
  for (size_t i = 0; i <= Databases().size(); ++i) {
    absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster = PostgresCluster::Start({});
    if (!cluster.ok()) return cluster.status();
    (i == 0 ? store_ : databases_.emplace_back()) = *std::move(cluster);
    if (absl::Status status = interrupt.Wait(absl::ZeroDuration()); !status.ok()) return status;
  }
  for (const auto& database : databases_) {
    const auto made = database->primary().RunSql(
        absl::StrCat("CREATE TABLE items AS SELECT id, 0 AS done FROM generate_series(1, ", kRows,
                     ") AS id; ALTER TABLE items ADD PRIMARY KEY (id)"));
    if (!made.ok()) return made.status();
  }
  if (auto made = store_->primary().RunSql("CREATE DATABASE headgate"); !made.ok()) {
    return made.status();
  }
  SystemClock clock;
  return store::Init({.dsn = StoreDsn(), .timeout = kPatience}, clock).status();
}

// The clusters are copies of one, so they cannot be told apart by it alone.
std::string Fleet::StoreDsn() { return store_->primary().Dsn("postgres", "headgate"); }

std::string Fleet::Configuration() {
  std::string targets;
  for (size_t i = 0; i < Databases().size(); ++i) {
    absl::StrAppend(&targets, "  - name: ", Databases()[i],
                    "\n    default_health: database\n    primary:\n      dsn: ", DsnOf(i), "\n");
  }
  return absl::StrCat(
      "cluster:\n  store: {dsn: \"", StoreDsn(), "\"}\n  secret_file: ", folder_.File("secret"),
      "\n  peer_certificates: [\"DNS:headgate-peer\"]\n  lease: ",
      absl::FormatDuration(options_.lease), "\ntls: {certificate_file: ", folder_.File("own.crt"),
      ", key_file: ", folder_.File("own.key"), ", client_ca_file: ", folder_.File("ca.crt"),
      "}\ntargets:\n", targets,
      "health_profiles:\n  - name: database\n    signals:\n      - name: lock_waiters\n"
      "budgets:\n  - {name: backfill, rate: ",
      options_.rate, ", burst: ", options_.burst,
      "}\nrules:\n  - {name: backfills, match: {identity: backfill}, charge: [backfill]}\n");
}

absl::Status Fleet::StartServers() {
  const TestCertificate own =
      authority_.Sign({.dns = {"localhost", "headgate-peer"}, .ip = {"127.0.0.1"}});
  const TestCertificate caller = authority_.Sign({.dns = {"backfill"}});
  ReplaceFile(folder_.File("ca.crt"), authority_.certificate());
  ReplaceFile(folder_.File("own.crt"), own.certificate);
  ReplaceFile(folder_.File("own.key"), own.key);
  ReplaceFile(folder_.File("secret"), "a demonstration has no secrets");
  for (int i = 0; i < kServers; ++i) {
    const std::string address = absl::StrCat("127.0.0.1:", FreePort());
    Server& server = servers_.emplace_back();
    server.process = std::make_unique<HeadgatedProcess>(
        HeadgatedOptions{.yaml = Configuration(),
                         .stateless = true,
                         .grpc_address = address,
                         .flags = {absl::StrCat("--member=", NameOf(i)),
                                   absl::StrCat("--member-address=", address)}});
    server.channel =
        OwnChannel(address, grpc::SslCredentials({.pem_root_certs = authority_.certificate(),
                                                  .pem_private_key = caller.key,
                                                  .pem_cert_chain = caller.certificate}));
    if (absl::Status status = server.process->Start(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// For as long as nothing has moved in two leases: who comes is given nothing before it was there
// for one.
absl::Status Fleet::AwaitShares(const Interrupt& interrupt) {
  constexpr absl::Duration kPause = absl::Milliseconds(100);
  std::vector<std::string> owners;
  absl::Duration settled;
  for (absl::Duration waited; waited < kPatience; waited += kPause) {
    if (absl::Status status = interrupt.Wait(kPause); !status.ok()) return status;
    const FleetView view = View();
    const bool all = std::set(view.owners.begin(), view.owners.end()).count("") == 0;
    settled = all && view.owners == owners ? settled + kPause : absl::ZeroDuration();
    if (settled >= 2 * options_.lease) return absl::OkStatus();
    owners = view.owners;
  }
  return absl::DeadlineExceededError("the servers do not find owners for the databases");
}

Fleet::Server& Fleet::Befall(int server, State state) {
  befallen_ = server;
  Server& befallen = servers_[static_cast<size_t>(server)];
  befallen.state = state;
  return befallen;
}

void Fleet::Kill(int server) { Befall(server, State::kKilled).process->Kill(); }

absl::Status Fleet::StartAgain(int server) { return Befall(server, State::kRuns).process->Start(); }

void Fleet::Suspend(int server) { Befall(server, State::kStopped).process->Signal(SIGSTOP); }

void Fleet::Resume(int server) { Befall(server, State::kRuns).process->Signal(SIGCONT); }

void Fleet::Upgrade(int server) { Befall(server, State::kEnds).process->Signal(SIGTERM); }

absl::Status Fleet::Tend() {
  for (int i = 0; i < kServers; ++i) {
    Server& server = servers_[static_cast<size_t>(i)];
    if (server.state == State::kEnds && server.process->HasEnded()) {
      absl::Status status = server.process->Outcome();
      if (status.ok()) status = StartAgain(i);
      if (!status.ok()) return status;
    }
    if (server.state == State::kRuns && server.process->HasEnded())
      return server.process->Outcome();
  }
  return absl::OkStatus();
}

Fleet::FleetView Fleet::View() {
  FleetView view{.owners = std::vector<std::string>(Databases().size())};
  for (int i = 1; i <= kServers; ++i) {
    const int asked = (befallen_ + i) % kServers;
    if (state(asked) != State::kRuns) continue;
    grpc::ClientContext context;
    SetDeadline(context, absl::Milliseconds(300));
    v1::ClusterService::Stub stub(servers_[static_cast<size_t>(asked)].channel);
    v1::ListMembersResponse response;
    if (!stub.ListMembers(&context, {}, &response).ok()) continue;
    for (const v1::TargetOwner& target : response.cluster().targets()) {
      for (size_t database = 0; database < Databases().size(); ++database) {
        if (target.target() == Databases()[database]) view.owners[database] = target.owner();
      }
    }
    break;
  }
  for (std::string& owner : view.owners) {
    for (int i = 0; i < kServers; ++i) {
      const bool decides = state(i) == State::kRuns || state(i) == State::kEnds;
      if (owner == NameOf(i) && !decides) owner.clear();
    }
  }
  return view;
}

int Fleet::OwnerOf(size_t database) {
  const std::string owner = View().owners[database];
  for (int i = 0; i < kServers; ++i) {
    if (NameOf(i) == owner) return i;
  }
  for (int i = 0; i < kServers; ++i) {
    if (state(i) == State::kRuns) return i;
  }
  return 0;
}

grpc::Status Fleet::Check(int server, const v1::CheckRequest& request, absl::Duration limit,
                          v1::CheckResponse& response) {
  grpc::ClientContext context;
  SetDeadline(context, limit);
  v1::ThrottlerService::Stub stub(servers_[static_cast<size_t>(server)].channel);
  return stub.Check(&context, request, &response);
}

}  // namespace headgate::demo
