// WorkSampler: what it takes to sample health::WorkCounters, besides a connection.
//
// Sessions are told apart by role and application name, and Headgate's own are left out. Statement
// statistics know roles only: they are asked for only where batch work is given by role alone,
// and are of all roles that are neither batch work nor the one that Headgate logs in as. That one
// has to be Headgate's own: while others use it too there are no statement statistics, since its
// statements could not be told from theirs.
//
// The counters themselves take 0.2 ms. pg_stat_statements costs the server 2.5 µs for each of its
// entries, 13 ms with all 5000: it is asked so seldom that this stays below 3 % of one core, and is
// absent in between. Where the extension is missing it is looked for again every 30 s.
//
// Thread-compatible. No I/O.
//
//   std::vector<Statement> statements = sampler.Statements(now_ns);
//   absl::StatusOr<health::WorkCounters> work = sampler.Read(tables, sampled_at_ns);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/health/probe.h"
#include "server/health/profile.h"
#include "server/postgres/pipeline.h"

namespace headgate::postgres {

class WorkSampler {
 public:
  explicit WorkSampler(const health::BatchWorkSpec& batch_work);

  // What to run at `now_ns`, monotonic.
  std::vector<Statement> Statements(int64_t now_ns);

  // From what those returned.
  absl::StatusOr<health::WorkCounters> Read(absl::Span<const absl::StatusOr<Table>> tables,
                                            int64_t sampled_at_ns);

 private:
  void ReadSchema(const absl::StatusOr<Table>& table, int64_t now_ns);
  void ReadStatements(const absl::StatusOr<Table>& table, int64_t now_ns,
                      health::WorkCounters& work);

  enum class Asked : uint8_t { kNothing, kSchema, kStatements };

  const std::string roles_;              // as an array literal
  const std::string application_names_;  // LIKE patterns, as an array literal
  const bool told_by_role_;
  std::string schema_;  // of the extension, quoted; empty: not found
  Asked asked_ = Asked::kNothing;
  int64_t ask_at_ns_ = 0;  // when statement statistics are due, or the extension is looked for
  double calls_ = 0;
  int64_t decreases_ = 0;  // of calls_: some were reset, which the extension does not tell
};

}  // namespace headgate::postgres
