#include "server/observe/control/rate_shares.h"

#include <cstddef>

namespace headgate::control {
namespace {

constexpr double kSatisfied = 0.7;  // who uses less of its share wants no more
constexpr double kRoom = 1.5;       // times as much as it uses is left to it
constexpr double kLeastRoom = 0.05;

double WantOf(const ShareClaim& claim) {
  if (claim.used >= kSatisfied * claim.had) return 1;
  return kRoom * claim.used + kLeastRoom;
}

}  // namespace

// Water is filled in: who wants less than the level has what it wants, and the others share the
// rest.
std::vector<double> DivideByWeight(absl::Span<const ShareClaim> claims) {
  std::vector<double> shares(claims.size());
  std::vector<bool> settled(claims.size());
  double left = 1, asking = 0;
  for (const ShareClaim& claim : claims) asking += claim.asks ? claim.weight : 0;
  double weights = asking;
  for (bool changed = true; changed && weights > 0;) {
    changed = false;
    const double level = left / weights;
    for (size_t i = 0; i < claims.size(); ++i) {
      const double want = WantOf(claims[i]);
      if (!claims[i].asks || settled[i] || want >= level * claims[i].weight) continue;
      shares[i] = want;
      settled[i] = changed = true;
      left -= want;
      weights -= claims[i].weight;
      break;  // the level has risen
    }
  }
  for (size_t i = 0; i < claims.size(); ++i) {
    const double weight = claims[i].weight;
    if (claims[i].asks && !settled[i]) shares[i] = left * weight / weights;
    if (!claims[i].asks) shares[i] = weight / (asking + weight);
  }
  // All are satisfied: what is left over is theirs as well, if they come to want it.
  if (weights <= 0 && asking > 0) {
    for (size_t i = 0; i < claims.size(); ++i) {
      if (claims[i].asks) shares[i] += left * claims[i].weight / asking;
    }
  }
  return shares;
}

}  // namespace headgate::control
