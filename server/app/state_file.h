// The engine's state across restarts: what is read of it at start, what is made of that, and who
// writes it from then on.
//
// A file that is refused is set aside and said so aloud; the server then begins as if there had
// been none, since it is of more use without old debt than not at all. Where it cannot be set aside
// nothing is written in its place until it can. A file that cannot be read, for want of a right or
// of an open file, may be sound: the server does not start without it.
//
// Thread-safe, but for MakeEngine, Keep and Stop, which belong to one thread, in this order.
//
//   StateFile state("/var/lib/headgate", clock);
//   auto engine = state.MakeEngine(options);
//   ... install a policy ...
//   state.Keep(*engine);
//   ... serve ...
//   state.Stop();

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/remember/snapshot/snapshot_writer.h"
#include "server/remember/snapshot/status.h"

namespace headgate::app {

class StateFile {
 public:
  // Reads what there is. The clock outlives this.
  StateFile(const std::string& state_dir, Clock& clock);

  // With the state's seed instead of the options', if there is a state. Unavailable: there is one
  // that cannot be read; the message is for whoever starts the server.
  absl::StatusOr<std::unique_ptr<engine::Engine>> MakeEngine(engine::EngineOptions& options);
  // Writes, and goes on writing. Before the first call. The engine outlives this.
  void Keep(engine::Engine& engine);
  // Writes what there is after the last call, or logs what is lost. Harmless if repeated, or
  // without Keep.
  void Stop();

  // `as_of` is by the wall clock as it goes now: the time since is right though it was set.
  snapshot::SnapshotView View() const;

 private:
  void Remember(const engine::SavedState& state);

  const std::string path_;
  Clock& clock_;
  snapshot::Loaded loaded_;
  snapshot::SnapshotView at_start_;  // what does not change
  bool stopped_ = false;
  bool in_the_way_ = false;  // a refused file is still at `path_`
  std::unique_ptr<snapshot::SnapshotWriter> writer_;
};

}  // namespace headgate::app
