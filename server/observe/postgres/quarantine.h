// Quarantine: which of the operator's queries are not asked for a while, since they spoil the
// session that runs them.
//
// A query that is no query (BEGIN, COPY, SET, ...) is one at once. One during which the session was
// lost is one the second time in a row: somebody may have ended the session, or the server, just
// then. The first time counts however long ago it was, so that a query that takes the whole server
// down does so no more than twice.
//
// Thread-compatible. Pure: times are monotonic nanoseconds.
//
//   Quarantine quarantine;
//   if (absl::Status why = quarantine.Check(sql, now_ns); !why.ok()) ...  // not asked, and why
//   quarantine.NoteLost(sql, status, now_ns);
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::postgres {

class Quarantine {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(30);

  // OK: it may be asked. Else what it did when it was asked last.
  absl::Status Check(const std::string& sql, int64_t now_ns) const;

  // The session outlived it.
  void NoteKept(const std::string& sql) { suspects_.erase(sql); }
  void NoteLost(const std::string& sql, const absl::Status& status, int64_t now_ns);
  // It is certain that the query did that to its session.
  void NoteSpoilt(const std::string& sql, const absl::Status& status, int64_t now_ns);

 private:
  // Queries come from the configuration: more than so many are what reloads have left behind.
  static constexpr size_t kMax = 1000;

  struct Suspect {
    absl::Status why;  // OK: lost a session once
    int64_t until_ns = 0;
  };
  absl::flat_hash_map<std::string, Suspect> suspects_;  // by SQL
};

}  // namespace headgate::postgres
