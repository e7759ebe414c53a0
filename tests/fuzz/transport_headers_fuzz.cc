// Any bytes as the frames of a connection, in pieces of any sizes: whether they may go on to gRPC
// does not hang on the pieces, what may is within its limits, and nothing is kept of the budget.
//
// The first byte says how large the pieces are.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/serve/transport/header_guard.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::fuzz::Require;
using headgate::transport::CallBudgets;
using headgate::transport::HeaderGuard;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kHead = 9;

// How many bytes were let through, by whole pieces, and what they left open.
struct Outcome {
  size_t passed = 0;
  bool is_refused = false;
  size_t open_calls = 0;
};

Outcome Guard(std::string_view bytes, size_t piece) {
  CallBudgets budgets({.most = 4096, .little = 1024}, {.most = 1 << 30, .little = 1024});
  Outcome outcome;
  {
    HeaderGuard guard(budgets);
    Require(guard.Receive(kPreface), "the preface is refused");
    while (!bytes.empty()) {
      const std::string_view some = bytes.substr(0, piece);
      if (!guard.Receive(some)) {
        outcome.is_refused = true;
        Require(!guard.Receive("x"), "something goes on behind what was refused");
        break;
      }
      outcome.passed += some.size();
      bytes.remove_prefix(some.size());
      const int64_t headers = budgets.headers.taken();
      Require(headers >= 0 && headers <= 4096, "headers have ", headers);
      Require(budgets.all.taken() >= headers, "calls have ", budgets.all.taken());
      Require(guard.open_calls() <= HeaderGuard::kMaxOpenCalls, "too many calls");
    }
    outcome.open_calls = guard.open_calls();
    // Whatever else the server may send, it is walked over.
    guard.Send(bytes);
  }
  Require(budgets.headers.taken() == 0, "of headers is kept ", budgets.headers.taken());
  Require(budgets.all.taken() == 0, "of calls is kept ", budgets.all.taken());
  Require(budgets.refused() == (outcome.is_refused ? 1 : 0), "it is counted otherwise");
  return outcome;
}

uint32_t NumberAt(std::string_view bytes, size_t at, size_t size) {
  uint32_t number = 0;
  for (const char byte : bytes.substr(at, size)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

// Frame by frame, as somebody would who has all of it.
void RequireBounded(std::string_view bytes) {
  size_t block = 0;
  int frames = 0;
  bool is_open = false;
  while (bytes.size() >= kHead) {
    const size_t size = NumberAt(bytes, 0, 3);
    const char type = bytes[3];
    Require(is_open == (type == 9), "a block is not continued, or what is none");
    if (type == 1) block = 0;
    if (type == 1) frames = 0;
    if (type == 1 || type == 9) {
      block += size;
      Require(block <= HeaderGuard::kMaxBlockBytes, "a block of ", block, " bytes");
      Require(++frames <= HeaderGuard::kMaxFrames, "a block of ", frames, " frames");
      is_open = (bytes[4] & 4) == 0;
    }
    bytes.remove_prefix(std::min(bytes.size(), kHead + size));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = size_t{data[0]} + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Outcome whole = Guard(bytes, bytes.size() + 1);
  const Outcome parts = Guard(bytes, piece);
  Require(whole.is_refused == parts.is_refused, "it hangs on the pieces");
  Require(whole.is_refused || whole.open_calls == parts.open_calls, "the calls hang on the pieces");
  RequireBounded(bytes.substr(0, parts.passed));
  return 0;
}
