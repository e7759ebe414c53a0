// Pgbench: a foreground made by PostgreSQL's own load generator, and every transaction it made.
//
// What pgbench logs comes in portions of 4 KiB, about 100 transactions, so the newest ones are seen
// late, and lost where Stop() ends it early: keep the last measured window a moment before the
// stop, or give a duration and wait for its end.
//
// Thread-compatible; to be started from a thread that outlives it.
//
//   PgbenchOptions options{.bin = cluster.bin(), .folder = cluster.folder(), .dsn = dsn};
//   absl::Status made = RunToEnd(PgbenchInitialization(options, /*scale=*/20), log);
//   absl::StatusOr<std::unique_ptr<Pgbench>> foreground = Pgbench::Start(options);
//   ...
//   absl::Status status = (*foreground)->Poll();  // from time to time
//   (*foreground)->transactions().Over({{.from = from, .to = to}}).per_second;
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/load/transactions.h"
#include "tests/testing/subprocess.h"

namespace headgate::load {

struct PgbenchOptions {
  std::string bin = {};     // folder of the program
  std::string folder = {};  // where it may write its logs; one Pgbench after another may use it
  std::string dsn = {};
  std::string builtin = "tpcb-like";  // or "simple-update", "select-only"
  std::string script = {};            // SQL and \commands; then builtin does not count
  int scale = 0;                      // :scale in a script of one's own
  int clients = 8;
  std::optional<double> rate_per_second = {};  // absent: each client as fast as it can
  // When it ends by itself; infinite: at Stop().
  absl::Duration duration = absl::InfiniteDuration();
  uint32_t seed = 1;
};

// The command that makes pgbench's tables, about 15 MB for each unit of scale.
std::vector<std::string> PgbenchInitialization(const PgbenchOptions& options, int scale);

// Rows of pgbench_accounts for each unit of scale.
inline constexpr int64_t kAccountsPerScale = 100'000;

// Runs a command until it ends, and says how.
absl::Status RunToEnd(const std::vector<std::string>& argv, const std::string& output,
                      absl::Duration limit = absl::Minutes(10));

class Pgbench {
 public:
  static absl::StatusOr<std::unique_ptr<Pgbench>> Start(const PgbenchOptions& options);

  // Takes up what was logged by now. An error if pgbench failed.
  absl::Status Poll();

  // Waits for the end of a given duration, and takes up the rest.
  absl::Status WaitForEnd();
  // Ends it now.
  absl::Status Stop();

  const Transactions& transactions() const { return transactions_; }

 private:
  Pgbench(const std::vector<std::string>& command, const std::string& prefix,
          absl::Duration duration)
      : process_(command, {.log = prefix + ".out"}),
        log_path_(absl::StrCat(prefix, ".", process_.pid())),
        duration_(duration) {}

  void ReadLog();

  Subprocess process_;
  const std::string log_path_;
  const absl::Duration duration_;
  std::ifstream log_;
  std::string unfinished_ = {};  // the beginning of a line
  Transactions transactions_;
};

}  // namespace headgate::load
