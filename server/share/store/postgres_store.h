// PostgresStore: cluster::Store in a PostgreSQL-compatible database (schema.h, docs/cluster.md).
//
// It has two sessions, opened when they are needed: one for rounds, so that a large state never
// delays a lease, and one for states, which waits for a row that a round changes no longer than it
// takes to try again: where the two want each other's rows, the round wins. What operators order,
// which is seldom, opens its own. Every call is one statement, which the database commits by
// itself, at whatever isolation it has.
//
// Thread-safe. Rounds wait for each other, and states do; beside `timeout`, which each then has
// left of its own.
//
//   PostgresStore store({.dsn = [] { return ReadDsn(); }, .seed = seed}, clock);
//   absl::StatusOr<cluster::RoundReply> reply = store.Round(request, absl::Milliseconds(500));
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/share/cluster/store.h"
#include "server/share/store/transactor.h"

namespace headgate::store {

class PostgresStore final : public cluster::Store {
 public:
  // Asks nothing yet. The clock outlives it.
  PostgresStore(const TransactorOptions& options, Clock& clock);

  absl::StatusOr<cluster::RoundReply> Round(const cluster::RoundRequest& request,
                                            absl::Duration timeout) override;
  std::vector<absl::Status> WriteStates(absl::Span<const cluster::StateWrite> writes,
                                        absl::Duration timeout) override;
  std::vector<cluster::ReadState> ReadStates(absl::Span<const cluster::Held> targets,
                                             absl::Duration timeout) override;
  absl::Status TryStates(uint64_t incarnation, absl::Duration timeout) override;
  absl::Status SetDrained(std::string_view member, bool drained, absl::Duration timeout) override;
  absl::Status SetPreferred(std::string_view target, std::string_view member,
                            absl::Duration timeout) override;

  // Attempts that the database rolled back because of others, and that were made again.
  int64_t rolled_back();

  // Of calls that are under way, as far as Transactor can, and of all later ones.
  void Cancel();

 private:
  // One that changes rows, or NotFound.
  absl::Status Order(absl::FunctionRef<bool(pqxx::transaction_base&)> change,
                     std::string_view missing, absl::Duration timeout);

  const TransactorOptions options_;
  Clock& clock_;
  Mutex rounds_mutex_;
  Mutex states_mutex_;
  Transactor rounds_;  // Run under rounds_mutex_
  Transactor states_;  // Run under states_mutex_
};

}  // namespace headgate::store
