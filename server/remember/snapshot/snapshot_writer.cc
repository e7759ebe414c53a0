#include "server/remember/snapshot/snapshot_writer.h"

#include <algorithm>
#include <utility>

#include "server/remember/snapshot/atomic_file.h"

namespace headgate::snapshot {
namespace {

absl::Duration Between(Now from, Now to) {
  return absl::Nanoseconds(std::max<int64_t>(to.monotonic_ns - from.monotonic_ns, 0));
}

}  // namespace

SnapshotWriter::SnapshotWriter(const SnapshotWriterOptions& options, engine::Engine& engine,
                               Clock& clock)
    : options_(options),
      engine_(engine),
      clock_(clock),
      boot_(ReadBootId()),
      in_the_way_(options.in_the_way) {}

void SnapshotWriter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void SnapshotWriter::StopThread() {
  {
    const std::lock_guard<std::mutex> lock(thread_mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SnapshotWriter::Stop() {
  StopThread();
  if (std::exchange(stopped_, true)) return;
  on_disk_.reset();
  Round();
}

absl::Duration SnapshotWriter::NextRoundAfter(absl::Duration took,
                                              const SnapshotWriterOptions& options) {
  return std::clamp(options.at_most - took, absl::ZeroDuration(), options.period);
}

bool SnapshotWriter::IsOnDisk() const {
  return on_disk_ == encoded_.fingerprint && file_.has_value() && Identify(options_.path) == file_;
}

absl::Status SnapshotWriter::Write() {
  if (in_the_way_) {
    absl::Status aside = SetAside(options_.path).status();
    if (!aside.ok() && !absl::IsNotFound(aside)) return aside;
    in_the_way_ = false;
  }
  return Replace(options_.path, encoded_.bytes);
}

bool SnapshotWriter::Round() {
  const Now begun = clock_.Read();
  engine_.Save(begun, saved_);
  Encode(saved_, boot_, encoded_);
  if (IsOnDisk()) {
    MutexLock lock(&mutex_);
    state_.as_of_ns = begun.monotonic_ns;
    return false;
  }
  const absl::Status status = Write();
  if (status.ok()) {
    on_disk_ = encoded_.fingerprint;
    file_ = Identify(options_.path);
  } else {
    on_disk_.reset();
  }
  Note(status, begun);
  return status.ok();
}

void SnapshotWriter::Note(const absl::Status& status, Now begun) {
  bool changed = false;
  {
    MutexLock lock(&mutex_);
    changed = state_.status.ok() != status.ok();
    state_.status = status;
    if (status.ok()) {
      state_.as_of_ns = begun.monotonic_ns;
      state_.bytes = static_cast<int64_t>(encoded_.bytes.size());
      ++state_.writes;
    } else {
      ++state_.failures;
    }
  }
  if (changed) options_.on_change(status);
}

void SnapshotWriter::Run() {
  std::unique_lock<std::mutex> lock(thread_mutex_);
  while (!stopping_) {
    lock.unlock();
    const Now begun = clock_.Read();
    Round();
    const absl::Duration took = Between(begun, clock_.Read());
    const absl::Duration pause =
        std::max(NextRoundAfter(took, options_) - took, absl::ZeroDuration());
    lock.lock();
    changed_.wait_for(lock, absl::ToChronoNanoseconds(pause), [this] { return stopping_; });
  }
}

SnapshotWriterState SnapshotWriter::State() const {
  MutexLock lock(&mutex_);
  return state_;
}

}  // namespace headgate::snapshot
