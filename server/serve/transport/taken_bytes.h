// TakenBytes: what services have taken of the bytes that each connection brought.
//
// Whoever accepts connections sees from outside how many bytes each brought, and not what they are.
// What its callers are answered says much of it; the rest is told here: messages that are large,
// and those that are kept until later, as of Checks that wait. So what is left of a connection's
// bytes belongs to no message that anybody has taken: it is on its way, or it is headers without
// end.
//
// Thread-safe. Telling takes about a microsecond, which is why small messages that are answered at
// once are not told.
//
//   TakenBytes taken;
//   auto connection = taken.Open("ipv4:10.0.0.1:4711");   // when it is accepted
//   taken.Add(context.peer(), message.wire_bytes);        // by a service
//   unexplained -= connection->Take();

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"

namespace headgate::transport {

class TakenBytes {
 public:
  // A message of so many bytes is told, whatever becomes of it.
  static constexpr size_t kLarge = 4096;
  // Of a call that is kept until later so many bytes are its headers.
  static constexpr size_t kHeaders = 1024;

  // relaxed, all: numbers that order nothing.
  class Connection {
   public:
    void Add(size_t bytes) {
      bytes_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    }
    // Since it was asked before.
    int64_t Take() { return bytes_.exchange(0, std::memory_order_relaxed); }

   private:
    std::atomic<int64_t> bytes_{0};
  };

  // By its other end, as gRPC names it. It is known for as long as somebody has what this returns.
  std::shared_ptr<Connection> Open(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: it is not known.
  std::shared_ptr<Connection> Find(const std::string& peer) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(const std::string& peer, size_t bytes) {
    if (const auto connection = Find(peer)) connection->Add(bytes);
  }

  // Unary calls that wait, each of which takes memory of gRPC's.
  void AddParked(int calls) { parked_.fetch_add(calls, std::memory_order_relaxed); }
  int64_t parked() const { return parked_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kLeastKnown = 64;

  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::weak_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  // With so many, those that are closed are forgotten.
  size_t most_known_ ABSL_GUARDED_BY(mutex_) = kLeastKnown;
  std::atomic<int64_t> parked_{0};
};

}  // namespace headgate::transport
