// A completion queue and the two threads that work it off.
//
// Two, since a thread is at times held up by one caller for milliseconds: gRPC reads a connection
// until nothing is left in it, on the thread that waits for the next call; and a batch may be
// large. The other thread goes on meanwhile.
//
// Where events follow each other without a pause one thread has enough to do, and two would hand
// each event over to each other, which takes a third more CPU time. So the second thread rests
// then, until the first one pauses: it had nothing to do, or was held up.
//
// Routes post their calls on the queue before the loop starts, and are run by its threads. What
// happens to one call happens in order. Each thread has a number, by which a route keeps what it
// reuses from call to call: a request, a response, and whatever decides.
//
// Order of ending:
//  1. Drain. One thread leaves; from then on the other runs all routes. What was being decided is
//     answered; calls that come from now on are held, and not even looked at. A caller that is
//     refused asks again at once, and gRPC would let it do so on the same connection: so nobody is
//     told anything yet. Once nothing comes any more, since all callers wait, Drain returns.
//  2. The server is shut down, which tells every connection to take new calls elsewhere (GOAWAY).
//     No call is on its way then that gRPC would drop without a word.
//  3. A moment later the held calls are refused with UNAVAILABLE, and streams that wait for their
//     callers end. Whoever asks again does so on a new connection.
//  4. What is parked should have been answered by its owner before; whose answer never comes is
//  told
//     that its caller is gone, once the server's grace is over.
//  5. Stop ends the threads and the routes. A loop that was started must be drained and stopped.
//
// Drain and Stop may be called by any thread, one at a time; the rest belongs to whoever makes the
// loop until Start, then to the loop's threads. What says how far it has ended changes only while
// one thread is left, and may be read by both.

#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/serve/transport/taken_bytes.h"

namespace headgate::transport {

// What a completion queue's tag points to.
class Event {
 public:
  // `ok` is false where what was asked for will not come. `thread` is the number of the one that
  // runs it: 0 to ServingLoop::kThreads - 1.
  virtual void Done(bool ok, size_t thread) = 0;

 protected:
  ~Event() = default;
};

// The calls of one method on one loop.
class Route {
 public:
  virtual ~Route() = default;

  // The server is being shut down: end what waits for a caller.
  virtual void Drain(size_t /*thread*/) {}
  // Calls that have come and whose answer nobody has given yet, by any thread.
  virtual size_t CountUnanswered() { return 0; }
};

// A call that came while the loop drained.
class HeldCall {
 public:
  virtual void Refuse(size_t thread) = 0;

 protected:
  ~HeldCall() = default;
};

class ServingLoop {
 public:
  static constexpr size_t kThreads = 2;

  // `clock` and `taken` outlive this; null: both threads serve all the time, and nobody is told
  // what is taken of connections.
  ServingLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, Clock* clock,
              TakenBytes* taken = nullptr)
      : queue_(std::move(queue)), taken_(taken), clock_(clock) {}
  ~ServingLoop();
  ServingLoop(const ServingLoop&) = delete;
  ServingLoop& operator=(const ServingLoop&) = delete;

  // Routes are destroyed in the opposite order.
  void Own(std::unique_ptr<Route> route) { routes_.push_back(std::move(route)); }
  void Start();

  enum class Holding { kUntilShutdown, kNot };
  // Returns when no call has come for a moment, or still too many do. kNot: calls are refused right
  // away, by a server that leaves no time for callers anyway.
  void Drain(Holding holding);
  // After Drain and the server's Shutdown.
  void Stop();

  grpc::ServerCompletionQueue& queue() { return *queue_; }
  TakenBytes* taken() const { return taken_; }
  // Calls are to be held.
  bool draining() const { return draining_; }
  // Calls and messages are refused.
  bool refusing() const { return refusing_; }
  // `call` is told to refuse, by and by or at once.
  void Hold(HeldCall& call, size_t thread);
  // Of all its routes, between Start and Stop.
  size_t CountUnanswered() const;
  // A call that waited for a caller gets none any more.
  void OnServerShutDown();
  // No call may be posted any more.
  bool stopping() const { return stopping_; }
  // For threads that are not the loop's: does what uses the queue, unless it is shut. False: not
  // done.
  template <typename Use>
  bool WhileQueueIsOpen(Use use) ABSL_LOCKS_EXCLUDED(queue_mutex_) {
    const MutexLock lock(&queue_mutex_);
    if (queue_is_shut_) return false;
    use();
    return true;
  }

 private:
  // An alarm that goes off at once is how another thread gets a word in.
  class Signal final : public Event {
   public:
    Signal(ServingLoop& loop, void (ServingLoop::*then)(size_t thread))
        : loop_(loop), then_(then) {}
    void Send() { SendIn(0); }
    void SendIn(int milliseconds);
    void Cancel() { alarm_.Cancel(); }
    void Done(bool ok, size_t thread) override;

   private:
    ServingLoop& loop_;
    void (ServingLoop::*const then_)(size_t thread);
    grpc::Alarm alarm_;
  };

  void Run(size_t thread);
  // By the first thread, after each event.
  void NotePace();
  // By the second one.
  void RestIfAllowed();
  void WakeSecond();
  void LetGo(size_t thread);
  void HoldCalls(size_t thread);
  void RefuseAtOnce(size_t thread);
  void Refuse(size_t thread);
  void StopQueue(size_t thread);
  void HoldNoLonger(size_t /*thread*/) { held_enough_ = true; }
  // Until nothing has come for so long.
  void WorkOff(int quiet_ms, size_t thread);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  TakenBytes* const taken_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<HeldCall*> held_;
  bool draining_ = false;
  bool refusing_ = false;
  bool shut_down_ = false;
  bool stopping_ = false;
  bool held_enough_ = false;
  std::array<bool, kThreads> gone_ = {};  // each its thread's own
  Mutex queue_mutex_;
  bool queue_is_shut_ ABSL_GUARDED_BY(queue_mutex_) = false;
  Clock* const clock_;
  int64_t last_event_ns_ = 0;  // of the first thread, to which it belongs
  int64_t last_pause_ns_ = 0;  // likewise
  std::atomic<bool> second_may_rest_ = false;
  std::mutex mutex_;  // for waiting alone
  std::condition_variable woken_;
  std::promise<void> one_gone_;
  std::promise<void> drained_;
  Signal let_go_{*this, &ServingLoop::LetGo};
  Signal hold_{*this, &ServingLoop::HoldCalls};
  Signal enough_{*this, &ServingLoop::HoldNoLonger};
  Signal refuse_at_once_{*this, &ServingLoop::RefuseAtOnce};
  Signal refuse_{*this, &ServingLoop::Refuse};
  Signal stop_{*this, &ServingLoop::StopQueue};
  std::array<std::thread, kThreads> threads_;
};

}  // namespace headgate::transport
