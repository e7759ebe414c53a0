// Calls, and messages of streams, that are answered later than they came, without a thread each.
//
// A handler that cannot answer yet parks what it was called for, and gives what it gets to whoever
// will answer. Its own status and response then mean nothing. A parked call keeps neither its
// request nor a response.
//
// What is parked ends once, and its listener hears so once, on a thread of the loop, without locks:
// - OnAnswered, if an Answer was taken: whether it was delivered. Of a call: sent, and the caller
//   had not left. Of a stream's message: handed to the connection.
// - OnGone, if no Answer was taken: the caller has cancelled, its deadline has passed, its
//   connection is dead, its stream has ended, or the server has stopped.
// A listener may hear of an answer before Answer has returned. It is let go of afterwards. Whoever
// lets go of a ParkedCall without an answer leaves its caller waiting until the caller leaves, or
// the server stops.
//
// ParkedCall is thread-safe, and may outlive its server. Answer must not be called by somebody who
// holds a lock that the listener takes. A Parking is for the handler's thread, while it runs.
//
//   [&](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
//     if (decided) return grpc::Status();
//     auto waiting = std::make_shared<Waiting>(request);   // a ParkListener
//     waiting->call = parking.Park(waiting);
//     ...
//   // Anywhere, later:
//   if (!call->Answer(grpc::Status(), response)) Withdraw();  // nobody is there any more

#pragma once

#include <grpc/support/time.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace headgate::transport {

class ParkListener {
 public:
  virtual ~ParkListener() = default;

  virtual void OnGone() = 0;
  virtual void OnAnswered(bool delivered) = 0;
};

template <typename Response>
class ParkedCall {
 public:
  explicit ParkedCall(int64_t time_left_ns) : time_left_ns_(time_left_ns) {}
  virtual ~ParkedCall() = default;
  ParkedCall(const ParkedCall&) = delete;
  ParkedCall& operator=(const ParkedCall&) = delete;

  // Any thread, which does not wait for the caller. False: nothing is sent, since there is an
  // answer already, or the caller is gone, or the server has stopped. Of a stream's message: an
  // error ends the stream, and `response` gets the message's number.
  [[nodiscard]] virtual bool Answer(const grpc::Status& status, Response& response) = 0;

  // Until gRPC ends the call, from when it was parked on; INT64_MAX: it has no deadline.
  int64_t time_left_ns() const { return time_left_ns_; }

 private:
  const int64_t time_left_ns_;
};

template <typename Response>
class Parking {
 public:
  // Once at most.
  virtual std::shared_ptr<ParkedCall<Response>> Park(std::shared_ptr<ParkListener> listener) = 0;
  // For the caller, beside the answer; where there is no place for it, it is left out. Before the
  // call can be answered. The key is in small letters, the value visible ASCII and spaces.
  virtual void AddMetadata(const char* /*key*/, const std::string& /*value*/) {}

 protected:
  ~Parking() = default;
};

// What a ParkedCall says of this call.
inline int64_t TimeLeftNsOf(const grpc::ServerContext& context) {
  const gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return INT64_MAX;
  // A span from now on, so that only gRPC reads the clock.
  const gpr_timespec left = gpr_convert_clock_type(deadline, GPR_TIMESPAN);
  if (left.tv_sec > INT64_MAX / 2'000'000'000) return INT64_MAX;
  return left.tv_sec * 1'000'000'000 + left.tv_nsec;
}

}  // namespace headgate::transport
