#include "tests/bench/lease/approximate.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tests/servers/deployment.h"
#include "tests/servers/networks.h"

namespace headgate::bench {
namespace {

constexpr char kTarget[] = "orders";
constexpr double kRate = 300;
constexpr double kSeconds = 30;
constexpr double kGreedyTimes = 8;
constexpr double kGreedyAsksPerServer = 100;  // a second
constexpr double kHonestPart = 0.6;
constexpr double kHonestCost = 3;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "benchmark is broken: %s\n", what);
  std::exit(1);
}

double Seconds() { return static_cast<double>(MonotonicNs()) * 1e-9; }

void SleepUntil(double second) {
  for (double left; (left = second - Seconds()) > 0;) {
    poll(nullptr, 0, std::max(static_cast<int>(left * 1e3), 1));
  }
}

v1::Decision Ask(const Deployment& servers, int server, const char* identity, double cost) {
  v1::Decision decision;
  const grpc::Status status = servers.TryCheck(server, kTarget, identity, &decision, cost);
  Require(status.ok(), status.error_message().c_str());
  return decision;
}

// What it was admitted by this server.
double OfferGreedily(const Deployment& servers, int server, double end) {
  const double cost = kGreedyTimes * kRate / (kGreedyAsksPerServer * servers.size());
  double admitted = 0;
  for (double at = Seconds(); at < end; at += 1 / kGreedyAsksPerServer) {
    SleepUntil(at);
    if (Ask(servers, server, "greedy:etl", cost).verdict() == v1::VERDICT_ALLOWED) admitted += cost;
  }
  return admitted;
}

double OfferHonestly(const Deployment& servers, double end) {
  double admitted = 0;
  int server = 0;
  for (double due = Seconds(); due < end; due += kHonestCost / (kHonestPart * kRate)) {
    for (double at = due; at < end;) {
      SleepUntil(at);
      const v1::Decision decision =
          Ask(servers, server++ % servers.size(), "honest:etl", kHonestCost);
      if (decision.verdict() == v1::VERDICT_ALLOWED) {
        admitted += kHonestCost;
        break;
      }
      const auto& wait = decision.retry_after();
      at = Seconds() + static_cast<double>(wait.seconds()) + 1e-9 * wait.nanos();
    }
  }
  return admitted;
}

struct Admitted {
  double greedy = 0, honest = 0;
};

Admitted Offer(const Deployment& servers) {
  const double end = Seconds() + kSeconds;
  std::vector<double> greedy(static_cast<size_t>(servers.size()), 0.0);
  std::vector<std::thread> threads;
  for (int server = 0; server < servers.size(); ++server) {
    threads.emplace_back(
        [&, server] { greedy[static_cast<size_t>(server)] = OfferGreedily(servers, server, end); });
  }
  Admitted admitted{.honest = OfferHonestly(servers, end)};
  for (std::thread& thread : threads) thread.join();
  for (const double each : greedy) admitted.greedy += each;
  return admitted;
}

void CutOff(const Deployment& servers, Networks& networks) {
  for (int server = 0; server < servers.size(); ++server) {
    networks.CutFromStore(server);
    for (int other = 0; other < server; ++other) networks.CutFromServer(server, other);
  }
  for (int server = 0; server < servers.size(); ++server) {
    const auto decides_alone = [&] {
      v1::Decision decision;
      return servers.TryCheck(server, kTarget, "probe", &decision, 0, absl::Seconds(1)).ok() &&
             decision.reason() == v1::REASON_APPROXIMATE;
    };
    Require(WaitUntil(decides_alone), "a server that is cut off does not decide alone");
  }
}

}  // namespace

std::string MeasureApproximate() {
  Networks::MoveIn();
  if (!Networks::AreThere()) {
    std::fprintf(stderr, "approximate: %s\n", Networks::WhyNot().c_str());
    return "";
  }
  Networks networks;
  Deployment servers({.targets = {kTarget},
                      .cluster_more = "  on_store_loss: APPROXIMATE\n",
                      .rate = absl::StrCat(kRate),
                      .burst = "2s",
                      .budget_more = ", split: {depth: 2}",
                      .networks = &networks});
  for (int server = 0; server < servers.size(); ++server) {
    Require(servers.AwaitOwners(server), "nobody owns the target");
  }
  const Admitted with_owner = Offer(servers);
  CutOff(servers, networks);
  const Admitted alone = Offer(servers);
  return absl::StrFormat("approx_error=%.3f\napprox_goodput=%.3f\n",
                         alone.greedy / (kRate * kSeconds) - 1, alone.honest / with_owner.honest);
}

}  // namespace headgate::bench
