// Servers that are cut off from each other and from the store, and what they admit together. Prints
// its figures: run it with --gtest_filter='CutOff*'.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/decide/approximate/approximate_limits.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::approximate {
namespace {

using engine::At;
using engine::CheckAnswer;
using engine::PolicySpec;
using engine::RateBudget;
using engine::TestEngine;
using engine::Verdict;

constexpr int kServers = 3;
constexpr double kRate = 300;
constexpr double kSeconds = 30;
constexpr double kBurstSeconds = 5;

// Who decides: all servers approximately, each for itself; or their owner.
class Fleet {
 public:
  explicit Fleet(const PolicySpec& policy) : engine_(policy) {
    for (auto& server : servers_) {
      server = std::make_unique<ApproximateLimits>(ApproximateLimits::Options{});
      server->SetServers(kServers);
    }
  }
  CheckAnswer Approximately(size_t server, std::string_view identity, double cost, double second) {
    CheckAnswer answer;
    const absl::Status status = engine_->CheckApproximately(
        {engine::Request(identity, cost), *servers_[server]}, AtSecond(second), answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }
  CheckAnswer ByOwner(std::string_view identity, double cost, double second) {
    return engine_.Check(identity, cost, AtSecond(second));
  }

 private:
  // Not at the beginning of a second of wall time.
  static Now AtSecond(double second) { return At(absl::Milliseconds(370) + absl::Seconds(second)); }

  TestEngine engine_;
  std::array<std::unique_ptr<ApproximateLimits>, kServers> servers_;
};

// Asks at random times, `offered` a second on average, each time at any server. Whoever is refused
// does not come back: an open loop.
struct OpenLoop {
  std::string identity = "greedy:etl";
  double offered = 0;
  double cost = 1;
};

// What each of them was admitted.
std::vector<double> Offer(Fleet& fleet, const std::vector<OpenLoop>& jobs, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> next;
  std::vector<double> admitted(jobs.size(), 0);
  const auto gap = [&](const OpenLoop& job) {
    return std::exponential_distribution<double>(job.offered / job.cost)(random);
  };
  next.reserve(jobs.size());
  for (const OpenLoop& job : jobs) next.push_back(gap(job));
  for (;;) {
    const auto soonest = std::min_element(next.begin(), next.end());
    if (*soonest >= kSeconds) return admitted;
    const auto place = static_cast<size_t>(soonest - next.begin());
    const OpenLoop& job = jobs[place];
    const CheckAnswer answer =
        fleet.Approximately(random() % kServers, job.identity, job.cost, *soonest);
    if (answer.verdict == Verdict::kAllowed) admitted[place] += job.cost;
    *soonest += gap(job);
  }
}

// The formula as ScyllaDB has it: admit while the counter is at most twice the share, else by
// chance.
class GivenFormula {
 public:
  enum class Counts { kAdmitted, kOffered };
  GivenFormula(Counts counts, double share) : counts_(counts), share_(share) {}

  bool Admits(double cost, double second, double luck) {
    for (; second_ < std::floor(second); ++second_) counter_ /= 2;
    const bool admits = counter_ <= 2 * share_ || luck < share_ / (counter_ * std::log(2.0));
    if (admits || counts_ == Counts::kOffered) counter_ += cost;
    return admits;
  }

 private:
  const Counts counts_;
  const double share_;
  double counter_ = 0;
  double second_ = 0;
};

double GivenSum(GivenFormula::Counts counts, double offered, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<GivenFormula> servers(kServers, GivenFormula(counts, kRate / kServers));
  std::uniform_real_distribution<double> luck;
  double sum = 0;
  for (double at = 0.37; at < kSeconds + 0.37;) {
    if (servers[random() % kServers].Admits(1, at, luck(random))) ++sum;
    at += std::exponential_distribution<double>(offered)(random);
  }
  return sum / (kRate * kSeconds);
}

PolicySpec OnePolicy() { return OneBudget(RateBudget("b", kRate, kRate * kBurstSeconds)); }

PolicySpec SplitPolicy() {
  PolicySpec policy = OnePolicy();
  policy.budgets[0].split = engine::SplitByDepth{2};
  return policy;
}

TEST(CutOffServers, TogetherKeepToTheLimitWhateverIsOffered) {
  std::printf("admitted of the limit over 30 s, by three servers\n");
  std::printf("%8s %28s %28s %10s\n", "offered", "2L, counting what is admitted",
              "2L, counting what is offered", "by room");
  for (const double times : {0.5, 0.9, 1.0, 1.5, 2.0, 8.0, 64.0}) {
    Fleet fleet(OnePolicy());
    const double sum = Offer(fleet, {{.offered = times * kRate}}, 1)[0] / (kRate * kSeconds);
    std::printf("%8.1f %28.3f %28.3f %10.3f\n", times,
                GivenSum(GivenFormula::Counts::kAdmitted, times * kRate, 1),
                GivenSum(GivenFormula::Counts::kOffered, times * kRate, 1), sum);
    EXPECT_LE(sum, 1.1) << times;
    EXPECT_GE(sum, std::min(times, 1.0) * 0.9) << times;
  }
}

TEST(CutOffServers, TogetherKeepToTheLimitUnderEightTimesTheLimitWithEverySeed) {
  double least = 10;
  double most = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Fleet fleet(OnePolicy());
    const double sum = Offer(fleet, {{.offered = 8 * kRate}}, seed)[0] / (kRate * kSeconds);
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  std::printf("8 times the limit, 20 seeds: %.3f to %.3f of the limit\n", least, most);
  EXPECT_GE(least, 0.9);
  EXPECT_LE(most, 1.1);
}

// Those above a server's share of a second are admitted by chance. Where they come so seldom that a
// counter has forgotten most of the one before, they are admitted less than they could be.
TEST(CutOffServers, CostsOfASecondsShareAreAdmittedAtTheLimitAndLargerOnesAtLess) {
  for (const double size : {0.01, 0.1, 0.5, 1.0, 3.0, 10.0}) {
    double sum = 0;
    constexpr int kSeeds = 40;
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
      Fleet fleet(OnePolicy());
      sum += Offer(fleet, {{.offered = 8 * kRate, .cost = size * kRate / kServers}}, seed)[0];
    }
    sum /= kSeeds * kRate * kSeconds;
    std::printf("Checks of %5.2f s of the share: %.3f of the limit on average\n", size, sum);
    EXPECT_LE(sum, 1.1) << size;
    if (size <= 0.5) {
      EXPECT_GE(sum, 0.9) << size;
    }
  }
}

// A job that comes back for what it was refused, when it is told to.
template <typename Ask>
double Goodput(double offered, double cost, uint32_t seed, Ask ask) {
  std::mt19937_64 random(seed);
  double done = 0;
  double free_at = 0;
  for (double due = 0; due < kSeconds;
       due += std::exponential_distribution<double>(offered / cost)(random)) {
    for (double at = std::max(due, free_at); at < kSeconds;) {
      const CheckAnswer answer = ask(random, cost, at);
      free_at = at;
      if (answer.verdict == Verdict::kAllowed) {
        done += cost;
        break;
      }
      at += absl::ToDoubleSeconds(answer.retry_after);
    }
  }
  return done;
}

TEST(CutOffServers, AnHonestJobInABucketOfItsOwnHasWhatItHadWithAnOwner) {
  double least = 10;
  for (const double part : {0.3, 0.6, 0.9}) {
    double approximate = 0;
    double exact = 0;
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      const auto one = [&](auto ask) { return Goodput(part * kRate, kRate / 100, seed, ask); };
      Fleet fleet(SplitPolicy());
      const double apart = one([&](auto& random, double cost, double at) {
        // Beside it the greedy one asks for 8 times the limit.
        fleet.Approximately(random() % kServers, "greedy:etl", 8 * cost, at);
        return fleet.Approximately(random() % kServers, "honest:etl", cost, at);
      });
      Fleet owned(SplitPolicy());
      const double together =
          one([&](auto&, double cost, double at) { return owned.ByOwner("honest:etl", cost, at); });
      least = std::min(least, apart / together);
      approximate += apart;
      exact += together;
    }
    std::printf("honest job at %.1f of its limit: %.3f of what it had with an owner\n", part,
                approximate / exact);
    EXPECT_GE(approximate / exact, 0.9) << part;
  }
  std::printf("the least of all seeds: %.3f\n", least);
  EXPECT_GE(least, 0.9);
}

TEST(CutOffServers, WhoShareABucketAreAdmittedInProportionToWhatTheyAsk) {
  Fleet fleet(OnePolicy());
  const std::vector<double> admitted = Offer(fleet,
                                             {{.identity = "greedy:etl", .offered = 8 * kRate},
                                              {.identity = "honest:etl", .offered = kRate / 4}},
                                             1);
  const double honest = admitted[1] / (kRate / 4 * kSeconds);
  std::printf(
      "in a bucket with one that asks for 8 times the limit, a job that asks for a quarter "
      "is admitted %.3f of that\n",
      honest);
  EXPECT_NEAR(honest, 1 / 8.25, 0.04);
}

}  // namespace
}  // namespace headgate::approximate
