// Which rows of the primary's pg_stat_replication are which expected standby's.
//
// A name alone does not tell standbys apart where all have the same, as Debian gives to all. So an
// address and a slot count as well:
// - A standby's rows have all that is said of it. Where a row fits several, it is the one's of whom
//   most is said.
// - Of whom the same is said share their rows, one each. Where there are fewer rows than standbys,
//   those that were set aside go without first; which one is missing nobody knows.
// - More rows than standbys are noted: one that is missing would not be.
// - Where there is no row, what there is instead is listed.
//
// Pure functions: thread-safe. Rows point into the table.
//
//   std::vector<StandbyRows> rows = RowsOfStandbys(query.of, table, now);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/observe/health/profile.h"
#include "server/observe/postgres/pipeline.h"

namespace headgate::postgres {

struct StandbyRows {
  std::string name;  // health::StandbySpec::name
  std::vector<const std::vector<std::optional<std::string>>*> rows;
  std::string missing;  // why there is no row
  std::string note;     // what an operator should mend; empty: nothing
};

// One for each of `standbys`, in their order. `table` is what Query::kReplication returned, `now`
// wall time in seconds.
std::vector<StandbyRows> RowsOfStandbys(absl::Span<const health::StandbySpec> standbys,
                                        const Table& table, double now);

// "application_name '15/main' and slot 'east'", as errors and logs have it.
std::string MatchText(const health::StandbySpec& standby);

}  // namespace headgate::postgres
