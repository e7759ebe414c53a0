// A policy as the reference model reads it: every rule is asked, with nothing but text comparisons.
//
// Immutable once made.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/spec.h"

namespace headgate::model {

// The segments, leaf first; empty for text that is no identity.
std::vector<std::string> ParseIdentity(std::string_view text);

// The suffix of `depth` segments, or all where there are fewer.
std::string LevelOf(const std::vector<std::string>& segments, int depth);

class ModelPolicy {
 public:
  using RuleSet = std::set<uint32_t>;

  // What the matching rules ask for, with all the rules that ask for it.
  struct Match {
    RuleSet all;
    RuleSet exempt;
    RuleSet resume;
    RuleSet lifted;  // what else would deny or reject, where there is a resume
    RuleSet deny;
    RuleSet reject;  // of the highest ratio
    double reject_ratio = 0;
    int priority = 0;
    std::map<uint32_t, RuleSet> charges;  // by budget
    std::map<uint32_t, RuleSet> gates;    // by profile
  };

  // `spec` is valid.
  ModelPolicy(const engine::PolicySpec& spec, uint64_t version);

  const engine::PolicySpec& spec() const { return spec_; }
  uint64_t version() const { return version_; }

  // The place of a target, or why there is none.
  absl::StatusCode FindTarget(std::string_view name, uint32_t& target) const;
  uint32_t DefaultProfile(uint32_t target) const;  // kNoRule: none
  uint32_t ProfileOf(uint32_t target, uint32_t budget) const;
  uint32_t FindProfile(std::string_view name) const;

  // Cost units a second; empty for `auto`. The budget has a rate.
  std::optional<double> RateOf(uint32_t target, uint32_t budget) const;
  double BurstOf(uint32_t target, uint32_t budget) const;  // cost units

  Match Find(const engine::CheckRequest& request, uint32_t target, Now now) const;
  // How long the rule still applies, if nothing but time changes.
  absl::Duration AppliesFor(uint32_t rule, Now now) const;

 private:
  bool Holds(uint32_t rule, const engine::CheckRequest& request, uint32_t target, Now now) const;
  bool HoldsAt(uint32_t rule, absl::Time wall) const;
  static void AddReject(uint32_t rule, double ratio, Match& match);
  void Apply(uint32_t rule, Match& match, int& priority_depth) const;

  engine::PolicySpec spec_;
  uint64_t version_;
  std::vector<std::optional<engine::Schedule>> schedules_;  // by rule, as are the prefixes
  std::vector<std::optional<engine::IpPrefix>> prefixes_;
};

}  // namespace headgate::model
