// Lines at fake limits, time by hand, and a log of who was answered what and when.
//
//   TestLines world;
//   world.limits.AddBucket("a", absl::Milliseconds(100));
//   uint64_t ticket = world.Ask("job:etl", "a", 50, absl::Seconds(10));
//   world.RunTo(absl::Seconds(1));
//   EXPECT_EQ(world.log, ...);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/fake_limits.h"

namespace headgate::line {

struct Answered {
  int64_t at_ms = 0;
  std::string identity;
  std::string what;  // "admitted", "denied", or a status code

  friend bool operator==(const Answered&, const Answered&) = default;
  friend void PrintTo(const Answered& answered, std::ostream* out) {
    *out << answered.at_ms << " ms: " << answered.identity << " " << answered.what;
  }
};

class TestLines {
 public:
  static constexpr int64_t kStartNs = 1'000'000'000'000;

  explicit TestLines(const LineOptions& options = {}) : lines(options, limits.Examine()) {
    limits.Attach(&lines);
    lines.SetWake([this] { ++wakes; });
  }

  // Who does not have to wait is in the log at once. The ticket, 0 for those.
  uint64_t Ask(const std::string& identity, const std::string& buckets, double cost,
               absl::Duration max_wait, const std::string& caller = "") {
    const engine::CheckRequest request{.identity = identity,
                                       .target = target,
                                       .estimated_cost = cost,
                                       .pattern = buckets,
                                       .caller = caller,
                                       .waits = max_wait > absl::ZeroDuration()};
    engine::CheckAnswer answer;
    EXPECT_TRUE(limits.Check(request, now(), answer).ok());
    last_retry_after = answer.retry_after;
    if (answer.verdict == engine::Verdict::kAllowed) {
      Log(identity, "admitted");
      return 0;
    }
    if (max_wait <= absl::ZeroDuration()) {
      Log(identity, "denied");
      return 0;
    }
    uint64_t ticket = 0;
    entered = lines.Enter({request, answer, now()},
                          {.waiter = std::make_shared<Teller>(*this),
                           .until_ns = now_ns + absl::ToInt64Nanoseconds(max_wait)},
                          &ticket);
    return entered == Entered::kWaits ? ticket : 0;
  }

  // Lets time pass as a thread would that sleeps for as long as it is told.
  void RunTo(absl::Duration since_start) {
    const int64_t end_ns = kStartNs + absl::ToInt64Nanoseconds(since_start);
    for (;;) {
      const int64_t next_ns = lines.Advance(now());
      ++advances;
      if (next_ns > end_ns) break;
      now_ns = std::max(now_ns, next_ns);
    }
    now_ns = end_ns;
  }

  bool Leave(uint64_t ticket) { return lines.Leave(ticket, now()); }
  Now now() const { return AtNs(now_ns); }
  void Log(const std::string& identity, const std::string& what) {
    log.push_back({(now_ns - kStartNs) / kMs, identity, what});
  }
  std::vector<Answered> TakeLog() { return std::exchange(log, {}); }

  FakeLimits limits;
  WaitingLines lines;
  int64_t now_ns = kStartNs;
  std::vector<Answered> log;
  std::string target;  // of those who ask
  Entered entered = Entered::kWaits;
  absl::Duration last_retry_after;
  int wakes = 0;
  int64_t advances = 0;
  bool may_wait = true;
  std::vector<engine::CheckAnswer> denials;  // of those who waited

 private:
  class Teller final : public Waiter {
   public:
    explicit Teller(TestLines& world) : world_(world) {}
    void Answer(int, const Decided& decided) override {
      const auto& [status, request, answer, now] = decided;
      const bool admitted = status.ok() && answer.verdict == engine::Verdict::kAllowed;
      if (status.ok() && !admitted) world_.denials.push_back(answer);
      world_.Log(std::string(request.identity),
                 !status.ok() ? absl::StatusCodeToString(status.code())
                              : std::string(admitted ? "admitted" : "denied"));
    }
    bool MayWait(const engine::CheckRequest& /*request*/) override { return world_.may_wait; }

   private:
    TestLines& world_;
  };
};

}  // namespace headgate::line
