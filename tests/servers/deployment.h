// A deployment: several headgated processes, with mutual TLS among them, that share targets through
// a store in a real PostgreSQL; and callers that ask them.
//
//   Deployment deployment({.servers = 3, .targets = {"orders", "billing"}});
//   deployment.AwaitOwners();
//   EXPECT_EQ(deployment.Check(0, "orders", "job:etl").verdict(), v1::VERDICT_ALLOWED);
//   deployment[1].Kill();

#pragma once

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/share/cluster/placement.h"
#include "server/share/store/admin.h"
#include "tests/servers/networks.h"
#include "tests/testing/certificates.h"
#include "tests/testing/error_details.h"
#include "tests/testing/free_port.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/postgres_bouncer.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate {

struct DeploymentOptions {
  int servers = 3;
  std::vector<std::string> targets = {"orders", "billing", "stock"};
  std::string lease = "3s";
  std::string cluster_more = {};  // "  on_store_loss: KEEP\n" and the like
  std::string rate = "100";
  std::string burst = "5s";      // at that rate
  std::string budget_more = {};  // ", split: ..." and the like
  int standbys = 0;              // of the store
  bool has_roles = false;        // each server has a role of its own in the store (RoleOf)
  std::vector<std::pair<std::string, std::string>> store_settings = {};
  Networks* networks = nullptr;                                  // each server is in one of its own
  std::map<std::string, std::string> environment_of_first = {};  // of that server alone
  // What the file of a server has otherwise than the others'.
  struct Otherwise {
    std::string lacks = {};  // a target
    std::string rate = {};
  };
  std::map<int, Otherwise> otherwise = {};
  // Targets are measured, in a database beside the store, by a connection string of each server.
  bool is_measured = false;
  bool logs_to_store = false;  // all servers keep one throttle log, beside the store
  bool serves_http = false;
  // The store is reached through a connection pooler in this mode; empty: directly.
  std::string pooler_mode = {};
};

class Deployment {
 public:
  explicit Deployment(DeploymentOptions options = {}) : options_(std::move(options)) {
    auto settings = options_.store_settings;
    if (options_.networks != nullptr) settings.emplace_back("listen_addresses", "*");
    auto cluster = PostgresCluster::Start({.standbys = options_.standbys, .settings = settings});
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    if (options_.networks != nullptr) {
      std::ofstream(store().data() + "/pg_hba.conf", std::ios::app)
          << "host all all 10.77.0.0/16 trust\n";
      EXPECT_TRUE(store().RunSql("SELECT pg_reload_conf()").ok());
    }
    if (options_.is_measured) {
      EXPECT_TRUE(store().RunSql("CREATE DATABASE measured").ok());
    }
    if (!options_.pooler_mode.empty()) {
      auto bouncer =
          PostgresBouncer::Start(cluster_->folder(), store(), {.mode = options_.pooler_mode});
      EXPECT_TRUE(bouncer.ok()) << bouncer.status();
      bouncer_ = *std::move(bouncer);
    }
    const auto made = store::Init({.dsn = store().Dsn(), .timeout = absl::Seconds(30)}, clock_);
    EXPECT_TRUE(made.ok()) << made.status();
    for (int i = 0; i < options_.servers && options_.has_roles; ++i) MakeRole(RoleOf(i));
    TestCertificateSpec peer = {.dns = {"localhost", "headgate-peer"}, .ip = {"127.0.0.1"}};
    for (int i = 0; i < options_.servers; ++i) peer.ip.push_back(HostOf(i));
    const TestCertificate own = authority_.Sign(peer);
    ReplaceFile(folder_.File("ca.crt"), authority_.certificate());
    ReplaceFile(folder_.File("peer.crt"), own.certificate);
    ReplaceFile(folder_.File("peer.key"), own.key);
    ReplaceFile(folder_.File("secret"), "0123456789abcdef0123456789abcdef");
    caller_ = authority_.Sign({.uri = {"spiffe://prod/ns/jobs/sa/backfill"}});
    ReplaceFile(caller_file(), caller_.certificate);
    ReplaceFile(caller_key_file(), caller_.key);
    servers_.resize(static_cast<size_t>(options_.servers));
    for (int i = 0; i < options_.servers; ++i) Start(i);
  }

  // Server `number`, under its own name or another.
  void Start(int number, const std::string& name = "") {
    const auto place = static_cast<size_t>(number);
    if (options_.is_measured && servers_[place] == nullptr) LetReach(number, true);
    if (servers_[place] == nullptr) {
      const int port = FreePort();
      servers_[place] = std::make_unique<HeadgatedProcess>(HeadgatedOptions{
          .yaml = YamlOf(number),
          .stateless = true,
          .grpc_address = absl::StrCat(options_.networks ? "0.0.0.0" : "127.0.0.1", ":", port),
          .http_address = options_.serves_http ? "127.0.0.1:0" : "off",
          .flags = {absl::StrCat("--member=", name.empty() ? NameOf(number) : name),
                    absl::StrCat("--member-address=", HostOf(number), ":", port)},
          .wrapper = options_.networks ? Networks::Wrapper() : std::vector<std::string>(),
          .environment = number == 0 ? options_.environment_of_first : Environment()});
      channels_.push_back(Connect(absl::StrCat(HostOf(number), ":", port)));
    }
    const absl::Status started = servers_[place]->Start();
    EXPECT_TRUE(started.ok()) << started << servers_[place]->Log();
    if (options_.networks != nullptr) Networks::Connect(number, servers_[place]->pid());
  }
  // One more server, under a name of its own or another's. Returns its number.
  int Add(const std::string& name = "") {
    servers_.emplace_back();
    Start(size() - 1, name);
    return size() - 1;
  }
  static std::string RoleOf(int number) { return absl::StrCat("server_", NameOf(number)); }
  static std::string NameOf(int number) { return std::string(1, static_cast<char>('a' + number)); }

  HeadgatedProcess& operator[](int number) { return *servers_[static_cast<size_t>(number)]; }
  const std::shared_ptr<grpc::Channel>& channel(int number) const {
    return channels_[static_cast<size_t>(number)];
  }
  // Of those who call.
  std::string caller_file() const { return folder_.File("caller.crt"); }
  std::string caller_key_file() const { return folder_.File("caller.key"); }
  PostgresServer& store() { return cluster_->primary(); }
  PostgresCluster& stores() { return *cluster_; }
  int size() const { return static_cast<int>(servers_.size()); }
  const std::vector<std::string>& targets() const { return options_.targets; }

  grpc::Status TryCheck(int server, const std::string& target, const std::string& identity,
                        v1::Decision* decision = nullptr, double cost = 1,
                        absl::Duration limit = absl::Seconds(30)) const {
    v1::CheckRequest request;
    request.set_identity(identity);
    request.set_target(target);
    request.set_estimated_cost(cost);
    v1::CheckResponse response;
    grpc::Status status = Try(server, &v1::ThrottlerService::Stub::Check, request, response, limit);
    if (decision != nullptr) *decision = response.decision();
    return status;
  }
  // Any method of one server.
  template <typename Method, typename Request, typename Response>
  grpc::Status Try(int server, Method method, const Request& request, Response& response,
                   absl::Duration limit = absl::Seconds(30)) const {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_millis(absl::ToInt64Milliseconds(limit), GPR_TIMESPAN));
    v1::ThrottlerService::Stub stub(channels_[static_cast<size_t>(server)]);
    return (stub.*method)(&context, request, &response);
  }
  v1::Decision Check(int server, const std::string& target, const std::string& identity,
                     double cost = 1) const {
    v1::Decision decision;
    const grpc::Status status = TryCheck(server, target, identity, &decision, cost);
    EXPECT_TRUE(status.ok()) << target << ": " << status.error_message();
    return decision;
  }
  // Whether each target was decided by somebody, asked of this server, within the time.
  bool AwaitOwners(int server = 0, absl::Duration limit = absl::Minutes(2)) const {
    return WaitUntil(
        [&] {
          return std::ranges::all_of(options_.targets, [&](const std::string& target) {
            return TryCheck(server, target, "probe", nullptr, 0, absl::Seconds(1)).ok();
          });
        },
        limit);
  }
  // What a Check is told, that nobody decides, within the limit and in time. A machine that stands
  // still for a moment uses the limit up, and is asked again.
  bool AwaitNoOwner(int server, const std::string& target, absl::Duration limit) const {
    grpc::Status status;
    const bool came = WaitUntil([&] {
      status = TryCheck(server, target, "probe", nullptr, 1, limit);
      return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
             ReadDetails(status).value_or(ErrorDetails()).reason == "NO_OWNER";
    });
    EXPECT_TRUE(came) << status.error_code() << " " << status.error_message();
    return came;
  }
  // Whether each target came to the server that placement names, in time: one that starts is given
  // nothing for a while.
  bool AwaitPlaces() {
    std::vector<std::string> names;
    for (int i = 0; i < size(); ++i) names.push_back(NameOf(i));
    return WaitUntil([&] {
      return std::ranges::all_of(options_.targets, [&](const std::string& target) {
        return Owner(target) == cluster::PlaceOf(target, "", names);
      });
    });
  }
  // Whether this stood in the log of a server in time.
  bool AwaitLog(int server, const std::string& text) {
    const HeadgatedProcess& process = *servers_[static_cast<size_t>(server)];
    const bool came = WaitUntil([&] { return process.Log().find(text) != std::string::npos; });
    EXPECT_TRUE(came) << text << " is not in the log:\n" << process.Log();
    return came;
  }
  // Who owns a target, as the store has it; empty: nobody.
  std::string Owner(const std::string& target) {
    const auto rows = store().RunSql(
        absl::StrCat("SELECT owner FROM headgate_store.ownership WHERE target = '", target, "'"));
    return rows.ok() && !rows->empty() ? (*rows)[0][0] : "";
  }
  // Once it has one.
  int AwaitOwnerNumber(const std::string& target) {
    EXPECT_TRUE(AwaitOwners());
    const int owner = OwnerNumber(target);
    EXPECT_GE(owner, 0) << target;
    return std::max(owner, 0);
  }
  int OwnerNumber(const std::string& target) {
    const std::string owner = Owner(target);
    return owner.empty() ? -1 : owner[0] - 'a';
  }
  // Whether a server reaches the database of the targets, when it connects anew.
  void LetReach(int number, bool is_reached) {
    const int port = is_reached ? store().port() : 1;
    ReplaceFile(DsnFile(number),
                absl::StrCat("host=127.0.0.1 port=", port, " user=postgres dbname=measured"));
  }
  std::string YamlOf(int number) {
    const std::string more =
        options_.is_measured
            ? absl::StrCat(", default_health: std, primary: {dsn_file: ", DsnFile(number), "}")
            : "";
    const auto otherwise = options_.otherwise.find(number);
    std::string yaml =
        otherwise == options_.otherwise.end() ? Yaml(more) : Yaml(more, otherwise->second);
    if (options_.has_roles) {
      absl::StrReplaceAll({{" user=postgres dbname=postgres ",
                            absl::StrCat(" user=", RoleOf(number), " dbname=postgres ")}},
                          &yaml);
    }
    return yaml;
  }
  // The servers' configuration, with more about each target.
  std::string Yaml(const std::string& more_of_targets = "") { return Yaml(more_of_targets, {}); }
  std::string Yaml(const std::string& more_of_targets,
                   const DeploymentOptions::Otherwise& otherwise) {
    std::vector<std::string> targets;
    for (const std::string& target : options_.targets) {
      if (target == otherwise.lacks) continue;
      targets.push_back(absl::StrCat("{name: ", target, more_of_targets, "}"));
    }
    const char* const profiles =
        options_.is_measured
            ? "health_profiles: [{name: std, signals: [{name: active_backends, soft: 500, hard: "
              "900}]}]\n"
            : "";
    return absl::StrCat(
        profiles, "cluster:\n  store: {dsn: \"", StoreDsn(),
        "\"}\n  secret_file: ", folder_.File("secret"),
        "\n  peer_certificates: [\"DNS:headgate-peer\"]\n  lease: ", options_.lease, "\n",
        options_.cluster_more, "tls: {certificate_file: ", folder_.File("peer.crt"),
        ", key_file: ", folder_.File("peer.key"), ", client_ca_file: ", folder_.File("ca.crt"),
        "}\n",
        options_.logs_to_store
            ? absl::StrCat("throttle_log: {step: 1s, coarse_step: 60s, postgres: {dsn: \"",
                           StoreDsn(), "\"}}\n")
            : "",
        "targets: [", absl::StrJoin(targets, ", "),
        "]\nbudgets: [{name: b, rate: ", otherwise.rate.empty() ? options_.rate : otherwise.rate,
        ", burst: ", options_.burst, options_.budget_more, "}]\nrules: [{name: r, charge: [b]}]\n");
  }

 private:
  std::string DsnFile(int number) const { return folder_.File(absl::StrCat("dsn-", number)); }

  // As docs/cluster.md has it.
  void MakeRole(const std::string& role) {
    for (const char* const sql :
         {"CREATE ROLE $0 LOGIN", "GRANT USAGE ON SCHEMA headgate_store TO $0",
          "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA headgate_store TO $0"}) {
      EXPECT_TRUE(store().RunSql(absl::Substitute(sql, role)).ok()) << sql;
    }
  }

  using Environment = std::map<std::string, std::string>;

  std::string HostOf(int number) const {
    return options_.networks ? Networks::HostOf(number) : "127.0.0.1";
  }
  std::shared_ptr<grpc::Channel> Connect(const std::string& address) const {
    return OwnChannel(address, grpc::SslCredentials({.pem_root_certs = authority_.certificate(),
                                                     .pem_private_key = caller_.key,
                                                     .pem_cert_chain = caller_.certificate}));
  }
  // Of all servers of the store: whichever takes writes.
  std::string StoreDsn() {
    if (bouncer_ != nullptr) return bouncer_->Dsn("postgres", "postgres");
    std::string hosts = options_.networks ? Networks::kStore : "127.0.0.1";
    std::string ports = absl::StrCat(store().port());
    for (int i = 0; i < options_.standbys; ++i) {
      absl::StrAppend(&hosts, ",127.0.0.1");
      absl::StrAppend(&ports, ",", stores().standby(static_cast<size_t>(i)).port());
    }
    return absl::StrCat("host=", hosts, " port=", ports,
                        " user=postgres dbname=postgres target_session_attrs=read-write");
  }

  const DeploymentOptions options_;
  SystemClock clock_;
  const TempFolder folder_;
  CertificateAuthority authority_{"authority"};
  TestCertificate caller_;
  std::unique_ptr<PostgresCluster> cluster_;
  std::unique_ptr<PostgresBouncer> bouncer_;
  std::vector<std::unique_ptr<HeadgatedProcess>> servers_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

}  // namespace headgate
