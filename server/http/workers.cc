#include "server/http/workers.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace headgate::http {

class Workers::Pool {
 public:
  explicit Pool(const WorkersOptions& options) : most_(options.most), threads_(options.threads) {}
  ~Pool() { threads_.join(); }

  bool Run(std::function<void()> task) {
    // relaxed, both: a bound, which orders nothing.
    if (count_.fetch_add(1, std::memory_order_relaxed) >= most_) {
      count_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    boost::asio::post(threads_, [this, task = std::move(task)] {
      task();
      count_.fetch_sub(1, std::memory_order_relaxed);
    });
    return true;
  }

 private:
  const size_t most_;
  std::atomic<size_t> count_{0};
  boost::asio::thread_pool threads_;
};

Workers::Workers(const WorkersOptions& options) : pool_(std::make_unique<Pool>(options)) {}
Workers::~Workers() = default;

bool Workers::Run(std::function<void()> task) { return pool_->Run(std::move(task)); }

}  // namespace headgate::http
