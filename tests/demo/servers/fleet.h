// Fleet: three headgateds with mutual TLS that share two databases through a store, which are three
// PostgreSQL servers of their own; and what befalls the headgateds.
//
// Thread-compatible, but for Check, which any thread may call.
//
//   absl::StatusOr<std::unique_ptr<Fleet>> fleet = Fleet::Start({.lease = absl::Seconds(3)},
//   interrupt, say);
//   (*fleet)->Kill(0);
//   (*fleet)->View().owners;
#pragma once

#include <grpcpp/grpcpp.h>
#include <headgate/v1/cluster_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/demo/interrupt.h"
#include "tests/testing/certificates.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/temp_folder.h"

namespace headgate::demo {

struct FleetOptions {
  absl::Duration lease = absl::Seconds(3);
  double rate = 2000;   // rows a second, of each database
  double burst = 1000;  // rows
};

class Fleet {
 public:
  using Say = std::function<void(const std::string&)>;

  static constexpr int kServers = 3;
  static constexpr int kRows = 100'000;  // of the table `items` in each database
  static const std::vector<std::string>& Databases();
  static std::string NameOf(int server);

  // Returns once each server has its share.
  static absl::StatusOr<std::unique_ptr<Fleet>> Start(const FleetOptions& options,
                                                      const Interrupt& interrupt, const Say& say);

  enum class State { kRuns, kKilled, kStopped, kEnds };
  State state(int server) const { return servers_[static_cast<size_t>(server)].state; }

  void Kill(int server);
  absl::Status StartAgain(int server);
  void Suspend(int server);
  void Resume(int server);
  // By SIGTERM, and its next release begins once it has ended; Tend sees to that.
  void Upgrade(int server);
  absl::Status Tend();

  // By a server that answers, and nothing has befallen for longest; empty names: nobody decides, as
  // nothing that was killed or stopped does.
  struct FleetView {
    std::vector<std::string> owners;
  };
  FleetView View();
  // Who decides for a database as far as is known; else the first that runs.
  int OwnerOf(size_t database);

  grpc::Status Check(int server, const v1::CheckRequest& request, absl::Duration limit,
                     v1::CheckResponse& response);
  std::string DsnOf(size_t database) { return databases_[database]->primary().Dsn(); }

 private:
  struct Server {
    std::unique_ptr<HeadgatedProcess> process;
    std::shared_ptr<grpc::Channel> channel;
    State state = State::kRuns;
  };

  Server& Befall(int server, State state);
  explicit Fleet(const FleetOptions& options) : options_(options) {}
  absl::Status StartPostgres(const Interrupt& interrupt);
  absl::Status StartServers();
  absl::Status AwaitShares(const Interrupt& interrupt);
  std::string Configuration();
  std::string StoreDsn();

  const FleetOptions options_;
  const TempFolder folder_;
  CertificateAuthority authority_{"demo"};
  std::unique_ptr<PostgresCluster> store_;
  std::vector<std::unique_ptr<PostgresCluster>> databases_;
  std::vector<Server> servers_;
  int befallen_ = 0;  // the last that something has happened to
};

}  // namespace headgate::demo
