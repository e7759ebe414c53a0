// Workers: a few threads for what handlers may not wait for, and a bound for what waits for them.
//
// Thread-safe. Its end waits until all that was taken has run.
//
//   Workers workers({.threads = 2, .most = 64});
//   if (!workers.Run([=] { ... deferred->Respond(...) ... })) return Overloaded();

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace headgate::http {

struct WorkersOptions {
  size_t threads = 1;
  size_t most = 64;  // that wait or run
};

class Workers {
 public:
  explicit Workers(const WorkersOptions& options);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False: too many wait.
  [[nodiscard]] bool Run(std::function<void()> task);

 private:
  class Pool;

  const std::unique_ptr<Pool> pool_;
};

}  // namespace headgate::http
