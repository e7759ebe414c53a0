// ApproximateDecisions: how a server decides alone for targets whose owner it cannot reach, while
// the store is away: what it may admit, by what it knew last of their health, and what it says.
//
// A target that this server measures has the health that is measured. Of another one the owner's
// answers have told it: the last one of each profile counts, of one answer a millisecond. What was
// never told is as the profile's on_stale says. A gate that was shut stays shut.
//
// Thread-safe.
//
//   ApproximateDecisions decisions({.engine = engine, .targets = targets, .clock = clock, ...});
//   decisions.SetConfig(config);

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/app/targets.h"
#include "server/decide/approximate/approximate_limits.h"
#include "server/decide/engine/engine.h"
#include "server/govern/config/config.h"
#include "server/serve/peers/approximation.h"
#include "server/share/cluster/view.h"

namespace headgate::app {

class ApproximateDecisions final : public peers::Approximation {
 public:
  // All outlive this.
  struct Options {
    engine::Engine& engine;
    const Targets& targets;
    Clock& clock;
    uint64_t incarnation = 0;  // of this process
  };
  explicit ApproximateDecisions(const Options& options) : options_(options), limits_({}) {}

  void SetConfig(const config::Config& config) ABSL_LOCKS_EXCLUDED(mutex_);
  // What a round with the store came to: says so once there is no need to approximate any more.
  void NoteRound(bool went_well);
  // This server stops: says what nobody was charged for.
  void NoteStop();
  // What people are told of it.
  cluster::ApproximationView View() const;

  approximate::ApproximateLimits& limits() override { return limits_; }
  uint64_t incarnation() const override { return options_.incarnation; }
  void Prepare(const std::string& target) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAnswer(const std::string& target, const peer::v1::ForwardedAnswer& answer) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCharged(const std::string& target, size_t buckets) override;
  void OnLost(const std::string& target, size_t buckets, std::string_view why) override;

 private:
  struct Profile {
    std::string name;
    health::OnStale on_stale;
  };

  void NoteHealth(const std::string& target, const v1::Decision& decision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  approximate::ApproximateLimits limits_;
  // relaxed, both: what is looked at again a little early or late does no harm.
  std::atomic<int64_t> next_answer_ns_{0};
  std::atomic<bool> is_deciding_{false};
  mutable Mutex mutex_;
  std::vector<Profile> profiles_ ABSL_GUARDED_BY(mutex_);
  // By target: whether anything of it is measured, anywhere.
  std::map<std::string, bool> is_measured_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> next_prepare_ns_ ABSL_GUARDED_BY(mutex_);
  // By target and profile, as owners told it last.
  std::map<std::pair<std::string, std::string>, engine::Health> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
