#include "server/store/state_sql.h"

#include <cstdint>
#include <optional>
#include <pqxx/binarystring>
#include <pqxx/result>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/strings.h"

namespace headgate::store {
namespace {

using cluster::StateWrite;
using cluster::StoredState;

// $1 target, $2 generation, $3 sequence, $4 is a whole, $5 is final, $6 age, $7 bytes
constexpr char kWrite[] = R"sql(
WITH fenced AS (
  UPDATE headgate_store.ownership SET state_generation = generation, state_sequence = $3
  WHERE target = $1 AND generation = $2 AND CASE WHEN $4::boolean
    THEN state_generation < $2 OR state_sequence <= $3
    ELSE state_generation = $2 AND state_sequence IN ($3::bigint - 1, $3) END
  RETURNING target
),
removed AS (
  DELETE FROM headgate_store.state AS s USING fenced
  WHERE $4::boolean AND s.target = fenced.target AND (s.generation <> $2 OR s.sequence < $3)
),
written AS (
  INSERT INTO headgate_store.state AS s
    (target, generation, sequence, is_whole, is_final, copied_at, bytes)
  SELECT target, $2, $3, $4, $5, now() - $6::bigint * interval '1 microsecond', $7 FROM fenced
  ON CONFLICT (target, generation, sequence) DO UPDATE SET is_whole = excluded.is_whole,
    is_final = excluded.is_final, copied_at = excluded.copied_at, bytes = excluded.bytes
)
SELECT EXISTS (SELECT FROM fenced), EXISTS (SELECT FROM headgate_store.ownership
  WHERE target = $1 AND generation = $2)
)sql";

// $1 target, $2 generation
constexpr char kRead[] = R"sql(
SELECT o.state_sequence, s.generation, s.sequence, s.is_whole, s.is_final,
  (extract(epoch FROM now() - s.copied_at) * 1000000)::bigint, s.bytes
FROM headgate_store.ownership AS o
  LEFT JOIN headgate_store.state AS s ON s.target = o.target
    AND s.generation = o.state_generation AND s.sequence <= o.state_sequence
WHERE o.target = $1 AND o.generation = $2
ORDER BY s.sequence
)sql";
enum StateColumn { kNewest, kGeneration, kSequence, kIsWhole, kIsFinal, kAge, kBytes };

absl::Status NotTheOwner(std::string_view target, uint64_t generation) {
  return absl::AbortedError(
      absl::StrCat("target ", Sv(target), " is not owned by generation ", generation, " any more"));
}

}  // namespace

absl::Status WriteState(pqxx::transaction_base& work, const StateWrite& write) {
  const std::string target(write.target);
  const bool is_whole = write.kind == StateWrite::Kind::kWhole;
  const pqxx::result done = work.exec_params(
      kWrite, target, static_cast<int64_t>(write.generation), static_cast<int64_t>(write.sequence),
      is_whole, write.is_final, absl::ToInt64Microseconds(write.age),
      pqxx::binarystring(write.bytes.data(), write.bytes.size()));
  if (done[0][0].as<bool>()) return absl::OkStatus();
  if (!done[0][1].as<bool>()) return NotTheOwner(write.target, write.generation);
  return absl::DataLossError(absl::StrCat("state ", write.sequence, " of target ", target,
                                          " does not follow what is there"));
}

absl::StatusOr<std::optional<StoredState>> ReadState(pqxx::transaction_base& work,
                                                     const cluster::Held& held) {
  const pqxx::result rows =
      work.exec_params(kRead, held.target, static_cast<int64_t>(held.generation));
  if (rows.empty()) return NotTheOwner(held.target, held.generation);
  const auto newest = rows[0][kNewest].as<int64_t>();
  if (newest == 0) return std::nullopt;
  std::optional<StoredState> state;
  int64_t sequence = 0;
  for (const auto& row : rows) {
    if (row[kSequence].is_null()) break;
    const pqxx::binarystring bytes(row[kBytes]);
    const bool is_whole = row[kIsWhole].as<bool>();
    const auto number = row[kSequence].as<int64_t>();
    if (is_whole) {
      state.emplace().whole = bytes.str();
    } else if (!state.has_value() || number != sequence + 1) {
      state.reset();  // of what an interrupted removal left
      continue;
    } else {
      state->changes.push_back(bytes.str());
    }
    sequence = number;
    state->generation = static_cast<uint64_t>(row[kGeneration].as<int64_t>());
    state->age = absl::Microseconds(row[kAge].as<int64_t>());
    state->is_final = row[kIsFinal].as<bool>();
  }
  if (!state.has_value() || sequence != newest) {
    return absl::DataLossError(absl::StrCat("state ", newest, " of target ", held.target,
                                            " is not in the store, or not what it follows"));
  }
  return state;
}

}  // namespace headgate::store
