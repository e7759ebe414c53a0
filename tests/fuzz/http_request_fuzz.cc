// Any bytes as a request, in pieces of any sizes: whether it is taken does not hang on the pieces,
// what is taken is within its limits, and what is refused has a status for it.
//
// The first byte says how large the pieces are.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/serve/http/request_parser.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::fuzz::Require;
using headgate::http::Request;
using headgate::http::RequestLimits;
using headgate::http::RequestParser;

constexpr RequestLimits kLimits = {.max_header_bytes = 512, .max_body_bytes = 256};

struct Outcome {
  int refusal = 0;
  bool is_done = false;
  std::string path = {};
  std::string body = {};
  std::string left = {};  // behind the request
};

// As a connection feeds a parser.
Outcome Parse(std::string_view bytes, size_t piece) {
  RequestParser parser(kLimits);
  std::string buffered;
  while (!parser.is_done() && parser.refusal() == 0) {
    const size_t taken =
        buffered.empty() ? 0 : parser.Put(boost::asio::buffer(buffered.data(), buffered.size()));
    buffered.erase(0, taken);
    if (taken > 0 && !buffered.empty()) continue;
    if (parser.is_done() || parser.refusal() != 0) break;
    if (bytes.empty()) break;
    const size_t more = std::min(piece, bytes.size());
    buffered.append(bytes.substr(0, more));
    bytes.remove_prefix(more);
    Require(buffered.size() <= kLimits.max_header_bytes + piece, "it holds too much");
  }
  Outcome outcome{.refusal = parser.refusal(), .is_done = parser.is_done()};
  if (outcome.refusal != 0 || !outcome.is_done) return outcome;
  const Request& request = parser.request();
  outcome.path = request.path;
  outcome.body = request.body;
  if (request.has_long_body) outcome.body = std::string(parser.TakeBody());
  outcome.left = buffered + std::string(bytes);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Parse(bytes, std::max<size_t>(bytes.size(), 1));
  const Outcome pieces = Parse(bytes, 1 + data[0] % 16);
  if (whole.is_done && whole.refusal == 0) {
    Require(whole.path.starts_with('/'), "a path that is none: ", whole.path);
    Require(whole.body.size() <= kLimits.max_body_bytes, "a body that is too large");
    Require(pieces.is_done && pieces.refusal == 0, "refused in pieces: ", bytes.size());
    Require(whole.path == pieces.path && whole.body == pieces.body, "another request in pieces");
    Require(whole.left == pieces.left, "it ends elsewhere in pieces");
  }
  for (const Outcome& outcome : {whole, pieces}) {
    Require(outcome.refusal == 0 || (outcome.refusal >= 400 && outcome.refusal <= 505),
            "no status to refuse with: ", outcome.refusal);
  }
  return 0;
}
