#include "server/rpc/serving_loop.h"

#include <grpc/support/time.h>

#include <cassert>
#include <utility>

namespace headgate::rpc {
namespace {

// Events that Drain works off at most: callers who ask again at once must not hold it up.
constexpr int kMostLate = 1 << 16;

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

void ServingLoop::Drain() {
  drain_.Send();
  drained_.get_future().wait();
}

void ServingLoop::Stop() {
  stop_.Send();
  thread_.join();
  while (!routes_.empty()) routes_.pop_back();
}

void ServingLoop::DrainRoutes() {
  draining_ = true;
  for (const auto& route : routes_) route->Drain();
  // gRPC drops what is still waiting when it shuts down, without a word that a caller could retry
  // on.
  void* tag = nullptr;
  bool ok = false;
  const gpr_timespec at_once = gpr_inf_past(GPR_CLOCK_REALTIME);
  for (int i = 0; i < kMostLate; ++i) {
    if (queue_->AsyncNext(&tag, &ok, at_once) != grpc::CompletionQueue::GOT_EVENT) break;
    static_cast<Event*>(tag)->Done(ok);
  }
  drained_.set_value();
}

void ServingLoop::StopQueue() {
  stopping_ = true;
  queue_->Shutdown();
}

void ServingLoop::Signal::Send() {
  alarm_.Set(&loop_.queue(), gpr_inf_past(GPR_CLOCK_REALTIME), static_cast<Event*>(this));
}

void ServingLoop::Signal::Done(bool /*ok*/) { (loop_.*then_)(); }

}  // namespace headgate::rpc
