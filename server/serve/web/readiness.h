// Whether the server should get calls, as /readyz tells: once it serves, and every target that is
// measured was sampled for the first time, which is its primary: a standby that is down is a matter
// of health as well, and holds nothing up.
//
// What was ready once stays so, whether or not anybody asked then: a database that goes away later
// is a matter of health, and of on_stale, and taking all servers out of service would help nobody.
// A target that cannot be sampled holds readiness up for `ready_after` at most; after that the
// server is ready in a degraded mode, and says so.
//
// Thread-safe. Read waits for no poll and no disk, so that a probe can be answered at once: nor
// must `targets`, which copies what it knows.
//
//   Readiness readiness(clock, absl::Seconds(30));
//   readiness.Serve([&] { return targets.Snapshots(); });
//   readiness.Read();  // {kStarting, "waiting for the first sample of target 'main'"}
//   readiness.Drain();

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/observe/health/snapshot.h"
#include "server/serve/web/exposition.h"

namespace headgate::web {

class Readiness {
 public:
  enum class State : uint8_t { kStarting, kReady, kDegraded, kDraining };
  struct View {
    State state = State::kStarting;
    std::string why;  // one line; empty when ready
    bool ready() const { return state == State::kReady || state == State::kDegraded; }
  };
  using Targets = std::function<std::vector<health::TargetSnapshot>()>;
  // How a server fares among several that share their targets.
  using Sharing = std::function<View()>;

  // Time counts from now on. The clock outlives this.
  Readiness(Clock& clock, absl::Duration ready_after);

  // The configuration is in force and calls are answered. `targets` is asked until all of them were
  // sampled; `sharing`, where there is one, always: who has not heard of the others yet is not
  // ready however long that takes, and who has lost the store, or its states, is degraded.
  void Serve(Targets targets, Sharing sharing = {}) ABSL_LOCKS_EXCLUDED(mutex_);
  // For good.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

  View Read() ABSL_LOCKS_EXCLUDED(mutex_);
  // The targets are about to be replaced: it is decided now whether they were all sampled. With the
  // same targets it can be decided at any later time, since what is sampled stays so.
  void BeforeChange() { Read(); }

  // headgate_ready.
  void Collect(Exposition& out);

 private:
  Clock& clock_;
  const int64_t started_ns_;
  const absl::Duration ready_after_;
  Mutex mutex_;
  Targets targets_ ABSL_GUARDED_BY(mutex_);
  Sharing sharing_ ABSL_GUARDED_BY(mutex_);
  bool was_ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

// "ready" and the like.
std::string_view NameOf(Readiness::State state);

}  // namespace headgate::web
