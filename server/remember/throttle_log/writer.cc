#include "server/remember/throttle_log/writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/remember/throttle_log/row_filter.h"

namespace headgate::throttle_log {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// So long before a whole second a round begins: threads wake late, and a round takes a moment.
constexpr int64_t kAheadNs = 50'000'000;

int32_t WholeSeconds(absl::Duration step) {
  return static_cast<int32_t>(std::clamp<int64_t>(absl::ToInt64Seconds(step), 1, 86'400));
}

int64_t FloorSeconds(int64_t wall_ns) {
  return wall_ns / kSecondNs - static_cast<int64_t>(wall_ns % kSecondNs < 0);
}

}  // namespace

Writer::Writer(Recorder& recorder, Store& store, Clock& clock, const WriterOptions& options)
    : recorder_(recorder),
      store_(store),
      clock_(clock),
      options_(options),
      // Another number than any that an earlier process ended with.
      batch_number_(clock.Read().wall_ns / 1000),
      buffer_(WholeSeconds(options.step)),
      held_(&recorder.held()) {}

Writer::~Writer() { Stop(); }

void Writer::Start() {
  {
    const std::lock_guard<std::mutex> lock(threads_mutex_);
    running_ = true;
  }
  collecting_ = std::thread([this] { CollectLoop(); });
  appending_ = std::thread([this] { AppendLoop(); });
}

void Writer::Stop() {
  {
    const std::lock_guard<std::mutex> lock(threads_mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  changed_.notify_all();
  if (collecting_.joinable()) collecting_.join();
  if (appending_.joinable()) appending_.join();
  Round(clock_.Read());
  // A store that turned out to be corrupt has just begun anew.
  if (absl::IsDataLoss(State().status)) Append(clock_.Read());
  DropRest();
}

void Writer::Round(Now now) {
  Collect(now);
  Append(now);
}

void Writer::CatchUp(absl::Duration patience) {
  Collect(clock_.Read());
  {
    std::unique_lock<std::mutex> lock(threads_mutex_);
    if (running_) {
      const int64_t mine = ++rounds_;
      changed_.notify_all();
      changed_.wait_for(lock, absl::ToChronoNanoseconds(patience),
                        [&] { return stopping_ || appended_ >= mine; });
      return;
    }
  }
  Append(clock_.Read());
}

int64_t Writer::ChecksWaiting(const ScanFilter& filter) const {
  MutexLock lock(&mutex_);
  int64_t checks = buffer_.ChecksIn(filter);
  for (const Row& row : batch_) {
    if (Takes(filter, row.step_s, row.key)) checks += row.counts.checks;
  }
  return checks;
}

void Writer::Collect(Now now) {
  const int64_t now_s = FloorSeconds(now.wall_ns);
  recorder_.Collect(now, [&](const RowKey& key, const Counts& counts) {
    MutexLock lock(&mutex_);
    const size_t waiting = std::min(batch_rows_, options_.max_buffered_rows);
    if (buffer_.Add(now_s, key, counts, options_.max_buffered_rows - waiting)) return;
    ++state_.rows_dropped;
    state_.checks_dropped += counts.checks;
  });
  const MutexLock lock(&mutex_);
  CountHeld();
}

void Writer::Append(Now now) {
  MutexLock lock(&store_mutex_);
  while (AppendBatch()) {
  }
  Maintain(now);
}

bool Writer::AppendBatch() {
  if (batch_.empty()) {
    MutexLock lock(&mutex_);
    batch_ = buffer_.Take(options_.max_batch_rows);
    batch_rows_ = batch_.size();
    if (!batch_.empty()) ++batch_number_;
  }
  if (batch_.empty()) return false;
  const absl::Status status = store_.Append(batch_, batch_number_);
  // Which begins anew what is corrupt. What is merely full or down waits its minute.
  if (absl::IsDataLoss(status)) maintain_at_ = absl::InfinitePast();
  NoteAppended(status);
  return status.ok();
}

void Writer::NoteAppended(const absl::Status& status) {
  bool changed = false;
  {
    MutexLock lock(&mutex_);
    changed = state_.status.ok() != status.ok();
    state_.status = status;
    if (status.ok()) {
      state_.rows_written += static_cast<int64_t>(batch_.size());
      batch_.clear();
      batch_rows_ = 0;
      CountHeld();
    }
  }
  if (changed && options_.on_change) options_.on_change(status);
}

void Writer::CountHeld() {
  // What a map needs of its own, and the part of names that is not in the row itself.
  constexpr size_t kBesides = 96;
  held_.Clear();
  held_.Add(static_cast<int64_t>((buffer_.size() + batch_rows_) * (sizeof(Row) + kBesides)));
}

void Writer::Maintain(Now now) {
  // A wall clock that was set back must not put it off for long.
  maintain_at_ = std::min(maintain_at_, now.wall() + options_.maintain_every);
  if (now.wall() < maintain_at_) return;
  maintain_at_ = now.wall() + options_.maintain_every;
  store_.Maintain(now.wall()).IgnoreError();  // the store's state has it
}

void Writer::DropRest() {
  MutexLock store_lock(&store_mutex_);
  MutexLock lock(&mutex_);
  for (std::vector<Row> rest = std::move(batch_); !rest.empty();
       rest = buffer_.Take(options_.max_batch_rows)) {
    state_.rows_dropped += static_cast<int64_t>(rest.size());
    for (const Row& row : rest) state_.checks_dropped += row.counts.checks;
  }
  batch_.clear();
  batch_rows_ = 0;
  CountHeld();
}

WriterState Writer::State() const {
  MutexLock lock(&mutex_);
  WriterState state = state_;
  state.rows_buffered = static_cast<int64_t>(buffer_.size() + batch_rows_);
  return state;
}

bool Writer::WaitUntilWholeSecond() {
  const int64_t into_second_ns = (clock_.Read().wall_ns + kAheadNs) % kSecondNs;
  std::unique_lock<std::mutex> lock(threads_mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(kSecondNs - into_second_ns),
                            [this] { return stopping_; });
}

void Writer::CollectLoop() {
  while (WaitUntilWholeSecond()) {
    Collect(clock_.Read());
    const std::lock_guard<std::mutex> lock(threads_mutex_);
    ++rounds_;
    changed_.notify_all();
  }
}

void Writer::AppendLoop() {
  for (int64_t seen = 0;;) {
    {
      std::unique_lock<std::mutex> lock(threads_mutex_);
      changed_.wait(lock, [&] { return stopping_ || rounds_ != seen; });
      if (stopping_) return;
      seen = rounds_;
    }
    Append(clock_.Read());
    const std::lock_guard<std::mutex> lock(threads_mutex_);
    appended_ = seen;
    changed_.notify_all();
  }
}

}  // namespace headgate::throttle_log
