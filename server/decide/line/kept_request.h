// A copy of a CheckRequest that outlives the call it came with: one allocation for all of it.
//
// What it was asked with is made anew at each use, since a view of each text takes more memory than
// most of the texts.
//
// Move-only; what request() points to stays where it is when it is moved. Thread-compatible.
//
//   KeptRequest kept(request);
//   engine.Check(kept.request(), now, answer);

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "server/decide/engine/answer.h"

namespace headgate::line {

class KeptRequest {
 public:
  explicit KeptRequest(const engine::CheckRequest& request)
      : bytes_(new std::byte[SizeOf(request)]) {
    Head& head = *new (bytes_.get()) Head;
    head.estimated_cost = request.estimated_cost;
    head.tags = static_cast<uint16_t>(request.tags.size());
    head.has_address = request.remote_address != nullptr;
    head.has_lease = request.lease != nullptr;
    std::byte* at = bytes_.get() + sizeof(Head);
    if (head.has_lease) {
      new (at) engine::LeaseTerms(*request.lease);
      at += sizeof(engine::LeaseTerms);
    }
    if (head.has_address) {
      new (at) engine::IpAddress(*request.remote_address);
      at += sizeof(engine::IpAddress);
    }
    auto* const tags = reinterpret_cast<engine::Tag*>(at);
    at += request.tags.size() * sizeof(engine::Tag);
    for (size_t i = 0; i < request.tags.size(); ++i) {
      new (tags + i) engine::Tag{.key = Keep(request.tags[i].key, at),
                                 .value = Keep(request.tags[i].value, at)};
    }
    for (size_t i = 0; i < kTexts.size(); ++i) {
      head.text_sizes[i] = static_cast<uint32_t>(Keep(request.*kTexts[i], at).size());
    }
  }

  size_t size() const { return SizeOf(request()); }
  // That `waits` and its ticket are for its owner to set.
  engine::CheckRequest request() const {
    const Head& head = *std::launder(reinterpret_cast<const Head*>(bytes_.get()));
    engine::CheckRequest request{.estimated_cost = head.estimated_cost};
    const std::byte* at = bytes_.get() + sizeof(Head);
    if (head.has_lease) {
      request.lease = std::launder(reinterpret_cast<const engine::LeaseTerms*>(at));
      at += sizeof(engine::LeaseTerms);
    }
    if (head.has_address) {
      request.remote_address = std::launder(reinterpret_cast<const engine::IpAddress*>(at));
      at += sizeof(engine::IpAddress);
    }
    if (head.tags > 0) {
      const auto* const tags = std::launder(reinterpret_cast<const engine::Tag*>(at));
      request.tags = absl::MakeConstSpan(tags, head.tags);
      at += head.tags * sizeof(engine::Tag);
      for (const engine::Tag& tag : request.tags) at += tag.key.size() + tag.value.size();
    }
    for (size_t i = 0; i < kTexts.size(); ++i) {
      request.*kTexts[i] = {reinterpret_cast<const char*>(at), head.text_sizes[i]};
      at += head.text_sizes[i];
    }
    return request;
  }

 private:
  using Request = engine::CheckRequest;
  // In the order in which they are kept, behind the tags' own.
  static constexpr std::array kTexts = {&Request::identity, &Request::target, &Request::pattern,
                                        &Request::request_id, &Request::caller};
  // What stands before the lease's terms, the address, the tags and all texts.
  struct Head {
    std::optional<double> estimated_cost;
    uint16_t tags = 0;
    bool has_address = false;
    bool has_lease = false;
    std::array<uint32_t, kTexts.size()> text_sizes = {};
  };
  static_assert(alignof(engine::Tag) <= alignof(Head) &&
                alignof(engine::IpAddress) <= alignof(Head) &&
                alignof(engine::LeaseTerms) <= alignof(Head) &&
                sizeof(engine::LeaseTerms) % alignof(engine::Tag) == 0 &&
                alignof(Head) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  static size_t SizeOf(const engine::CheckRequest& request) {
    size_t size = sizeof(Head) + request.tags.size() * sizeof(engine::Tag);
    if (request.lease != nullptr) size += sizeof(engine::LeaseTerms);
    if (request.remote_address != nullptr) size += sizeof(engine::IpAddress);
    for (const engine::Tag& tag : request.tags) size += tag.key.size() + tag.value.size();
    for (const auto text : kTexts) size += (request.*text).size();
    return size;
  }
  static std::string_view Keep(std::string_view text, std::byte*& at) {
    char* const begin = reinterpret_cast<char*>(at);
    if (!text.empty()) std::memcpy(begin, text.data(), text.size());
    at += text.size();
    return {begin, text.size()};
  }

  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace headgate::line
