#include "server/share/cluster/placement.h"

#include "common/hash.h"

namespace headgate::cluster {
namespace {

// No secret: a member's name is chosen by who runs it, and nothing is stored under these hashes.
constexpr uint64_t kPlacementSeed = 0x6a09e667f3bcc908;

}  // namespace

uint64_t PlacementScore(std::string_view target, std::string_view member) {
  return CombineHash(HashBytes(target, kPlacementSeed), HashBytes(member, kPlacementSeed));
}

std::string_view PlaceOf(std::string_view target, std::string_view preferred,
                         absl::Span<const std::string> members) {
  std::string_view best;
  uint64_t best_score = 0;
  for (const std::string& member : members) {
    if (member == preferred) return member;
    const uint64_t score = PlacementScore(target, member);
    // Of equal scores the first name, so that the order of the members does not matter.
    if (best.empty() || score > best_score || (score == best_score && member < best)) {
      best = member;
      best_score = score;
    }
  }
  return best;
}

}  // namespace headgate::cluster
