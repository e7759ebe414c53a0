#include "server/serve/json/json_calls.h"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace headgate::json {
namespace {

constexpr char kCalls[] = "calls";
constexpr size_t kNameBytes = 64;

// RapidJSON calls for each part in turn; for a brace while the stream is at it.
class Splitter final : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Splitter> {
 public:
  Splitter(std::string_view text, size_t most, std::vector<JsonCall>& calls)
      : text_(text), stream_(text.data(), text.size()), most_(most), calls_(calls) {}

  std::optional<JsonFault> Split() {
    // RapidJSON takes it for the end.
    if (text_.find('\0') != std::string_view::npos) return NotJson("it has a byte 0");
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                                rapidjson::kParseNumbersAsStringsFlag |
                                rapidjson::kParseValidateEncodingFlag;
    rapidjson::Reader reader;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(stream_, *this);
    if (fault_.has_value()) return fault_;
    if (result.IsError()) {
      return NotJson(absl::StrCat(rapidjson::GetParseError_En(result.Code()), " At byte ",
                                  result.Offset(), "."));
    }
    if (calls_.empty()) return JsonFault{.field = kCalls, .what = "must have a call at least"};
    return std::nullopt;
  }

  // Of whatever is neither an object nor a list.
  bool Default() { return IsInRequest() || RefuseValue(); }
  bool StartObject() {
    if (depth_ == kInCall) begin_ = stream_.Tell();
    if (depth_ == kInList && calls_.size() == most_) {
      return Refuse(kCalls, absl::StrCat("has more than ", most_, " calls"));
    }
    if (depth_ == kInList) calls_.emplace_back();
    if (depth_ == kInText) return RefuseValue();
    ++depth_;
    return true;
  }
  bool Key(const char* bytes, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view name(bytes, size);
    if (depth_ == kInText) {
      if (name != kCalls) {
        return Refuse(EscapeHarmful(name.substr(0, kNameBytes)),
                      "is not a field of a batch of reads");
      }
      if (std::exchange(has_list_, true)) return Refuse(kCalls, "is there twice");
    }
    if (depth_ == kInCall) {
      if (!calls_.back().name.empty() || name.empty()) return RefuseCall();
      calls_.back().name = std::string(name);
    }
    return true;
  }
  bool EndObject(rapidjson::SizeType /*size*/) {
    --depth_;
    if (depth_ == kInCall)
      calls_.back().request = text_.substr(begin_, stream_.Tell() + 1 - begin_);
    if (depth_ == kInList && calls_.back().name.empty()) return RefuseCall();
    return true;
  }
  bool StartArray() {
    if (depth_ != kInText && !IsInRequest()) return RefuseValue();
    ++depth_;
    return true;
  }
  bool EndArray(rapidjson::SizeType /*size*/) {
    --depth_;
    return true;
  }

 private:
  // What is open: nothing, the text's object, its list, a call, and a request and whatever is in
  // it.
  static constexpr int kNothing = 0, kInText = 1, kInList = 2, kInCall = 3;

  bool IsInRequest() const { return depth_ > kInCall; }

  bool RefuseValue() {
    if (depth_ == kNothing) return Refuse("", "must be an object");
    if (depth_ == kInText) return Refuse(kCalls, "must be a list");
    return depth_ == kInList ? Refuse(kCalls, "must have objects") : RefuseCall();
  }
  bool RefuseCall() {
    return Refuse(absl::StrCat(kCalls, "[", calls_.size() - 1, "]"),
                  "must be an object with the name of a method and its request, an object");
  }
  bool Refuse(std::string field, std::string what) {
    fault_ = {.field = std::move(field), .what = std::move(what)};
    return false;
  }
  static JsonFault NotJson(std::string_view why) {
    return {.what = absl::StrCat("the request's body is not JSON: ", Sv(why))};
  }

  const std::string_view text_;
  rapidjson::MemoryStream stream_;
  const size_t most_;
  std::vector<JsonCall>& calls_;
  int depth_ = kNothing;
  bool has_list_ = false;
  size_t begin_ = 0;  // of the request that is being read
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> SplitCalls(std::string_view text, size_t most,
                                    std::vector<JsonCall>& calls) {
  calls.clear();
  return Splitter(text, most, calls).Split();
}

}  // namespace headgate::json
