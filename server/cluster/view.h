// What a server knows of all: who is here, who owns what, and how the store fares. For people.
//
// Plain data, and a pure function that makes it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/cluster/protocol.h"

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
  std::string owner = {};  // a member; empty: nobody just now
  uint64_t generation = 0;
  std::string preferred = {};     // where an operator wants it; empty: wherever
  Phase phase = Phase::kServing;  // of one that is this server's
  bool is_self = false;
};

struct ClusterView {
  std::string self;
  std::vector<ViewedMember> members = {};  // by name
  std::vector<ViewedTarget> targets = {};  // those that are configured, by name
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
};

ClusterView ViewOf(const Protocol& protocol, int64_t now_ns);

// Where the view comes from, and what operators order goes to. Thread-safe.
class Control {
 public:
  virtual ~Control() = default;

  virtual ClusterView View() const = 0;
  // As Store's, durable when they return; servers act on it in their next rounds.
  virtual absl::Status SetDrained(std::string_view member, bool drained) = 0;
  virtual absl::Status SetPreferred(std::string_view target, std::string_view member) = 0;
};

}  // namespace headgate::cluster
