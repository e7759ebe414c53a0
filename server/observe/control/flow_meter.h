// FlowMeter: what the foreground and the batch did from one sample to the next.
//
// The foreground's throughput, and the mean and deviation of its statements' times, are what
// pg_stat_statements counts, where it is loaded and its counters run on. Where they do not, or
// where what they compare is but a part of what runs, as with more statements than the view has
// entries, throughput is of all that is known to have run. Else it is the rate of new transaction
// ids, less those of the batch, and times are known by the sessions at work alone (Little's law).
// Statements are not in every sample, since reading them is dear: a flow ends where they come, and
// a glance says what else is known until then. Batch work in flight is known from Reports and from
// permits outstanding: exactly over many chunks, and within half a chunk at each end of a flow.
//
// Where the batch's sessions are not told apart (no role or application name is configured, or a
// wrong one), its own work is taken off the foreground's figures, and times of statements are not
// known.
//
// Pure and thread-compatible.

#pragma once

#include <cstdint>
#include <optional>

#include "server/observe/health/probe.h"

namespace headgate::control {

// One look at the database and at what Headgate itself knows of its batch work. Totals grow.
struct ControlSample {
  health::WorkCounters work;
  uint64_t checks = 0;        // asked so far
  uint64_t transactions = 0;  // of batch work, reported so far
  double busy_seconds = 0;    // that those took
  int64_t outstanding = 0;    // permits
  double speed = 1;           // of their health: the share of what was found that drains
  // For how much of their busy time sessions that yield have a processor; 1 where none does.
  double processor_share = 1;
};

struct Flow {
  enum class Source : uint8_t {
    kTransactionIds,
    kStatements,     // those that are compared
    kAllStatements,  // and those of which no more is known than that they ran
  };

  double at = 0;       // s, its middle; from an arbitrary start
  double seconds = 0;  // that it lasted
  Source source = Source::kTransactionIds;
  double throughput = 0;    // of the foreground, transactions or statements a second
  double transactions = 0;  // of the foreground, as far as it writes, a second
  // Of the foreground at work, on average over the samples that came since it began: where it
  // began, a time of work may have ended.
  double sessions = 0;
  double occupancy = 0;  // the same by the time of statements: exact, but blind to commits
  double mean = 0;       // s that a statement takes; 0: not known
  double deviation = 0;  // s, standard, from the mean of the same statement; 0: not known
  // s for which a session is at work for a statement, or a transaction, by Little's law: noisy, but
  // with what happens between statements, as commits.
  double residence = 0;
  double in_flight = 0;  // batch work, busy seconds a second
  bool asked = false;    // for batch work

  // Times that are not known are 0.
  bool Knows(double Flow::*value) const {
    const bool is_time =
        value == &Flow::mean || value == &Flow::deviation || value == &Flow::residence;
    return !is_time || this->*value > 0;
  }
};

class FlowMeter {
 public:
  enum class Outcome : uint8_t {
    kFlow,
    kMore,    // statement statistics are still to come
    kBroken,  // the first sample, or one whose counters do not continue the last one's
  };

  // `flow` is set where there is one. `glance` is what is known since the sample before without
  // statements, unless that is nothing (kBroken).
  Outcome Take(const ControlSample& sample, Flow& flow, Flow& glance);
  void Forget() { from_.reset(); }
  // Statement statistics are there, if not in every sample.
  bool has_statements() const { return from_.has_value() && from_->work.statements.has_value(); }

  // What seemed to be a foreground went when batch work was kept out: it was the batch, whose
  // permits stand for more than one transaction. Believed when it is said twice.
  void BlameBatch();
  // It was there without batch work: what was said once was chance.
  void AcquitBatch() { blamed_each_ = 0; }

  // Sessions of batch work were never seen, though permits were out often enough: its work is taken
  // off the foreground's. And so often that whoever configured it should know.
  bool is_mingled() const { return !sees_batch_ && unseen_ >= kUnseen; }
  bool misses_batch() const { return !sees_batch_ && unseen_ >= kMissing; }
  // Lately Reports said far less than sessions were seen at work: they are not to be believed.
  bool is_understated() const { return last_.work.sampled_at_ns < understated_until_ns_; }

  // Foreground sessions at work, as the newest sample has it.
  double active() const { return active_; }
  // Busy seconds that a chunk takes, on average; 0: none was reported.
  double chunk() const { return chunk_; }

 private:
  // As often must permits be outstanding with no session of batch work in sight.
  static constexpr int kUnseen = 8, kMissing = 60;

  bool Continues(const ControlSample& sample) const;
  void Glance(const ControlSample& sample, Flow& glance);
  // Notes what of the statements cannot be compared with the sample before.
  void Distrust(const ControlSample& sample);
  // There are statements to be had, now or later, which go on from where the flow began.
  bool ExpectsStatements(const ControlSample& sample) const;
  void TellApart(const ControlSample& sample);
  double Permits(const ControlSample& sample) const;
  double OwnSessions(const ControlSample& sample) const;
  void CompareReports(const ControlSample& sample, const Flow& glance);
  double InFlight(const ControlSample& from, const ControlSample& sample, double seconds);
  void CountTransactions(const ControlSample& from, const ControlSample& sample, Flow& flow);
  void CountStatements(const ControlSample& sample, Flow& flow);

  std::optional<ControlSample> from_;  // where the flow began
  ControlSample last_;                 // the newest
  double session_seconds_ = 0;         // since the flow began
  double active_ = 0;
  double chunk_ = 0;
  bool counts_permits_ = false;  // some were seen outstanding
  bool sees_batch_ = false;      // sessions of batch work were seen
  int unseen_ = 0;               // samples with permits outstanding and no such session
  // Transaction ids for each permit: what is believed, what was seen last, what was blamed once.
  double ids_each_ = 1, seen_each_ = 1, blamed_each_ = 0;
  int64_t distrusted_until_ns_ = 0;    // statistics
  int64_t not_compared_until_ns_ = 0;  // but what ran is known
  bool counts_all_ = false;            // what is compared is but a part of what runs
  // Session-seconds of batch work: as they are seen, and as Reports have them.
  double seen_seconds_ = 0, told_seconds_ = 0;
  int64_t understated_until_ns_ = 0;
};

}  // namespace headgate::control
