// What keeps the throttle log in PostgreSQL small: one transaction's work each.
//
// Of several headgated on one database one at a time does it, and the others pass. What is here
// throws as libpqxx does.
//
//   CoarsenLogDays(work, keeping, now);
#pragma once

#include <pqxx/transaction_base>

#include "absl/time/time.h"
#include "server/throttle_log/store.h"

namespace headgate::postgres {

void DropOldLogDays(pqxx::transaction_base& work, const throttle_log::Keeping& keeping,
                    absl::Time now);
void DropLogDaysBeyondCap(pqxx::transaction_base& work, const throttle_log::Keeping& keeping,
                          absl::Time now);
// Of the oldest day some tens of thousands of rows; a day that has none left is dropped.
void CoarsenLogDays(pqxx::transaction_base& work, const throttle_log::Keeping& keeping,
                    absl::Time now);
void DropUnusedLogNames(pqxx::transaction_base& work);

// No status.
throttle_log::StoreState MeasureLog(pqxx::transaction_base& work);

}  // namespace headgate::postgres
