#include "server/transport/serving_loop.h"

#include <grpc/support/time.h>

#include <cassert>
#include <utility>

namespace headgate::transport {
namespace {

// Events that Drain works off at most: callers who ask again at once must not hold it up.
constexpr int kMaxLate = 1 << 16;
// A caller that got its answer just now has asked again within this.
constexpr int kQuietMs = 10;
// Callers who do not wait for answers may come for ever.
constexpr int kMaxHoldingMs = 80;
// From the end of waiting calls until every connection has been told to take new ones elsewhere.
constexpr int kGoAwayMs = 30;

}  // namespace

ServingLoop::ServingLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)) {}

ServingLoop::~ServingLoop() { assert(!thread_.joinable()); }

void ServingLoop::Start() { thread_ = std::thread(&ServingLoop::Run, this); }

void ServingLoop::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<Event*>(tag)->Done(ok);
}

void ServingLoop::Drain(Holding holding) {
  (holding == Holding::kUntilShutdown ? hold_ : refuse_at_once_).Send();
  drained_.get_future().wait();
}

void ServingLoop::Stop() {
  stop_.Send();
  thread_.join();
  while (!routes_.empty()) routes_.pop_back();
}

// gRPC drops what is still waiting when it shuts down, without a word that a caller could retry on.
void ServingLoop::WorkOff(int quiet_ms) {
  void* tag = nullptr;
  bool ok = false;
  const gpr_timespec quiet = gpr_time_from_millis(quiet_ms, GPR_TIMESPAN);
  for (int i = 0; i < kMaxLate && !held_enough_; ++i) {
    if (queue_->AsyncNext(&tag, &ok, quiet) != grpc::CompletionQueue::GOT_EVENT) break;
    static_cast<Event*>(tag)->Done(ok);
  }
}

void ServingLoop::HoldCalls() {
  draining_ = true;
  enough_.SendIn(kMaxHoldingMs);
  WorkOff(kQuietMs);
  drained_.set_value();
}

void ServingLoop::RefuseAtOnce() {
  draining_ = true;
  Refuse();
  WorkOff(0);
  drained_.set_value();
}

void ServingLoop::Hold(HeldCall& call) {
  if (refusing_) return call.Refuse();
  held_.push_back(&call);
}

void ServingLoop::OnServerShutDown() {
  if (std::exchange(shut_down_, true) || refusing_) return;
  refuse_.SendIn(kGoAwayMs);
}

void ServingLoop::Refuse() {
  if (std::exchange(refusing_, true)) return;
  for (const auto& route : routes_) route->Drain();
  for (HeldCall* const call : std::exchange(held_, {})) call->Refuse();
}

// The server may be down before the time to refuse has come: it does not wait for held calls whose
// callers are gone, nor beyond its grace. No answer may go through the queue once that is shut.
void ServingLoop::StopQueue() {
  Refuse();
  stopping_ = true;
  enough_.Cancel();  // else the queue waits for them
  refuse_.Cancel();
  queue_->Shutdown();
}

void ServingLoop::Signal::SendIn(int milliseconds) {
  alarm_.Set(&loop_.queue(), gpr_time_from_millis(milliseconds, GPR_TIMESPAN),
             static_cast<Event*>(this));
}

void ServingLoop::Signal::Done(bool /*ok*/) { (loop_.*then_)(); }

}  // namespace headgate::transport
