// One batch of throttle-log rows into PostgreSQL: COPY into a temporary table, then one INSERT that
// adds to what stands there.
//
// What is here throws as libpqxx does.
//
//   WriteLogBatch(work, rows);
#pragma once

#include <cstdint>
#include <pqxx/transaction_base>
#include <vector>

#include "absl/types/span.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::postgres {

// What becomes of the temporary table.
enum class BatchTable : uint8_t {
  kKept,     // for the next batch of this session: making one writes into the catalog
  kDropped,  // by the end of the transaction: the session is others' then
};

// The same rows, with a ? in place of each character of a name that is not ASCII: for a database
// that was begun in an encoding that cannot hold them.
std::vector<throttle_log::Row> InAscii(absl::Span<const throttle_log::Row> rows);

// Rows have steps of more than 0 s.
void WriteLogBatch(pqxx::transaction_base& work, absl::Span<const throttle_log::Row> rows,
                   BatchTable table = BatchTable::kKept);

}  // namespace headgate::postgres
