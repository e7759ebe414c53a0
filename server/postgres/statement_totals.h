// StatementTotals: what the foreground's statements came to, from one reading of pg_stat_statements
// to the next.
//
// Entries are compared one by one, so that resets and evictions spoil little: what is in both
// readings and has grown counts. Where what cannot be compared was more than a tenth of what ran,
// the difference says nothing, and another generation begins. The mean and the variance of each
// statement's times between two readings follow exactly, from sums of times and of their squares.
// The variance that counts is within statements: what differs between short and long ones is large,
// always there, and would hide how much less even each of them has become.
//
// A statement that runs seldom has a time that says nothing about now, and a report of minutes
// would drown a thousand short ones; so the times are of those that run at least kOften times a
// second.
//
// Thread-compatible. No I/O.
//
//   totals.Add(std::move(rows), "reset never", /*seconds=*/1.0);
//   work.statements = totals.counted();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/health/probe.h"

namespace headgate::postgres {

class StatementTotals {
 public:
  struct Row {
    std::string key;  // of a role, a database and a query
    double calls = 0;
    double seconds = 0;
    double squares = 0;  // s^2
  };

  // `source` changes where all counters began anew; `seconds` after the reading before.
  void Add(std::vector<Row> rows, const std::string& source, double seconds);
  void Forget() { source_.clear(); }

  const health::WorkCounters::Statements& counted() const { return counted_; }

 private:
  static constexpr double kOften = 2, kSeldom = 1;  // times a second
  static constexpr double kMostLost = 0.1;          // of the calls

  struct Entry {
    Row row;
    double rate = 0;  // calls a second, smoothed
    bool is_timed = false;
    bool seen = false;  // in the newest reading
  };
  void Grow(Entry& entry, const Row& row, double seconds);

  std::string source_;  // empty: there is no reading before
  absl::flat_hash_map<std::string, Entry> entries_;
  health::WorkCounters::Statements counted_;
};

}  // namespace headgate::postgres
