// RefusedPieces: what a holder of leases has refused and not yet told the server, by cause.
//
// Of a piece that found no room the next answer to an ask says why. Until then it is unexplained,
// and not among what is taken.
//
// Thread-compatible. Causes are bounded: what comes beyond is counted by its reason alone.
//
//   refused.Add(kNoRoom, 3);
//   refused.Explain(CauseOf(answer));
//   use.counts = refused.Take();

#pragma once

#include <headgate/check.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace headgate::client::internal {

// As the throttle log has it: reason, limit, budget, rule and signal.
using Cause = std::tuple<Reason, std::optional<LimitKind>, std::string, std::string, std::string>;

inline const Cause kNoRoom = {Reason::kCapacity, std::nullopt, {}, {}, {}};

// Of pieces that an answer refuses, or lets through with a warning: with the names of the limit
// that takes longest to admit them.
Cause CauseOf(const Answer& answer);

class RefusedPieces {
 public:
  void Add(const Cause& cause, double cost);
  // What refused those that are unexplained.
  void Explain(const Cause& cause);
  bool IsEmpty() const { return by_cause_.empty() && unexplained_.pieces == 0; }
  std::vector<PieceCount> Take();

  // When it was noticed that there are any: by `Notice`, and 0 before it.
  int64_t noticed_ns() const { return noticed_ns_; }
  void Notice(int64_t now_ns) { noticed_ns_ = noticed_ns_ == 0 ? now_ns : noticed_ns_; }

 private:
  struct Sum {
    int64_t pieces = 0;
    double cost = 0;
  };

  void AddSum(const Cause& cause, const Sum& sum);

  std::map<Cause, Sum> by_cause_;
  Sum unexplained_;
  int64_t noticed_ns_ = 0;
};

}  // namespace headgate::client::internal
