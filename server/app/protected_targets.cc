#include "server/app/protected_targets.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "absl/time/time.h"
#include "server/app/connection_string.h"
#include "server/share/store/admin.h"

namespace headgate::app {
namespace {

constexpr absl::Duration kTargetTimeout = absl::Seconds(3);
constexpr size_t kAtOnce = 16;

}  // namespace

absl::StatusOr<store::DatabaseIdentity> Identify(const config::PostgresSource& target,
                                                 Clock& clock) {
  absl::StatusOr<std::string> dsn = ReadConnectionString(target);
  if (!dsn.ok()) return dsn.status();
  return store::Identify(*dsn, kTargetTimeout, clock);
}

std::vector<std::pair<std::string, store::DatabaseIdentity>> ProtectedTargets::NamesOf(
    const std::vector<Known>& known) {
  std::vector<std::pair<std::string, store::DatabaseIdentity>> names;
  names.reserve(known.size());
  for (const Known& one : known) names.emplace_back(one.target, one.identity);
  return names;
}

absl::Status ProtectedTargets::Update(const std::vector<config::TargetSettings>& targets) {
  std::vector<Known> known;
  {
    const MutexLock lock(&mutex_);
    known = known_;
  }
  std::vector<Known> now;
  std::vector<Known> unknown;
  for (const config::TargetSettings& target : targets) {
    if (!target.primary.has_value()) continue;
    const auto found = std::ranges::find_if(known, [&](const Known& one) {
      return one.target == target.name && one.source == *target.primary;
    });
    if (found != known.end()) {
      now.push_back(*found);
    } else {
      unknown.push_back({target.name, *target.primary, {}});
    }
  }
  std::atomic<size_t> next{0};
  const auto ask = [&] {
    // relaxed: each takes another one.
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < unknown.size();
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      auto identity = Identify(unknown[i].source, clock_);
      if (identity.ok()) unknown[i].identity = *std::move(identity);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(kAtOnce, unknown.size()); ++i) threads.emplace_back(ask);
  for (std::thread& thread : threads) thread.join();
  for (Known& one : unknown) {
    if (!one.identity.system_identifier.empty()) now.push_back(std::move(one));
  }
  const MutexLock lock(&mutex_);
  if (store_.has_value()) {
    absl::Status accepted = store::RefuseProtected(*store_, NamesOf(now));
    if (!accepted.ok()) return accepted;
  }
  known_ = std::move(now);
  return absl::OkStatus();
}

absl::Status ProtectedTargets::Accept(const store::DatabaseIdentity& database) {
  const MutexLock lock(&mutex_);
  absl::Status accepted = store::RefuseProtected(database, NamesOf(known_));
  if (accepted.ok()) store_ = database;
  return accepted;
}

}  // namespace headgate::app
