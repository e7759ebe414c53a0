#include "server/share/store/round_sql.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <pqxx/array>
#include <pqxx/field>
#include <pqxx/result>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "server/share/store/schema.h"

namespace headgate::store {
namespace {

using cluster::RoundReply;
using cluster::RoundRequest;

// $0 name, $1 incarnation, $2 address, $3 state, $4 lease, $5 condition on the version, $6 number
// of the round, $7 whom it asks, $8 what it could own; that is bound to the incarnation, as a
// server of an earlier release leaves it as it is. What has not changed is not stored again. A
// round of a smaller number was given up long ago. A process that was seen in the time to come was
// seen before the store's clock was set back; one that lives on is seen anew in a round.
constexpr char kBeHere[] = R"sql(
self AS (
  INSERT INTO headgate_store.member AS m
    (name, incarnation, address, state, round, last_seen, drained, asks, offers, offers_of)
  SELECT $0, $1, $2, $3, $6, now(), false, $7, $8, $1 FROM headgate_store.version WHERE $5
  ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, address = excluded.address,
    state = excluded.state, round = excluded.round, last_seen = excluded.last_seen,
    asks = excluded.asks, offers_of = excluded.offers_of,
    offers = CASE WHEN m.offers = excluded.offers THEN m.offers ELSE excluded.offers END
  WHERE CASE WHEN m.incarnation = excluded.incarnation THEN m.round <= excluded.round
    ELSE m.last_seen <= now() - $4 OR m.last_seen >= now() + $4 END
  RETURNING *
))sql";

constexpr char kLeave[] = R"sql(
self AS (
  SELECT FROM headgate_store.version WHERE $5 AND NOT EXISTS (
    SELECT FROM headgate_store.member AS m
    WHERE m.name = $0 AND m.incarnation <> $1 AND m.last_seen > now() - $4
      AND m.last_seen < now() + $4)
),
gone AS (
  DELETE FROM headgate_store.member AS m USING self WHERE m.name = $0
  RETURNING m.name
))sql";

// $0 name, $1 lease, $2 renewals, $3 handovers, $4 claims, $5 incarnation, $6 condition on the
// receiver of a handover. What is not given as nobody is there to receive it is told as it is.
constexpr char kOwn[] = R"sql(,
renew (target, generation) AS ($2),
give (target, generation, receiver, receiver_incarnation) AS ($3),
claim (target, generation, renewal, unchanged) AS ($4),
renewed AS (
  UPDATE headgate_store.ownership AS o SET renewal = o.renewal + 1, expires_at = now() + $1
  FROM renew AS r
  WHERE EXISTS (SELECT FROM self) AND o.target = r.target AND o.owner = $0
    AND o.incarnation = $5 AND o.generation = r.generation
  RETURNING o.*
),
given AS (
  UPDATE headgate_store.ownership AS o SET owner = g.receiver,
    incarnation = g.receiver_incarnation, renewal = o.renewal + 1,
    generation = CASE WHEN g.receiver = '' THEN o.generation ELSE o.generation + 1 END,
    expires_at = CASE WHEN g.receiver = '' THEN now() ELSE now() + $1 END
  FROM give AS g
  WHERE EXISTS (SELECT FROM self) AND o.target = g.target AND o.owner = $0
    AND o.incarnation = $5 AND o.generation = g.generation AND (g.receiver = '' OR $6)
  RETURNING o.*
),
founded AS (
  INSERT INTO headgate_store.ownership AS o
    (target, owner, incarnation, generation, renewal, expires_at, preferred, state_generation, state_sequence)
  SELECT c.target, $0, $5, 1, 1, now() + $1, '', 0, 0 FROM claim AS c
  WHERE EXISTS (SELECT FROM self) AND c.generation = 0 AND c.renewal = 0
  ON CONFLICT (target) DO NOTHING
  RETURNING o.*
),
taken AS (
  UPDATE headgate_store.ownership AS o SET owner = $0, incarnation = $5, generation = o.generation + 1,
    renewal = o.renewal + 1, expires_at = now() + $1
  FROM claim AS c
  WHERE EXISTS (SELECT FROM self) AND o.target = c.target AND o.generation = c.generation
    AND o.renewal = c.renewal AND (c.unchanged OR o.owner = '' OR o.expires_at <= now())
  RETURNING o.*
),
changed AS (
  SELECT * FROM renewed UNION ALL SELECT * FROM given UNION ALL SELECT * FROM founded
  UNION ALL SELECT * FROM taken
),
owned AS (
  SELECT * FROM changed
  UNION ALL
  SELECT o.* FROM headgate_store.ownership AS o
  WHERE NOT EXISTS (SELECT FROM changed AS c WHERE c.target = o.target)
    AND NOT (o.owner = $0 AND o.incarnation = $5 AND EXISTS (
      SELECT FROM (SELECT target, generation FROM renew
        UNION ALL SELECT target, generation FROM give AS g WHERE g.receiver = '' OR $6) AS a
      WHERE EXISTS (SELECT FROM self) AND a.target = o.target AND a.generation = o.generation))
))sql";

// Of `give AS g`: its receiver is there, and takes what it is given. $0 the state of one that does,
// $1 name and $2 incarnation of the giver, whose own row is being written.
constexpr char kReceives[] =
    "((g.receiver = $1 AND g.receiver_incarnation = $2) OR EXISTS (SELECT FROM"
    " headgate_store.member AS m WHERE m.name = g.receiver AND m.incarnation ="
    " g.receiver_incarnation AND m.state = $0))";

// What the rows of the answer are.
constexpr char kStore = 's', kMember = 'm';

// $0 members as they are now. Each kind of row has its own meaning of the columns.
constexpr char kTell[] = R"sql(
SELECT 's' AS kind, '' AS a, '' AS b, '' AS c, version::bigint AS i, works_with::bigint AS j,
  (SELECT revision FROM headgate_store.override_revision) AS k, 0::bigint AS micros,
  EXISTS (SELECT FROM self) AS flag, NULL::text[] AS names, NULL::text[] AS offers
FROM headgate_store.version
UNION ALL
SELECT 'm', name, address, '', incarnation, round, state,
  (extract(epoch FROM now() - last_seen) * 1000000)::bigint, drained, asks,
  CASE WHEN offers_of = incarnation THEN offers END
FROM ($0) AS members
UNION ALL
SELECT 'o', target, owner, preferred, generation, renewal, incarnation,
  (extract(epoch FROM expires_at - now()) * 1000000)::bigint, false, NULL, NULL
FROM owned
)sql";
enum RoundColumn { kKind, kA, kB, kC, kI, kJ, kK, kMicros, kFlag, kNames, kOffers };

constexpr char kMembersWithSelf[] =
    "SELECT * FROM self UNION ALL SELECT m.* FROM headgate_store.member AS m"
    " WHERE NOT EXISTS (SELECT FROM self WHERE self.name = m.name)";
constexpr char kMembersWithoutSelf[] =
    "SELECT m.* FROM headgate_store.member AS m"
    " WHERE NOT EXISTS (SELECT FROM gone WHERE gone.name = m.name)";

// Random 64 bits, as the nearest that SQL has.
int64_t ToSql(uint64_t number) { return std::bit_cast<int64_t>(number); }
uint64_t FromSql(int64_t number) { return std::bit_cast<uint64_t>(number); }

std::string Interval(absl::Duration duration) {
  return absl::StrCat("interval '", absl::ToInt64Microseconds(duration), " microseconds'");
}

// As a table of so many columns, whose types are told by a row that does not count.
std::string Values(const std::vector<std::string>& rows, const std::string& types) {
  std::string none = absl::StrCat("SELECT ", types, " WHERE false");
  if (rows.empty()) return none;
  return absl::StrCat(none, " UNION ALL VALUES ", absl::StrJoin(rows, ", "));
}

std::string Names(const pqxx::transaction_base& work,
                  const std::optional<std::vector<std::string>>& names) {
  if (!names.has_value()) return "NULL::text[]";
  const auto quoted = [&](std::string* out, const std::string& name) {
    out->append(work.quote(name));
  };
  return absl::StrCat("ARRAY[", absl::StrJoin(*names, ", ", quoted), "]::text[]");
}

std::optional<std::vector<std::string>> NamesIn(const pqxx::field& field) {
  if (field.is_null()) return std::nullopt;
  std::vector<std::string> names;
  pqxx::array_parser parser = field.as_array();
  for (;;) {
    const auto [kind, text] = parser.get_next();
    if (kind == pqxx::array_parser::done) return names;
    if (kind == pqxx::array_parser::string_value) names.push_back(text);
  }
}

std::string OfferTexts(const pqxx::transaction_base& work, const cluster::SharedOffers& offers) {
  if (!offers.has_value()) return Names(work, std::nullopt);
  std::vector<std::string> texts;
  texts.reserve(offers->size());
  for (const auto& [target, offer] : *offers) {
    texts.push_back(cluster::EncodeOffer(target, offer));
  }
  return Names(work, texts);
}

cluster::SharedOffers OffersIn(const pqxx::field& field) {
  const std::optional<std::vector<std::string>> texts = NamesIn(field);
  if (!texts.has_value()) return {};
  cluster::Offers offers;
  for (const std::string& text : *texts) {
    if (auto offer = cluster::DecodeOffer(text)) offers.insert(*std::move(offer));
  }
  return offers;
}

std::string RenewRows(const pqxx::transaction_base& work, const RoundRequest& request) {
  std::vector<std::string> rows;
  for (const cluster::Held& held : request.renew) {
    rows.push_back(absl::StrCat("(", work.quote(held.target), ", ", held.generation, ")"));
  }
  return Values(rows, "''::text, 0::bigint");
}

std::string GiveRows(const pqxx::transaction_base& work, const RoundRequest& request) {
  std::vector<std::string> rows;
  for (const cluster::Handover& handover : request.give) {
    rows.push_back(absl::StrCat("(", work.quote(handover.target), ", ", handover.generation, ", ",
                                work.quote(handover.to), ", ", ToSql(handover.to_incarnation),
                                ")"));
  }
  return Values(rows, "''::text, 0::bigint, ''::text, 0::bigint");
}

std::string ClaimRows(const pqxx::transaction_base& work, const RoundRequest& request) {
  std::vector<std::string> rows;
  for (const cluster::Claim& claim : request.claim) {
    const bool unchanged = claim.condition == cluster::Claim::Condition::kUnchanged;
    rows.push_back(absl::StrCat("(", work.quote(claim.target), ", ", claim.generation, ", ",
                                claim.renewal, ", ", unchanged ? "true" : "false", ")"));
  }
  return Values(rows, "''::text, 0::bigint, 0::bigint, false");
}

}  // namespace

std::string RoundSql(const pqxx::transaction_base& work, const RoundRequest& request) {
  const cluster::MemberRow& self = request.self;
  const std::string name = work.quote(self.name);
  const std::string lease = Interval(request.lease);
  const std::string known =
      absl::StrCat("version >= ", kSchemaVersion, " AND works_with <= ", kSchemaVersion);
  return absl::StrCat(
      "WITH",
      absl::Substitute(request.leave ? kLeave : kBeHere, name, ToSql(self.incarnation),
                       work.quote(self.address), static_cast<int>(self.state), lease, known,
                       request.number, Names(work, self.asks), OfferTexts(work, self.offers)),
      absl::Substitute(kOwn, name, lease, RenewRows(work, request), GiveRows(work, request),
                       ClaimRows(work, request), ToSql(self.incarnation),
                       absl::Substitute(kReceives, static_cast<int>(cluster::MemberState::kServing),
                                        name, ToSql(self.incarnation))),
      absl::Substitute(kTell, request.leave ? kMembersWithoutSelf : kMembersWithSelf));
}

absl::StatusOr<RoundReply> ReadRound(const pqxx::result& rows) {
  RoundReply reply;
  SchemaVersion schema;
  for (const auto& row : rows) {
    const auto text = [&](RoundColumn column) { return row[column].as<std::string>(); };
    const auto number = [&](RoundColumn column) { return row[column].as<int64_t>(); };
    const absl::Duration span = absl::Microseconds(number(kMicros));
    switch (text(kKind)[0]) {
      case kStore:
        schema = {.version = static_cast<int>(number(kI)),
                  .works_with = static_cast<int>(number(kJ))};
        reply.overrides_revision = FromSql(number(kK));
        reply.name_is_taken = !row[kFlag].as<bool>();
        break;
      case kMember:
        reply.members.push_back({.row = {.name = text(kA),
                                         .incarnation = FromSql(number(kI)),
                                         .address = text(kB),
                                         .state = static_cast<cluster::MemberState>(number(kK)),
                                         .asks = NamesIn(row[kNames]),
                                         .offers = OffersIn(row[kOffers])},
                                 .round = FromSql(number(kJ)),
                                 .last_seen = span,
                                 .is_drained = row[kFlag].as<bool>()});
        break;
      default:
        reply.ownership.push_back({.target = text(kA),
                                   .owner = text(kB),
                                   .incarnation = FromSql(number(kK)),
                                   .generation = FromSql(number(kI)),
                                   .renewal = FromSql(number(kJ)),
                                   .remaining = span,
                                   .preferred = text(kC)});
    }
  }
  if (absl::Status known = CheckSchemaVersion(schema); !known.ok()) return known;
  return reply;
}

}  // namespace headgate::store
