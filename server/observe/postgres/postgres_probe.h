// PostgresProbe: reads health signals and work counters of one real PostgreSQL server.
//
// Guarantees, beside those of health::Probe:
// - One session, kept from call to call. Every call ends within the timeout, connecting included.
// - The connection string is asked for at each connect, and hosts are looked up anew, so that
//   changed secrets and moved names take effect.
// - At each call the server itself says whether it is the primary or a standby, and whether the
//   role may see the statistics: a demoted primary, or counts that would read 0 for want of
//   pg_monitor, are errors. Where the connection string leads to several servers, the one that has
//   the role is found, in the same call if the session is with one that has it no more.
// - All built-in signals of a poll take one round trip. Each query of a custom signal takes one of
//   its own after them, runs read-only and for at most half of the timeout, and what it does to its
//   session is undone. One that spoils or ends its session fails alone, the others go on in a new
//   one, and it is not asked again for a while.
// - It leaves nothing in a session, and works through a connection pooler (pipeline.h); that there
//   is one is its note.
//
// What the values mean, and when there is no reading: signal_reader.h; for work: work_sampler.h.
//
// Thread-compatible, but Cancel() may be called from any thread.
//
//   PostgresProbe probe({.server = "primary", .dsn = [] { return ReadDsn(); }}, clock);
//   absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll(queries);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/profile.h"
#include "server/observe/postgres/pipeline.h"
#include "server/observe/postgres/primary_position.h"
#include "server/observe/postgres/quarantine.h"
#include "server/observe/postgres/server_role.h"
#include "server/observe/postgres/signal_reader.h"
#include "server/observe/postgres/work_sampler.h"

namespace headgate::postgres {

struct PostgresProbeOptions {
  // In the names of a standby's instances: health::StandbySpec::name.
  std::string server = "primary";
  ServerRole role = ServerRole::kPrimary;
  // The connection string, as libpq takes it. It must not block.
  std::function<absl::StatusOr<std::string>()> dsn = {};
  absl::Duration timeout = absl::Seconds(1);
  health::BatchWorkSpec batch_work = {};
  // Shared by the probes of a target whose standbys are asked as well: the primary's tells where
  // it is when it is asked for standby_lag_seconds, and the standbys' are compared with that.
  std::shared_ptr<PrimaryPosition> position = nullptr;
};

class PostgresProbe final : public health::Probe {
 public:
  // The clock outlives the probe.
  PostgresProbe(PostgresProbeOptions options, Clock& clock);
  ~PostgresProbe() override;

  absl::StatusOr<std::vector<health::Reading>> Poll(
      absl::Span<const health::SignalQuery> queries) override;
  absl::StatusOr<health::WorkCounters> SampleWork(health::StatementsWish wish) override;
  std::string Note() const override { return note_; }
  void Cancel() override { pipeline_.Cancel(); }

 private:
  // Whether a call that failed so may be made once more, in a new session.
  bool MayAskAgain(const absl::Status& status);
  absl::StatusOr<std::vector<health::Reading>> PollOnce(
      absl::Span<const health::SignalQuery> queries, const Deadline& deadline);
  // The built-in signals of `queries`.
  absl::StatusOr<std::vector<health::Reading>> PollBuiltIn(
      absl::Span<const health::SignalQuery> queries, const Deadline& deadline);
  // What a custom query returned, or its own error; the error of the call is the server's.
  absl::StatusOr<absl::StatusOr<Table>> AskCustom(const health::SignalQuery& query,
                                                  const Deadline& deadline);
  absl::StatusOr<health::WorkCounters> SampleOnce(health::StatementsWish wish,
                                                  const Deadline& deadline);

  // Makes the call, once more in a new session where the server of this one has another role now
  // than it had, or where MayAskAgain.
  template <typename Result>
  Result Call(absl::FunctionRef<Result()> call);
  absl::Status EnsureOpen(const Deadline& deadline);
  // Notes what the server says of itself; an error if it is not what this probe is for.
  absl::Status ReadServer(const absl::StatusOr<Table>& table);
  // Tells the others where this primary is, if it was asked.
  void TellPosition(const absl::StatusOr<Table>& wal);
  bool IsPrimary() const { return !IsStandby(options_.role); }
  Statement BuiltIn(Query query) const;
  absl::StatusOr<std::vector<absl::StatusOr<Table>>> Run(absl::Span<const Statement> statements,
                                                         const Deadline& deadline);

  const PostgresProbeOptions options_;
  Clock& clock_;
  Pipeline pipeline_;
  SignalReader reader_;
  WorkSampler sampler_;
  Quarantine quarantine_;
  std::string system_;    // of the session; empty: not known
  int64_t asked_ns_ = 0;  // when the statements were sent last
  bool has_load_function_ = false;
  bool has_wrong_role_ = false;  // the server, when it was asked last
  std::string note_;
};

}  // namespace headgate::postgres
