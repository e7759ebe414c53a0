// A request as it came, and the response to it. Plain data.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "server/govern/access/evidence.h"

namespace headgate::http {

inline constexpr char kJson[] = "application/json";

// The other end of a connection.
struct Peer {
  std::string address;  // as gRPC has it: "ipv4:10.0.0.1:4711"
  bool is_tls = false;
  // Of a certificate that was verified: "URI:spiffe://prod/sa/backfill", "DNS:dba.example".
  std::vector<std::string> certificate_names;
  // For whoever judges who it is, while a request is handled.
  access::KnownConnection known;
};

// A body of so many bytes is one text; a longer one stays in pieces until somebody takes it, so
// that whoever sends it does not hold the port's thread, which would move it time and again.
inline constexpr size_t kMaxBodyText = size_t{16} << 10;

// The texts live until the handler returns.
struct Request {
  enum class Method : uint8_t { kGet, kHead, kPost, kOptions, kOther };

  Method method = Method::kOther;
  std::string_view path;  // without a query, as it was sent
  std::string_view body;  // empty, if it is long
  bool has_long_body = false;
  std::string_view content_type;
  std::string_view request_id;  // of `x-request-id`
  // Of each `authorization`.
  absl::InlinedVector<std::string_view, 2> authorization;
  std::string_view host;
  // Of `origin`, which a browser sends for whatever a web page does but reading what is its own.
  std::string_view origin;
  bool has_origin = false;
  Peer* peer = nullptr;

  bool reads() const { return method == Method::kGet || method == Method::kHead; }
};

struct Response {
  int status = 200;
  std::string_view content_type = kJson;  // a literal
  std::string body = {};
  std::string request_id = {};    // for `x-request-id`; empty: none
  int64_t retry_after_s = 0;      // 0: it does not say
  std::string_view allow = {};    // a literal: the methods, with status 405 and for OPTIONS
  std::string_view headers = {};  // a literal: further lines, each with its end
  bool close = false;             // and so is the connection
};

}  // namespace headgate::http
