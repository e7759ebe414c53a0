#include "server/share/store/state_sql.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <pqxx/binarystring>
#include <pqxx/prepared_statement>
#include <pqxx/result>
#include <pqxx/row>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "common/strings.h"

namespace headgate::store {
namespace {

using cluster::StateWrite;
using cluster::StoredState;

// $0 rows of targets that are given; their bytes and samples are parameters.
constexpr char kWrite[] = R"sql(
WITH given (target, generation, sequence, is_whole, is_final, age, bytes, health) AS (VALUES $0),
fenced AS (
  UPDATE headgate_store.ownership AS o
  SET state_generation = o.generation, state_sequence = g.sequence
  FROM given AS g
  WHERE o.target = g.target AND o.generation = g.generation AND CASE WHEN g.is_whole
    THEN o.state_generation < g.generation OR o.state_sequence <= g.sequence
    ELSE o.state_generation = g.generation AND o.state_sequence IN (g.sequence - 1, g.sequence) END
  RETURNING g.*
),
removed AS (
  DELETE FROM headgate_store.state AS s USING fenced AS f
  WHERE f.is_whole AND s.target = f.target
    AND (s.generation <> f.generation OR s.sequence < f.sequence)
),
written AS (
  INSERT INTO headgate_store.state AS s
    (target, generation, sequence, is_whole, is_final, copied_at, bytes, health)
  SELECT target, generation, sequence, is_whole, is_final,
    now() - age * interval '1 microsecond', bytes, health FROM fenced
  ON CONFLICT (target, generation, sequence) DO UPDATE SET is_whole = excluded.is_whole,
    is_final = excluded.is_final, copied_at = excluded.copied_at, bytes = excluded.bytes,
    health = excluded.health
)
SELECT g.target, EXISTS (SELECT FROM fenced AS f WHERE f.target = g.target),
  EXISTS (SELECT FROM headgate_store.ownership AS o
    WHERE o.target = g.target AND o.generation = g.generation)
FROM given AS g
)sql";
enum WriteColumn { kTarget, kIsWritten, kIsOwner };

// $0 rows of targets and generations. Who goes on from a final state leaves a row of its own
// generation, of sequence 0, which its first whole replaces.
constexpr char kRead[] = R"sql(
WITH asked (target, generation) AS (VALUES $0),
held AS (
  SELECT a.target, a.generation, o.state_generation, o.state_sequence
  FROM asked AS a
    JOIN headgate_store.ownership AS o ON o.target = a.target AND o.generation = a.generation
),
marked AS (
  INSERT INTO headgate_store.state
    (target, generation, sequence, is_whole, is_final, copied_at, bytes)
  SELECT h.target, h.generation, 0, false, false, now(), ''
  FROM held AS h JOIN headgate_store.state AS s ON s.target = h.target
    AND s.generation = h.state_generation AND s.sequence = h.state_sequence
  WHERE s.is_final AND h.generation > s.generation
  ON CONFLICT DO NOTHING
)
SELECT h.target, h.state_sequence, s.generation, s.sequence, s.is_whole,
  s.is_final AND NOT EXISTS (SELECT FROM headgate_store.state AS m WHERE m.target = h.target
    AND m.generation > s.generation AND m.generation < h.generation),
  (extract(epoch FROM now() - s.copied_at) * 1000000)::bigint, s.bytes, s.health
FROM held AS h
  LEFT JOIN headgate_store.state AS s ON s.target = h.target
    AND s.generation = h.state_generation AND s.sequence <= h.state_sequence
ORDER BY h.target, s.sequence
)sql";
enum StateColumn {
  kOf,
  kNewest,
  kGeneration,
  kSequence,
  kIsWhole,
  kIsFinal,
  kAge,
  kBytes,
  kHealth
};

// $0 a process, which writes as a generation of the target without a name, which nobody has. It
// touches every column that kWrite and kRead do. Rows of processes that have ended go after an
// hour.
constexpr char kTry[] = R"sql(
WITH fenced AS (
  UPDATE headgate_store.ownership AS o
  SET state_generation = o.generation, state_sequence = o.state_sequence
  WHERE o.target = ''
),
removed AS (
  DELETE FROM headgate_store.state AS s
  WHERE s.target = '' AND s.generation <> $0 AND s.copied_at < now() - interval '1 hour'
),
written AS (
  INSERT INTO headgate_store.state AS s
    (target, generation, sequence, is_whole, is_final, copied_at, bytes, health)
  VALUES ('', $0, 0, true, false, now(), '', '')
  ON CONFLICT (target, generation, sequence) DO UPDATE SET is_whole = excluded.is_whole,
    is_final = excluded.is_final, copied_at = excluded.copied_at, bytes = excluded.bytes,
    health = excluded.health
  RETURNING s.is_whole AND NOT s.is_final AND s.bytes = '' AND s.health = '' AS is_there
)
SELECT is_there FROM written
)sql";

absl::Status NotTheOwner(std::string_view target, uint64_t generation) {
  return absl::AbortedError(
      absl::StrCat("target ", Sv(target), " is not owned by generation ", generation, " any more"));
}

// Rows of one target, in order.
cluster::ReadState PutTogether(const std::string& target, const std::vector<pqxx::row>& rows) {
  const auto newest = rows.front()[kNewest].as<int64_t>();
  if (newest == 0) return std::nullopt;
  std::optional<StoredState> state;
  int64_t sequence = 0;
  for (const pqxx::row& row : rows) {
    if (row[kSequence].is_null()) break;
    const pqxx::binarystring bytes(row[kBytes]);
    const bool is_whole = row[kIsWhole].as<bool>();
    const auto number = row[kSequence].as<int64_t>();
    if (is_whole) {
      state.emplace().whole = bytes.str();
      if (!row[kHealth].is_null()) state->health = pqxx::binarystring(row[kHealth]).str();
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
    return absl::DataLossError(absl::StrCat("state ", newest, " of target ", target,
                                            " is not in the store, or not what it follows"));
  }
  return state;
}

}  // namespace

std::vector<absl::Status> WriteStates(pqxx::transaction_base& work,
                                      absl::Span<const StateWrite> writes) {
  std::vector<std::string> rows;
  std::vector<pqxx::binarystring> bytes;
  std::map<std::string, size_t> places;
  for (const StateWrite& write : writes) {
    const std::string target(write.target);
    const auto word = [](bool is) { return is ? "true" : "false"; };
    places[target] = rows.size();
    bytes.emplace_back(write.bytes.data(), write.bytes.size());
    bytes.emplace_back(write.health.data(), write.health.size());
    rows.push_back(
        absl::StrCat("(", work.quote(target), "::text, ", write.generation, "::bigint, ",
                     write.sequence, "::bigint, ", word(write.kind == StateWrite::Kind::kWhole),
                     ", ", word(write.is_final), ", ", absl::ToInt64Microseconds(write.age),
                     "::bigint, $", bytes.size() - 1, "::bytea, $", bytes.size(), "::bytea)"));
  }
  const pqxx::result done = work.exec_params(absl::Substitute(kWrite, absl::StrJoin(rows, ", ")),
                                             pqxx::prepare::make_dynamic_params(bytes));
  std::vector<absl::Status> statuses(writes.size());
  for (const auto& row : done) {
    const size_t place = places.at(row[kTarget].as<std::string>());
    const StateWrite& write = writes[place];
    if (row[kIsWritten].as<bool>()) continue;
    statuses[place] =
        row[kIsOwner].as<bool>()
            ? absl::DataLossError(absl::StrCat("state ", write.sequence, " of target ",
                                               Sv(write.target), " does not follow what is there"))
            : NotTheOwner(write.target, write.generation);
  }
  return statuses;
}

void TryStates(pqxx::transaction_base& work, uint64_t incarnation) {
  (void)work.exec1(absl::Substitute(kTry, std::bit_cast<int64_t>(incarnation)));
}

std::vector<cluster::ReadState> ReadStates(pqxx::transaction_base& work,
                                           absl::Span<const cluster::Held> targets) {
  std::vector<std::string> asked;
  asked.reserve(targets.size());
  for (const cluster::Held& held : targets) {
    asked.push_back(
        absl::StrCat("(", work.quote(held.target), "::text, ", held.generation, "::bigint)"));
  }
  const pqxx::result rows = work.exec(absl::Substitute(kRead, absl::StrJoin(asked, ", ")));
  std::map<std::string, std::vector<pqxx::row>> of_targets;
  for (const auto& row : rows) of_targets[row[kOf].as<std::string>()].push_back(row);
  std::vector<cluster::ReadState> states;
  states.reserve(targets.size());
  for (const cluster::Held& held : targets) {
    const auto found = of_targets.find(held.target);
    if (found == of_targets.end()) {
      states.emplace_back(NotTheOwner(held.target, held.generation));
    } else {
      states.push_back(PutTogether(held.target, found->second));
    }
  }
  return states;
}

}  // namespace headgate::store
