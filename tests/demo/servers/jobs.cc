#include "tests/demo/servers/jobs.h"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/sql_session.h"

namespace headgate::demo {
namespace {

constexpr int kWorkers = 2;  // on each database
constexpr int kChunk = 100;  // rows
constexpr int kTries = 2;    // of a Check
// Longer than a database is without an owner after one has died.
constexpr absl::Duration kLimit = absl::Seconds(5);

int RetryMs(const v1::Decision& decision) {
  const auto& after = decision.retry_after();
  return std::clamp(static_cast<int>(after.seconds() * 1000 + after.nanos() / 1'000'000), 5, 500);
}

}  // namespace

Jobs::Jobs(Fleet& fleet, std::function<double()> seconds)
    : fleet_(fleet),
      seconds_(std::move(seconds)),
      checks_(Fleet::Databases().size()),
      admitted_(Fleet::Databases().size()) {
  for (size_t database = 0; database < Fleet::Databases().size(); ++database) {
    for (int worker = 0; worker < kWorkers; ++worker) {
      threads_.emplace_back(
          [this, database, worker](const std::stop_token& stop) { Work(database, worker, stop); });
    }
  }
}

Jobs::~Jobs() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

double Jobs::Admitted(size_t database) const {
  const MutexLock lock(&mutex_);
  return admitted_[database];
}

absl::Status Jobs::Health() const {
  const MutexLock lock(&mutex_);
  return status_;
}

absl::Status Jobs::Stop(ServersRecord& record) {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  const MutexLock lock(&mutex_);
  for (size_t i = 0; i < checks_.size(); ++i) {
    std::ranges::sort(checks_[i], {}, &AskedCheck::answered_s);
    record.databases.push_back({.name = Fleet::Databases()[i], .checks = std::move(checks_[i])});
  }
  return status_;
}

void Jobs::Work(size_t database, int worker, const std::stop_token& stop) {
  absl::StatusOr<SqlSession> session = SqlSession::Open(fleet_.DsnOf(database));
  absl::Status status = session.status();
  int server = (worker + static_cast<int>(database)) % Fleet::kServers;
  for (int first = 1 + worker * Fleet::kRows / kWorkers; status.ok() && !stop.stop_requested();) {
    v1::Decision decision;
    AskedCheck check{.asked_s = seconds_()};
    check.failed = !Ask(database, server, decision);
    check.answered_s = seconds_();
    const bool allowed = !check.failed && decision.verdict() == v1::VERDICT_ALLOWED;
    if (allowed) check.cost = kChunk;
    Note(database, check);
    if (!allowed) {
      poll(nullptr, 0, check.failed ? 100 : RetryMs(decision));
      continue;
    }
    status = session
                 ->Run(absl::StrCat("UPDATE items SET done = done + 1 WHERE id BETWEEN ", first,
                                    " AND ", first + kChunk - 1))
                 .status();
    first = (first + kChunk - 1) % Fleet::kRows + 1;
  }
  const MutexLock lock(&mutex_);
  if (status_.ok()) status_ = status;
}

bool Jobs::Ask(size_t database, int& server, v1::Decision& decision) {
  v1::CheckRequest request;
  request.set_identity("backfill");
  request.set_target(Fleet::Databases()[database]);
  request.set_estimated_cost(kChunk);
  for (int tries = 0; tries < Fleet::kServers; ++tries) {
    v1::CheckResponse response;
    if (fleet_.Check(server, request, kLimit, response).ok()) {
      decision = response.decision();
      return true;
    }
    server = (server + 1) % Fleet::kServers;
  }
  return false;
}

void Jobs::Note(size_t database, const AskedCheck& check) {
  const MutexLock lock(&mutex_);
  checks_[database].push_back(check);
  admitted_[database] += check.cost;
}

}  // namespace headgate::demo
