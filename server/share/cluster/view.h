// What a server knows of all: who is here, who owns what, and how the store fares. For people.
//
// Plain data, and a pure function that makes it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/share/cluster/protocol.h"

namespace headgate::cluster {

struct ViewedMember {
  MemberRow row = {};
  bool is_self = false;
  // Whether it is seen to go on. One that is not may be back: its row stays until somebody removes
  // it.
  bool is_here = false;
  bool is_drained = false;
  absl::Duration seen_ago = {};  // since it was seen to go on, by this server's clock
};

struct ViewedTarget {
  std::string target;
  std::string owner = {};  // a member; empty: nobody just now, or it is not known any more
  // Of which this is not known: who decided when the store answered last, and may know.
  std::string last_owner = {};
  uint64_t generation = 0;
  std::string preferred = {};  // where an operator wants it; empty: wherever
  // How differently those who are here have it configured: 1, all alike; 0, nobody has it.
  int configurations = 0;
  int servers = 0;                // that are here and have it
  Phase phase = Phase::kServing;  // of one that is this server's
  bool is_self = false;
};

// How a server decides for what has no owner, while the store is away (OnStoreLoss::kApproximate).
struct ApproximationView {
  bool is_deciding = false;  // since the store went away, it has
  int servers = 0;           // by which rates are divided
  // Since the start: Checks, of them those without a counter, and buckets of owners.
  int64_t admitted = 0;
  int64_t untracked = 0;
  int64_t uncharged_buckets = 0;
  int64_t charged_buckets = 0;
  int64_t lost_buckets = 0;
};

struct ClusterView {
  std::string self;
  std::vector<ViewedMember> members = {};  // by name
  std::vector<ViewedTarget> targets = {};  // those that somebody who is here has, by name
  // Of the newest round, and for how long it has been so.
  absl::Status store;
  absl::Duration store_since;
  // Another process has this server's name, which therefore owns nothing.
  bool name_is_taken = false;
  bool is_leaving = false;
  // While the store is away: whether all let this server decide on, or who does not. Of one that
  // never asks neither.
  bool is_kept = false;
  std::vector<std::string> not_agreeing = {};
  std::optional<ApproximationView> approximation = {};  // of a server that may
  // OK: the server reads and writes what owners know; else why not.
  absl::Status states = {};
  std::string store_note = {};  // what is worth knowing of how the store is reached; empty: nothing
};

ClusterView ViewOf(const Protocol& protocol, int64_t now_ns);

// Null: there is no such member.
const ViewedMember* FindMember(const ClusterView& view, std::string_view member);
// Empty: nobody.
std::string_view OwnerIn(const ClusterView& view, std::string_view target);
// How much of a target its owner measures; all, where it does not say.
Measures OwnersMeasures(const ClusterView& view, std::string_view target);

// Of each target that servers which are here do not have alike: who has which configuration, and
// who lacks it, in one line. Of those that say so.
std::map<std::string, std::string> Differences(const ClusterView& view);

// Whether a member could be given a target: it may lack it, or be unable to keep its state.
// FailedPrecondition, and why; NotFound: there is no such member. OK: nothing is known against it.
absl::Status MayHave(const ClusterView& view, std::string_view target, std::string_view member);
// Who is asked about a target; empty: nobody is known.
inline const std::string& AskedAbout(const ViewedTarget& target) {
  return target.owner.empty() ? target.last_owner : target.owner;
}
// Those that another server decides for, as far as is known.
std::vector<std::string> TargetsElsewhere(const ClusterView& view);

// Where the view comes from, and what operators order goes to. Thread-safe.
class Control {
 public:
  virtual ~Control() = default;

  virtual ClusterView View() const = 0;
  // How well a member that is here could measure a target, as it finds by trying. Unavailable: it
  // did not say in time. NotFound: it lacks the target.
  virtual absl::StatusOr<Offer> TryToMeasure(std::string_view target, std::string_view member) = 0;
  // As Store's, durable when they return; servers act on it in their next rounds.
  virtual absl::Status SetDrained(std::string_view member, bool drained) = 0;
  virtual absl::Status SetPreferred(std::string_view target, std::string_view member) = 0;
};

}  // namespace headgate::cluster
