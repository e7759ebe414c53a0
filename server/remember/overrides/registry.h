// Registry: the overrides in force, in a store and in the engine, which it keeps the same.
//
// A change is written, put into force, committed, and copied, in this order; what fails before it
// is committed leaves all as it was. Where other servers change the store too, each change is made
// to what is there by then, and Follow puts into force what they have changed.
//
// Configurations go through Install, so that the rules of both meet in one place. An expiry is
// exact, since the engine itself looks at each rule's. The event of it bears the exact instant; it
// is among the events from then on, and written by EndExpired (expiry_writer.h) or with the next
// change. Nothing that reads writes.
//
// An override on a target that a new configuration no longer has is kept, and waits.
//
// Thread-safe. A change takes as long as the disk, or the store, and a reload. Other changes,
// Install and Events wait for it; List, ListExemptions and GetState do not. Nothing here is on the
// path of a Check.
//
//   auto registry = Registry::Open({.path = "overrides.db", .put = put}, clock);
//   absl::Status status = (*registry)->Install(config.policy);
//   absl::StatusOr<Override> made = (*registry)->Create(request);
//   (*registry)->Follow(reply.overrides_revision);  // of a store that others change too

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/spec.h"
#include "server/remember/overrides/override.h"
#include "server/remember/overrides/request.h"
#include "server/remember/overrides/store.h"

namespace headgate::overrides {

struct RegistryOptions {
  std::string path = {};
  // Puts a whole policy into force: the engine's Install. One call at a time; it must not call
  // back.
  std::function<absl::Status(engine::PolicySpec)> put = {};
  size_t max_in_force = 10'000;  // of one caller, where callers have names: half of them
  // Of everything, which have room of their own: an emergency stop is not kept out by others.
  size_t max_of_everything = 100;
};

// What an emergency stop does not stop.
struct Exemptions {
  size_t count = 0;
  std::vector<std::string> rules = {};  // the first names, the configuration's rules first
};

// The newest first.
struct ListQuery {
  std::optional<Selector> selector = {};  // only with exactly this one
  int64_t before_id = 0;                  // only with a lower id; 0: all
  size_t most = 100;
};

class Registry {
 public:
  // Reads what is in force in the file; see OverrideFile::Open for errors. The clock outlives the
  // registry.
  static absl::StatusOr<std::unique_ptr<Registry>> Open(RegistryOptions options, Clock& clock);
  // The same of another store. One that is shared may be away: then nothing is in force here, and
  // nothing can be changed, until it was read.
  static absl::StatusOr<std::unique_ptr<Registry>> Open(std::unique_ptr<Store> store,
                                                        RegistryOptions options, Clock& clock);

  // Puts a configuration's policy into force, the overrides' rules on top, and keeps it for when
  // those change. An error is that of `put`.
  absl::Status Install(engine::PolicySpec base) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns what is in force and on disk. InvalidArgument, ResourceExhausted (too many in force, or
  // too many of this caller), FailedPrecondition (nothing is installed yet), PermissionDenied (it
  // would lift the emergency stop that the message names, and may not), Unavailable (nothing has
  // changed; or nobody knows, which the message says then).
  absl::StatusOr<Override> Create(const CreateRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns what was ended. InvalidArgument, NotFound (it is not in force), PermissionDenied (by
  // `may_end`), Unavailable.
  absl::StatusOr<Override> Delete(const DeleteRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps in the list of events what is about to be done: it is on disk when this returns.
  // InvalidArgument (who, why), Unavailable (nothing has changed, and nothing may).
  absl::Status Record(const Deed& deed) ABSL_LOCKS_EXCLUDED(mutex_);

  // These two are of what was in force at the end of the newest change, and wait for nothing.
  std::vector<Override> List(const ListQuery& query) ABSL_LOCKS_EXCLUDED(state_mutex_);
  // The rules and overrides that exempt on a target, empty: on any; at most so many by name.
  Exemptions ListExemptions(const std::string& target, size_t most)
      ABSL_LOCKS_EXCLUDED(state_mutex_);
  // With expiries that are not written yet, by the numbers that they would get now. Unavailable:
  // the file, or the store, cannot be read.
  absl::StatusOr<std::vector<Event>> Events(const EventQuery& query) ABSL_LOCKS_EXCLUDED(mutex_);

  // Writes what has expired, if anything has: from then on it stays so, though the clock be set
  // back. To be called once in a while, of a shared store only while that answers; where it cannot
  // be written it is tried again by the next call.
  void EndExpired() ABSL_LOCKS_EXCLUDED(mutex_);

  // A shared store has this revision by now: puts into force what is there, unless it is already.
  // Reads the store only where something has changed.
  absl::Status Follow(uint64_t revision) ABSL_LOCKS_EXCLUDED(mutex_);
  // Where something could not be written: finds out whether it could be by now, for GetState.
  // Follow does it too.
  void TryToWrite() ABSL_LOCKS_EXCLUDED(mutex_);

  struct State {
    // What is in force is known. Of a shared store it is not before that was read for the first
    // time: until then nothing may be decided.
    bool is_loaded = false;
    uint64_t revision = 0;  // of a shared store
    size_t in_force = 0;
    std::vector<Override> stops;  // those of everything that pause or throttle, the newest first
    // How the newest change went, or why there can be none; OK again once there can be one.
    absl::Status status;
    std::string restored;  // that the file was damaged, and where it is now; empty: it was not
  };
  // For scrapes and status: it writes nothing, and waits for no change and no disk.
  State GetState() ABSL_LOCKS_EXCLUDED(state_mutex_);

 private:
  using InForce = std::map<int64_t, Override>;
  // What those who must not wait are told, as of the end of the newest change.
  struct Told {
    bool is_loaded = false;
    uint64_t revision = 0;
    std::shared_ptr<const InForce> in_force = std::make_shared<InForce>();
    std::shared_ptr<const engine::PolicySpec> base = {};  // null: none is installed
  };

  Registry(RegistryOptions options, Clock& clock, std::unique_ptr<Store> store)
      : options_(std::move(options)), clock_(clock), store_(std::move(store)) {}

  absl::Status Load() ABSL_LOCKS_EXCLUDED(mutex_);
  // What is in the store by now becomes what is in force.
  absl::Status ReadNews(const Now& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a change, and makes it again to what others have changed meanwhile. `change` returns a
  // status, or something that has one.
  template <typename Result>
  Result Retried(absl::FunctionRef<Result(const Now&)> change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Override> TryToCreate(const CreateRequest& request, const Now& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Override> TryToDelete(const DeleteRequest& request, const Now& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it is no resume that would lift an emergency stop without being allowed to.
  absl::Status LiftsNoStop(const CreateRequest& request, const Now& now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there may be one more: one caller alone cannot take the room of all.
  absl::Status HasRoom(const CreateRequest& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes it what is in force.
  void Keep(InForce next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_LOCKS_EXCLUDED(state_mutex_);
  const InForce& in_force() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return *in_force_; }
  Told ReadTold() const ABSL_LOCKS_EXCLUDED(state_mutex_);
  void TryToWriteAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_LOCKS_EXCLUDED(state_mutex_);
  // For GetState.
  void KeepStatus(const absl::Status& status) ABSL_LOCKS_EXCLUDED(state_mutex_);
  // What to answer to a change that failed; also keeps it for GetState.
  absl::Status NothingChanged(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts a policy with the rules of `in_force` into force.
  absl::Status Put(const engine::PolicySpec& base, const InForce& in_force, const Now& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `next`, which has the edit, what is in force, and the edit durable. Aborted: others have
  // changed something.
  absl::Status Commit(const Edit& edit, InForce next, const Now& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether an edit has happened whose outcome nobody told. Unavailable: nobody knows. Aborted: it
  // has not, and never will.
  absl::Status FindOut(const Edit& edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends what has expired, the first to expire first. Where that cannot be written, it stays
  // among `in_force_` until it can.
  void EndExpired(const Now& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What EndExpired would write now, in its order.
  std::vector<const Override*> Expired(const Now& now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Events of expiries that are not written yet, the newest first; none that is among these.
  absl::StatusOr<std::vector<Event>> Unwritten(const EventQuery& query,
                                               const std::vector<Event>& written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RegistryOptions options_;
  Clock& clock_;

  Mutex mutex_;
  const std::unique_ptr<Store> store_ ABSL_PT_GUARDED_BY(mutex_);
  // By id. Never null; what it points to never changes.
  std::shared_ptr<const InForce> in_force_ ABSL_GUARDED_BY(mutex_) = std::make_shared<InForce>();
  bool is_loaded_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;  // that in_force_ is of
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::shared_ptr<const engine::PolicySpec> base_ ABSL_GUARDED_BY(mutex_);  // null: none yet

  mutable Mutex state_mutex_;  // taken last, and never for long
  Told told_ ABSL_GUARDED_BY(state_mutex_);
  absl::Status status_ ABSL_GUARDED_BY(state_mutex_);
  std::string restored_ ABSL_GUARDED_BY(state_mutex_);
};

}  // namespace headgate::overrides
