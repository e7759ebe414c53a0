// The server's throttle log: the recorder that Checks count in, the store, and the writer between
// them.
//
// The store is a PostgreSQL database where one is configured, else a file in the state folder, else
// in memory. A log that cannot be opened or written is no reason not to serve: counts wait within a
// bound, and status says why. A file that is damaged is set aside, and a new one begun.
//
// Thread-safe, but for Stop, which is called once, after the last Check, or left to the destructor.
//
//   ThrottleLog log({.state_dir = "/var/lib/headgate", ...}, clock);
//   ... log.recorder() ...

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "server/govern/config/config.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/remember/throttle_log/status.h"
#include "server/remember/throttle_log/store.h"
#include "server/remember/throttle_log/writer.h"

namespace headgate::app {

struct ThrottleLogOptions {
  config::ThrottleLogSettings settings;
  std::string state_dir;  // empty: none
  uint64_t seed = 0;
  std::string server = {};  // this one's name among several
  // As the recorder's.
  std::function<void(std::string_view identity, int64_t checks)> on_unmatched = nullptr;
};

class ThrottleLog {
 public:
  // Begins to write. The clock outlives the log.
  ThrottleLog(const ThrottleLogOptions& options, Clock& clock);

  throttle_log::Recorder& recorder() { return recorder_; }
  throttle_log::Writer& writer() { return writer_; }
  const throttle_log::Store& store() const { return *kept_.store; }
  const throttle_log::Retention& retention() const { return retention_; }
  throttle_log::ThrottleLogSnapshot Snapshot() const;

  // Writes what is left, or logs how much of it cannot be.
  void Stop();

 private:
  struct Kept {
    const char* kind;  // for status
    std::unique_ptr<throttle_log::Store> store;
  };
  static Kept OpenStore(const ThrottleLogOptions& options, const throttle_log::Retention& retention,
                        Clock& clock);
  void LogChange(const absl::Status& status) const;

  const throttle_log::Retention retention_;
  const Kept kept_;
  throttle_log::Recorder recorder_;
  throttle_log::Writer writer_;
};

}  // namespace headgate::app
