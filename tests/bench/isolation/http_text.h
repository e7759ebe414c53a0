// Requests of HTTP/1.1 as text, and connections that say them.
//
//   Speaker speaker(server.http_port);
//   speaker.Say(Post("/v1/check", "{}"));

#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/govern/tls/raw_caller.h"

namespace headgate::bench {

// The header of a POST, up to what says how long its body is.
inline std::string PostHead(std::string_view path) {
  return absl::StrCat("POST ", std::string(path),
                      " HTTP/1.1\r\nHost: headgate\r\nContent-Type: application/json\r\n");
}
// The same, before a body of so many bytes.
inline std::string PostHead(std::string_view path, size_t body_bytes) {
  return absl::StrCat(PostHead(path), "Content-Length: ", body_bytes, "\r\n\r\n");
}
inline std::string Post(std::string_view path, const std::string& body) {
  return PostHead(path, body.size()) + body;
}
inline std::string Get(std::string_view path) {
  return absl::StrCat("GET ", std::string(path), " HTTP/1.1\r\nHost: headgate\r\n\r\n");
}

// A connection that is there whenever something is to be said.
class Speaker {
 public:
  explicit Speaker(int port) : port_(port) {}

  // False: nothing was said, since a new connection had to be made first; or what was said is cut
  // short, where the server reads no faster.
  bool Continue(const std::string& text) {
    if (raw_.has_value() && !raw_->IsClosed() && raw_->Send(text)) return true;
    raw_.emplace(port_);
    return false;
  }
  void Say(const std::string& text) {
    if (!Continue(text)) raw_->Send(text);
  }
  // All of it, which the server may end halfway; and what comes first of the answer to it.
  void Ask(const std::string& text) {
    if (!raw_.has_value() || raw_->IsClosed()) raw_.emplace(port_);
    std::string answer;
    if (!raw_->SendAll(text) || !raw_->Receive(absl::Seconds(2), answer)) raw_.reset();
  }
  // As it, without reading anything.
  void SayUnheard(const std::string& text) {
    if (!raw_.has_value() || !raw_->Send(text)) raw_.emplace(port_);
  }
  void Leave() { raw_.reset(); }

 private:
  const int port_;
  std::optional<tls::Raw> raw_;
};

// Many of them, one after the other.
class Speakers {
 public:
  Speakers(int port, size_t count) {
    for (size_t i = 0; i < count; ++i) all_.emplace_back(port);
  }

  Speaker& Next() { return all_[next_++ % all_.size()]; }

 private:
  std::deque<Speaker> all_;
  size_t next_ = 0;
};

}  // namespace headgate::bench
