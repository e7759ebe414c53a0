// TlsGreeting: whether a connection is still at the handshake of TLS.
//
// Nine bytes announce a message of 128 KiB, for which OpenSSL makes room at once: 4,000 connections
// that say nothing more have half a GiB. So there are a few hundred handshakes at a time at most
// (greetings.h). One is over with the first record of the other end's that is no handshake any more
// but encrypted: nobody gets there without having said all that came before, and whoever sends such
// a record earlier is refused by OpenSSL.
//
// Thread-compatible; `is_over` is read by any thread.
//
//   auto is_over = std::make_shared<std::atomic<bool>>(false);
//   TlsGreeting greeting(is_over);
//   greeting.Receive(bytes);

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "server/serve/transport/connection_guard.h"

namespace headgate::transport {

class TlsGreeting final : public ConnectionGuard {
 public:
  // Set when it is over, or the connection is closed. relaxed: it orders nothing.
  explicit TlsGreeting(std::shared_ptr<std::atomic<bool>> is_over) : is_over_(std::move(is_over)) {}
  ~TlsGreeting() override { End(); }
  TlsGreeting(const TlsGreeting&) = delete;
  TlsGreeting& operator=(const TlsGreeting&) = delete;

  bool SeesFrames() const override { return false; }
  // It refuses nothing.
  bool Receive(std::string_view bytes) override;

 private:
  static constexpr size_t kHeadBytes = 5;

  void End() { is_over_->store(true, std::memory_order_relaxed); }

  const std::shared_ptr<std::atomic<bool>> is_over_;
  bool has_ended_ = false;
  std::array<uint8_t, kHeadBytes> head_ = {};  // of a record
  size_t head_bytes_ = 0;                      // of it that have come
  size_t left_ = 0;                            // bytes of the record
};

}  // namespace headgate::transport
