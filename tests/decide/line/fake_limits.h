// Buckets, permits and gates in a few lines, with the hooks for a line that the engine has: what
// the lines' tests ask instead of an engine where they want to know exactly what happens.
//
// A Check's `pattern` names what it is charged to: "a" is bucket a, "a b" both. A cost unit is a
// millisecond of a bucket's time. "slots" in a name makes its burst the permits that may be out.
//
//   FakeLimits limits;
//   limits.AddBucket("a", absl::Milliseconds(100));
//   WaitingLines lines({}, limits.Examine());
//   limits.Attach(&lines);
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/hash.h"
#include "common/identity.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/line/waiting_lines.h"

namespace headgate::line {

inline Now AtNs(int64_t ns) { return {.monotonic_ns = ns, .wall_ns = ns}; }
inline constexpr int64_t kMs = 1'000'000;

class FakeLimits {
 public:
  struct Bucket {
    int64_t burst_ns = 0;
    int64_t start_level_ns = kNever;
    int64_t debt_ns = 0;  // as of `at_ns`
    int64_t at_ns = 0;
    int64_t speed = 1;
    int64_t permits = -1;  // at most; below zero: it is a bucket
    int64_t out = 0;
    int64_t admitted_ns = 0;  // in all
    uint64_t key = 0;

    int64_t DebtAt(int64_t now_ns) {
      debt_ns = std::max<int64_t>(debt_ns - (now_ns - at_ns) * speed, 0);
      at_ns = now_ns;
      return debt_ns;
    }
  };
  static uint64_t KeyOf(std::string_view name) { return HashBytes(name, 11) | 1; }

  void AddBucket(const std::string& name, absl::Duration burst, int64_t permits = -1) {
    buckets_[name] = {
        .burst_ns = absl::ToInt64Nanoseconds(burst), .permits = permits, .key = KeyOf(name)};
  }
  Bucket& bucket(const std::string& name) { return buckets_.at(name); }
  void SetShut(bool shut) { shut_ = shut; }
  void SetDenied(bool denied) { denied_ = denied; }
  void SetPriority(const std::string& identity, int priority) { priorities_[identity] = priority; }
  void SetWeight(const std::string& root, double weight) { weights_[root] = weight; }
  void Attach(engine::LineInterface* gate) { gate_ = gate; }
  WaitingLines::Examine Examine() {
    return [this](const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer) {
      ++checks;
      return Check(request, now, answer);
    };
  }
  int64_t checks = 0;

  engine::LineFlow FlowOf(std::string_view text) {
    Identity identity;
    engine::LineFlow flow;
    if (!Identity::Parse(text, 3, identity).ok()) return flow;
    flow.depth = identity.depth();
    for (int d = 1; d <= identity.depth(); ++d) {
      flow.levels[static_cast<size_t>(d - 1)] = {.key = identity.LevelHash(d) | 1, .weight = 1};
    }
    const auto weight = weights_.find(std::string(identity.Segment(1)));
    if (weight != weights_.end()) flow.levels[0].weight = weight->second;
    const auto priority = priorities_.find(std::string(text));
    if (priority != priorities_.end()) flow.priority = priority->second;
    return flow;
  }

  absl::Status Check(const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer) {
    answer.Clear();
    answer.flow = FlowOf(request.identity);
    answer.subject_key = HashBytes(request.identity, 5) | 1;
    answer.predicted_cost = request.estimated_cost.value_or(1);
    const auto cost_ns = static_cast<int64_t>(answer.predicted_cost * 1e6);
    if (denied_) Refuse(answer, engine::Limit::kRule, "rule", 0, absl::InfiniteDuration());
    if (shut_) Refuse(answer, engine::Limit::kHealth, "gate", 0, absl::Seconds(1));
    std::vector<Bucket*> its;
    for (const std::string& name : NamesIn(std::string(request.pattern))) {
      its.push_back(&buckets_.at(name));
      Examine(*its.back(), name, request, cost_ns, now, answer);
    }
    if (!answer.violations.empty()) {
      for (const engine::Violation& violation : answer.violations) {
        answer.retry_after = std::max(answer.retry_after, violation.retry_after);
      }
      return absl::OkStatus();
    }
    answer.verdict = engine::Verdict::kAllowed;
    for (Bucket* bucket : its) Charge(*bucket, request, cost_ns, now, answer);
    return absl::OkStatus();
  }

  void SetSpeed(const std::string& name, int64_t speed, Now now) {
    buckets_.at(name).DebtAt(now.monotonic_ns);
    buckets_.at(name).speed = speed;
  }
  // A Report changes what the identity was charged.
  void Settle(const std::string& name, std::string_view identity, int64_t delta_ns, Now now) {
    Bucket& bucket = buckets_.at(name);
    delta_ns = std::max(delta_ns, -bucket.DebtAt(now.monotonic_ns));
    bucket.debt_ns += delta_ns;
    if (gate_ != nullptr) gate_->Settled(bucket.key, FlowOf(identity).LeafKey(), delta_ns);
  }
  // A permit is given back.
  void GiveBack(const std::string& name) {
    Bucket& bucket = buckets_.at(name);
    --bucket.out;
    if (gate_ != nullptr) gate_->RoomFreed(bucket.key);
  }

 private:
  static std::vector<std::string> NamesIn(const std::string& text) {
    return absl::StrSplit(text, ' ', absl::SkipEmpty());
  }
  static void Refuse(engine::CheckAnswer& answer, engine::Limit limit, std::string_view name,
                     int64_t cost_ns, absl::Duration retry_after) {
    engine::Violation& violation = answer.violations.emplace_back();
    violation.limit = limit;
    violation.line_key = KeyOf(name);
    violation.cost_ns = cost_ns;
    violation.retry_after = retry_after;
  }

  void Examine(Bucket& bucket, const std::string& name, const engine::CheckRequest& request,
               int64_t cost_ns, Now now, engine::CheckAnswer& answer) {
    const int64_t debt_ns = bucket.DebtAt(now.monotonic_ns);
    engine::PlaceInLine standing{};
    const bool counts = bucket.permits >= 0;
    if (gate_ != nullptr && gate_->IsAnybodyHere()) {
      standing = gate_->Arrive({.key = bucket.key,
                                .flow = answer.flow,
                                .subject_key = answer.subject_key,
                                .ticket = request.ticket,
                                .waits = request.waits,
                                .cost_ns = counts ? 1 : cost_ns,
                                .burst_ns = counts ? 0 : bucket.burst_ns,
                                .start_level_ns = bucket.start_level_ns,
                                .debt_ns = counts ? 0 : debt_ns,
                                .speed = static_cast<double>(bucket.speed),
                                .now = now});
    }
    if (standing.behind) {
      return Refuse(answer, engine::Limit::kLine, name, counts ? 0 : cost_ns, standing.turn_in);
    }
    if (counts) {
      if (bucket.out < bucket.permits) return;
      return Refuse(answer, engine::Limit::kMaxConcurrency, name, 0, absl::Milliseconds(100));
    }
    const int64_t room_ns = std::min(bucket.burst_ns - cost_ns, bucket.start_level_ns);
    const int64_t over_ns = debt_ns + standing.held_ns - room_ns;
    if (over_ns <= 0) return;
    absl::Duration retry_after = absl::Seconds(1);  // of a bucket that stands still
    if (bucket.speed > 0) {
      retry_after = absl::Nanoseconds((over_ns + bucket.speed - 1) / bucket.speed);
    }
    if (cost_ns > bucket.burst_ns) retry_after = absl::InfiniteDuration();
    Refuse(answer, engine::Limit::kBurst, name, cost_ns, retry_after);
  }

  void Charge(Bucket& bucket, const engine::CheckRequest& request, int64_t cost_ns, Now now,
              const engine::CheckAnswer& answer) {
    if (bucket.permits >= 0) {
      ++bucket.out;
      cost_ns = 0;
    } else {
      bucket.debt_ns = bucket.DebtAt(now.monotonic_ns) + cost_ns;
      bucket.admitted_ns += cost_ns;
    }
    if (gate_ == nullptr || !gate_->IsAnybodyHere()) return;
    gate_->Admitted({bucket.key, answer.flow, answer.subject_key, cost_ns, request.ticket});
  }

  std::map<std::string, Bucket> buckets_;
  std::map<std::string, int> priorities_;
  std::map<std::string, double> weights_;
  bool shut_ = false, denied_ = false;
  engine::LineInterface* gate_ = nullptr;
};

}  // namespace headgate::line
