#include "tests/bench/cluster/failovers.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"

namespace headgate::bench {
namespace {

constexpr char kTarget[] = "orders";
constexpr double kRate = 100;
constexpr double kBurst = 500;
constexpr double kCost = 10;
constexpr int kBuckets = 10'000;
constexpr int kInBatch = 1'000;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "benchmark is broken: %s\n", what);
  std::exit(1);
}

double Milliseconds(int64_t ns) { return static_cast<double>(ns) / 1e6; }

void Pause(absl::Duration span) {
  poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(span)));
}

double Number(Deployment& servers, const std::string& sql) {
  // From another database, so that it does not count itself.
  const auto rows = servers.store().RunSql(sql, "template1");
  double number = 0;
  if (!rows.ok() || rows->empty() || !absl::SimpleAtod((*rows)[0][0], &number)) {
    Require(false, absl::StrCat("no number: ", sql).c_str());
  }
  return number;
}

// All three servers are at work, and the target's owner has been so for a while.
void Settle(Deployment& servers) {
  Require(servers.AwaitOwners(), "targets have no owners");
  for (int server = 0; server < servers.size(); ++server) {
    Require(WaitUntil([&] { return servers.TryCheck(server, kTarget, "probe").ok(); }),
            "a server does not answer");
  }
  // Who came back just now is given its targets after a lease and a round or two.
  Pause(absl::Seconds(5));
  Require(servers.AwaitOwners(), "targets have no owners");
}

int OwnerOf(Deployment& servers) {
  int owner = -1;
  Require(WaitUntil([&] { return (owner = servers.OwnerNumber(kTarget)) >= 0; }), "no owner");
  return owner;
}

void Restart(Deployment& servers, int server) {
  servers.Start(server);
  Settle(servers);
}

double Crash(Deployment& servers) {
  const int owner = OwnerOf(servers);
  const int other = (owner + 1) % servers.size();
  servers[owner].Kill();
  const int64_t killed_ns = MonotonicNs();
  while (!servers.TryCheck(other, kTarget, "probe", nullptr, 1, absl::Seconds(10)).ok()) {
  }
  const double crash_ms = Milliseconds(MonotonicNs() - killed_ns);
  Restart(servers, owner);
  return crash_ms;
}

// Beyond the burst, and what drains.
double OverAdmitted(double admitted, int64_t started_ns) {
  const double seconds = Milliseconds(MonotonicNs() - started_ns) / 1e3;
  return std::max(0.0, admitted - kBurst - kRate * seconds);
}

void MeasureRounds(int rounds, FailoverParts parts, Failovers& found) {
  Deployment servers({.rate = absl::StrCat(kRate)});
  Settle(servers);
  const int64_t started_ns = MonotonicNs();
  // Each for more than the budget has, and once: what fails is to be seen.
  std::vector<std::unique_ptr<SteadyCaller>> asking;
  for (int server = 0; server < servers.size(); ++server) {
    asking.push_back(std::make_unique<SteadyCaller>(
        servers, server, kTarget, kCost, SteadyCaller::Habit{.tries = 1, .pause_ms = 2}));
  }
  for (int round = 0; round < rounds; ++round) {
    if (parts == FailoverParts::kAll) found.crash_ms.push_back(Crash(servers));
    const int owner = OwnerOf(servers);
    for (auto& one : asking) one->Begin();
    Require(servers[owner].Stop().ok(), "a server does not stop well");
    double planned_ms = 0;
    for (int server = 0; server < servers.size(); ++server) {
      // Whoever asks the one that stops goes elsewhere, which is for its SDK to do.
      if (server == owner) continue;
      const SteadyCaller& one = *asking[static_cast<size_t>(server)];
      planned_ms = std::max(planned_ms, absl::ToDoubleMilliseconds(one.longest()));
      found.failed_planned += one.failed();
    }
    found.planned_ms.push_back(planned_ms);
    Restart(servers, owner);
  }
  double admitted = 0;
  for (auto& one : asking) {
    one->Stop();
    admitted += one->admitted();
  }
  found.over_admitted = OverAdmitted(admitted, started_ns);
}

// Owes 10,000 buckets more, a little.
void ChargeAll(Deployment& servers) {
  for (int first = 0; first < kBuckets; first += kInBatch) {
    v1::BatchCheckRequest batch;
    for (int i = first; i < first + kInBatch; ++i) {
      v1::CheckRequest& check = *batch.add_checks();
      check.set_identity(absl::StrCat("job-", i));
      check.set_target(kTarget);
      check.set_estimated_cost(100);
    }
    v1::BatchCheckResponse decided;
    Require(servers.Try(0, &v1::ThrottlerService::Stub::BatchCheck, batch, decided).ok(),
            "a batch fails");
    v1::ReportRequest reports;
    for (const v1::CheckResult& result : decided.results()) {
      if (!result.decision().has_permit_id()) continue;
      reports.add_reports()->set_permit_id(result.decision().permit_id());
    }
    v1::ReportResponse settled;
    Require(servers.Try(0, &v1::ThrottlerService::Stub::Report, reports, settled).ok(),
            "a report fails");
  }
}

// Of the target's state, that its owner has written so far.
double Copies(Deployment& servers) {
  const auto rows = servers.store().RunSql(absl::StrCat(
      "SELECT state_sequence FROM headgate_store.ownership WHERE target = '", kTarget, "'"));
  double copies = 0;
  Require(rows.ok() && absl::SimpleAtod((*rows)[0][0], &copies), "no copies");
  return copies;
}

void MeasureStore(Failovers& found) {
  Deployment servers(
      {.rate = "1", .burst = "1000s", .budget_more = ", split: {depth: 1}, max_buckets: 65536"});
  Settle(servers);
  ChargeAll(servers);
  constexpr char kStatements[] =
      "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'";
  std::atomic<bool> stopping{false};
  std::thread load([&] {
    while (!stopping) ChargeAll(servers);
  });
  Pause(absl::Seconds(3));
  const int64_t started_ns = MonotonicNs();
  const double before = Number(servers, kStatements);
  const double copies_before = Copies(servers);
  Pause(absl::Seconds(20));
  const double statements = Number(servers, kStatements) - before;
  const double copies = Copies(servers) - copies_before;
  const double seconds = Milliseconds(MonotonicNs() - started_ns) / 1e3;
  stopping = true;
  load.join();
  found.store_statements_per_server_s = statements / seconds / servers.size();
  const auto rows = servers.store().RunSql(
      "SELECT max(length(bytes)) FROM headgate_store.state WHERE target = 'orders'");
  double bytes = 0;
  Require(rows.ok() && absl::SimpleAtod((*rows)[0][0], &bytes), "no state");
  found.state_bytes_per_s = bytes * copies / seconds;
}

}  // namespace

Failovers MeasureFailovers(int rounds, FailoverParts parts) {
  Failovers found;
  MeasureRounds(rounds, parts, found);
  if (parts == FailoverParts::kAll) MeasureStore(found);
  return found;
}

}  // namespace headgate::bench
