#include "server/serve/transport/serving_loop.h"

#include <grpc/support/time.h>

#include <cassert>
#include <utility>

namespace headgate::transport {
namespace {

// So long after its last event the first thread has paused; it is busy once it has not for so long.
constexpr int64_t kPauseNs = 400'000;
constexpr int64_t kBusyNs = 5'000'000;
// Events that Drain works off at most: callers who ask again at once must not hold it up.
constexpr int kMaxLate = 1 << 16;
// A caller that got its answer just now has asked again within this.
constexpr int kQuietMs = 10;
// Callers who do not wait for answers may come for ever.
constexpr int kMaxHoldingMs = 80;
// From the end of waiting calls until every connection has been told to take new ones elsewhere.
constexpr int kGoAwayMs = 30;

}  // namespace

ServingLoop::~ServingLoop() {
  for ([[maybe_unused]] const std::thread& thread : threads_) assert(!thread.joinable());
}

void ServingLoop::Start() {
  for (size_t i = 0; i < kThreads; ++i) threads_[i] = std::thread(&ServingLoop::Run, this, i);
}

void ServingLoop::Run(size_t thread) {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    static_cast<Event*>(tag)->Done(ok, thread);
    if (gone_[thread]) return;
    if (thread == 0) {
      NotePace();
    } else {
      RestIfAllowed();
    }
  }
}

void ServingLoop::NotePace() {
  if (clock_ == nullptr) return;
  const int64_t now_ns = clock_->Read().monotonic_ns;
  const bool paused = now_ns - last_event_ns_ > kPauseNs;
  last_event_ns_ = now_ns;
  if (paused) last_pause_ns_ = now_ns;
  const bool may_rest = now_ns - last_pause_ns_ > kBusyNs;
  // relaxed, both: only this thread changes it, and who waits for it looks under the mutex.
  if (may_rest == second_may_rest_.load(std::memory_order_relaxed)) [[likely]]
    return;
  if (!may_rest) return WakeSecond();
  second_may_rest_.store(true, std::memory_order_relaxed);
}

void ServingLoop::RestIfAllowed() {
  if (!second_may_rest_.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::unique_lock lock(mutex_);
  woken_.wait(lock, [this] { return !second_may_rest_.load(std::memory_order_relaxed); });
}

void ServingLoop::WakeSecond() {
  {
    const std::lock_guard lock(mutex_);
    second_may_rest_.store(false, std::memory_order_relaxed);
  }
  woken_.notify_one();
}

void ServingLoop::LetGo(size_t thread) {
  gone_[thread] = true;
  if (thread == 0) WakeSecond();
  one_gone_.set_value();
}

void ServingLoop::Drain(Holding holding) {
  let_go_.Send();
  one_gone_.get_future().wait();
  (holding == Holding::kUntilShutdown ? hold_ : refuse_at_once_).Send();
  drained_.get_future().wait();
}

void ServingLoop::Stop() {
  stop_.Send();
  for (std::thread& thread : threads_) thread.join();
  while (!routes_.empty()) routes_.pop_back();
}

// gRPC drops what is still waiting when it shuts down, without a word that a caller could retry on.
void ServingLoop::WorkOff(int quiet_ms, size_t thread) {
  void* tag = nullptr;
  bool ok = false;
  const gpr_timespec quiet = gpr_time_from_millis(quiet_ms, GPR_TIMESPAN);
  for (int i = 0; i < kMaxLate && !held_enough_; ++i) {
    if (queue_->AsyncNext(&tag, &ok, quiet) != grpc::CompletionQueue::GOT_EVENT) break;
    static_cast<Event*>(tag)->Done(ok, thread);
  }
}

void ServingLoop::HoldCalls(size_t thread) {
  draining_ = true;
  enough_.SendIn(kMaxHoldingMs);
  WorkOff(kQuietMs, thread);
  drained_.set_value();
}

void ServingLoop::RefuseAtOnce(size_t thread) {
  draining_ = true;
  Refuse(thread);
  WorkOff(0, thread);
  drained_.set_value();
}

void ServingLoop::Hold(HeldCall& call, size_t thread) {
  if (refusing_) return call.Refuse(thread);
  held_.push_back(&call);
}

void ServingLoop::OnServerShutDown() {
  if (std::exchange(shut_down_, true) || refusing_) return;
  refuse_.SendIn(kGoAwayMs);
}

void ServingLoop::Refuse(size_t thread) {
  if (std::exchange(refusing_, true)) return;
  for (const auto& route : routes_) route->Drain(thread);
  for (HeldCall* const call : std::exchange(held_, {})) call->Refuse(thread);
}

size_t ServingLoop::CountUnanswered() const {
  size_t calls = 0;
  for (const auto& route : routes_) calls += route->CountUnanswered();
  return calls;
}

// The server may be down before the time to refuse has come: it does not wait for held calls whose
// callers are gone, nor beyond its grace. No answer may go through the queue once that is shut.
void ServingLoop::StopQueue(size_t thread) {
  Refuse(thread);
  stopping_ = true;
  const MutexLock lock(&queue_mutex_);
  queue_is_shut_ = true;
  enough_.Cancel();  // else the queue waits for them
  refuse_.Cancel();
  queue_->Shutdown();
}

void ServingLoop::Signal::SendIn(int milliseconds) {
  alarm_.Set(&loop_.queue(), gpr_time_from_millis(milliseconds, GPR_TIMESPAN),
             static_cast<Event*>(this));
}

void ServingLoop::Signal::Done(bool /*ok*/, size_t thread) { (loop_.*then_)(thread); }

}  // namespace headgate::transport
