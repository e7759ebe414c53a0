// RequestParser: one HTTP/1.1 request, from the bytes of a connection.
//
// Boost.Beast parses; what is kept are the few fields that anybody here asks for. Refused is
// whatever two programs could read in two ways: more than one Content-Length, one beside a
// Transfer-Encoding, a Transfer-Encoding other than `chunked`, no Host or two, a field that goes on
// in the next line. So are bodies that
// are compressed, since a small one can be made to grow a thousandfold. Fields after a chunked body
// are not looked at.
//
// For one request. Thread-compatible.
//
//   RequestParser parser({.max_body_bytes = 4 << 20});
//   buffer.consume(parser.Put(buffer.data()));
//   if (parser.refusal() != 0) ...
//   if (parser.is_done()) handler.Handle(parser.request(), ...);

#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "server/serve/http/message.h"

namespace headgate::http {

struct RequestLimits {
  size_t max_header_bytes = size_t{16} << 10;
  size_t max_body_bytes = size_t{4} << 20;
};

class RequestParser final : private boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(const RequestLimits& limits);

  // How many of the bytes were taken. The others, without a refusal, are to be passed again with
  // more behind them.
  size_t Put(boost::asio::const_buffer bytes);

  // The status that the request is refused with; 0: nothing is wrong with it yet.
  int refusal() const { return refusal_; }
  bool is_done() const { return basic_parser::is_done(); }
  // Whether the caller waits for a word before it sends its body. Once.
  bool TakeExpectation() {
    return is_header_done() && !is_done() && std::exchange(expects_, false);
  }
  size_t body_bytes() const { return body_.size(); }
  // As far as it has come.
  bool is_head() const { return request_.method == Request::Method::kHead; }
  // Whether the header is there, and more is to come.
  bool is_in_body() const { return is_header_done() && !is_done(); }

  // Of a whole request, while this lives; its peer is not set.
  const Request& request();
  absl::Cord TakeBody() { return std::move(body_); }
  bool keeps_alive() const { return keep_alive() && version_ >= 11; }

 private:
  using Verb = boost::beast::http::verb;
  using Field = boost::beast::http::field;
  using View = boost::beast::string_view;
  using Error = boost::beast::error_code;

  void on_request_impl(Verb method, View method_text, View target, int version,
                       Error& error) override;
  void on_response_impl(int /*code*/, View /*reason*/, int /*version*/, Error& /*error*/) override {
  }
  void on_field_impl(Field field, View name, View value, Error& error) override;
  void on_header_impl(Error& error) override;
  void on_body_init_impl(const boost::optional<uint64_t>& /*length*/, Error& /*error*/) override {}
  size_t on_body_impl(View body, Error& error) override;
  void on_chunk_header_impl(uint64_t /*size*/, View /*extensions*/, Error& /*error*/) override {}
  size_t on_chunk_body_impl(uint64_t remain, View body, Error& error) override;
  void on_finish_impl(Error& /*error*/) override {}

  void Refuse(int status, Error& error);
  // Whether the field's value stands in more than one line.
  bool IsFolded(View name, View value) const;

  // Of a text in `texts_`.
  struct Place {
    size_t begin = 0;
    size_t size = 0;
  };
  Place Store(View text);
  std::string_view At(Place place) const {
    return std::string_view(texts_).substr(place.begin, place.size);
  }

  int refusal_ = 0;
  int version_ = 0;
  int hosts_ = 0;
  int lengths_ = 0;
  bool in_trailer_ = false;
  View put_;  // the bytes that are being parsed
  bool expects_ = false;
  std::string texts_;  // all below
  Place target_;
  Place content_type_;
  Place host_;
  Place origin_;
  Place request_id_;
  absl::InlinedVector<Place, 2> authorization_;
  absl::Cord body_;
  Request request_;
};

}  // namespace headgate::http
