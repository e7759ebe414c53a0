#include "tests/sim/model_database.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace headgate::sim {
namespace {

constexpr double kMoment = 0.05;        // s
constexpr double kWobbleSeconds = 2;    // memory of the machine's speed
constexpr double kNeighboursStay = 15;  // s on average
constexpr double kTideSeconds = 60;     // memory of the machine's drift

}  // namespace

ModelDatabase::ModelDatabase(const ModelSpec& spec, BatchGate& gate, uint64_t seed)
    : spec_(spec),
      gate_(gate),
      dice_(seed),
      machine_dice_(~seed),
      cores_(spec.cores, spec.yielding.switching) {
  const ForegroundModel& foreground = spec_.foreground;
  const int clients = foreground.clients + foreground.more_clients;
  clients_.resize(static_cast<size_t>(clients));
  if (foreground.pace > 0) {
    Schedule(foreground.from, What::kArrival, 0);
  } else {
    for (int i = 0; i < clients; ++i) {
      Schedule(i < foreground.clients ? foreground.from : foreground.more_from, What::kNext, i);
    }
  }
  asked_at_.resize(static_cast<size_t>(foreground.analysts));
  for (int i = 0; i < foreground.analysts; ++i) Schedule(foreground.from, What::kAnalyst, i);
  const int workers = spec_.batch.workers + spec_.batch.unasked;
  workers_.resize(static_cast<size_t>(workers));
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].asks = i < static_cast<size_t>(spec_.batch.workers);
    workers_[i].rows = workers_[i].next_rows = spec_.batch.rows;
    Schedule(0.001 * static_cast<double>(i + 1), What::kWorker, static_cast<int>(i));
  }
  Schedule(0, What::kMoment, 0);
  if (spec_.yielding.works) Schedule(spec_.yielding.looks, What::kLook, 0);
}

double ModelDatabase::Uniform(Dice& dice) { return static_cast<double>(dice() >> 11) * 0x1p-53; }
double ModelDatabase::Exponential(double mean) { return -mean * std::log(1 - Uniform()); }
double ModelDatabase::Normal(Dice& dice) {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(dice)));
  return radius * std::cos(2 * std::numbers::pi * Uniform(dice));
}

void ModelDatabase::Schedule(double at, What what, int who) {
  events_.push({at, ++events_made_, what, who});
}

void ModelDatabase::RunUntil(double time) {
  for (;;) {
    const double job_ends = cores_.NextEnd();
    const double next = std::min(job_ends, events_.top().at);
    if (next > time) break;
    now_ = next;
    cores_.Advance(now_);
    if (job_ends <= events_.top().at) {
      EndJob(cores_.TakeDone());
      continue;
    }
    const Event event = events_.top();
    events_.pop();
    Handle(event);
  }
  now_ = time;
  cores_.Advance(now_);
}

void ModelDatabase::EndJob(int job) {
  if (job >= kFirstBeside) return BeginChunk(job - kFirstBeside);
  if (job >= kFirstWorker) return EndCpuOfChunk(job - kFirstWorker);
  if (job >= kFirstAnalyst) return Answer(job - kFirstAnalyst);
  EndCpu(job);
}

void ModelDatabase::Handle(const Event& event) {
  switch (event.what) {
    case What::kArrival:
      return Arrive();
    case What::kNext:
      return Begin(event.who, now_);
    case What::kCommitted:
      return End(event.who);
    case What::kFlushed:
      return Flushed();
    case What::kAnalyst:
      return Ask(event.who);
    case What::kWorker:
      return Wake(event.who);
    case What::kMoment:
      return Moment();
    case What::kLook:
      return Look();
  }
}

void ModelDatabase::Moment() {
  const double keep = std::exp(-kMoment / kWobbleSeconds);
  mood_ = mood_ * keep + spec_.wobble * std::sqrt(1 - keep * keep) * Normal(machine_dice_);
  if (Uniform(machine_dice_) < kMoment / kNeighboursStay) neighbours_ = !neighbours_;
  const double keep_tide = std::exp(-kMoment / kTideSeconds);
  if (spec_.drift > 0) {
    tide_ = tide_ * keep_tide +
            spec_.drift * std::sqrt(1 - keep_tide * keep_tide) * Normal(machine_dice_);
  }
  cores_.SetSpeed(std::exp(mood_ + tide_ + spec_.flicker * Normal(machine_dice_)) *
                  (neighbours_ ? spec_.neighbours : 1));
  to_be_written_ = std::max(0.0, to_be_written_ - kMoment);
  if (Present()) tally_.present += kMoment;
  Schedule(now_ + kMoment, What::kMoment, 0);
}

bool ModelDatabase::Present() const {
  const ForegroundModel& foreground = spec_.foreground;
  if (foreground.clients == 0 || now_ < foreground.from) return false;
  if (foreground.present <= 0) return true;
  return std::fmod(now_ - foreground.from, foreground.present + foreground.absent) <
         foreground.present;
}

bool ModelDatabase::IsAway(int client) const {
  const ForegroundModel& foreground = spec_.foreground;
  return client >= foreground.clients && now_ >= foreground.more_until;
}

void ModelDatabase::Arrive() {
  Schedule(now_ + Exponential(1 / spec_.foreground.pace), What::kArrival, 0);
  if (!Present()) return;
  const auto free = std::find_if(clients_.begin(), clients_.end(),
                                 [](const Client& client) { return !client.active; });
  if (free == clients_.end()) {
    queue_.push_back(now_);
  } else {
    Begin(static_cast<int>(free - clients_.begin()), now_);
  }
}

void ModelDatabase::Begin(int who, double arrived_at) {
  const ForegroundModel& foreground = spec_.foreground;
  if (IsAway(who)) return;
  if (foreground.pace <= 0 && !Present()) {
    const double round = foreground.present + foreground.absent;
    const double into = std::fmod(now_ - foreground.from, round);
    return Schedule(now_ + round - into + Exponential(0.02), What::kNext, who);
  }
  clients_[static_cast<size_t>(who)] = {.active = true, .arrived_at = arrived_at, .began_at = now_};
  const double phase = 2 * std::numbers::pi * now_ / foreground.period;
  cores_.Start(who, Exponential(foreground.cpu) * spec_.batch.on_cpu.Of(at_work_ - idle_at_work_) *
                        (1 + foreground.swing * std::sin(phase)));
}

int ModelDatabase::LockedBy() {
  if (spec_.batch.lock_share <= 0) return -1;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].active && Uniform() < spec_.batch.lock_share) return static_cast<int>(i);
  }
  return -1;
}

void ModelDatabase::EndCpu(int who) {
  const int holder = LockedBy();
  if (holder < 0) return Commit(who);
  Worker& worker = workers_[static_cast<size_t>(holder)];
  if (worker.waiting.empty()) worker.awaited_since = now_;
  worker.waiting.push_back(who);
}

void ModelDatabase::Commit(int who) {
  // One of the statements takes half of the time.
  const double busy = now_ - clients_[static_cast<size_t>(who)].began_at;
  const double statements = spec_.foreground.statements;
  const double others = statements > 1 ? busy / 2 : 0;
  Count(slow_, 1, busy - others);
  if (statements > 1) Count(quick_, statements - 1, others);
  if (spec_.foreground.commit <= 0) return End(who);
  if (spec_.log.flush > 0) return Write(who, 0);
  const double drag = spec_.batch.on_commit.Of(at_work_) + spec_.batch.leaves * to_be_written_;
  Schedule(now_ + Exponential(spec_.foreground.commit) * drag, What::kCommitted, who);
}

void ModelDatabase::Count(Statement& statement, double calls, double busy) {
  const double each = busy / calls, before = each - statement.mean;
  statement.calls += calls;
  statement.mean += calls / statement.calls * before;
  counted_.timed_deviations += calls * before * (each - statement.mean);
  counted_.calls += calls;
  counted_.busy_seconds += busy;
  counted_.timed_calls += calls;
  counted_.timed_seconds += busy;
}

void ModelDatabase::Write(int job, double seconds) {
  to_flush_.push_back(job);
  to_write_ += seconds;
  if (flushing_.empty()) Flush();
}

void ModelDatabase::Flush() {
  flushing_ = std::exchange(to_flush_, {});
  const double seconds = spec_.log.flush * (0.5 + Exponential(0.5)) + std::exchange(to_write_, 0);
  Schedule(now_ + seconds, What::kFlushed, 0);
}

void ModelDatabase::Flushed() {
  for (const int job : std::exchange(flushing_, {})) {
    job >= kFirstWorker ? EndChunk(job - kFirstWorker) : End(job);
  }
  if (flushing_.empty() && !to_flush_.empty()) Flush();
}

void ModelDatabase::Ask(int analyst) {
  asked_at_[static_cast<size_t>(analyst)] = now_;
  cores_.Start(kFirstAnalyst + analyst, Exponential(spec_.foreground.query));
}

// So seldom that statistics of times leave it out.
void ModelDatabase::Answer(int analyst) {
  counted_.calls += 1;
  counted_.busy_seconds += now_ - asked_at_[static_cast<size_t>(analyst)];
  Schedule(now_ + Exponential(spec_.foreground.thought), What::kAnalyst, analyst);
}

void ModelDatabase::End(int who) {
  Client& client = clients_[static_cast<size_t>(who)];
  client.active = false;
  if (spec_.foreground.commit > 0) ++next_id_;
  tally_.transactions += 1;
  tally_.latencies.push_back(static_cast<float>(now_ - client.arrived_at));
  if (spec_.foreground.pace <= 0) {
    return Schedule(now_ + Exponential(spec_.foreground.outside), What::kNext, who);
  }
  if (queue_.empty()) return;
  const double arrived_at = queue_.front();
  queue_.pop_front();
  Begin(who, arrived_at);
}

health::WorkCounters ModelDatabase::Counters() const {
  health::WorkCounters counters;
  // Not 0, which stands for never.
  counters.sampled_at_ns = static_cast<int64_t>((now_ + 1000) * 1e9);
  counters.next_xid = next_id_;
  for (const Client& client : clients_) counters.foreground_active += client.active ? 1 : 0;
  (spec_.told_apart ? counters.batch_active : counters.foreground_active) += at_work_;
  if (spec_.statements) {
    counters.statements = counted_;
  }
  return counters;
}

void ModelDatabase::ResetStatements() { counted_ = {.generation = counted_.generation + 1}; }

Tally ModelDatabase::TakeTally() {
  tally_.seconds = now_ - std::exchange(tally_from_, now_);
  return std::exchange(tally_, {});
}

}  // namespace headgate::sim
