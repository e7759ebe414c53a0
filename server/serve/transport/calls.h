// What becomes of RPCs: how many, with which code, how long they took; and ids for those that fail.
//
// Each method that is served on a loop has a MethodCalls for each of the loop's threads, which that
// thread alone writes; a method on gRPC's threads has one that they share. Counts are exact. Every
// 64th call that a loop serves is timed, beginning with the first, and so is each call on gRPC's
// threads.
//
// A call that fails gets an id: the caller's own, from the metadata `x-request-id`, if that is 1 to
// 128 visible ASCII characters, else one that is made here. It goes back in the trailing metadata
// of the same name, and to the listener, which writes the log.
//
// Calls is thread-safe, and what it hands out lives as long as it.
//
//   Calls calls(clock, seed, listener);
//   MethodCalls& method = calls.AddThread("Check");
//   const int64_t started_ns = method.Begin();
//   ... the call ...
//   method.End(context, started_ns, status);

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/serve/transport/call_context.h"
#include "server/serve/transport/guarded_files.h"
#include "server/serve/transport/latency_histogram.h"

namespace headgate::transport {

// Hears of calls that somebody may ask about. On the thread that serves the call: it must not wait.
// Thread-safe. By itself it does nothing.
class CallListener {
 public:
  struct Call {
    std::string_view method;
    std::string_view request_id;
    std::string_view peer;  // as gRPC has it: "ipv4:10.0.0.1:4711"
  };
  using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  virtual ~CallListener() = default;

  virtual void OnFailed(const Call& /*call*/, const grpc::Status& /*status*/) {}
  virtual void OnSlow(const Call& /*call*/, absl::Duration /*took*/) {}
  // One came over a connection of which no HeaderGuard has seen anything. Once for each encryption.
  virtual void OnUnguarded(const Call& /*call*/, Encryption /*encryption*/) {}
  // An operator has changed something, such as "override created".
  virtual void OnChange(const Call& /*call*/, std::string_view /*event*/, Fields /*fields*/) {}
};

class Calls;

// The calls of one method, on one thread of a loop or on gRPC's threads.
class MethodCalls {
 public:
  enum class Writers : uint8_t { kOne, kMany };
  static constexpr size_t kCodes = 17;  // OK to UNAUTHENTICATED
  static constexpr uint32_t kTimedOf = 64;

  MethodCalls(Calls& calls, std::string_view method, Writers writers)
      : calls_(calls), method_(method), writers_(writers) {}

  // When the call began; 0: it is not timed.
  int64_t Begin() {
    if (writers_ == Writers::kOne && ticks_++ % kTimedOf != 0) [[likely]]
      return 0;
    return StartTime();
  }
  // Before the status goes to the caller. Of a CallContext, or of gRPC's own.
  template <typename Context>
  void End(Context& context, int64_t started_ns, const grpc::Status& status) {
    Count(status.error_code());
    if (started_ns != 0 || !status.ok()) [[unlikely]]
      EndRarely(context, started_ns, status);
  }
  // One that is not timed and has not failed, of which nothing is told.
  void EndOk() { Count(grpc::StatusCode::OK); }
  // Times a part of a call, which End will count.
  void EndPart(grpc::ServerContext& context, int64_t started_ns) {
    if (started_ns != 0) [[unlikely]]
      EndRarely(context, started_ns, grpc::Status());
  }

  // Times what was done of a call before it was parked: another's End counts it.
  void EndParked(int64_t started_ns) {
    if (started_ns != 0) [[unlikely]]
      AddLatency(started_ns);
  }
  // A parked call whose caller left without an answer, which is nothing that fails.
  void CountGone() { Count(grpc::StatusCode::CANCELLED); }

  const std::string& method() const { return method_; }
  uint64_t ReadCount(size_t code) const {
    return codes_[code].load(std::memory_order_relaxed);  // relaxed: a number that orders nothing
  }
  LatencyCounts ReadLatency() const { return latency_.Read(); }

 private:
  void Count(grpc::StatusCode code) {
    const auto place = static_cast<size_t>(code);
    std::atomic<uint64_t>& count = codes_[std::min(place, kCodes - 1)];
    // relaxed, both: numbers that order nothing.
    if (writers_ == Writers::kMany) {
      count.fetch_add(1, std::memory_order_relaxed);
    } else {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  int64_t StartTime() const;
  // How long it took.
  int64_t AddLatency(int64_t started_ns);
  void EndRarely(CallContext& call, int64_t started_ns, const grpc::Status& status);
  void EndRarely(grpc::ServerContext& context, int64_t started_ns, const grpc::Status& status);

  Calls& calls_;
  const std::string method_;
  const Writers writers_;
  uint32_t ticks_ = 0;
  std::array<std::atomic<uint64_t>, kCodes> codes_{};
  LatencyHistogram latency_;
};

class Calls {
 public:
  // The clock and the listener outlive this. `seed` is secret, and keeps the ids of different
  // processes apart.
  Calls(Clock& clock, uint64_t seed, CallListener& listener)
      : clock_(clock), seed_(seed), listener_(listener) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // For one thread of a loop.
  MethodCalls& AddThread(std::string_view method);
  // How long decisions take, for one thread of a loop.
  LatencyHistogram& AddDecisionThread();
  // For all threads; one for each method.
  MethodCalls& Shared(std::string_view method);

  // CheckStreams that are open.
  std::atomic<int64_t>& streams_open() { return streams_open_; }
  int64_t ReadStreamsOpen() const { return streams_open_.load(std::memory_order_relaxed); }

  // "Check" of "/headgate.v1.ThrottlerService/Check".
  static std::string_view MethodOf(std::string_view path);

  // Tells the listener of a change that an operator made by this call.
  void TellChange(const CallContext& call, std::string_view method, std::string_view event,
                  CallListener::Fields fields);

  struct MethodTotals {
    std::array<uint64_t, MethodCalls::kCodes> codes{};
    LatencyCounts latency;
  };
  // By method, all threads added up.
  std::map<std::string, MethodTotals> ReadMethods() const;
  LatencyCounts ReadDecisions() const;

  // Tells the listener of a call that came over a connection of which nothing was seen, as with a
  // gRPC that reads in another way. Others than those over TCP are nothing to it.
  void TellUnguarded(const CallListener::Call& call, Encryption encryption);

 private:
  friend class MethodCalls;

  // The caller's id, or a new one.
  std::string RequestIdOf(const CallContext& call);

  Clock& clock_;
  const uint64_t seed_;
  CallListener& listener_;
  std::atomic<int64_t> streams_open_{0};  // relaxed: a number that orders nothing
  std::atomic<uint64_t> ids_{0};
  std::array<std::atomic<bool>, 2> told_unguarded_{};  // by encryption; relaxed: likewise
  mutable Mutex mutex_;
  // Deques, whose elements stay where they are.
  std::deque<MethodCalls> methods_ ABSL_GUARDED_BY(mutex_);
  std::deque<LatencyHistogram> decisions_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, MethodCalls*, std::less<>> shared_ ABSL_GUARDED_BY(mutex_);
};

// "INVALID_ARGUMENT" and the like.
std::string_view CodeName(size_t code);

}  // namespace headgate::transport
