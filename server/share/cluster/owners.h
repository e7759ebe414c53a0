// Who decides for a target, as whoever is asked about one wants to know it.
//
// Each target has one owner at a time. A server decides only for targets that it owns, forwards
// what it is asked about the others to their owners, and holds what nobody owns just now until that
// changes.
//
// Thread-safe. OwnerOf takes no lock and allocates nothing for a target of one's own, so that it
// may stand in the path of each Check. Where a server is alone, AloneOwners says that everything is
// its own.
//
//   const DecisionScope scope(owners.decisions());
//   const Owner owner = owners.OwnerOf(target, now);
//   if (owner.kind == Owner::Kind::kSelf) engine.Check(request, now, answer);

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "server/share/cluster/decision_scope.h"

namespace headgate::cluster {

struct Owner {
  enum class Kind : uint8_t {
    kNobody,  // just now: it is being handed over, its owner has died, or the store is away
    kSelf,
    kOther,
  };
  Kind kind = Kind::kNobody;
  // Counts up with each change of the owner: a higher one is the newer. Of kNobody: the last known.
  uint64_t generation = 0;
  // Of kOther; else empty.
  std::string member = {};
  std::string address = {};  // where other servers reach it, "host:port"
};

// Is told that OwnerOf may answer something else than before.
class OwnersListener {
 public:
  virtual ~OwnersListener() = default;
  // Must return soon, and call neither Listen nor Leave. OwnerOf shows the change already. What
  // ends by time alone, a lease that was not renewed in time, is told within milliseconds of it.
  virtual void OwnersChanged() = 0;
};

class Owners {
 public:
  virtual ~Owners() = default;

  // For how long kSelf holds is looked up in `now.monotonic_ns`, which is therefore to be read
  // after the call arrived, and before the decision. A target that nobody has configured has no
  // owner.
  virtual Owner OwnerOf(std::string_view target, const Now& now) const = 0;

  // False: a target is nobody's just now, or was given away by this server so lately that its new
  // owner may not know yet. What was issued for it may then be known soon, though nobody knows it
  // now.
  virtual bool AllAreSettled(const Now& now) const = 0;

  // While this server does not reach the store, so that nobody it knows of can take a target over:
  // how many servers there were when the store answered last, this one among them. 0: it reaches
  // it, or knows nothing yet.
  virtual int ServersWithoutStore() const { return 0; }

  // What a decision for a target of one's own happens within: a target is handed over when all that
  // began before it was held have ended.
  virtual Decisions& decisions() = 0;

  // The listener outlives this, or leaves; no call is under way when Leave has returned.
  virtual void Listen(OwnersListener* listener) = 0;
  virtual void Leave(OwnersListener* listener) = 0;
};

// Of a server that has no store: it owns everything, and always will.
class AloneOwners : public Owners {
 public:
  Owner OwnerOf(std::string_view /*target*/, const Now& /*now*/) const override {
    return {.kind = Owner::Kind::kSelf};
  }
  bool AllAreSettled(const Now& /*now*/) const override { return true; }
  Decisions& decisions() override { return decisions_; }
  void Listen(OwnersListener* /*listener*/) override {}
  void Leave(OwnersListener* /*listener*/) override {}

 private:
  Decisions decisions_;
};

}  // namespace headgate::cluster
