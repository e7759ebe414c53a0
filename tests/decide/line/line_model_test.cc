// Random actions, beside a model that is obviously right: a list for each bucket, first come, first
// served, whose first is admitted at the first nanosecond at which it fits.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/fake_limits.h"
#include "tests/testing/test_scale.h"

namespace headgate::line {
namespace {

constexpr size_t kBuckets = 3;
constexpr int64_t kBurstNs = 100 * kMs;

struct Event {
  int64_t at_ns = 0;
  int64_t number = 0;
  bool admitted = false;

  friend bool operator==(const Event&, const Event&) = default;
  friend void PrintTo(const Event& event, std::ostream* out) {
    *out << event.at_ns << " #" << event.number << (event.admitted ? " admitted" : " denied");
  }
};

struct ModelCheck {
  int64_t number = 0;
  int64_t cost_ns = 0;
  int64_t until_ns = 0;
};

struct ModelBucket {
  int64_t debt_ns = 0;
  int64_t at_ns = 0;
  int64_t speed = 1;
  std::deque<ModelCheck> waiting;
  std::vector<Event> events;

  void MoveTo(int64_t now_ns) {
    debt_ns = std::max<int64_t>(debt_ns - speed * (now_ns - at_ns), 0);
    at_ns = now_ns;
  }
  bool Fits(int64_t cost_ns) const { return debt_ns + cost_ns <= kBurstNs; }
  void Admit(size_t place, bool admitted) {
    events.push_back({at_ns, waiting[place].number, admitted});
    if (admitted) debt_ns += waiting[place].cost_ns;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(place));
  }
  // Everything that happens at `now_ns`: first what is promised, then who is next.
  void HappenAt(int64_t now_ns, bool shut) {
    MoveTo(now_ns);
    for (;;) {
      size_t first = waiting.size();
      for (size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].until_ns > now_ns) continue;
        if (first == waiting.size() || waiting[i].until_ns < waiting[first].until_ns) first = i;
      }
      if (first == waiting.size()) break;
      Admit(first, first == 0 && !shut && Fits(waiting[0].cost_ns));
    }
    while (!shut && !waiting.empty() && Fits(waiting[0].cost_ns)) Admit(0, true);
  }
  // The next instant at which something happens.
  int64_t Next(bool shut) const {
    int64_t next = kNever;
    for (const ModelCheck& check : waiting) next = std::min(next, check.until_ns);
    if (shut || waiting.empty() || speed == 0) return next;
    const int64_t over_ns = debt_ns + waiting[0].cost_ns - kBurstNs;
    return std::min(next, at_ns + std::max<int64_t>((over_ns + speed - 1) / speed, 0));
  }
};

class World {
 public:
  World() : lines_({.max_waiting = 64, .max_waiting_share = 1}, limits_.Examine()) {
    limits_.Attach(&lines_);
    for (size_t b = 0; b < kBuckets; ++b) {
      limits_.AddBucket(Name(b), absl::Nanoseconds(kBurstNs));
      limits_.bucket(Name(b)).at_ns = now_ns_;
      model_[b].at_ns = now_ns_;
    }
  }

  void Act(std::mt19937_64& random) {
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    const auto b = static_cast<size_t>(below(kBuckets));
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Ask(b, (1 + below(100)) * kMs, below(4) == 0 ? below(50) * kMs : below(5000) * kMs);
      case 4:
        return Leave(b, static_cast<size_t>(below(8)));
      case 5:
        return Settle(b, (below(60) - 45) * kMs);
      case 6:
        return SetSpeed(b, below(4));
      case 7:
        if (below(4) == 0) SetShut(!shut_);
        return;
      case 8:
        lines_.Changed();
        return;
      case 9:
        if (below(8) == 0) Jump(below(500) * kMs);
        return;
      default:
        return RunFor(below(40) * kMs + below(1000));
    }
  }

  void Compare() {
    for (size_t b = 0; b < kBuckets; ++b) {
      ASSERT_EQ(events_[b], model_[b].events) << "bucket " << b;
      compared_ += events_[b].size();
      events_[b].clear();
      model_[b].events.clear();
    }
  }
  size_t compared() const { return compared_; }

 private:
  class Teller final : public Waiter {
   public:
    Teller(World& world, size_t bucket, int64_t number)
        : world_(world), bucket_(bucket), number_(number) {}
    void Answer(int, const Decided& decided) override {
      EXPECT_TRUE(decided.status.ok()) << decided.status;
      world_.events_[bucket_].push_back(
          {decided.now.monotonic_ns, number_, decided.answer.verdict == engine::Verdict::kAllowed});
    }

   private:
    World& world_;
    const size_t bucket_;
    const int64_t number_;
  };

  static std::string Name(size_t b) { return absl::StrCat("b", b); }
  Now now() const { return AtNs(now_ns_); }

  void Ask(size_t b, int64_t cost_ns, int64_t wait_ns) {
    ModelBucket& model = model_[b];
    const std::string name = Name(b);
    const engine::CheckRequest request{.identity = "job:etl",
                                       .estimated_cost = static_cast<double>(cost_ns) / 1e6,
                                       .pattern = name,
                                       .waits = true};
    engine::CheckAnswer answer;
    ASSERT_TRUE(limits_.Check(request, now(), answer).ok());
    const bool admitted = answer.verdict == engine::Verdict::kAllowed;
    model.MoveTo(now_ns_);
    ASSERT_EQ(admitted, !shut_ && model.waiting.empty() && model.Fits(cost_ns));
    if (admitted) {
      model.debt_ns += cost_ns;
      return;
    }
    size_t all = 0;
    for (const ModelBucket& each : model_) all += each.waiting.size();
    const int64_t number = ++number_;
    uint64_t ticket = 0;
    const Entered entered = lines_.Enter(
        {request, answer, now()},
        {.waiter = std::make_shared<Teller>(*this, b, number), .until_ns = now_ns_ + wait_ns},
        &ticket);
    ASSERT_EQ(entered, all < 64 ? Entered::kWaits : Entered::kFull);
    if (entered != Entered::kWaits) return;
    tickets_[number] = ticket;
    model.waiting.push_back({number, cost_ns, now_ns_ + wait_ns});
    RunFor(0);
  }

  void Leave(size_t b, size_t place) {
    ModelBucket& model = model_[b];
    if (place >= model.waiting.size()) return;
    ASSERT_TRUE(lines_.Leave(tickets_.at(model.waiting[place].number), now()));
    model.waiting.erase(model.waiting.begin() + static_cast<std::ptrdiff_t>(place));
    RunFor(0);
  }

  void Settle(size_t b, int64_t delta_ns) {
    limits_.Settle(Name(b), "job:etl", delta_ns, now());
    model_[b].MoveTo(now_ns_);
    model_[b].debt_ns = std::max<int64_t>(model_[b].debt_ns + delta_ns, 0);
    RunFor(0);
  }

  void SetSpeed(size_t b, int64_t speed) {
    limits_.SetSpeed(Name(b), speed, now());
    model_[b].MoveTo(now_ns_);
    model_[b].speed = speed;
    lines_.Changed();
    RunFor(0);
  }

  void SetShut(bool shut) {
    shut_ = shut;
    limits_.SetShut(shut);
    lines_.Changed();
    RunFor(0);
  }

  // The thread sleeps through it.
  void Jump(int64_t by_ns) {
    now_ns_ += by_ns;
    for (ModelBucket& model : model_) model.HappenAt(now_ns_, shut_);
    while (lines_.Advance(now()) <= now_ns_) {
    }
  }

  void RunFor(int64_t by_ns) {
    const int64_t end_ns = now_ns_ + by_ns;
    for (ModelBucket& model : model_) {
      model.HappenAt(now_ns_, shut_);
      for (int64_t next = model.Next(shut_); next <= end_ns; next = model.Next(shut_)) {
        model.HappenAt(next, shut_);
      }
    }
    for (int turns = 0;; ++turns) {
      const int64_t next_ns = lines_.Advance(now());
      if (next_ns > end_ns) break;
      now_ns_ = next_ns;
      ASSERT_LT(turns, 10'000) << "it turns in a circle";
    }
    now_ns_ = end_ns;
  }

  FakeLimits limits_;
  WaitingLines lines_;
  int64_t now_ns_ = 1'000'000'000'000;
  bool shut_ = false;
  int64_t number_ = 0;
  std::map<int64_t, uint64_t> tickets_;
  std::array<ModelBucket, kBuckets> model_;
  std::array<std::vector<Event>, kBuckets> events_;
  size_t compared_ = 0;
};

TEST(LineModel, RandomActionsAdmitAndDenyWhatTheModelDoesAtTheSameNanosecond) {
  const int rounds = Scaled(1000);
  size_t compared = 0;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random{static_cast<uint64_t>(round) + 1};
    World world;
    for (int i = 0; i < 1000; ++i) {
      world.Act(random);
      if (i % 50 == 49) world.Compare();
      ASSERT_FALSE(HasFailure()) << "round " << round << ", action " << i;
    }
    compared += world.compared();
  }
  EXPECT_GT(compared, static_cast<size_t>(rounds) * 200);
}

}  // namespace
}  // namespace headgate::line
