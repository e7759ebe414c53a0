// What a server brings along to a deployment of several.
//
// Plain data.

#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace headgate::cluster {

// What an owner does whose lease has ended because the store is away.
enum class OnStoreLoss : uint8_t {
  kStop = 1,
  kKeep,         // it decides on while every server that could replace it agrees
  kApproximate,  // as kStop: what nobody owns is decided without an owner, elsewhere
};

struct ProtocolOptions {
  std::string name;          // of this member: no two servers have the same at a time
  uint64_t incarnation = 0;  // random, drawn at start; not 0
  std::string address;       // where other servers reach it, "host:port"
  absl::Duration lease = absl::Seconds(3);
  OnStoreLoss on_store_loss = OnStoreLoss::kStop;
  // Whoever drives this tries whether states can be kept: nothing is taken before that went well.
  bool tries_states = false;

  // Between the starts of two rounds: two may fail, or hang for that long, before a lease is no
  // longer trusted.
  absl::Duration period() const { return lease / 5; }
  // For how long an owner trusts a lease from the start of the attempt that renewed it, by its own
  // clock. The rest is the margin: a clock may run at half the rate of the store's, and nobody else
  // owns the target while this one believes to.
  absl::Duration trust() const { return lease / 2; }
  // How long a claimant has to see a row unchanged, by its own clock, whatever the store's clock
  // says: so that one that is set forward does not end all leases.
  absl::Duration patience() const { return lease; }
  // And after which it no longer asks the store's clock, which was set back then.
  absl::Duration long_patience() const { return 3 * lease; }
  // For how long who has agreed that an owner goes on without the store claims nothing of it, by
  // its own clock; the owner trusts the agreement for trust(), from the start of asking.
  absl::Duration promise() const { return 2 * lease; }
  // A member that came just now, and may go again, is given nothing before.
  absl::Duration settling() const { return lease; }
};

}  // namespace headgate::cluster
