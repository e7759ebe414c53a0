#include "server/decide/engine/lease_names.h"

#include <algorithm>
#include <limits>

namespace headgate::engine {

bool LeaseNames::MakeRoom(Stripe& stripe, int64_t now_ns) {
  if (stripe.holders.size() < kMostOfStripe) return true;
  if (now_ns < stripe.full_until_ns) return false;
  int64_t next_ns = std::numeric_limits<int64_t>::max();
  for (auto holder = stripe.holders.begin(); holder != stripe.holders.end();) {
    const auto current = holder++;
    if (current->second.ends_at_ns <= now_ns) {
      stripe.holders.erase(current);
    } else {
      next_ns = std::min(next_ns, current->second.ends_at_ns);
    }
  }
  stripe.full_until_ns = next_ns;
  return stripe.holders.size() < kMostOfStripe;
}

void LeaseNames::Note(uint64_t subject_key, std::string_view identity, int64_t ends_at_ns,
                      int64_t now_ns) {
  Stripe& stripe = stripes_[StripeOf(subject_key)];
  MutexLock lock(&stripe.mutex);
  auto known = stripe.holders.find(subject_key);
  if (known == stripe.holders.end()) {
    if (!MakeRoom(stripe, now_ns)) return;
    known = stripe.holders.try_emplace(subject_key, Holder{std::string(identity)}).first;
  }
  known->second.ends_at_ns = std::max(known->second.ends_at_ns, ends_at_ns);
}

std::string LeaseNames::Find(uint64_t subject_key) const {
  const Stripe& stripe = stripes_[StripeOf(subject_key)];
  MutexLock lock(&stripe.mutex);
  const auto known = stripe.holders.find(subject_key);
  return known == stripe.holders.end() ? std::string() : known->second.identity;
}

}  // namespace headgate::engine
