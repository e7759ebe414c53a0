// ReportPoll: asks all other servers about reports whose permits any of them may have issued.
//
// Permit ids are unique across servers, so at most one server knows each. The caller is answered
// when all servers have. If one of them fails, and nobody else knows a permit, the failed one might
// have issued it: then the whole call is an error, and the caller reports again, which is harmless.
//
// Thread-safe.
//
//   auto poll = std::make_shared<ReportPoll>(parking.Park(listener), others.size(), status);
//   for (...) forward(ReportPoll::Part(poll));

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::peers {

class ReportPoll final : public std::enable_shared_from_this<ReportPoll> {
 public:
  using Response = headgate::v1::ReportResponse;
  using Parked = transport::ParkedCall<Response>;

  // `if_unknown` is the status of the call if nobody knows one of the permits. If it is ok, the
  // call succeeds, and its report has the error NOT_FOUND.
  ReportPoll(std::shared_ptr<Parked> parked, size_t others, grpc::Status if_unknown)
      : parked_(std::move(parked)), unanswered_(others), error_(std::move(if_unknown)) {}

  static bool IsUnknown(const headgate::v1::ReportResult& result) {
    return result.error().code() == static_cast<int>(grpc::StatusCode::NOT_FOUND);
  }

  // Takes one server's answer.
  class Parking final : public transport::Parking<Response> {
   public:
    explicit Parking(std::shared_ptr<ReportPoll> poll) : poll_(std::move(poll)) {}
    std::shared_ptr<Parked> Park(std::shared_ptr<transport::ParkListener> /*listener*/) override {
      return std::make_shared<Part>(poll_);
    }

   private:
    const std::shared_ptr<ReportPoll> poll_;
  };

 private:
  class Part final : public Parked {
   public:
    explicit Part(std::shared_ptr<ReportPoll> poll)
        : Parked(poll->parked_->time_left_ns()), poll_(std::move(poll)) {}
    // Each server answers once.
    bool Answer(const grpc::Status& status, Response& response) override {
      poll_->Take(status, response);
      return true;
    }

   private:
    const std::shared_ptr<ReportPoll> poll_;
  };

  void Take(const grpc::Status& status, Response& response) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const MutexLock lock(&mutex_);
      if (!status.ok()) {
        error_ = status;
      } else if (merged_.results_size() == 0) {
        merged_.Swap(&response);
      } else {
        for (int i = 0; i < merged_.results_size() && i < response.results_size(); ++i) {
          if (!IsUnknown(*merged_.mutable_results(i))) continue;
          merged_.mutable_results(i)->Swap(response.mutable_results(i));
        }
      }
      if (--unanswered_ > 0) return;
    }
    // The last one has answered, so that nobody else uses this any more.
    End();
  }
  void End() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    bool settled = merged_.results_size() > 0;
    for (const auto& result : merged_.results()) settled = settled && !IsUnknown(result);
    // A caller that is gone needs no answer: its reports have been made.
    (void)parked_->Answer(settled ? grpc::Status() : error_, merged_);
  }

  const std::shared_ptr<Parked> parked_;
  Mutex mutex_;
  size_t unanswered_ ABSL_GUARDED_BY(mutex_);
  Response merged_ ABSL_GUARDED_BY(mutex_);
  // The status of the call if a permit is left that nobody knew: that of a server that failed, or
  // else `if_unknown`.
  grpc::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::peers
