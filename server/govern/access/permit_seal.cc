#include "server/govern/access/permit_seal.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/govern/access/digest.h"

namespace headgate::access {
namespace {

PermitSeal::Key KeyOf(uint64_t seed, std::string_view caller) {
  // The prefix keeps this use of the seed apart from others.
  const Digest digest = DigestOf(absl::StrCat("headgate permit ", seed, " ", Sv(caller)));
  PermitSeal::Key key;
  static_assert(sizeof(key) <= sizeof(digest));
  std::memcpy(key.data(), digest.data(), sizeof(key));
  return key;
}

}  // namespace

PermitSeal::PermitSeal(const Key& key) {
  uint32_t round = key[0];
  std::array<uint32_t, kRounds + 2> l{};
  for (size_t i = 0; i < 3; ++i) l[i] = key[i + 1];
  for (size_t i = 0; i < kRounds; ++i) {
    rounds_[i] = round;
    if (i + 1 == kRounds) break;
    l[i + 3] = (round + std::rotr(l[i], 8)) ^ static_cast<uint32_t>(i);
    round = std::rotl(round, 3) ^ l[i + 3];
  }
}

PermitSeal::PermitSeal(uint64_t seed, std::string_view caller) : PermitSeal(KeyOf(seed, caller)) {}

}  // namespace headgate::access
