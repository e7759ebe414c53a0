// DeferredExchange: the answer to one request, from whoever gives it to the connection that sends
// it.
//
// Thread-safe; it may outlive its port, whose Stop closes all connections first.

#pragma once

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/http/connection.h"
#include "server/serve/http/handler.h"

namespace headgate::http {

class DeferredExchange final : public Deferred,
                               public std::enable_shared_from_this<DeferredExchange> {
 public:
  DeferredExchange(ConnectionOwner& owner, std::shared_ptr<Connection> connection,
                   std::shared_ptr<transport::ParkListener> listener)
      : owner_(&owner), connection_(std::move(connection)), listener_(std::move(listener)) {}

  bool Respond(absl::FunctionRef<Response()> make) override {
    const MutexLock lock(&mutex_);
    if (owner_ == nullptr || answered_) return false;
    answered_ = true;
    owner_->Post(
        [connection = connection_, response = make()] { connection->RespondLater(response); });
    return true;
  }
  bool Listen(std::shared_ptr<transport::ParkListener> listener) override {
    const MutexLock lock(&mutex_);
    if (owner_ == nullptr) return false;
    listener_ = std::move(listener);
    return true;
  }
  bool gone() const override {
    const MutexLock lock(&mutex_);
    return owner_ == nullptr;
  }

  // On the port's thread: the answer was sent, or the connection is no more.
  void End(bool delivered) {
    std::shared_ptr<transport::ParkListener> listener;
    bool answered = false;
    {
      const MutexLock lock(&mutex_);
      owner_ = nullptr;
      connection_ = nullptr;
      answered = answered_;
      listener = std::move(listener_);
    }
    if (listener == nullptr) return;
    answered ? listener->OnAnswered(delivered) : listener->OnGone();
  }

 private:
  mutable Mutex mutex_;
  ConnectionOwner* owner_ ABSL_GUARDED_BY(mutex_);  // null: it has ended
  std::shared_ptr<Connection> connection_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<transport::ParkListener> listener_ ABSL_GUARDED_BY(mutex_);
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headgate::http
