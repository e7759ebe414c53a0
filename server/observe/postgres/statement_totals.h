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
// Not all are compared, but kMost: which, is chosen after each reading by how often they ran of
// late. So one that was not compared has to come with its calls since the reading before, and
// counts from the reading after. Where it is compared from now on, what it ran until now is missing
// from the difference, and counts as what cannot be compared, unless it ran but once or twice:
// statements that are new each time have no say. What is left out by choice is not missed.
//
// What cannot be compared has run all the same: `ran` counts calls of all statements, and grows
// where the others cannot. Whoever reads the view says what ran besides the rows that it gives.
//
// A statement that runs seldom has a time that says nothing about now, and a report of minutes
// would drown a thousand short ones; so the times are of those that run at least kOften times a
// second.
//
// Thread-compatible. No I/O.
//
//   totals.Add(std::move(rows), "reset never", /*seconds=*/1.0);
//   totals.AddOthers(/*calls=*/170);
//   work.statements = totals.counted();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/observe/health/probe.h"

namespace headgate::postgres {

class StatementTotals {
 public:
  struct Row {
    std::string key;  // of a role, a database and a query
    double calls = 0;
    double seconds = 0;
    double squares = 0;  // s^2
    double ran = 0;  // of one that is not compared: calls since the reading before, as far as known
  };

  static constexpr size_t kMost = 200;  // are compared

  // `rows` has all that are compared and are still there, and may have others. `source` changes
  // where all counters began anew; `seconds` after the reading before.
  void Add(std::vector<Row> rows, const std::string& source, double seconds);
  // Of what Add was not given, or what was evicted in between, so many calls are known to have been
  // made since the reading before; absent: it is not known. After each Add.
  void AddOthers(std::optional<double> calls);
  void Forget() { source_.clear(); }

  const health::WorkCounters::Statements& counted() const { return counted_; }
  // Keys of those that the next reading has to have.
  std::vector<std::string> Compared() const;
  // How many of the newest reading's rows ran since the one before.
  size_t ran() const { return ran_; }

 private:
  static constexpr double kOften = 2, kSeldom = 1;  // times a second
  static constexpr double kMostLost = 0.1;          // of the calls
  static constexpr double kRepeated = 5;            // calls, of what is no statement of one time
  // What ran a few times in a fraction of a second need not run often.
  static constexpr double kLeastSeconds = 5;

  struct Entry {
    Row row;
    double rate = 0;    // calls a second, smoothed
    double missed = 0;  // calls a second, which it ran before it was compared
    bool is_timed = false;
    bool has_grown = false;  // was in two readings
    bool seen = false;       // in the newest reading
  };
  void Grow(Entry& entry, const Row& row, double seconds);
  void Meet(Entry& entry, const Row& row, double seconds);
  void Choose();

  std::string source_;   // empty: there is no reading before
  bool begins_ = false;  // with the newest reading
  absl::flat_hash_map<std::string, Entry> entries_;
  health::WorkCounters::Statements counted_;
  size_t ran_ = 0;
};

}  // namespace headgate::postgres
