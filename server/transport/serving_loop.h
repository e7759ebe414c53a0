// A completion queue and the one thread that works it off.
//
// Routes post their calls on the queue before the loop starts, and are only ever run by its thread:
// nothing in a route needs a lock, and all its calls can share one request and one response.
//
// Order of ending:
//  1. Drain. What was being decided is answered; calls that come from now on are held, and not even
//     looked at. A caller that is refused asks again at once, and gRPC would let it do so on the
//     same connection: so nobody is told anything yet. Once nothing comes any more, since all
//     callers wait, Drain returns.
//  2. The server is shut down, which tells every connection to take new calls elsewhere (GOAWAY).
//     No call is on its way then that gRPC would drop without a word.
//  3. A moment later the held calls are refused with UNAVAILABLE, and streams that wait for their
//     callers end. Whoever asks again does so on a new connection.
//  4. Stop ends the thread and the routes. A loop that was started must be stopped.
//
// Drain and Stop may be called by any thread, one at a time; the rest belongs to whoever makes the
// loop until Start, then to the loop's thread.

#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace headgate::transport {

// What a completion queue's tag points to.
class Event {
 public:
  // `ok` is false where what was asked for will not come.
  virtual void Done(bool ok) = 0;

 protected:
  ~Event() = default;
};

// The calls of one method on one loop.
class Route {
 public:
  virtual ~Route() = default;

  // The server is being shut down: end what waits for a caller.
  virtual void Drain() {}
};

// A call that came while the loop drained.
class HeldCall {
 public:
  virtual void Refuse() = 0;

 protected:
  ~HeldCall() = default;
};

class ServingLoop {
 public:
  explicit ServingLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue);
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
  // Calls are to be held.
  bool draining() const { return draining_; }
  // Calls and messages are refused.
  bool refusing() const { return refusing_; }
  // `call` is told to refuse, by and by or at once.
  void Hold(HeldCall& call);
  // A call that waited for a caller gets none any more.
  void OnServerShutDown();
  // No call may be posted any more.
  bool stopping() const { return stopping_; }

 private:
  // An alarm that goes off at once is how another thread gets a word in.
  class Signal final : public Event {
   public:
    Signal(ServingLoop& loop, void (ServingLoop::*then)()) : loop_(loop), then_(then) {}
    void Send() { SendIn(0); }
    void SendIn(int milliseconds);
    void Cancel() { alarm_.Cancel(); }
    void Done(bool ok) override;

   private:
    ServingLoop& loop_;
    void (ServingLoop::*const then_)();
    grpc::Alarm alarm_;
  };

  void Run();
  void HoldCalls();
  void RefuseAtOnce();
  void Refuse();
  void StopQueue();
  void HoldNoLonger() { held_enough_ = true; }
  // Until nothing has come for so long.
  void WorkOff(int quiet_ms);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<HeldCall*> held_;
  bool draining_ = false;
  bool refusing_ = false;
  bool shut_down_ = false;
  bool stopping_ = false;
  bool held_enough_ = false;
  std::promise<void> drained_;
  Signal hold_{*this, &ServingLoop::HoldCalls};
  Signal enough_{*this, &ServingLoop::HoldNoLonger};
  Signal refuse_at_once_{*this, &ServingLoop::RefuseAtOnce};
  Signal refuse_{*this, &ServingLoop::Refuse};
  Signal stop_{*this, &ServingLoop::StopQueue};
  std::thread thread_;
};

}  // namespace headgate::transport
