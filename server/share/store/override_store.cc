#include "server/share/store/override_store.h"

#include <optional>
#include <pqxx/result>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace headgate::store {
namespace {

using overrides::Change;
using overrides::Contents;
using overrides::Edit;
using overrides::End;
using overrides::Event;
using overrides::EventKind;
using overrides::EventQuery;
using overrides::Override;

// Columns of an override, in the order that ReadOverride takes them.
constexpr char kColumns[] =
    "o.id, o.kind, o.identity, o.segment, o.everything, o.target, o.ratio, o.actor, o.reason,"
    " o.created_at_ns, o.expires_at_ns";
constexpr int kColumnCount = 11;

// $0 columns
constexpr char kReadOverrides[] = R"sql(
SELECT $0, r.revision, r.last_id FROM headgate_store.override_revision AS r
LEFT JOIN headgate_store.override AS o ON NOT o.ended
ORDER BY o.id
)sql";

// $0 how much the revision moves on, $1 condition on it, $2 the highest id, $3 how many events,
// $4 overrides that are made, $5 ids of those that end, $6 events, $7 how many events are kept, $8
// how many may go at a time
constexpr char kWriteOverride[] = R"sql(
WITH moved AS (
  UPDATE headgate_store.override_revision SET revision = revision + $0,
    last_id = greatest(last_id, $2), last_event = last_event + $3
  WHERE $1
  RETURNING *
),
made AS (
  INSERT INTO headgate_store.override (id, kind, identity, segment, everything, target, ratio,
    actor, reason, created_at_ns, expires_at_ns, ended)
  SELECT n.*, false FROM moved, ($4) AS n
),
ended AS (
  UPDATE headgate_store.override AS o SET ended = true FROM moved WHERE o.id IN ($5)
),
told AS (
  INSERT INTO headgate_store.override_event
    (id, happened_at_ns, kind, override_id, actor, reason, change)
  SELECT moved.last_event - $3 + e.place, e.happened_at_ns, e.kind, e.override_id, e.actor,
    e.reason, e.change
  FROM moved, ($6) AS e
),
forgotten AS (
  DELETE FROM headgate_store.override_event WHERE id = ANY (ARRAY(
    SELECT id FROM headgate_store.override_event
    WHERE id <= (SELECT last_event FROM moved) - $7 ORDER BY id LIMIT $8))
  RETURNING id, override_id
),
forgotten_too AS (
  DELETE FROM headgate_store.override AS o
  WHERE o.id = ANY (ARRAY(SELECT override_id FROM forgotten)) AND o.ended AND o.id NOT IN ($5)
    AND (SELECT max(e.id) FROM headgate_store.override_event AS e WHERE e.override_id = o.id)
      <= (SELECT max(id) FROM forgotten)
)
SELECT count(*) FROM moved
)sql";

// Of a store that a Headgate without a bound has written to: it is brought down to it little by
// little, so that no change takes long.
constexpr int kForgottenAtATime = 200;

constexpr char kNoneMade[] =
    "SELECT 0::bigint, 0::smallint, '', '', false, '', 0::double precision, '', '', 0::bigint,"
    " NULL::bigint WHERE false";
constexpr char kNoEvent[] =
    "SELECT 0::bigint AS place, 0::bigint AS happened_at_ns, 0::smallint AS kind,"
    " 0::bigint AS override_id, '' AS actor, '' AS reason, '' AS change WHERE false";

std::string Instant(absl::Time time) {
  return time == absl::InfiniteFuture() ? "NULL::bigint" : absl::StrCat(absl::ToUnixNanos(time));
}

// One that is absent reads as the first instant there is, or the last.
int64_t NanosOf(absl::Time time) {
  if (time == absl::InfinitePast()) return INT64_MIN;
  return time == absl::InfiniteFuture() ? INT64_MAX : absl::ToUnixNanos(time);
}

std::string RowOf(const pqxx::transaction_base& work, const Override& override) {
  const overrides::Selector& selector = override.selector;
  return absl::StrCat("(", override.id, ", ", static_cast<int>(override.kind), ", ",
                      work.quote(selector.identity), ", ", work.quote(selector.segment), ", ",
                      selector.everything ? "true" : "false", ", ", work.quote(selector.target),
                      ", ", pqxx::to_string(override.ratio), ", ", work.quote(override.actor), ", ",
                      work.quote(override.reason), ", ", Instant(override.created_at), ", ",
                      Instant(override.expires_at), ")");
}

class EventRows {
 public:
  explicit EventRows(const pqxx::transaction_base& work) : work_(work) {}

  void Add(int64_t id, const End& end, const std::string& change = {}) {
    rows_.push_back(absl::StrCat("(", rows_.size() + 1, ", ", Instant(end.at), ", ",
                                 static_cast<int>(end.kind), ", ", id, ", ", work_.quote(end.actor),
                                 ", ", work_.quote(end.reason), ", ", work_.quote(change), ")"));
  }
  size_t size() const { return rows_.size(); }
  std::string Sql() const {
    if (rows_.empty()) return kNoEvent;
    return absl::StrCat(kNoEvent, " UNION ALL VALUES ", absl::StrJoin(rows_, ", "));
  }

 private:
  const pqxx::transaction_base& work_;
  std::vector<std::string> rows_;
};

std::string WriteSql(const pqxx::transaction_base& work, const Edit& edit, uint64_t revision) {
  EventRows events(work);
  std::vector<std::string> made;
  std::vector<std::string> ended = {"0"};  // no override's
  int64_t highest = 0;
  for (const Override& override : edit.made) {
    made.push_back(RowOf(work, override));
    highest = std::max(highest, override.id);
    events.Add(override.id, {.kind = EventKind::kCreated,
                             .at = override.created_at,
                             .actor = override.actor,
                             .reason = override.reason});
  }
  for (const auto& [id, end] : edit.ended) {
    ended.push_back(absl::StrCat(id));
    events.Add(id, end);
  }
  if (edit.deed.has_value()) {
    events.Add(0,
               {.kind = edit.deed->kind,
                .at = edit.deed_at,
                .actor = edit.deed->actor,
                .reason = edit.deed->reason},
               edit.deed->change);
  }
  const bool changes = !edit.made.empty() || !edit.ended.empty();
  const std::string condition = changes ? absl::StrCat("revision = ", revision) : "true";
  std::string rows = kNoneMade;
  if (!made.empty()) absl::StrAppend(&rows, " UNION ALL VALUES ", absl::StrJoin(made, ", "));
  return absl::Substitute(kWriteOverride, changes ? 1 : 0, condition, highest, events.size(), rows,
                          absl::StrJoin(ended, ", "), events.Sql(), overrides::kMaxEvents,
                          kForgottenAtATime);
}

Override ReadOverride(const pqxx::row& row) {
  Override override;
  override.id = row[0].as<int64_t>();
  override.kind = static_cast<overrides::Kind>(row[1].as<int>());
  override.selector = {.identity = row[2].as<std::string>(),
                       .segment = row[3].as<std::string>(),
                       .everything = row[4].as<bool>(),
                       .target = row[5].as<std::string>()};
  override.ratio = row[6].as<double>();
  override.actor = row[7].as<std::string>();
  override.reason = row[8].as<std::string>();
  override.created_at = absl::FromUnixNanos(row[9].as<int64_t>());
  if (!row[10].is_null()) override.expires_at = absl::FromUnixNanos(row[10].as<int64_t>());
  return override;
}

absl::StatusOr<Contents> ReadContents(const pqxx::result& rows) {
  if (rows.empty()) return absl::DataLossError("the store's count of overrides is gone");
  Contents contents{.revision = rows[0][kColumnCount].as<uint64_t>(),
                    .last_id = rows[0][kColumnCount + 1].as<int64_t>()};
  for (const auto& row : rows) {
    if (row[0].is_null()) continue;
    contents.open.push_back(ReadOverride(row));
    if (MakesSense(contents.open.back())) continue;
    return absl::DataLossError(
        absl::StrCat("override ", contents.open.back().id, " in the store makes no sense"));
  }
  return contents;
}

Event ReadEvent(const pqxx::row& row) {
  return {.id = row[kColumnCount].as<int64_t>(),
          .happened_at = absl::FromUnixNanos(row[kColumnCount + 1].as<int64_t>()),
          .kind = static_cast<EventKind>(row[kColumnCount + 2].as<int>()),
          .override = row[0].is_null() ? Override() : ReadOverride(row),
          .actor = row[kColumnCount + 3].as<std::string>(),
          .reason = row[kColumnCount + 4].as<std::string>(),
          .change = row[kColumnCount + 5].as<std::string>()};
}

}  // namespace

class OverrideStore::SharedChange final : public Change {
 public:
  SharedChange(OverrideStore& store, Edit edit, uint64_t revision)
      : store_(store), edit_(std::move(edit)), revision_(revision) {}
  absl::Status Commit() override { return store_.Write(edit_, revision_); }

 private:
  OverrideStore& store_;
  const Edit edit_;
  const uint64_t revision_;
};

absl::StatusOr<Contents> OverrideStore::Read() {
  absl::StatusOr<Contents> contents;
  absl::Status ran =
      transactor_.Run(Scope::kStatement, timeout_, [&](pqxx::transaction_base& work) {
        contents = ReadContents(work.exec(absl::Substitute(kReadOverrides, kColumns)));
      });
  if (!ran.ok()) return ran;
  return contents;
}

absl::StatusOr<std::unique_ptr<Change>> OverrideStore::Prepare(const Edit& edit,
                                                               uint64_t revision) {
  return std::make_unique<SharedChange>(*this, edit, revision);
}

absl::Status OverrideStore::Write(const Edit& edit, uint64_t revision) {
  bool was_asked = false;
  bool has_moved = false;
  absl::Status ran =
      transactor_.Run(Scope::kStatement, timeout_, [&](pqxx::transaction_base& work) {
        was_asked = true;
        has_moved = work.exec1(WriteSql(work, edit, revision))[0].as<int>() == 1;
      });
  if (ran.ok() && has_moved) return ran;
  if (ran.ok()) return absl::AbortedError("others have changed the overrides meanwhile");
  // One that was rolled back because of others has not happened.
  if (!was_asked || absl::IsAborted(ran)) return absl::UnavailableError(ran.message());
  return absl::UnknownError(ran.message());
}

absl::StatusOr<std::vector<Event>> OverrideStore::ReadEvents(const EventQuery& query) {
  std::vector<Event> events;
  const auto read = [&](pqxx::transaction_base& work) {
    events.clear();
    const std::string sql = absl::StrCat(
        "SELECT ", kColumns, ", e.id, e.happened_at_ns, e.kind, e.actor, e.reason, e.change",
        " FROM headgate_store.override_event AS e",
        " LEFT JOIN headgate_store.override AS o ON o.id = e.override_id",
        " WHERE e.happened_at_ns >= '", NanosOf(query.from), "' AND e.happened_at_ns < '",
        NanosOf(query.to), "'",
        query.before_id == 0 ? "" : absl::StrCat(" AND e.id < ", query.before_id),
        query.override_id == 0 ? "" : absl::StrCat(" AND e.override_id = ", query.override_id),
        " ORDER BY e.id DESC LIMIT ", query.most);
    for (const auto& row : work.exec(sql)) events.push_back(ReadEvent(row));
  };
  if (absl::Status ran = transactor_.Run(Scope::kStatement, timeout_, read); !ran.ok()) return ran;
  return events;
}

}  // namespace headgate::store
