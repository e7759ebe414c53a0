// WorkSampler: what it takes to sample health::WorkCounters, besides a connection.
//
// Sessions are told apart by role and application name, and Headgate's own are left out. Statement
// statistics know roles only: they are asked for only where batch work is given by role alone,
// and are of all roles that are neither batch work nor the one that Headgate logs in as. That one
// has to be Headgate's own: while others use it too there are no statement statistics, since its
// statements could not be told from theirs.
//
// Which of the view's entries are compared follows how often they ran of late, and not how often
// ever: a new release of an application begins with new entries. So the server tells in each
// reading what it has counted of each entry, and is told it again in the next one. That is kept as
// it came, for no more than about 10,000 entries: in a larger view, for those that have run so many
// times that there are no more of them. Entries that are thrown away between two readings ran as
// well: how many there were follows from how often the view has thrown some away.
//
// What each reading costs the server, and how often pg_stat_statements is read therefore, is in
// reading_budget.h. Where the extension is missing it is looked for again every 30 s; what is
// missing, and why, is said in each sample.
//
// Thread-compatible. No I/O.
//
//   std::vector<Statement> statements = sampler.Statements(now_ns, wish, server_version);
//   absl::StatusOr<health::WorkCounters> work = sampler.Read(tables, sampled_at_ns);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/profile.h"
#include "server/observe/postgres/pipeline.h"
#include "server/observe/postgres/reading_budget.h"
#include "server/observe/postgres/statement_totals.h"

namespace headgate::postgres {

class WorkSampler {
 public:
  static constexpr size_t kMostRemembered = 200'000;  // characters, of about 10,000 entries

  explicit WorkSampler(const health::BatchWorkSpec& batch_work,
                       size_t most_remembered = kMostRemembered);

  // What to run at `now_ns`, monotonic, on a server of this version (150006).
  std::vector<Statement> Statements(int64_t now_ns, health::StatementsWish wish,
                                    int server_version);

  // From what those returned.
  absl::StatusOr<health::WorkCounters> Read(absl::Span<const absl::StatusOr<Table>> tables,
                                            int64_t sampled_at_ns);

 private:
  void ReadSchema(const absl::StatusOr<Table>& table, int64_t now_ns);
  void ReadStatements(const absl::StatusOr<Table>& table, int64_t now_ns,
                      health::WorkCounters& work);
  // What the foreground ran since the reading before besides what is compared, at least; absent:
  // nothing is known of it. `view` is the row about the view.
  std::optional<double> OthersCalls(const Table& table, size_t view) const;
  void Remember(std::string entries);
  std::string Note(int64_t now_ns) const;

  enum class Asked : uint8_t { kNothing, kSchema, kStatements };

  const std::string roles_;              // as an array literal
  const std::string application_names_;  // LIKE patterns, as an array literal
  const bool told_by_role_;
  const size_t most_remembered_;
  std::string schema_;  // of the extension, quoted; empty: not found
  Asked asked_ = Asked::kNothing;
  int64_t look_at_ns_ = 0;  // when the extension is looked for
  ReadingBudget reading_;
  StatementTotals totals_;
  int64_t read_at_ns_ = 0;  // statements
  std::string missing_;     // why there are none
  std::string source_;      // of the counters, as they were last reset
  // What the server counted of each entry, as an array literal.
  std::string remembered_ = "{}";
  int64_t least_ = 1;            // calls of an entry that is remembered
  int64_t forgotten_calls_ = 0;  // at most, of one that is not
  int64_t evictions_ = -1;       // so far; below 0: not known
  double entries_ = 0;           // of the view
  bool forgets_ = false;         // some were evicted between the newest readings
  int64_t anew_until_ns_ = 0, crowded_until_ns_ = 0;
};

}  // namespace headgate::postgres
