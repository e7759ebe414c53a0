// Checker: a job that asks for each chunk of work, beside the holders of leases. It waits in line
// or comes back, reports what its work cost, twice now and then, and sometimes never.
//
// Thread-compatible.
//
//   Checker checker(timeline, cluster, {.identity = "c1:a:etl", .least = 1, .most = 40});
//   checker.Start();

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "tests/sim/leases/cluster.h"
#include "tests/sim/leases/link.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {

struct CheckerNature {
  std::string identity;
  int team = 0;
  int target = 0;
  double least = 1, most = 1;  // cost
  bool waits_in_line = true;
};

class Checker {
 public:
  Checker(Timeline& timeline, Cluster& cluster, CheckerNature nature)
      : timeline_(timeline),
        cluster_(cluster),
        nature_(std::move(nature)),
        chance_(timeline.chance().Next()),
        link_(timeline, chance_) {}

  void Start() { Ask(); }
  Link& link() { return link_; }
  int64_t admitted() const { return admitted_; }

 private:
  void Ask();
  void Finish(const Reply& reply);

  Timeline& timeline_;
  Cluster& cluster_;
  const CheckerNature nature_;
  Chance chance_;
  Link link_;
  int64_t admitted_ = 0;
};

}  // namespace headgate::leases
