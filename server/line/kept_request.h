// A copy of a CheckRequest that outlives the call it came with: one allocation for all its texts.
//
// Move-only; what `request()` points to stays where it is when it is moved. Thread-compatible.
//
//   KeptRequest kept(request);
//   engine.Check(kept.request(), now, answer);

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "absl/types/span.h"
#include "server/engine/answer.h"

namespace headgate::line {

class KeptRequest {
 public:
  explicit KeptRequest(const engine::CheckRequest& request)
      : bytes_(new std::byte[SizeOf(request)]), size_(SizeOf(request)), request_(request) {
    // Tags and the address are aligned for they come first.
    std::byte* at = bytes_.get();
    engine::Tag* const tags = reinterpret_cast<engine::Tag*>(at);
    at += request.tags.size() * sizeof(engine::Tag);
    if (request.remote_address != nullptr) {
      request_.remote_address = new (at) engine::IpAddress(*request.remote_address);
      at += sizeof(engine::IpAddress);
    }
    for (size_t i = 0; i < request.tags.size(); ++i) {
      new (tags + i) engine::Tag{.key = Keep(request.tags[i].key, at),
                                 .value = Keep(request.tags[i].value, at)};
    }
    request_.tags = absl::MakeConstSpan(tags, request.tags.size());
    request_.identity = Keep(request.identity, at);
    request_.target = Keep(request.target, at);
    request_.pattern = Keep(request.pattern, at);
    request_.request_id = Keep(request.request_id, at);
    request_.caller = Keep(request.caller, at);
  }

  const engine::CheckRequest& request() const { return request_; }
  engine::CheckRequest& request() { return request_; }
  // Of the copy, beside the object itself.
  size_t bytes() const { return size_; }

 private:
  static size_t SizeOf(const engine::CheckRequest& request) {
    size_t size = request.tags.size() * sizeof(engine::Tag) + request.identity.size() +
                  request.target.size() + request.pattern.size() + request.request_id.size() +
                  request.caller.size();
    if (request.remote_address != nullptr) size += sizeof(engine::IpAddress);
    for (const engine::Tag& tag : request.tags) size += tag.key.size() + tag.value.size();
    return size;
  }
  static std::string_view Keep(std::string_view text, std::byte*& at) {
    if (text.empty()) return {};
    char* const begin = reinterpret_cast<char*>(at);
    std::memcpy(begin, text.data(), text.size());
    at += text.size();
    return {begin, text.size()};
  }

  std::unique_ptr<std::byte[]> bytes_;
  size_t size_;
  engine::CheckRequest request_;
};

static_assert(alignof(engine::Tag) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ &&
              alignof(engine::IpAddress) <= alignof(engine::Tag));

}  // namespace headgate::line
