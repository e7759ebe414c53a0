// StateFolder: the engine, and what of it outlives the process: its state, and operators'
// overrides.
//
// Everything that hangs on there being a folder is here. Without one a restart forgets what is
// owed, and there are no overrides; all else is the same.
//
// Thread-safe, but for Keep and Stop, which belong to one thread, in this order.
//
//   auto state = StateFolder::Open("/var/lib/headgate", options, clock);
//   absl::Status status = (*state)->Install(config.policy);
//   (*state)->Keep();
//   ... serve ...
//   (*state)->Stop();

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/app/state_file.h"
#include "server/decide/engine/engine.h"
#include "server/remember/overrides/expiry_writer.h"
#include "server/remember/overrides/registry.h"
#include "server/serve/rpc/sources.h"

namespace headgate::app {

class StateFolder {
 public:
  // The engine has the seed of `options`, unless there is a state, which has one. An error: what is
  // in the folder cannot be read, or another process has it. Empty: there is no folder. The clock
  // outlives this.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Open(const std::string& folder,
                                                           engine::EngineOptions options,
                                                           Clock& clock);
  // Of a server that shares its targets: what outlives it is in their store, and the folder is for
  // others to use.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Shared(
      const std::string& folder, engine::EngineOptions options,
      std::unique_ptr<overrides::Store> overrides, Clock& clock);

  const std::string& path() const { return path_; }  // empty: there is none
  engine::Engine& engine() { return *engine_; }
  uint64_t seed() const { return seed_; }  // the engine's
  // Null: there is no folder to keep overrides in.
  overrides::Registry* overrides() { return overrides_.get(); }

  // Puts a policy into force, with the overrides' rules on top.
  absl::Status Install(const engine::PolicySpec& policy);
  // Writes the engine's state and what has expired, and goes on writing. Before the first call.
  void Keep();
  // Writes what there is after the last call. Harmless if repeated, or without Keep.
  void Stop();

  overrides::OverridesSnapshot OverridesView() const;
  snapshot::SnapshotView SnapshotView() const;

 private:
  StateFolder(std::string path, Clock& clock) : path_(std::move(path)), clock_(clock) {}

  absl::Status OpenOverrides();
  std::function<absl::Status(engine::PolicySpec)> PutIntoEngine();
  absl::Status MakeEngine(engine::EngineOptions options);

  const std::string path_;
  Clock& clock_;
  uint64_t seed_ = 0;
  std::unique_ptr<engine::Engine> engine_;
  // Null, both: there is no folder.
  std::unique_ptr<overrides::Registry> overrides_;
  std::unique_ptr<StateFile> file_;
  std::optional<overrides::ExpiryWriter> expiries_;  // from Keep to Stop
};

}  // namespace headgate::app
