// What has to come out of a step, held against what came out.
//
//   Complaints wrong = Compare(step["expect"], outcome, names, Place::kFake);
#pragma once

#include <headgate/client.h>
#include <headgate/lease.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::client {

enum class Place { kFake, kServer };

// What has arrived at the fake since it was asked last.
struct Seen {
  std::vector<CheckRequest> checks;
  std::vector<PermitReport> reports;
  size_t outstanding = 0;
  absl::Duration waited;
};

// What became of one piece of a lease, or of its wait.
struct Piece {
  bool admitted = false;
  bool for_good = false;    // it was refused, and waiting will not change that
  bool closed = false;      // its lease takes none any more
  bool asked_once = false;  // it did not wait, so that there is more to tell
  Admission admission = {};
};

// What was said of the pieces of all leases.
struct Told {
  std::vector<PieceCount> counts;  // one for each cause
  bool unmatched = false;          // of the log: no rule matches
  std::map<std::string, LeaseStats> leases;
  // On the fake only.
  double spent = 0, safe_spent = 0;
  int64_t pieces = 0;
  std::optional<double> actual_cost, busy_time;  // sums of what was told; in seconds
  size_t uses = 0;
  bool numbered = false;  // each use has a number of its own
  std::vector<CheckRequest> asks;
};

struct Outcome {
  absl::Status status;
  std::optional<Answer> answer;    // of a Check, or of the permit
  std::shared_ptr<Permit> permit;  // null: there is none
  absl::Duration took;
  std::optional<bool> done;
  std::optional<ReportStats> stats;
  std::optional<ReportResult> report;
  std::optional<Seen> seen;
  std::optional<Piece> piece;
  std::optional<LeaseStats> lease_stats;
  std::optional<Told> told;
  std::optional<std::vector<int64_t>> sizes;  // of chunks
  std::string asked;                          // "first" or "second"; empty: nobody wants to know
};

using Complaints = std::vector<std::string>;
// Exact to one part in a million, `absent`, or between bounds.
void CompareValue(const std::string& what, const YAML::Node& want, std::optional<double> got,
                  Complaints& complaints, bool judge_upper = true);
// The permit's number of an earlier answer.
using PermitOf = std::function<std::optional<uint64_t>(const std::string& name)>;

// An undefined `want` is none: it has to succeed then. Throws for an expectation that it does not
// know. Upper bounds of times are judged on the fake only.
Complaints Compare(const YAML::Node& want, const Outcome& got, const PermitOf& permit_of,
                   Place place);

}  // namespace headgate::client
