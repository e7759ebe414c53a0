// A copy of what a call brought that may say who makes it, for a call that is answered later, when
// gRPC's own things are not to be touched any more. One allocation for all its texts, since a
// hundred thousand calls may wait.
//
// Thread-compatible; immutable.
//
//   const KeptEvidence kept(call);
//   access::Asker asker;
//   if (auto refused = access.Identify(kept, asker)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "server/govern/access/evidence.h"

namespace headgate::rpc {

class KeptEvidence final : public access::Evidence {
 public:
  explicit KeptEvidence(const access::Evidence& call) : is_tls_(call.IsTls()) {
    if (const std::string* const name = call.NameFromPeer(); name != nullptr) {
      name_from_peer_ = std::make_unique<const std::string>(*name);
    }
    const std::string peer = call.Peer();
    const std::vector<std::string> names = call.CertificateNames();
    const auto headers = call.Authorization();
    std::vector<std::string_view> texts = {peer};
    texts.insert(texts.end(), names.begin(), names.end());
    texts.insert(texts.end(), headers.begin(), headers.end());
    names_ = static_cast<uint32_t>(names.size());
    headers_ = static_cast<uint32_t>(headers.size());
    size_t size = 0;
    for (const std::string_view text : texts) size += sizeof(Size) + text.size();
    texts_ = std::make_unique_for_overwrite<char[]>(size);
    char* at = texts_.get();
    for (const std::string_view text : texts) {
      const auto bytes = static_cast<Size>(text.size());
      std::memcpy(at, &bytes, sizeof(Size));
      text.copy(at + sizeof(Size), bytes);
      at += sizeof(Size) + bytes;
    }
  }

  // Its connection may be gone by then, and another one in its place.
  access::KnownConnection* Connection() const override { return nullptr; }
  bool IsTls() const override { return is_tls_; }
  std::vector<std::string> CertificateNames() const override {
    const auto names = Texts(1, names_);
    return {names.begin(), names.end()};
  }
  absl::InlinedVector<std::string_view, 2> Authorization() const override {
    return Texts(1 + names_, headers_);
  }
  std::string Peer() const override { return std::string(Texts(0, 1).front()); }
  const std::string* NameFromPeer() const override { return name_from_peer_.get(); }

 private:
  using Size = uint32_t;

  // So many from a place on: the peer is the first, behind it come the names, then the headers.
  absl::InlinedVector<std::string_view, 2> Texts(uint32_t first, uint32_t count) const {
    absl::InlinedVector<std::string_view, 2> texts;
    const char* at = texts_.get();
    for (uint32_t place = 0; place < first + count; ++place) {
      Size size;
      std::memcpy(&size, at, sizeof(Size));
      at += sizeof(Size);
      if (place >= first) texts.emplace_back(at, size);
      at += size;
    }
    return texts;
  }

  std::unique_ptr<char[]> texts_;  // each behind its size
  uint32_t names_ = 0;
  uint32_t headers_ = 0;
  const bool is_tls_;
  std::unique_ptr<const std::string> name_from_peer_;
};

}  // namespace headgate::rpc
