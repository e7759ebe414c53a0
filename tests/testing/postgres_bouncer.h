// PostgresBouncer: Debian's PgBouncer before a PostgreSQL server under test. Unless it hands out
// whole sessions it has one for each database and role, in which all its clients take turns.
//
// It listens on 127.0.0.1 at a port of its own and lets everybody in; to the server it logs in by
// the password that is given. Ended by the destructor, and also when the program dies.
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<PostgresBouncer>> bouncer =
//       PostgresBouncer::Start(cluster->folder(), cluster->primary(), {.mode = "transaction"});
//   (*bouncer)->Dsn("app", "shop");
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/testing/postgres_process.h"
#include "tests/testing/postgres_server.h"

namespace headgate {

struct BouncerOptions {
  std::string mode = "transaction";  // or session, or statement
  std::vector<std::string> roles = {"postgres"};
  std::string password = {};  // of all of them
  // Parameters of the startup message that it takes and passes over, such as "options".
  std::string ignored = {};
};

class PostgresBouncer {
 public:
  // An error that says what is missing, if it is not installed.
  static absl::StatusOr<std::string> Program();

  // `folder` is that of the server's cluster.
  static absl::StatusOr<std::unique_ptr<PostgresBouncer>> Start(const std::string& folder,
                                                                const PostgresServer& server,
                                                                const BouncerOptions& options);
  ~PostgresBouncer();
  PostgresBouncer(const PostgresBouncer&) = delete;
  PostgresBouncer& operator=(const PostgresBouncer&) = delete;

  std::string Dsn(const std::string& role, const std::string& database) const;

  // What clients before this one left in the server's session: settings that PgBouncer does not
  // keep for each client, prepared statements, temporary tables and advisory locks; empty: nothing.
  absl::StatusOr<std::string> LeftBehind(const std::string& role,
                                         const std::string& database) const;

  int port() const { return port_; }

 private:
  PostgresBouncer(int port, pid_t pid) : port_(port), pid_(pid) {}

  const int port_;
  const pid_t pid_;
};

}  // namespace headgate
