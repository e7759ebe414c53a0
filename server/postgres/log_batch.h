// One batch of throttle-log rows into PostgreSQL: COPY into a temporary table, then one INSERT that
// adds to what stands there.
//
// What is here throws as libpqxx does.
//
//   WriteLogBatch(work, rows);
#pragma once

#include <pqxx/transaction_base>

#include "absl/types/span.h"
#include "server/throttle_log/row.h"

namespace headgate::postgres {

// Rows have steps of more than 0 s.
void WriteLogBatch(pqxx::transaction_base& work, absl::Span<const throttle_log::Row> rows);

}  // namespace headgate::postgres
