// Any bytes as what a connection to PostgreSQL begins with, and as the messages after it: nothing
// is read beyond what is there, borders are where they are however the bytes arrive, and what is
// relayed is what arrived.
//
// The first byte chooses the sender, and in what pieces the bytes arrive.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/proxy/wire/frames.h"
#include "client/proxy/wire/messages.h"
#include "client/proxy/wire/startup.h"
#include "tests/fuzz/require.h"

namespace headgate::proxy {
namespace {

using fuzz::Require;

struct Relayed {
  std::vector<std::string> seen;
  std::string passed;
  bool refused = false;
};

Relayed Relay(std::string_view bytes, size_t piece, Sender sender) {
  Frames frames(sender);
  Relayed relayed;
  std::string buffer;
  for (size_t at = 0; at < bytes.size() && !relayed.refused; at += piece) {
    buffer.append(bytes.substr(at, piece));
    std::string_view rest = buffer;
    while (!rest.empty()) {
      if (frames.left() == 0) {
        const absl::StatusOr<std::optional<Frame>> frame = frames.Next(rest);
        relayed.refused = !frame.ok();
        if (relayed.refused) fuzz::RequireReadable(frame.status());
        if (!frame.ok()) break;
        Require(frame->has_value() || rest.size() < Frames::kMaxLookedAt, "it wants ever more");
        if (!frame->has_value()) break;
        relayed.seen.push_back(std::string(1, (*frame)->type).append((*frame)->body));
        (void)StatementOf((*frame)->type, (*frame)->body);
        (void)StatusOfReady((*frame)->body);
        (void)KeyOf((*frame)->body);
        frames.Begin(**frame);
      }
      relayed.passed.append(frames.Pass(rest));
    }
    buffer.erase(0, buffer.size() - rest.size());
  }
  return relayed;
}

void ReadStart(std::string_view bytes) {
  const absl::StatusOr<std::optional<Startup>> startup = ReadStartup(bytes);
  if (!startup.ok()) {
    Require(SqlStateOf(startup.status()).size() == 5, "an error without a code");
    return;
  }
  if (!startup->has_value()) return;
  Require((*startup)->size <= bytes.size(), "it reads beyond the end");
  if ((*startup)->kind == Startup::Kind::kCancel) {
    Require(CancelRequest((*startup)->key) == bytes.substr(0, (*startup)->size),
            "a cancel request is another one when it is passed on");
  }
  if ((*startup)->kind == Startup::Kind::kSession) {
    Require(!(*startup)->Parameter("user").empty(), "a session without a user");
  }
}

void Run(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  ReadStart(bytes);
  const Sender sender = (choice & 1) != 0 ? Sender::kClient : Sender::kServer;
  const Relayed whole = Relay(bytes, bytes.size() + 1, sender);
  const Relayed pieces = Relay(bytes, size_t{1} + (choice >> 1), sender);
  Require(whole.passed == bytes.substr(0, whole.passed.size()), "what is relayed is not what came");
  Require(whole.seen == pieces.seen && whole.passed == pieces.passed, "pieces change what is seen");
}

}  // namespace
}  // namespace headgate::proxy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headgate::proxy::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
