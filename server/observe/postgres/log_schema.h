// The throttle log's tables in a PostgreSQL database, schema "headgate_log".
//
//   log      a view for people: at, step, identity, target, folded, outcome, reason, limit_kind,
//            budget, rule, signal, checks, cost, peak, threshold, server, and how Checks waited
//   fine     at, who, what, checks, cost, peak, threshold, and the columns of log_waits.h; a
//            partition for each UTC day
//   coarse   the same, in longer steps
//   whos     id, identity, target, folded, server; path is the identity with its root first
//   whats    id, step_s, outcome, reason, limit_kind, budget, rule, signal
//   writers  which batch each headgated wrote last
//
// The key (who, at, what) is what makes counts add up, and one identity's time a range. `seen` is
// the last day that a name was counted in.
//
// The role needs TEMPORARY on the database, which everybody has by default, and either CREATE on it
// or this schema as its own: CREATE SCHEMA headgate_log AUTHORIZATION headgate. To read:
//   GRANT USAGE ON SCHEMA headgate_log TO reader;
//   GRANT SELECT ON ALL TABLES IN SCHEMA headgate_log TO reader;
//
// What is here throws as libpqxx does.
#pragma once

#include <cstdint>
#include <pqxx/transaction_base>
#include <string>
#include <vector>

namespace headgate::postgres {

// Makes what is missing, and brings what an older Headgate made up to date; several headgated may
// do so at once. Throws pqxx::failure if it is of a newer Headgate.
void EnsureLogSchema(pqxx::transaction_base& work);

// Gives the view the words of this Headgate, where an older one made it. It waits for those who
// read the view.
void RenewLogView(pqxx::transaction_base& work);

inline constexpr int64_t kSecondsInDay = 86'400;

// A day's partition of "fine" or "coarse". `day` counts from the Unix epoch.
struct LogPartition {
  std::string table;
  int64_t day = 0;

  // Such as headgate_log.fine_20454, by the number of the day.
  std::string Name() const;
};

void EnsureLogPartition(pqxx::transaction_base& work, const LogPartition& partition);
// The oldest day first; of a day coarse first.
std::vector<LogPartition> ListLogPartitions(pqxx::transaction_base& work);

}  // namespace headgate::postgres
