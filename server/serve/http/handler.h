// Who answers requests, and how an answer is put off.
//
// A request that is put off costs no thread: what is kept of it is its connection. It ends once,
// and its listener hears so once, on the port's thread or on that which ends the port:
// - OnAnswered, if a Respond was taken: whether all of it was sent, and its caller had not left.
// - OnGone, if none was: the caller has hung up, or the port has stopped.
//
//   class Hello final : public Handler {
//     bool Handle(const Request& request, Response& response, Exchange& exchange) override {
//       response.body = "{}";
//       return true;
//     }
//   };

#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/cord.h"
#include "server/serve/http/message.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::http {

// A request whose answer was put off. Thread-safe; it may outlive the port.
class Deferred {
 public:
  virtual ~Deferred() = default;

  // Any thread, which does not wait for the caller. False: nothing is sent or made, since there is
  // an answer already, or the caller is gone, or the port has stopped.
  [[nodiscard]] virtual bool Respond(absl::FunctionRef<Response()> make) = 0;
  // What is to hear of its end, where Defer was given nobody. False: the caller is gone.
  [[nodiscard]] virtual bool Listen(std::shared_ptr<transport::ParkListener> listener) = 0;
  // Whether nobody waits any more.
  virtual bool gone() const = 0;
};

// The request that is being handled.
class Exchange {
 public:
  // Once. Null: too many are put off already. The listener may be null.
  virtual std::shared_ptr<Deferred> Defer(std::shared_ptr<transport::ParkListener> listener) = 0;
  // The request's, which it does not have any more.
  virtual absl::Cord TakeBody() = 0;

 protected:
  ~Exchange() = default;
};

class Handler {
 public:
  virtual ~Handler() = default;

  // On the port's thread: it must not wait. False: it was put off. The response is empty, but may
  // have memory. One that throws ends its connection.
  virtual bool Handle(const Request& request, Response& response, Exchange& exchange) = 0;
  // A request got this status without being passed to Handle.
  virtual void OnRefused(int /*status*/) {}
};

}  // namespace headgate::http
