// AnswerWatch: ends calls on gRPC's threads whose answer nobody reads.
//
// Such a call keeps its thread until its answer is sent, and a caller that closes its window can
// put that off for as long as its connection lives. An answer that is unread for too long is
// cancelled, and so is the oldest one where there are too many: a caller that reads has its answer
// within moments, so that it is never among the oldest of many.
//
// Thread-safe.
//
//   AnswerWatch watch(absl::Seconds(5), 32);
//   AnswerWatch::Unread unread;       // lives until the answer is sent
//   unread.Begin(watch, context);     // the answer is ready

#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace headgate::transport {

class AnswerWatch {
 private:
  struct Answer {
    grpc::ServerContext* context;
    int age = 0;  // in looks
    bool cancelled = false;
  };
  using Answers = std::list<Answer>;

 public:
  class Unread {
   public:
    Unread() = default;
    ~Unread() {
      if (watch_ != nullptr) watch_->Remove(place_);
    }
    Unread(const Unread&) = delete;
    Unread& operator=(const Unread&) = delete;

    // Once. Both outlive this.
    void Begin(AnswerWatch& watch, grpc::ServerContext& context) {
      place_ = watch.Add(context);
      watch_ = &watch;
    }

   private:
    AnswerWatch* watch_ = nullptr;
    Answers::iterator place_;
  };

  // An answer is cancelled when nobody has read it for `patience`, or up to a fifth longer.
  AnswerWatch(absl::Duration patience, size_t most);
  ~AnswerWatch();
  AnswerWatch(const AnswerWatch&) = delete;
  AnswerWatch& operator=(const AnswerWatch&) = delete;

 private:
  Answers::iterator Add(grpc::ServerContext& context);
  void Remove(Answers::iterator answer);
  void Run();
  void Look();
  void Cancel(Answer& answer);

  const std::chrono::nanoseconds look_every_;
  const size_t most_;
  // Guards all below, and that a context is cancelled only while its call is there. A standard
  // one, as condition variables take it.
  std::mutex mutex_;
  std::condition_variable changed_;
  Answers answers_;    // oldest first
  size_t unread_ = 0;  // of them, those that are not cancelled
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headgate::transport
