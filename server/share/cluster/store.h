// The store as the protocol needs it: who is here, who owns what, and what an owner knows.
//
// A PostgreSQL-compatible database keeps three kinds of rows for it:
// - members: a name, which process has it (`incarnation`), its address, and when it was last here;
// - ownership: for each target its owner, which is a name and an incarnation, a generation that
//   counts up with each owner, a number that counts up with each renewal, and until when it is
//   owned, by the store's clock;
// - state: for each target, what its owner wrote.
//
// One Round each half second does all that membership and ownership need. Each call is one short
// transaction that happens whole or not at all. After an error that is not named here nobody knows
// which of the two; the protocol allows for both.
//
// Implementations are thread-safe: a Round may run beside a write of state, which never delays it.
// Calls block, for `timeout` at most. Errors of all: Unavailable (no connection, read-only, too
// many connections), DeadlineExceeded, PermissionDenied, FailedPrecondition (the schema is none
// that this program knows; the message says which of `headgate store init` and `upgrade` to use).
//
//   absl::StatusOr<RoundReply> reply = store.Round(request, absl::Milliseconds(500));

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/share/cluster/offers.h"

namespace headgate::cluster {

// What a member says of itself.
enum class MemberState : uint8_t {
  kServing = 1,
  kLeaving = 2,  // it is about to stop: it is given nothing, and gives away what it has
};

struct MemberRow {
  std::string name;
  uint64_t incarnation = 0;  // random, drawn by each process at its start; not 0
  std::string address;       // "host:port", for other servers
  MemberState state = MemberState::kServing;
  // Whom it asks whether it may decide on while the store is away, and who alone may claim what it
  // owns; absent: it never does, and anybody may.
  std::optional<std::vector<std::string>> asks = {};
  // What it could own; absent: it says nothing of that, as earlier releases do.
  SharedOffers offers = {};
};

// A target's owner, as a compare-and-set wants it.
struct Held {
  std::string target;
  uint64_t generation = 0;
};

// A wish to own a target. It is granted by the next generation, `lease` long, where the row still
// has this generation and renewal (0 and 0: there is no row yet), and the condition holds.
struct Claim {
  enum class Condition : uint8_t {
    kExpired,    // nobody owns it, or its lease has ended by the store's clock
    kUnchanged,  // none: the claimant itself has waited long enough, and the store's clock is wrong
  };
  std::string target;
  uint64_t generation = 0;
  uint64_t renewal = 0;
  Condition condition = Condition::kExpired;
};

struct Handover {
  std::string target;
  uint64_t generation = 0;  // the giver's
  // Who owns it by the next generation, `lease` long, where that process is a member that serves;
  // else nothing is given. Empty: nobody, it is free at once, and keeps its generation.
  std::string to = {};
  uint64_t to_incarnation = 0;  // the process of that name; 0: nobody
};

// What is in it is done in this order, each where its condition holds, else left as it is.
struct RoundRequest {
  // Makes or renews the row of this name. Where another incarnation has it that was here less than
  // `lease` ago, nothing at all is done, and the reply says `name_is_taken`. Nor is where a later
  // round of this one was done already: nobody waits for that reply.
  MemberRow self;
  uint64_t number = 0;  // counts up from 1 on
  absl::Duration lease;
  // Of rows that this very process owns, by this generation; none of them is also given.
  std::vector<Held> renew = {};
  std::vector<Handover> give = {};
  std::vector<Claim> claim = {};
  // Removes this member's row: it has nothing any more, and stops.
  bool leave = false;
};

struct MemberView {
  MemberRow row;
  // The number of its newest Round, by which others see it live by their own clocks.
  uint64_t round = 0;
  absl::Duration last_seen;  // how long ago, by the store's clock
  bool is_drained = false;   // by an operator: it is given nothing, and gives away what it has
};

struct OwnershipView {
  std::string target;
  std::string owner;         // empty: nobody
  uint64_t incarnation = 0;  // the owner's; 0: nobody
  uint64_t generation = 0;   // from 1 on; counts up with each owner, and never back
  uint64_t renewal = 0;      // counts up with each change of the row
  absl::Duration remaining;  // of the lease, by the store's clock; zero or less: it has ended
  // Where an operator has moved it to: it stays there while that member is here. Empty: nowhere.
  std::string preferred;
};

// Everything as it is at the end of the transaction.
struct RoundReply {
  bool name_is_taken = false;
  std::vector<MemberView> members = {};
  std::vector<OwnershipView> ownership = {};
  uint64_t overrides_revision = 0;  // counts up with each change of the overrides
};

// What an owner knows of a target: a whole, and changes since, each of which needs those before it.
struct StateWrite {
  std::string_view target;
  uint64_t generation = 0;
  // Counts up within a generation, from 1 on. A whole replaces all that was written before; a
  // change follows the one with the number before it, of the same generation.
  uint64_t sequence = 0;
  enum class Kind : uint8_t { kWhole = 1, kChange = 2 } kind = Kind::kWhole;
  // How long ago the owner copied this, by its own clock.
  absl::Duration age;
  // Nothing was admitted since, nor will be by this generation: it is being handed over.
  bool is_final = false;
  std::string_view bytes;
  // Of a whole: what the owner measured of the target last, as a TargetStates has it.
  std::string_view health = {};
};

struct StoredState {
  uint64_t generation = 0;  // that wrote it
  std::string whole;
  std::vector<std::string> changes = {};  // in order
  // How long ago the newest of it was copied: its `age`, and what has passed since by the store's
  // clock, which may have been set since then.
  absl::Duration age;
  // It was written as final, and no later generation but the reader's has read it: nothing was
  // admitted since.
  bool is_final = false;
  std::string health = {};  // as the whole has it; empty: nothing was measured
};

// Of one target.
using ReadState = absl::StatusOr<std::optional<StoredState>>;

class Store {
 public:
  virtual ~Store() = default;

  virtual absl::StatusOr<RoundReply> Round(const RoundRequest& request, absl::Duration timeout) = 0;

  // Of several targets, none of them twice, in one statement: what became of each, in order.
  // Aborted: the target has another generation by now, so that this server is not its owner, and
  // nothing was written. The lease's end by the clock does not matter: nobody has taken it since.
  // DataLoss: it does not follow what is there; write the whole.
  virtual std::vector<absl::Status> WriteStates(absl::Span<const StateWrite> writes,
                                                absl::Duration timeout) = 0;
  absl::Status WriteState(const StateWrite& write, absl::Duration timeout) {
    return WriteStates({&write, 1}, timeout).front();
  }

  // Of the owner by these generations, of several targets, none of them twice, in one statement.
  // Who reads a final state may go on from it, and so leaves a mark there, with which it is final
  // for nobody else any more; reading again is harmless. None: nobody ever wrote any. Aborted: as
  // above. DataLoss: what is there makes no whole.
  virtual std::vector<ReadState> ReadStates(absl::Span<const Held> targets,
                                            absl::Duration timeout) = 0;
  ReadState ReadOne(const Held& held, absl::Duration timeout) {
    return std::move(ReadStates({&held, 1}, timeout).front());
  }

  // Whether states can be read and written, by what WriteStates and ReadStates go through: writes a
  // row of nobody's, and reads it. One row for each process, which is removed an hour after its
  // last time by whoever tries then.
  virtual absl::Status TryStates(uint64_t incarnation, absl::Duration timeout) = 0;

  // What operators order, durable before the answer; each server sees it in its next Round.
  // NotFound: there is no such member, or target.
  virtual absl::Status SetDrained(std::string_view member, bool drained,
                                  absl::Duration timeout) = 0;
  // Empty: wherever it would be.
  virtual absl::Status SetPreferred(std::string_view target, std::string_view member,
                                    absl::Duration timeout) = 0;
};

}  // namespace headgate::cluster
