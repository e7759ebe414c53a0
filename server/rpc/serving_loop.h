// A completion queue and the one thread that works it off.
//
// Routes post their calls on the queue before the loop starts, and are only ever run by its thread:
// nothing in a route needs a lock, and all its calls can share one request and one response.
//
// Order of ending: Drain tells routes to refuse what comes and to end what would last, and works
// off what has come; then the server is shut down; then Stop ends the thread and the routes. A loop
// that was started must be stopped.
//
// Drain and Stop may be called by any thread, one at a time; the rest belongs to whoever makes the
// loop until Start, then to the loop's thread.

#ifndef HEADGATE_SERVER_RPC_SERVING_LOOP_H_
#define HEADGATE_SERVER_RPC_SERVING_LOOP_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace headgate::rpc {

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

  // The server is going to be shut down: end what waits for a caller.
  virtual void Drain() {}
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

  // Returns when no call is waiting, or too many still come.
  void Drain();
  // After Drain and the server's Shutdown.
  void Stop();

  grpc::ServerCompletionQueue& queue() { return *queue_; }
  // Calls are refused.
  bool draining() const { return draining_; }
  // No call may be posted any more.
  bool stopping() const { return stopping_; }

 private:
  // An alarm that goes off at once is how another thread gets a word in.
  class Signal final : public Event {
   public:
    Signal(ServingLoop& loop, void (ServingLoop::*then)()) : loop_(loop), then_(then) {}
    void Send();
    void Done(bool ok) override;

   private:
    ServingLoop& loop_;
    void (ServingLoop::*const then_)();
    grpc::Alarm alarm_;
  };

  void Run();
  void DrainRoutes();
  void StopQueue();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::unique_ptr<Route>> routes_;
  bool draining_ = false;
  bool stopping_ = false;
  std::promise<void> drained_;
  Signal drain_{*this, &ServingLoop::DrainRoutes};
  Signal stop_{*this, &ServingLoop::StopQueue};
  std::thread thread_;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_SERVING_LOOP_H_
