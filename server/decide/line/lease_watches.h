// LeaseWatches: who holds leases, and waits for an order that takes them back.
//
// A watch waits until the state of its subject is another than the one that its caller knows (see
// engine/subject_state.h), and is answered with that; or with the same one when its time is up.
// Whatever changes the policy, a gate, an auto rate or an owner tells of it, and then each is
// examined once; so that an order reaches its holders as soon as they can be looked at, about a
// microsecond for each. Where time alone changes which rules apply, the examination says when, and
// all are examined then.
//
// Guarantees:
// - Each is answered once: when its state is another, when its time is up, with the error of its
//   examination, when its caller may not ask any more, or when the watches are closed. One whose
//   caller has left is not answered.
// - What changes after it was entered is not missed, nor what changed just before: each is examined
//   once when it comes.
// - At most kMost, of about 500 bytes each.
//
// Thread-safe, and Advance is for one thread at a time. Its mutex is a leaf: neither the engine nor
// a waiter is called with it held. Reads no clock.
//
//   LeaseWatches watches;
//   if (watches.Enter(request, wait, &ticket) == Entered::kWaits) ...
//   next_ns = watches.Advance(now, [&](const auto& request, auto& answer) { ... });

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/answer.h"
#include "server/decide/line/instants.h"
#include "server/decide/line/kept_request.h"
#include "server/decide/line/waiter.h"

namespace headgate::line {

class LeaseWatches {
 public:
  // Each keeps a call of its caller's; so many leave room for as many Checks that wait in lines.
  static constexpr size_t kMost = 5'120;
  // Of one that is no place in a line.
  static constexpr uint64_t kTicket = uint64_t{1} << 63;

  using Examine = absl::FunctionRef<absl::Status(const engine::CheckRequest& request,
                                                 engine::CheckAnswer& answer)>;

  LeaseWatches() = default;
  LeaseWatches(const LeaseWatches&) = delete;
  LeaseWatches& operator=(const LeaseWatches&) = delete;

  // Copies the request, which is one that watches, and keeps the waiter, if it waits: kFull or
  // kClosed else.
  Entered Enter(const engine::CheckRequest& request, Wait wait, uint64_t* ticket)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Its caller is gone. True: its waiter is let go of, unanswered; false: it has been answered, or
  // will be in a moment.
  bool Leave(uint64_t ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Examines some of those that are due, and answers whose state is another or whose time is up.
  // Returns when to call again, in monotonic nanoseconds: `now` where there is more to do.
  int64_t Advance(Now now, Examine examine) ABSL_LOCKS_EXCLUDED(mutex_);

  // Each is due. False: there is none.
  bool Changed() ABSL_LOCKS_EXCLUDED(mutex_);
  // Rights have changed: each is due, and its waiter is asked whether it may wait still. Who may
  // not is answered with PermissionDenied. False: there is none.
  bool AskAgain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers all with `status`, an error; there is none after that.
  void Close(const absl::Status& status, Now now) ABSL_LOCKS_EXCLUDED(mutex_);

  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t held_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Watch {
    explicit Watch(const engine::CheckRequest& asked) : kept(asked) {}

    KeptRequest kept;
    Wait wait;
    uint64_t ticket = 0;
    bool asks = false;  // its waiter is to be asked
  };
  using Owned = std::unique_ptr<Watch>;

  // The next one that is due, out of the table: it is in examination. Null: there is none.
  Owned TakeDue(int64_t now_ns) ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts it back, or returns it to be answered, with the status to answer with; null: nothing is to
  // be done.
  Owned PutBack(Owned watch, const engine::CheckAnswer& answer, absl::Status& status, Now now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const Watch& watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MarkAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsExamining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return examined_ != 0; }

  engine::CheckAnswer answer_;  // of the thread that is in Advance

  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Owned> watches_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<int64_t, uint64_t>> deadlines_ ABSL_GUARDED_BY(mutex_);  // and tickets
  std::vector<uint64_t> due_ ABSL_GUARDED_BY(mutex_);    // tickets; some may have left
  int64_t look_at_ns_ ABSL_GUARDED_BY(mutex_) = kNever;  // when all are due by time alone
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = kTicket;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of the one in examination.
  uint64_t examined_ ABSL_GUARDED_BY(mutex_) = 0;  // its ticket; 0: none is
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;   // since it was taken
  bool asks_ ABSL_GUARDED_BY(mutex_) = false;      // likewise, its waiter
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::line
