// The protocol by which servers divide targets among them, as a state machine without I/O.
//
// Events come in as calls, with the time; Tick says what to do. Whoever drives it does that, and
// reports what became of it, in any order and after any time: nothing here depends on an answer
// being quick, or coming at all.
//
// What it guarantees, given that no clock runs at less than half the rate of the store's, or of
// another server's where the store's is set meanwhile:
// - At no time do two servers find a target their own. A lease is trusted for half its length from
//   the start of the attempt that renewed it, and nobody claims it before all of it has passed,
//   without a renewal, by the store's clock and by the claimant's own.
// - What an owner writes is found by the next one, or refused: writes carry the generation.
// - An owner whose lease ran out, and has not been taken by another, goes on with what it has.
// - Where owners may decide on without the store, that holds while no two processes have one name
//   at a time, whatever else happens (store_outage.h).
// - From the beginning of a handover its giver only goes forward: its last state says that it is
//   the last, and a lost answer may mean that the next owner is at work already. Where that one has
//   gone, the giver gives to somebody else, or anew to itself.
// - A server that leaves is given nothing once the store knows that it does, and gives on what it
//   was given before. What somebody was given who never took it up is handed over all the same.
// - A server that cannot read or write states gives what it has to who can, and needs no last state
//   for that: the next owner learns then, as after a crash.
//
// Thread-compatible. Times are monotonic nanoseconds of one clock.
//
//   Protocol protocol(options);
//   protocol.SetTargets({"main"});
//   for (const Action& action : protocol.Tick(now_ns)) Do(action);
//   ... wait for an answer, or until protocol.NextTick(now_ns) ...
//   protocol.OnRound(reply, started_ns, now_ns);

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/share/cluster/observations.h"
#include "server/share/cluster/protocol_options.h"
#include "server/share/cluster/state_keeping.h"
#include "server/share/cluster/store.h"
#include "server/share/cluster/store_outage.h"

namespace headgate::cluster {

// To do; each is answered once, by the event that is named.
struct StartRound {  // OnRound
  RoundRequest request;
};
// Read what the owner before wrote, and go on from there.
struct Take {  // OnTaken
  Held held;
};
// The target is held: wait for the decisions that are under way, and write the whole as final.
struct Save {  // OnSaved
  Held held;
};
// The target was given to this server, which cannot have it and decided nothing: write what the
// owner before wrote as this generation's own.
struct PassOn {  // OnSaved
  Held held;
};
// Without an answer:
struct Drop {  // it has another owner: forget it
  Held held;
};
// Let another server know now, rather than in its next round, who owns a target: the one that it
// was given to, or all that it has a new owner who decides. It may be lost.
struct Tell {
  MemberRow to;
  Held held;
  uint64_t owner_incarnation = 0;
};
// Ask a member whether this server may decide on while the store is away (OnKeepAnswer).
struct AskToKeep {
  MemberRow to;
  uint64_t asking = 0;
  absl::Duration patience;  // for an answer
  std::vector<Held> held = {};
};
// Measure a target from now on, or no longer. OnMeasured tells how that goes, whenever it changes.
struct Measure {
  std::string target;
  bool wanted = false;
};
using Action = std::variant<StartRound, Take, Save, PassOn, Drop, Tell, AskToKeep, Measure>;

// What another server asks by that.
struct KeepQuestion {
  std::string to;    // whom it means
  std::string name;  // its own
  uint64_t incarnation = 0;
  std::vector<Held> held = {};
};

// How a target of one's own fares.
enum class Phase : uint8_t {
  kTaking = 1,  // reading what the owner before wrote
  kServing,
  kSaving,  // held, and being written for the next owner
  kGiving,  // written; the next round gives it away
};

struct Holding {
  uint64_t generation = 0;
  Phase phase = Phase::kTaking;
  int64_t since_ns = 0;  // of the phase
  // From the start of the attempt that renewed it last.
  int64_t trusted_until_ns = 0;
  bool is_asked = false;     // its Take, Save or PassOn is under way
  bool is_untouched = true;  // nothing was decided by this generation
  int64_t retry_at_ns = 0;   // of that
  absl::Status status;       // of the newest attempt
};

// Who decides for a target, as of one moment.
struct OwnerRow {
  enum class Kind : uint8_t { kNobody, kSelf, kOther } kind = Kind::kNobody;
  uint64_t generation = 0;
  std::string member, address;   // of kOther
  int64_t trusted_until_ns = 0;  // of kSelf
  // Somebody who is here has it in its configuration: it is nobody's for a moment only.
  bool is_offered = true;
};

class Protocol {
 public:
  explicit Protocol(ProtocolOptions options)
      : options_(std::move(options)),
        seen_(options_),
        outage_(options_),
        states_(options_.lease, options_.tries_states) {}
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  // Those that are configured, each with the hash of what matters for it (Offer), in place of what
  // was said before.
  void SetTargets(const std::map<std::string, uint64_t>& targets);

  std::vector<Action> Tick(int64_t now_ns);
  // When there is something to do, unless an event comes before.
  int64_t NextTick(int64_t now_ns) const;

  // `started_ns` was read before the attempt began. An error may come though the store did it all.
  void OnRound(const absl::StatusOr<RoundReply>& reply, int64_t started_ns, int64_t now_ns);
  void OnTaken(const Held& held, const absl::Status& status, int64_t now_ns);
  void OnSaved(const Held& held, const absl::Status& status, int64_t now_ns);
  // How measuring goes that was wanted: whether the target's servers answer, and if not, why.
  // Whether that says anything new.
  bool OnMeasured(const std::string& target, Measures measures, const std::string& why,
                  int64_t now_ns);
  // What became of reading or writing states, or of trying to. Who cannot for a lease says so, is
  // given nothing, and a lease later gives what it has to who can; by then others that fail alike
  // have said so too. Where nobody can, owners go on with what they have.
  // Whether that says anything new.
  bool OnStatesTried(const absl::Status& status, int64_t now_ns);
  // Another server says that a target has a new owner: this one, or an earlier process of its name,
  // or a third.
  void OnTold(uint64_t owner_incarnation, const Held& held, int64_t now_ns);
  // `asking` is the question's; `started_ns` was read before it was asked. No answer is a refusal.
  void OnKeepAnswer(const std::string& name, uint64_t asking, bool agrees, int64_t started_ns);
  // OK: this server agrees, and is bound by it. Else why not.
  absl::Status Agree(const KeepQuestion& question, int64_t now_ns);
  // Gives everything away, and goes.
  void Leave();
  // After Leave: everything is given away, and the row removed.
  bool HasLeft() const { return has_left_; }
  // After Leave: nothing can be given away, since the store has not answered for a lease, or never.
  bool LeavesInVain(int64_t now_ns) const;

  // Of each target that is configured, here or at another server that is here, or that somebody
  // owned and did not give away.
  std::map<std::string, OwnerRow> Owners(int64_t now_ns) const;
  // See Owners::ServersWithoutStore.
  int ServersWithoutStore() const;
  // This server decides for it now.
  bool IsMine(const std::string& target, int64_t now_ns) const;

  // For status.
  const ProtocolOptions& options() const { return options_; }
  const std::map<std::string, Holding>& holdings() const { return holdings_; }
  const Observations& seen() const { return seen_; }
  bool name_is_taken() const { return name_is_taken_; }
  bool is_leaving() const { return is_leaving_; }
  const absl::Status& round_status() const { return round_status_; }  // of the newest one
  // Since when rounds have gone well, or have not; at first, since the first of them was wanted.
  int64_t round_status_since_ns(int64_t now_ns) const {
    return round_status_since_ns_.value_or(now_ns);
  }
  // The store is away, and this server asks whether it may decide on with what it has.
  bool AsksToKeep() const;
  const StoreOutage& outage() const { return outage_; }
  const StateKeeping& states() const { return states_; }

 private:
  // What is configured here.
  struct Own {
    Offer offer;
    std::string measured_why = {};  // as OnMeasured has it
    bool is_measured = false;       // it was asked for
    int64_t try_again_ns = 0;       // of one that could not be measured, or not all of it
    int failures = 0;               // of that, one after the other
    // Of one that is held: measuring goes worse since then, and counts when it lasts.
    std::optional<int64_t> worse_since_ns;
    Measures worse = Measures::kUntried;
    std::string worse_why;
  };
  void NoteOwn(const RoundReply& reply, int64_t started_ns, int64_t now_ns);
  // Whether the round that was answered renewed it. Only then it is trusted: what looks like the
  // grant of a claim may be that of an earlier one, whose answer was lost.
  bool WasRenewed(const Held& held) const;
  // What the round that was answered gave is this server's still, as its receiver takes nothing.
  bool HasGivenInVain() const;
  // Of this very process: one of the same name may still believe in a generation of its own.
  bool IsOwn(const OwnershipView& row) const {
    return row.owner == options_.name && row.incarnation == options_.incarnation;
  }
  Handover HandoverOf(const std::string& target, uint64_t generation, int64_t now_ns) const;
  std::string PlaceAmong(const std::string& target, const std::vector<std::string>& members) const;
  // Who should have it, and whose turn it would be to measure it first.
  std::string PlaceOfTarget(const std::string& target, int64_t now_ns) const;
  // To whom a target should go; empty: to nobody, and it stays.
  std::string DestinationOf(const std::string& target, int64_t now_ns) const;
  bool IsNewerThanSeen(const Held& held) const;
  // Fills in who is the owner, if that is a member that was seen.
  void FillOwner(uint64_t generation, uint64_t incarnation, OwnerRow& owner) const;
  // Lets all others know that this server decides from now on.
  void Announce(const Held& held);
  int64_t TrustedUntil(const Holding& holding, int64_t now_ns) const;
  // The row of an owner that may decide without the store, and so be replaced by some alone. Null:
  // anybody may.
  const MemberRow* KeeperOf(const ObservedRow& row) const;
  // From when on what was agreed, by this process or an earlier one, no longer forbids a claim.
  int64_t MayReplaceAt(const ObservedRow& row) const;
  std::map<std::string, MemberRow> OthersHere() const;
  void AskAllToKeep(int64_t now_ns, std::vector<Action>& actions);
  bool MaySettle(const std::string& target, const std::string& to, int64_t now_ns) const;
  // Who leaves gives to whom it may, and first to who has measured the target.
  bool MayLeaveTo(const std::string& target, const std::string& to, int64_t now_ns) const;
  // Nobody whose turn it was has taken it for so long that it is this server's.
  bool IsOverdue(const Observations::Asked& asked, const ObservedRow& row) const;
  // Whether it is known how measuring goes, or has taken too long.
  bool MayTake(const std::string& target) const;
  int64_t TakeUnmeasuredAt(const Holding& holding) const;
  // What this server was given, or was about to take, and cannot have.
  void PassOnWhatCannotBeHad(int64_t now_ns);
  // This server cannot write the target's last state, and somebody else may go on without.
  bool GoesWithoutLastState(const std::string& target, int64_t now_ns) const;
  void FollowMeasuring(int64_t now_ns, std::vector<Action>& actions);
  void NoteStates(Own& own) const;
  void TellOffers();
  // Of whom Owners tells, and whether somebody who is here has it.
  std::map<std::string, bool> KnownTargets() const;
  // Whether this server should claim it, now.
  bool IsClaimable(const std::string& target, int64_t now_ns) const;
  void BeginHandovers(int64_t now_ns);
  void AskForStates(int64_t now_ns, std::vector<Action>& actions);
  RoundRequest MakeRound(int64_t now_ns);
  bool IsRoundDue(int64_t now_ns) const;
  Holding* Find(const Held& held);
  static void Enter(Holding& holding, Phase phase, int64_t now_ns);

  const ProtocolOptions options_;
  Observations seen_;
  StoreOutage outage_;
  StateKeeping states_;
  std::optional<int64_t> started_ns_;
  uint64_t round_number_ = 0;
  std::map<std::string, Own> targets_;
  // Whose turn it is changes with what is seen and said, and by itself when a member goes.
  bool turns_may_have_changed_ = true;
  int64_t next_turns_ns_ = 0;
  std::optional<int64_t> leaving_since_ns_;
  std::map<std::string, Holding> holdings_;
  std::map<std::string, uint64_t> told_;  // generations, to be renewed although not seen yet
  // Newer owners than the store's newest answer knows, as others told.
  struct News {
    uint64_t generation = 0;
    uint64_t incarnation = 0;
    int64_t heard_ns = 0;
  };
  std::map<std::string, News> news_;
  std::vector<Action> due_;  // of events, for the next Tick

  std::optional<RoundRequest> round_;  // under way
  int64_t next_round_ns_ = 0;
  bool is_urgent_ = true;
  absl::Status round_status_ = absl::UnavailableError("no round yet");
  std::optional<int64_t> round_status_since_ns_;
  bool name_is_taken_ = false;
  bool is_leaving_ = false;
  bool has_said_leaving_ = false;  // in the newest round that went well: it is given nothing more
  bool has_left_ = false;
};

}  // namespace headgate::cluster
