// What goes into a Check and what comes out, as plain data. The meaning of each field is that of
// the API's documentation, headgate/v1/throttler_service.proto.
//
// Thread-compatible.
//
//   CheckRequest request{.estimated_cost = 500, .pattern = "backfill-orders"};

#ifndef HEADGATE_CHECK_H_
#define HEADGATE_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::client {

// The largest estimate or actual cost; the server's limit, too.
inline constexpr double kMaxCost = 1e15;

// What a budget is measured in. The two are never mixed.
enum class BudgetUnit {
  kCost,      // the unit of the jobs' own estimates: rows, bytes, the planner's cost units
  kBusyTime,  // seconds for which work keeps the database busy
  kUnknown,   // of a server older or newer than this client
};

enum class Verdict { kAllowed, kDenied };

// The first stage that denied, or what let the Check pass unexamined.
enum class Reason {
  kNone,
  kExempt,
  kDenyRule,
  kRejectRatio,
  kHealth,
  kMaxCost,
  kMaxConcurrency,
  kCapacity,
  kPermits,      // the caller has its share of the server's permits
  kLine,         // others wait, and are before it
  kLineFull,     // it would have waited, but too many wait already
  kApproximate,  // nobody decides: one server did so alone; of what is allowed, too
  kUnknown,      // of a server newer than this client
};

enum class LimitKind {
  kRule,
  kHealth,
  kRate,
  kBurst,
  kMaxCost,
  kMaxConcurrency,
  kProbe,
  kPermits,
  kLine,
  kLineFull,
  kApproximate,
  kUnknown,  // of a server newer than this client
};

// Pieces of a lease by what became of them; see lease.h, which counts them.
struct PieceCount {
  Verdict verdict = Verdict::kAllowed;
  Reason reason = Reason::kNone;
  std::optional<LimitKind> limit_kind = {};  // absent: nothing objected
  std::string budget = {};
  std::string rule = {};
  std::string signal = {};
  int64_t pieces = 0;
  double cost = 0;  // predicted, of all
};

// What was spent of a lease.
struct LeaseUse {
  double spent = 0;  // the sum of the estimates of its pieces
  int64_t pieces = 0;
  std::vector<PieceCount> counts = {};
  std::string identity = {};
  std::string target = {};
  double safe_spent = 0;  // likewise of those at its safe rate, which are in `pieces` as well
  // By which the server knows this when it comes again, and counts it once. 0: it has none.
  uint64_t id = 0;
};

// What one chunk of work really took. Both may be left out, and mostly are.
struct WorkDone {
  // In the unit of the estimate: rows where that was rows. Absent: the predicted cost stands.
  // Seconds are no cost, unless the estimate was in seconds.
  std::optional<double> actual_cost = {};
  // How long the database was busy with it. Absent: the time from the answer to the report.
  std::optional<absl::Duration> busy_time = {};
};

// What is reported of the work under one permit.
struct PermitReport {
  uint64_t permit_id = 0;
  WorkDone done = {};
  // The busy time was measured by the permit, not given by the job. Where the server takes none
  // that is so long, the report is sent again without it, and the server's own bound counts.
  bool measured = false;
  std::optional<LeaseUse> lease_use = {};  // of a lease
};

// Makes a Check one for a lease, of which the estimate is the most. Leases ask so by themselves.
struct LeaseTerms {
  double least = 0;                           // what one piece costs
  absl::Duration time = {};                   // for which it is spent
  std::optional<PermitReport> returned = {};  // the one before, which is given back
  // What would be spent a second, and for how long, where nobody answers after its end; 0: nothing.
  double safe_rate = 0;
  absl::Duration safe_time = {};
};

// What was granted.
struct GrantedLease {
  double amount = 0;
  absl::Duration time = {};
  std::optional<double> largest_piece = {};  // absent: there is no limit
  double reject_ratio = 0;                   // of pieces that are refused by chance
  bool one_at_a_time = false;
  double safe_rate = 0;  // what is reserved of LeaseTerms::safe_rate
  absl::Duration safe_time = {};
  uint64_t state = 0;  // in which it was granted: see Transport::WatchLease; 0: not known
};

// One chunk of work.
struct CheckRequest {
  std::string identity = {};  // who wants to work; empty: the client's own
  std::string target = {};    // which database cluster; empty: the client's own
  // In the job's own unit: rows, bytes, the planner's cost units. Absent and 0 differ.
  std::optional<double> estimated_cost = {};
  std::string pattern = {};  // what kind of work, such as a query's identifier; may be empty
  std::map<std::string, std::string> tags = {};  // further properties for rules to match
  // The same id is charged once while its permit lives. Empty: the client makes one for each call,
  // so that it may retry.
  std::string request_id = {};
  bool validate_only = false;  // answer without charging anything and without a permit
  // How long the Check may wait in the server for its fair turn, at most an hour; zero: it is
  // answered at once. CheckOrWait sets it by itself.
  absl::Duration max_wait = {};
  std::optional<LeaseTerms> lease = {};  // absent: all of it is admitted or nothing
};

enum class HealthState {
  kUnmonitored,
  kWarming,
  kHealthy,
  kStale,
  kUnknown,  // of a server newer than this client
};

// A Report that left a budget with more debt than its burst.
struct ReportedDebt {
  absl::Time reported_at = {};
  double reported = 0;           // in the unit of the budget: cost, or seconds
  absl::Duration owed_for = {};  // until what is above the burst has drained
};

// One limit that refused, or would have.
struct Violation {
  std::string budget = {};
  std::string rule = {};
  LimitKind limit_kind = LimitKind::kUnknown;
  std::string level = {};
  double observed = 0;  // in the limit's unit
  double limit = 0;
  std::string signal = {};
  bool warn = false;                               // this one did not deny
  std::optional<absl::Duration> retry_after = {};  // absent: never
  BudgetUnit unit = BudgetUnit::kUnknown;          // of the budget
  // To which the debt is due. Absent: there is none, or it is not known any more.
  std::optional<ReportedDebt> reported_debt = {};
};

struct Health {
  std::string profile = {};
  HealthState state = HealthState::kUnknown;
  double speed = 0;  // 0..1
  double pressure = 0;
  std::string signal = {};
  std::optional<absl::Duration> sample_age = {};  // absent: there is no sample
};

struct Answer {
  Verdict verdict = Verdict::kDenied;
  Reason reason = Reason::kNone;
  // What a report refers to. Absent: there is nothing to report.
  std::optional<uint64_t> permit_id = {};
  // What is predicted of its cost, in the unit of the estimate, and charged to budgets of cost; the
  // largest of their defaults, where nothing is known to predict from.
  double predicted_cost = 0;
  // The same of its busy time. Absent: no budget of busy time is charged.
  std::optional<absl::Duration> predicted_busy_time = {};
  // It was let through though more was predicted than a budget could ever admit, so that the
  // prediction is measured: the report of this one counts for those that follow.
  bool probe = false;
  // On a denial, when to ask again; absent where waiting will not help.
  std::optional<absl::Duration> retry_after = {};
  std::vector<Violation> violations = {};
  std::optional<Health> health = {};  // absent where no health profile applies
  std::string message = {};           // one sentence for a person
  int priority = 0;
  // Advice, a factor on the estimate, without which there is none: multiply the size of the next
  // chunk by this.
  std::optional<double> chunk_scale = {};
  // How long this Check waited in the server. Absent: it was answered at once.
  std::optional<absl::Duration> waited = {};
  std::optional<GrantedLease> lease = {};  // where one was asked for and granted
  // What became of a lease that came back with it: a server that knows none did not take it, nor
  // one that decided for nobody just then, so that it has to be reported; one that has forgotten
  // it can still count its pieces.
  enum class Returned : uint8_t { kTaken, kAgain, kCountsAgain };
  Returned returned = Returned::kTaken;
  bool local = false;  // Headgate was unreachable: this is what OnUnreachable says

  bool allowed() const { return verdict == Verdict::kAllowed; }
};

enum class ReportOutcome {
  kSettled,
  kAlreadySettled,  // reported before; nothing changed
  kForgotten,       // expired so long ago that its place was needed; nothing changed
};

// What a budget was not charged of a report, since it was too far above what was predicted.
struct Overrun {
  std::string budget = {};
  double reported = 0;  // in the unit of the budget: cost, or seconds
  double charged = 0;   // of it
};

// What came of one report.
struct ReportResult {
  ReportOutcome outcome = ReportOutcome::kSettled;
  std::vector<Overrun> overruns = {};
  // Budgets that stay charged what was predicted: since the Check they were split or measured in
  // another way, or changed more often than is remembered.
  std::vector<std::string> unsettled = {};
};

}  // namespace headgate::client

#endif  // HEADGATE_CHECK_H_
