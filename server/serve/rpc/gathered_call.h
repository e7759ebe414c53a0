// GatheredCall: a call whose results come from several places, put together in the order of its
// items.
//
// The call is parked. Each part has some of its items, and is answered by whoever decides them,
// here or elsewhere; the call is answered when its last part is. Parts hear what becomes of the
// call as if it were theirs. An error of a part is told of each of its items, or ends the call.
//
// Thread-safe, but for what is done before AllAreHandedOut, which belongs to the handler's thread.
//
//   auto call = std::make_shared<GatheredCall<v1::BatchCheckResponse, v1::BatchCheckResponse>>(
//       "checks", PartError::kIsOfItems);
//   if (!call->Park(parking, checks.size())) return NoRoom();
//   GatheredPart part(*call, {0, 3});
//   part.End(Decide(..., response, part), response);
//   call->AllAreHandedOut();

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/strings.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::rpc {

enum class PartError : uint8_t { kIsOfItems, kIsOfCall };

// "checks[1].identity" of a part is "checks[7].identity" of the call.
inline void MoveField(const char* list, int from, int to, v1::Error& error) {
  const std::string place = absl::StrCat(list, "[", from, "]");
  if (!absl::StartsWith(error.field(), place)) return;
  error.set_field(absl::StrCat(list, "[", to, "]", error.field().substr(place.size())));
}

template <typename Response, typename Part>
class GatheredCall final : public transport::ParkListener,
                           public std::enable_shared_from_this<GatheredCall<Response, Part>> {
 public:
  // `list` is the request's field that has the items.
  GatheredCall(const char* list, PartError part_error) : list_(list), part_error_(part_error) {}

  // False: there is no room for it.
  bool Park(transport::Parking<Response>& parking, int items) {
    {
      const MutexLock lock(&mutex_);
      while (response_.results_size() < items) response_.add_results();
    }
    parking_ = &parking;
    parked_ = parking.Park(this->shared_from_this());
    return parked_ != nullptr;
  }
  // An item that is decided already.
  template <typename Result>
  void Set(int place, const Result& result) {
    const MutexLock lock(&mutex_);
    *response_.mutable_results(place) = result;
  }
  void AllAreHandedOut() { OneIsAnswered(); }

  void OnGone() override {
    for (const auto& [listener, answered] : TakeListeners()) {
      answered ? listener->OnAnswered(false) : listener->OnGone();
    }
  }
  void OnAnswered(bool delivered) override {
    for (const auto& [listener, answered] : TakeListeners()) listener->OnAnswered(delivered);
  }

 private:
  template <typename, typename>
  friend class GatheredPart;

  // One that is answered later.
  class ParkedPart final : public transport::ParkedCall<Part> {
   public:
    ParkedPart(std::shared_ptr<GatheredCall> call, size_t number, std::vector<int> places)
        : transport::ParkedCall<Part>(call->parked_->time_left_ns()),
          call_(std::move(call)),
          number_(number),
          places_(std::move(places)) {}

    bool Answer(const grpc::Status& status, Part& response) override {
      return call_->Take(number_, places_, status, response);
    }

   private:
    const std::shared_ptr<GatheredCall> call_;
    const size_t number_;
    const std::vector<int> places_;
  };

  struct Listening {
    std::shared_ptr<transport::ParkListener> listener;  // null: it has heard
    bool answered = false;
  };

  std::shared_ptr<transport::ParkedCall<Part>> ParkPart(
      std::vector<int> places, const std::shared_ptr<transport::ParkListener>& listener) {
    size_t number = 0;
    bool gone = false;
    {
      const MutexLock lock(&mutex_);
      ++unanswered_;
      gone = over_;
      number = listening_.size();
      listening_.push_back({.listener = gone ? nullptr : listener});
    }
    auto part = std::make_shared<ParkedPart>(this->shared_from_this(), number, std::move(places));
    if (gone) listener->OnGone();
    return part;
  }

  // False: nobody waits for it any more, or it came before.
  bool Take(size_t number, const std::vector<int>& places, const grpc::Status& status,
            Part& response) {
    {
      const MutexLock lock(&mutex_);
      Listening& part = listening_[number];
      if (over_ || part.answered) return false;
      part.answered = true;
      Merge(places, status, response);
    }
    OneIsAnswered();
    return true;
  }
  void Merge(const std::vector<int>& places, const grpc::Status& status, Part& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!status.ok() && part_error_ == PartError::kIsOfCall) {
      status_ = status;
      return;
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const auto from = static_cast<int>(i);
      auto& result = *response_.mutable_results(places[i]);
      if (status.ok() && from < response.results_size()) {
        result.Swap(response.mutable_results(from));
        if (result.has_error()) MoveField(list_, from, places[i], *result.mutable_error());
      } else {
        v1::Error& error = *result.mutable_error();
        error.set_code(status.ok() ? grpc::StatusCode::INTERNAL : status.error_code());
        error.set_message(status.error_message());
      }
    }
  }
  void OneIsAnswered() {
    {
      const MutexLock lock(&mutex_);
      if (--unanswered_ > 0 || over_) return;
    }
    // From here on nobody else touches the response.
    Send();
  }
  void Send() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!parked_->Answer(status_, response_)) OnGone();
  }
  std::vector<std::pair<std::shared_ptr<transport::ParkListener>, bool>> TakeListeners() {
    std::vector<std::pair<std::shared_ptr<transport::ParkListener>, bool>> taken;
    const MutexLock lock(&mutex_);
    over_ = true;
    for (Listening& part : listening_) {
      if (part.listener != nullptr) taken.emplace_back(std::move(part.listener), part.answered);
      part.listener = nullptr;
    }
    return taken;
  }

  const char* const list_;
  const PartError part_error_;
  transport::Parking<Response>* parking_ = nullptr;  // the handler's thread's
  std::shared_ptr<transport::ParkedCall<Response>> parked_;
  Mutex mutex_;
  Response response_ ABSL_GUARDED_BY(mutex_);
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 1;  // with one for AllAreHandedOut
  bool over_ ABSL_GUARDED_BY(mutex_) = false;   // the call has ended
  std::vector<Listening> listening_ ABSL_GUARDED_BY(mutex_);
};

// Hands some of a call's items out: at once, or parked. For the handler's thread.
template <typename Response, typename Part>
class GatheredPart final : public transport::Parking<Part> {
 public:
  using Whole = GatheredCall<Response, Part>;

  GatheredPart(Whole& whole, std::vector<int> places) : whole_(whole), places_(std::move(places)) {}

  std::shared_ptr<transport::ParkedCall<Part>> Park(
      std::shared_ptr<transport::ParkListener> listener) override {
    parked_ = true;
    return whole_.ParkPart(std::move(places_), listener);
  }
  void AddMetadata(const char* key, const std::string& value) override {
    whole_.parking_->AddMetadata(key, value);
  }
  // What its handler has returned; nothing where that has parked it.
  void End(const grpc::Status& status, Part& response) {
    if (parked_) return;
    const MutexLock lock(&whole_.mutex_);
    whole_.Merge(places_, status, response);
  }

 private:
  Whole& whole_;
  std::vector<int> places_;
  bool parked_ = false;
};

}  // namespace headgate::rpc
