// Workers: a few threads for what handlers may not wait for, and a bound for what waits for them.
//
// Thread-safe. Its end waits until all that was taken has run. A task that throws ends by that, and
// nothing else does.
//
//   Workers workers({.threads = 2});
//   if (!workers.Run(body.size(), [=] { ... deferred->Respond(...) ... })) return Overloaded();

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace headgate::http {

struct WorkersOptions {
  size_t threads = 1;
  // How much may wait or run. One alone may have more bytes.
  size_t max_tasks = 64;
  size_t max_bytes = size_t{16} << 20;
};

class Workers {
 public:
  explicit Workers(const WorkersOptions& options);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // A task that keeps so many bytes. False: too many wait.
  [[nodiscard]] bool Run(size_t bytes, std::function<void()> task);

 private:
  class Pool;

  const std::unique_ptr<Pool> pool_;
};

}  // namespace headgate::http
