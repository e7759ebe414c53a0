// HeldBytes: how much memory one part of the server holds, counted by that part where it allocates.
//
// What a part counts is what it asked for; what the allocator adds to that is not in it. Counting
// costs one relaxed addition, and reading one relaxed load.
//
// Thread-safe. A HeldBytes::Share is for one thread at a time.
//
//   HeldBytes held;
//   held.Add(sizeof(Row));
//   HeldBytes::Share share(&held);  // what is added to it is taken off at its end
//   share.Add(1 << 20);
//   ... held.bytes() ...

#pragma once

#include <atomic>
#include <cstdint>

namespace headgate {

class HeldBytes {
 public:
  class Share {
   public:
    // Null: nobody counts. What it points to outlives this.
    explicit Share(HeldBytes* held) : held_(held) {}
    ~Share() { Clear(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    void Add(int64_t bytes) {
      if (held_ == nullptr) return;
      bytes_ += bytes;
      held_->Add(bytes);
    }
    void Clear() { Add(-bytes_); }

   private:
    HeldBytes* const held_;
    int64_t bytes_ = 0;
  };

  HeldBytes() = default;
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // Negative: so many fewer.
  void Add(int64_t bytes) {
    // relaxed, here and below: a single number that orders nothing.
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> bytes_{0};
};

}  // namespace headgate
