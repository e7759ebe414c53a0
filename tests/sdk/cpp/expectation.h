// What has to come out of a step, held against what came out.
//
//   Complaints wrong = Compare(step["expect"], outcome, names, Place::kFake);
#pragma once

#include <headgate/client.h>
#include <yaml-cpp/yaml.h>

#include <functional>
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

struct Outcome {
  absl::Status status;
  std::optional<Answer> answer;    // of a Check, or of the permit
  std::shared_ptr<Permit> permit;  // null: there is none
  absl::Duration took;
  std::optional<bool> done;
  std::optional<ReportStats> stats;
  std::optional<ReportResult> report;
  std::optional<Seen> seen;
  std::optional<std::vector<int64_t>> sizes;  // of chunks
  std::string asked;                          // "first" or "second"; empty: nobody wants to know
};

using Complaints = std::vector<std::string>;
// The permit's number of an earlier answer.
using PermitOf = std::function<std::optional<uint64_t>(const std::string& name)>;

// An undefined `want` is none: it has to succeed then. Throws for an expectation that it does not
// know. Upper bounds of times are judged on the fake only.
Complaints Compare(const YAML::Node& want, const Outcome& got, const PermitOf& permit_of,
                   Place place);

}  // namespace headgate::client
