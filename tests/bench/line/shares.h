// Jobs that share a budget of a real server, over sockets: who gets how much of it.
//
// A job is an identity with so many workers, each of which asks, does its work in no time, and
// reports what it predicted. Workers wait in the server, or poll: then they come back when they are
// told to.
//
//   const Outcome outcome = Share(port, {{.identity = "a", .workers = 8}, {.identity = "b"}},
//   time);
//   ... outcome.cost[0] ...

#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::bench {

struct SharingJob {
  std::string identity;
  int workers = 1;
  double chunk = 10;  // cost units
  bool polls = false;
};

struct Sharing {
  std::vector<double> cost;  // admitted, of each job, in the second half and a little more
  double all = 0;            // admitted from the beginning
  double seconds = 0;        // from the first Check to the end

  double ShareOf(size_t job) const;
};

// Jain's index of what each got: 1 where all got the same, 1/n where one got everything.
double JainIndex(const std::vector<double>& shares);

// Ends the program where a call fails.
Sharing Share(int port, const std::vector<SharingJob>& jobs, absl::Duration time);

}  // namespace headgate::bench
