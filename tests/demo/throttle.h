// The backfill's side of Headgate: the SDK as any job would use it, and a count of what it was
// told.
//
// Thread-safe.
//
//   absl::StatusOr<std::unique_ptr<Throttle>> throttle = Throttle::Create(headgated.address());
//   BatchOptions options{.ask = (*throttle)->Asker()};
//   ... (*throttle)->counts() ...
#pragma once

#include <headgate/client.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/demo/record.h"
#include "tests/load/batch_workers.h"

namespace headgate::demo {

class Throttle {
 public:
  static absl::StatusOr<std::unique_ptr<Throttle>> Create(const std::string& address);

  // Each worker is an identity of its own, "worker-3:backfill". Estimates are in rows, and what is
  // reported are seconds. The size of chunks follows the server's advice. It must not be used any
  // more once this is destroyed.
  load::Ask Asker();

  CheckCounts counts() const;
  // Of the newest chunk.
  // relaxed: only the number itself is shared.
  int64_t chunk_rows() const { return chunk_rows_.load(std::memory_order_relaxed); }

 private:
  class Counter;

  explicit Throttle(std::shared_ptr<Counter> counter) : counter_(std::move(counter)) {}

  absl::StatusOr<load::Turn> Ask(int worker, int64_t rows, const std::stop_token& stop);

  const std::shared_ptr<Counter> counter_;
  std::unique_ptr<client::Client> client_;
  std::atomic<int64_t> chunk_rows_{0};
};

}  // namespace headgate::demo
