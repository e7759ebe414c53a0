#include "server/serve/http/request_parser.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <functional>

namespace headgate::http {
namespace {

using boost::beast::iequals;
using BeastError = boost::beast::http::error;

constexpr int kMaxAuthorizations = 2;  // one more than is taken

// What a caller is told that Beast found something wrong with.
int StatusOf(const boost::beast::error_code& error) {
  if (error == BeastError::header_limit) return 431;
  if (error == BeastError::body_limit) return 413;
  if (error == BeastError::bad_version) return 505;
  return 400;
}

}  // namespace

RequestParser::RequestParser(const RequestLimits& limits) {
  header_limit(static_cast<uint32_t>(limits.max_header_bytes));
  body_limit(limits.max_body_bytes);
  eager(true);
}

size_t RequestParser::Put(boost::asio::const_buffer bytes) {
  Error error;
  put_ = View(static_cast<const char*>(bytes.data()), bytes.size());
  const size_t taken = put(bytes, error);
  if (error && error != BeastError::need_more && refusal_ == 0) refusal_ = StatusOf(error);
  return taken;
}

const Request& RequestParser::request() {
  const std::string_view target = At(target_);
  request_.path = target.substr(0, target.find('?'));
  request_.content_type = At(content_type_);
  request_.request_id = At(request_id_);
  request_.host = At(host_);
  request_.origin = At(origin_);
  request_.authorization.clear();
  for (const Place place : authorization_) request_.authorization.push_back(At(place));
  request_.has_long_body = body_.size() > kMaxBodyText;
  if (!request_.has_long_body) {
    const absl::string_view body = body_.Flatten();
    request_.body = std::string_view(body.data(), body.size());
  }
  return request_;
}

RequestParser::Place RequestParser::Store(View text) {
  const Place place = {.begin = texts_.size(), .size = text.size()};
  texts_.append(text.data(), text.size());
  return place;
}

void RequestParser::Refuse(int status, Error& error) {
  refusal_ = status;
  error = BeastError::bad_value;
}

void RequestParser::on_request_impl(Verb method, View /*method_text*/, View target, int version,
                                    Error& error) {
  version_ = version;
  if (method == Verb::get) request_.method = Request::Method::kGet;
  if (method == Verb::head) request_.method = Request::Method::kHead;
  if (method == Verb::post) request_.method = Request::Method::kPost;
  if (method == Verb::options) request_.method = Request::Method::kOptions;
  if (!target.starts_with('/')) return Refuse(400, error);
  target_ = Store(target);
}

// Beast joins the lines, elsewhere, unless all but the last are empty.
bool RequestParser::IsFolded(View name, View value) const {
  const std::less_equal<const char*> is_up_to;
  const char* const name_end = name.data() + name.size();
  const bool is_in_place =
      is_up_to(name_end, value.data()) && is_up_to(value.data(), put_.data() + put_.size());
  return !is_in_place ||
         View(name_end, static_cast<size_t>(value.data() - name_end)).contains('\n');
}

void RequestParser::on_field_impl(Field field, View name, View value, Error& error) {
  if (IsFolded(name, value)) return Refuse(400, error);
  if (in_trailer_) return;
  switch (field) {
    case Field::host:
      ++hosts_;
      host_ = Store(value);
      break;
    case Field::content_length:
      if (++lengths_ > 1 || value.contains(',')) Refuse(400, error);
      break;
    case Field::transfer_encoding:
      if (!iequals(value, "chunked")) Refuse(501, error);
      break;
    case Field::content_encoding:
      if (!iequals(value, "identity")) Refuse(415, error);
      break;
    case Field::content_type:
      content_type_ = Store(value);
      break;
    case Field::origin:
      // Two are nobody's.
      origin_ = request_.has_origin ? Place() : Store(value);
      request_.has_origin = true;
      break;
    case Field::authorization:
      if (authorization_.size() < kMaxAuthorizations) authorization_.push_back(Store(value));
      break;
    case Field::expect:
      expects_ = iequals(value, "100-continue");
      if (!expects_) Refuse(417, error);
      break;
    default:
      if (iequals(name, "x-request-id")) request_id_ = Store(value);
  }
}

void RequestParser::on_header_impl(Error& error) {
  in_trailer_ = true;
  const bool has_host = hosts_ == 1 || (hosts_ == 0 && version_ < 11);
  if (!has_host) Refuse(400, error);
}

size_t RequestParser::on_body_impl(View body, Error& /*error*/) {
  body_.Append(absl::string_view(body.data(), body.size()));
  return body.size();
}

size_t RequestParser::on_chunk_body_impl(uint64_t /*remain*/, View body, Error& /*error*/) {
  body_.Append(absl::string_view(body.data(), body.size()));
  return body.size();
}

}  // namespace headgate::http
