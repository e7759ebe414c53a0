// StoreOutage: how owners go on while the store is away, and how others let them.
//
// An owner whose lease has ended may decide on while every server that could take a target from it
// has promised not to. Who those are stands in the store: each server that may keep writes with its
// rounds whom it would ask, and nobody else claims what it owns. So one server that does not
// answer, or has the store, is enough to stop the owner, and one that the owner has never heard of
// can neither stop nor replace it. All are needed and not most: any one of them could claim.
//
// Who agrees has found the store away itself. It then claims nothing of the asker's for much longer
// than the asker trusts the agreement, and neither does the next process of its name.
//
// Thread-compatible. Times are monotonic nanoseconds of one clock.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/share/cluster/protocol_options.h"
#include "server/share/cluster/store.h"

namespace headgate::cluster {

class StoreOutage {
 public:
  explicit StoreOutage(const ProtocolOptions& options) : options_(options) {}

  // Of an owner.
  // A round begins that writes these as those whom this server would ask.
  void BeginRound(std::map<std::string, MemberRow> others);
  // It has ended, and its answer has come: what it wrote is in the store. What was agreed is over.
  void EndRound();
  // Whom to ask now. Each is answered once, by OnAnswer.
  std::vector<MemberRow> Ask(int64_t now_ns);
  // `asking` is what asking() was by then.
  void OnAnswer(const std::string& name, uint64_t asking, bool agrees, int64_t started_ns);
  uint64_t asking() const { return asking_; }
  int64_t NextAsk() const;
  // Until when all agree; in the past: they do not.
  int64_t AgreedUntil(int64_t now_ns) const;
  // Those without whose agreement it stops now.
  std::vector<std::string> Missing(int64_t now_ns) const;

  // Of others.
  // A claim of what this member owns was sent: until an answer comes it may have been granted.
  void NoteClaim(const std::string& owner) { claimed_.insert(owner); }
  void ForgetClaims() { claimed_.clear(); }
  bool HasClaimed(const std::string& owner) const { return claimed_.contains(owner); }
  void Promise(const std::string& owner, int64_t now_ns);
  // From when on this server may claim what that member owns.
  int64_t BoundUntil(const std::string& owner) const;

 private:
  struct Answer {
    bool is_asked = false;
    int64_t agreed_until_ns = INT64_MIN;
    int64_t ask_at_ns = INT64_MIN;
  };

  const ProtocolOptions& options_;
  // Of all rounds that the store may have done last: any of these lists may be what is there.
  std::map<std::string, MemberRow> others_;
  std::map<std::string, MemberRow> newest_;  // of the round that is under way, or was last
  std::map<std::string, Answer> answers_;
  uint64_t asking_ = 0;  // counts answers of the store: what was asked before one does not count
  std::set<std::string> claimed_;
  std::map<std::string, int64_t> promised_until_ns_;
};

}  // namespace headgate::cluster
