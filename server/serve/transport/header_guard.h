// HeaderGuard: whether a connection's headers may go on to gRPC.
//
// gRPC 1.51 holds a connection to its limits of headers and calls only once the other end has
// acknowledged its SETTINGS, and to that of headers frame by frame, so that a block of them need
// never end; a byte may be 64 in memory. So frames are looked at before gRPC has them, in both
// directions, and whether the SETTINGS are acknowledged is nothing to this:
//
// - a block of headers, which is a HEADERS frame and its CONTINUATIONs, has so many bytes, fields
//   and frames at most, and does not end within a field;
// - a connection has so many calls at most whose end the server has not sent;
// - what these calls take of gRPC's memory, and their headers and those of a block that has not
//   ended beyond what is usual, is bounded for all connections together (CallBudgets).
//
// What gRPC ends a connection for itself is left to it, as far as nothing may hide behind it.
// Messages, and everything else, are walked over.
//
// Thread-safe. It costs a few hundred nanoseconds for each call, and next to nothing for messages.
//
//   HeaderGuard guard(budgets);
//   if (!guard.Receive(bytes)) return EndConnection();
//   guard.Send(bytes);

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"
#include "server/serve/transport/connection_guard.h"
#include "server/serve/transport/field_counter.h"
#include "server/serve/transport/frame_reader.h"
#include "server/serve/transport/header_limit.h"

namespace headgate::transport {

// What may be taken of all connections. A connection may have as much more as is left for all,
// so that a few cannot have everything, and a little in any case: who has that little is not ended
// for what others have.
//
// Thread-safe. relaxed, all: a number that orders nothing.
class CallBudget {
 public:
  struct Options {
    int64_t most = 0;    // bytes, of all
    int64_t little = 0;  // bytes, of each
  };

  explicit constexpr CallBudget(const Options& options) : options_(options) {}

  // For a connection that has `own` already. False: it is not to have them.
  bool Take(int64_t bytes, int64_t own) {
    const int64_t all = taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (own + bytes <= options_.little || own + bytes <= options_.most - all) return true;
    Return(bytes);
    return false;
  }
  void Return(int64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  const Options options_;
  std::atomic<int64_t> taken_{0};
};

// Of a process: what headers may take, and what they and all open calls may take together. As many
// calls may be open as can wait, and a thousand and more besides.
struct CallBudgets {
  static constexpr CallBudget::Options kHeaders = {.most = int64_t{64} << 20,
                                                   .little = int64_t{128} << 10};
  static constexpr CallBudget::Options kAll = {.most = int64_t{176} << 20,
                                               .little = int64_t{128} << 10};

  constexpr CallBudgets() : CallBudgets(kHeaders, kAll) {}
  constexpr CallBudgets(const CallBudget::Options& of_headers, const CallBudget::Options& of_all)
      : headers(of_headers), all(of_all) {}

  CallBudget headers;
  CallBudget all;

  // A call that its caller resets is kept by gRPC until it gets round to it, and nothing is sent
  // then: it counts as open for a whole turn, of which there are some in a second.
  void NextTurn() { turn_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t turn() const { return turn_.load(std::memory_order_relaxed); }

  // Connections that were refused, for their share of these or for anything else.
  void CountRefused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  int64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  // relaxed, both: they order nothing.
  std::atomic<uint64_t> turn_{0};
  std::atomic<int64_t> refused_{0};
};

class HeaderGuard final : public ConnectionGuard {
 public:
  // As bytes on the wire: what is allowed as HTTP/2 counts it, which is more, and room for a
  // priority and for what gRPC refuses itself, with words.
  static constexpr uint32_t kMaxBlockBytes = kMaxHeaderBytes + (4 << 10);
  // Proxies allow a hundred.
  static constexpr int kMaxFields = 128;
  // Five are enough for the most bytes. With each gRPC copies what it has of a text.
  static constexpr int kMaxFrames = 32;
  // Calls that a connection may have; as many again whose end is being sent at this moment; and as
  // many that were begun before anybody could know how many there may be.
  static constexpr size_t kMaxOpenCalls = size_t{3} * kMaxCallsOnConnection;
  // What a field takes in gRPC beside its text, and beside the text of others in the table.
  static constexpr int64_t kBytesOfField = 128;
  // Of each block, which is with what a call takes by itself.
  static constexpr int64_t kUsualBytes = 4 << 10;
  // What a call takes in gRPC from its headers to its end.
  static constexpr int64_t kBytesOfCall = 15 << 10;

  // The budgets outlive this.
  explicit HeaderGuard(CallBudgets& budgets) : budgets_(budgets) {}
  ~HeaderGuard() override;
  HeaderGuard(const HeaderGuard&) = delete;
  HeaderGuard& operator=(const HeaderGuard&) = delete;

  bool SeesFrames() const override { return true; }
  bool Receive(std::string_view bytes) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(std::string_view bytes) override ABSL_LOCKS_EXCLUDED(mutex_);

  size_t open_calls() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A block of headers under way.
  struct Block {
    uint32_t stream = 0;  // 0: there is none
    uint32_t announced = 0;
    int frames = 0;
    uint32_t priority_bytes = 0;  // that come first, and are no fields
    int64_t received = 0;
    int64_t taken = 0;  // of the budgets
    FieldCounter fields{kMaxBlockBytes};
  };

  // Takes the first words of HTTP/2 off the bytes. False: they are others.
  bool TakePreface(std::string_view& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Walk(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All of them return whether it may go on.
  bool Begin(const FrameHead& head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool BeginBlock(const FrameHead& head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AddFrame(const FrameHead& head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Add(std::string_view part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool EndFrame(const FrameHead& head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the budgets; false: there is not so much left.
  bool TakeForCall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeForHeaders(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReturnOfHeaders(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReturnOfCalls(int64_t calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its end was sent.
  void EndCall(uint32_t stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its caller has reset it.
  void ResetCall(uint32_t stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives back what was reset a turn ago.
  void ForgetResets() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CallBudgets& budgets_;
  mutable Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  size_t preface_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes of it that have come
  FrameReader received_ ABSL_GUARDED_BY(mutex_);
  FrameReader sent_ ABSL_GUARDED_BY(mutex_);
  Block block_ ABSL_GUARDED_BY(mutex_);
  uint32_t last_call_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those that have not ended, by stream, each with what its headers took of the budgets.
  absl::flat_hash_map<uint32_t, int64_t> calls_ ABSL_GUARDED_BY(mutex_);
  // Those that were reset, since that turn.
  struct Resets {
    uint64_t turn = 0;
    int64_t calls = 0;
    int64_t of_headers = 0;
  };
  Resets resets_ ABSL_GUARDED_BY(mutex_);
  int64_t of_headers_ ABSL_GUARDED_BY(mutex_) = 0;  // taken, of both budgets
  int64_t of_all_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headgate::transport
