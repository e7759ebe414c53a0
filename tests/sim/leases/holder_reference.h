// HolderReference: which lease each piece of a holder is of, and whether what the holder says of
// its leases is true.
//
// Pieces are of the oldest lease that still has time and room. One that is over, or has too little
// for a piece while there is a later one, is done with. What no lease has room for is of the latest
// one's safe rate. It is worked out from these sentences alone.
//
// Thread-compatible. Times are nanoseconds of the holder's own clock.
//
//   holder.Hold(record, amount, ends_ns);
//   holder.Look(cost, now_ns);
//   HolderReference::Taken taken = holder.Take(cost, now_ns);
//   std::string wrong = holder.Hear(report);

#pragma once

#include <headgate/check.h>

#include <cstdint>
#include <deque>
#include <string>

#include "tests/sim/leases/lease_record.h"

namespace headgate::leases {

class HolderReference {
 public:
  void Hold(SharedLease record, const client::GrantedLease& lease, int64_t ends_ns);
  // The holder is asked for a piece.
  void Look(double cost, int64_t now_ns);
  // It has admitted it: of which lease, and whether at its safe rate. Null: there is none.
  struct Taken {
    SharedLease lease = {};
    bool is_safe = false;
  };
  Taken Take(double cost, int64_t now_ns);
  // It has refused it.
  void CountRefused() { ++refused_; }
  // The holder says what became of a lease. Returns what is not true of it; empty: all is.
  std::string Hear(const client::PermitReport& report);
  // The holder has closed, and has said all: what it has not said; empty: nothing.
  std::string Missing() const;

  int64_t admitted() const { return admitted_; }

 private:
  struct Held {
    SharedLease record;
    double left = 0;
    double largest_piece = 0;
    int64_t ends_ns = 0;
    bool is_done = false;
  };
  std::string HearCounts(const client::LeaseUse& use, int64_t pieces);

  std::deque<Held> held_;
  int64_t admitted_ = 0, refused_ = 0;
  int64_t told_admitted_ = 0, told_refused_ = 0;
};

}  // namespace headgate::leases
