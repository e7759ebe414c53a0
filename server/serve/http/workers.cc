#include "server/serve/http/workers.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate::http {

class Workers::Pool {
 public:
  explicit Pool(const WorkersOptions& options) : options_(options), threads_(options.threads) {}
  ~Pool() { threads_.join(); }

  bool Run(size_t bytes, std::function<void()> task) {
    if (!Take(bytes)) return false;
    boost::asio::post(threads_, [this, bytes, task = std::move(task)]() mutable {
      try {
        task();
      } catch (const std::exception&) {
        // As for want of memory. Who waits for its answer does so until its own time is up.
      }
      task = nullptr;  // and what it keeps
      Leave(bytes);
    });
    return true;
  }

 private:
  bool Take(size_t bytes) {
    const MutexLock lock(&mutex_);
    if (tasks_ == options_.max_tasks || (tasks_ > 0 && bytes_ + bytes > options_.max_bytes)) {
      return false;
    }
    ++tasks_;
    bytes_ += bytes;
    return true;
  }
  void Leave(size_t bytes) {
    const MutexLock lock(&mutex_);
    --tasks_;
    bytes_ -= bytes;
  }

  const WorkersOptions options_;
  Mutex mutex_;
  size_t tasks_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  boost::asio::thread_pool threads_;  // the last: they use all above
};

Workers::Workers(const WorkersOptions& options) : pool_(std::make_unique<Pool>(options)) {}
Workers::~Workers() = default;

bool Workers::Run(size_t bytes, std::function<void()> task) {
  return pool_->Run(bytes, std::move(task));
}

}  // namespace headgate::http
