// A store of states in memory that a test makes fail, and states of targets that are plain text.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/share/membership/target_states.h"

namespace headgate::membership {

class FakeStates final : public TargetStates {
 public:
  absl::Status Adopt(std::string_view target, cluster::Takeover takeover,
                     const std::optional<cluster::StoredState>& state) override {
    adopted[std::string(target)] = takeover;
    known[std::string(target)] = state.has_value() ? state->whole : "";
    return adopt_status;
  }
  std::vector<absl::StatusOr<std::string>> Copy(absl::Span<const std::string> targets) override {
    std::vector<absl::StatusOr<std::string>> copies;
    for (const std::string& target : targets) {
      const auto found = known.find(target);
      if (found == known.end()) {
        copies.emplace_back(absl::NotFoundError("no such target"));
      } else {
        copies.emplace_back(found->second);
      }
    }
    return copies;
  }
  std::string Health(const std::string& target) override { return healths[target]; }
  void Forget(std::string_view target) override { known.erase(std::string(target)); }

  std::map<std::string, std::string> known;
  std::map<std::string, cluster::Takeover> adopted;
  std::map<std::string, std::string> healths;
  absl::Status adopt_status;
};

class FakeStore final : public cluster::Store {
 public:
  absl::StatusOr<cluster::RoundReply> Round(const cluster::RoundRequest& /*request*/,
                                            absl::Duration /*timeout*/) override {
    return absl::UnavailableError("nobody asks for rounds");
  }
  std::vector<absl::Status> WriteStates(absl::Span<const cluster::StateWrite> writes,
                                        absl::Duration /*timeout*/) override {
    ++statements;
    std::vector<absl::Status> done;
    for (const cluster::StateWrite& write : writes) {
      done.push_back(status);
      if (!status.ok()) continue;
      sequences.push_back(write.sequence);
      stored[std::string(write.target)] = cluster::StoredState{.generation = write.generation,
                                                               .whole = std::string(write.bytes),
                                                               .age = write.age,
                                                               .is_final = write.is_final,
                                                               .health = std::string(write.health)};
    }
    return done;
  }
  std::vector<cluster::ReadState> ReadStates(absl::Span<const cluster::Held> targets,
                                             absl::Duration /*timeout*/) override {
    ++statements;
    std::vector<cluster::ReadState> states;
    for (const cluster::Held& held : targets) {
      const auto found = stored.find(held.target);
      if (targets.size() > most_at_once) {
        states.emplace_back(absl::DeadlineExceededError("that is too much"));
      } else if (!status.ok()) {
        states.emplace_back(status);
      } else if (found == stored.end()) {
        states.emplace_back(std::nullopt);
      } else {
        states.emplace_back(found->second);
      }
    }
    return states;
  }
  absl::Status TryStates(uint64_t /*incarnation*/, absl::Duration /*timeout*/) override {
    return status;
  }
  absl::Status SetDrained(std::string_view /*member*/, bool /*drained*/,
                          absl::Duration /*timeout*/) override {
    return absl::OkStatus();
  }
  absl::Status SetPreferred(std::string_view /*target*/, std::string_view /*member*/,
                            absl::Duration /*timeout*/) override {
    return absl::OkStatus();
  }

  absl::Status status;
  int statements = 0;
  size_t most_at_once = 1000;       // states that are read in time
  std::vector<uint64_t> sequences;  // of what was written
  std::map<std::string, cluster::StoredState> stored;
};

}  // namespace headgate::membership
