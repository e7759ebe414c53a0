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

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/store/admin.h"
#include "tests/testing/certificates.h"
#include "tests/testing/free_port.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate {

struct DeploymentOptions {
  int servers = 3;
  std::vector<std::string> targets = {"orders", "billing", "stock"};
  std::string lease = "3s";
  std::string rate = "100";
  std::string burst = "5s";  // at that rate
  int standbys = 0;          // of the store
};

class Deployment {
 public:
  explicit Deployment(DeploymentOptions options = {}) : options_(std::move(options)) {
    auto cluster = PostgresCluster::Start({.standbys = options_.standbys});
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    const auto made = store::Init({.dsn = store().Dsn(), .timeout = absl::Seconds(30)}, clock_);
    EXPECT_TRUE(made.ok()) << made.status();
    const TestCertificate own =
        authority_.Sign({.dns = {"localhost", "headgate-peer"}, .ip = {"127.0.0.1"}});
    ReplaceFile(folder_.File("ca.crt"), authority_.certificate());
    ReplaceFile(folder_.File("peer.crt"), own.certificate);
    ReplaceFile(folder_.File("peer.key"), own.key);
    ReplaceFile(folder_.File("secret"), "0123456789abcdef0123456789abcdef");
    caller_ = authority_.Sign({.uri = {"spiffe://prod/ns/jobs/sa/backfill"}});
    servers_.resize(static_cast<size_t>(options_.servers));
    for (int i = 0; i < options_.servers; ++i) Start(i);
  }

  // Server `number`, under its own name or another.
  void Start(int number, const std::string& name = "") {
    const auto place = static_cast<size_t>(number);
    if (servers_[place] == nullptr) {
      const int port = FreePort();
      servers_[place] = std::make_unique<HeadgatedProcess>(HeadgatedOptions{
          .yaml = Yaml(),
          .stateless = true,
          .grpc_address = absl::StrCat("127.0.0.1:", port),
          .flags = {absl::StrCat("--member=", name.empty() ? NameOf(number) : name),
                    absl::StrCat("--member-address=127.0.0.1:", port)}});
      channels_.push_back(Connect(port));
    }
    const absl::Status started = servers_[place]->Start();
    EXPECT_TRUE(started.ok()) << started << servers_[place]->Log();
  }
  static std::string NameOf(int number) { return std::string(1, static_cast<char>('a' + number)); }

  HeadgatedProcess& operator[](int number) { return *servers_[static_cast<size_t>(number)]; }
  PostgresServer& store() { return cluster_->primary(); }
  PostgresCluster& stores() { return *cluster_; }
  int size() const { return static_cast<int>(servers_.size()); }
  const std::vector<std::string>& targets() const { return options_.targets; }

  grpc::Status TryCheck(int server, const std::string& target, const std::string& identity,
                        v1::Decision* decision = nullptr, double cost = 1,
                        absl::Duration limit = absl::Seconds(5)) const {
    v1::CheckRequest request;
    request.set_identity(identity);
    request.set_target(target);
    request.set_estimated_cost(cost);
    v1::CheckResponse response;
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_millis(absl::ToInt64Milliseconds(limit), GPR_TIMESPAN));
    const auto stub = v1::ThrottlerService::NewStub(channels_[static_cast<size_t>(server)]);
    grpc::Status status = stub->Check(&context, request, &response);
    if (decision != nullptr) *decision = response.decision();
    return status;
  }
  v1::Decision Check(int server, const std::string& target, const std::string& identity,
                     double cost = 1) const {
    v1::Decision decision;
    const grpc::Status status = TryCheck(server, target, identity, &decision, cost);
    EXPECT_TRUE(status.ok()) << target << ": " << status.error_message();
    return decision;
  }
  // Whether each target was decided by somebody, asked of this server, within the time.
  bool AwaitOwners(int server = 0, absl::Duration limit = absl::Seconds(20)) const {
    return WaitUntil(
        [&] {
          return std::ranges::all_of(options_.targets, [&](const std::string& target) {
            return TryCheck(server, target, "probe", nullptr, 0, absl::Seconds(1)).ok();
          });
        },
        limit);
  }
  // Who owns what, as the store has it: names, by target's order.
  std::string Owner(const std::string& target) {
    const auto rows = store().RunSql(
        absl::StrCat("SELECT owner FROM headgate_store.ownership WHERE target = '", target, "'"));
    return rows.ok() && !rows->empty() ? (*rows)[0][0] : "";
  }
  int OwnerNumber(const std::string& target) {
    const std::string owner = Owner(target);
    return owner.empty() ? -1 : owner[0] - 'a';
  }

 private:
  std::shared_ptr<grpc::Channel> Connect(int port) const {
    return OwnChannel(absl::StrCat("127.0.0.1:", port),
                      grpc::SslCredentials({.pem_root_certs = authority_.certificate(),
                                            .pem_private_key = caller_.key,
                                            .pem_cert_chain = caller_.certificate}));
  }
  std::string Yaml() {
    std::vector<std::string> targets;
    for (const std::string& target : options_.targets) {
      targets.push_back(absl::StrCat("{name: ", target, "}"));
    }
    return absl::StrCat("cluster:\n  store: {dsn: \"", store().Dsn(),
                        "\"}\n  secret_file: ", folder_.File("secret"),
                        "\n  peer_certificates: [\"DNS:headgate-peer\"]\n  lease: ", options_.lease,
                        "\ntls: {certificate_file: ", folder_.File("peer.crt"),
                        ", key_file: ", folder_.File("peer.key"),
                        ", client_ca_file: ", folder_.File("ca.crt"), "}\ntargets: [",
                        absl::StrJoin(targets, ", "),
                        "]\nbudgets: [{name: b, rate: ", options_.rate, ", burst: ", options_.burst,
                        "}]\nrules: [{name: r, charge: [b]}]\n");
  }

  const DeploymentOptions options_;
  SystemClock clock_;
  const TempFolder folder_;
  CertificateAuthority authority_{"authority"};
  TestCertificate caller_;
  std::unique_ptr<PostgresCluster> cluster_;
  std::vector<std::unique_ptr<HeadgatedProcess>> servers_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

}  // namespace headgate
