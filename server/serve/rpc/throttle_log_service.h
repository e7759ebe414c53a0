// headgate.v1.ThrottleLogService: who was held back, when, and by what.
//
// Runs on gRPC's threads and reads whole ranges of the store: for people and their tools. So many
// questions are answered at a time, and one replay: others are told to come again, since the
// threads are those of probes and overrides as well. Thread-safe.
//
//   ThrottleLogService service({.store = store, .recorder = recorder, .clock = clock,
//                               .retention = retention, .seed = seed, .access = access});
//   options.guarded_services.push_back(&service);  // of the RpcServer

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttle_log_service.pb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "server/govern/access/access_control.h"
#include "server/govern/config/config.h"
#include "server/remember/throttle_log/rankings.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/remember/throttle_log/store.h"
#include "server/remember/throttle_log/writer.h"
#include "server/serve/rpc/guarded_service.h"

namespace headgate::rpc {

struct ThrottleLogSources {
  const throttle_log::Store& store;
  throttle_log::Recorder& recorder;  // knows single denials
  // Brings the newest counts into the store before it is read; null: they are there already.
  throttle_log::Writer* writer = nullptr;
  Clock& clock;
  // The configuration that a replay's own inexactness is told by; null: none.
  std::function<std::shared_ptr<const config::Config>()> in_force = nullptr;
  throttle_log::Retention retention = {};
  uint64_t seed = 0;  // of a replay's dice
  access::AccessControl& access;
};

// How many reads of the log run at once. Each may sort some 200,000 groups, which takes a hundred
// megabytes, so that the number of callers must not say how much memory it takes. Thread-safe.
//
//   const ReadCount::Place place(reads);
//   if (!place.taken()) return Overloaded(...);
class ReadCount {
 public:
  static constexpr int kMax = 4;

  class Place {
   public:
    // relaxed, here and below: nothing is read on the strength of this number.
    explicit Place(ReadCount& reads)
        : reads_(reads), taken_(reads.running_.fetch_add(1, std::memory_order_relaxed) < kMax) {}
    ~Place() { reads_.running_.fetch_sub(1, std::memory_order_relaxed); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool taken() const { return taken_; }

   private:
    ReadCount& reads_;
    const bool taken_;
  };

 private:
  std::atomic<int> running_{0};  // those that are being refused included
};

class ThrottleLogService final : public GuardedService {
 public:
  // All outlive this.
  explicit ThrottleLogService(const ThrottleLogSources& sources);

  // Of memory, for the reads and replays that run, and for what is kept for next pages.
  int64_t held_bytes() const { return held_.bytes(); }

 private:
  using Context = transport::CallContext;

  // A method for those who may read the log of the identity that the request names.
  template <typename Request, typename Response>
  void AddForReaders(const char* path,
                     grpc::Status (ThrottleLogService::*run)(const Context&, const Request&,
                                                             Response&));

  grpc::Status Query(const Context&, const v1::QueryThrottleLogRequest& request,
                     v1::QueryThrottleLogResponse& response);
  grpc::Status ListIntervals(const Context&, const v1::ListThrottledIntervalsRequest& request,
                             v1::ListThrottledIntervalsResponse& response);
  grpc::Status ListDenials(const Context&, const v1::ListDenialsRequest& request,
                           v1::ListDenialsResponse& response);
  grpc::Status Replay(const Context& context, const v1::ReplayThrottleLogRequest& request,
                      v1::ReplayThrottleLogResponse& response);

  // All that was counted until now, as far as the store takes it.
  void CatchUp() const;
  // How many Checks there are that the filter takes and the store has not taken.
  int64_t ChecksWaiting(const throttle_log::ScanFilter& filter) const;
  // Where a rule is for the same identity in other capitals.
  void SuggestIdentities(v1::QueryThrottleLogResponse& response) const;
  // `next` is where the page after this one is kept, if anywhere.
  absl::StatusOr<throttle_log::SumPage> PageOf(const v1::QueryThrottleLogRequest& request,
                                               const throttle_log::SumQuery& query,
                                               throttle_log::RankingPlace& next);

  const ThrottleLogSources sources_;
  HeldBytes held_;
  throttle_log::Rankings rankings_;
  ReadCount reads_;       // queries and lists of intervals that run
  std::mutex replaying_;  // held while one runs
};

}  // namespace headgate::rpc
