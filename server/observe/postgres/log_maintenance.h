// What keeps the throttle log in PostgreSQL small: one transaction's work each.
//
// Of several headgated on one database one at a time does it, and the others pass. What is here
// throws as libpqxx does.
//
//   CoarsenLogDays(work, retention, now);
#pragma once

#include <pqxx/transaction_base>
#include <string>

#include "absl/time/time.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::postgres {

void DropOldLogDays(pqxx::transaction_base& work, const throttle_log::Retention& retention,
                    absl::Time now);
void DropLogDaysBeyondCap(pqxx::transaction_base& work, const throttle_log::Retention& retention,
                          absl::Time now);
// Of the oldest day some tens of thousands of rows; a day that has none left is dropped.
void CoarsenLogDays(pqxx::transaction_base& work, const throttle_log::Retention& retention,
                    absl::Time now);
void DropUnusedLogNames(pqxx::transaction_base& work);

// When the log's oldest step begins, as it was read last: the oldest days change seldom.
struct KnownOldestStep {
  std::string partitions;  // of the oldest day; empty: it was not read
  absl::Time at = absl::InfiniteFuture();
};
// No status.
throttle_log::StoreState MeasureLog(pqxx::transaction_base& work, KnownOldestStep& known);

}  // namespace headgate::postgres
