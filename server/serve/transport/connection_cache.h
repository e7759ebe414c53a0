// ConnectionCache: something for each connection, found by the calls that come over it.
//
// An entry holds a reference to its connection's origin, so that no other connection is taken for
// it. Entries of gone connections keep theirs until their place is needed: at most kPlaces, a few
// kilobytes each.
//
// Thread-compatible: each serving thread has one. It must be destroyed before gRPC shuts down.
//
//   ConnectionCache<Known> cache;
//   Known* known = cache.Find(origin);  // null: there is no entry
//   if (known == nullptr) known = &cache.Put(CallOrigin(context));

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "server/serve/transport/call_origin.h"

namespace headgate::transport {

template <typename Value>
class ConnectionCache {
 public:
  Value* Find(const CallOrigin& origin) {
    Entry& entry = entries_[PlaceOf(origin)];
    const bool known =
        origin.connection() != nullptr && entry.origin.connection() == origin.connection();
    return known ? &entry.value : nullptr;
  }
  // An empty value for the connection, in the place of what stood there.
  Value& Put(CallOrigin origin) {
    Entry& entry = entries_[PlaceOf(origin)];
    entry = {.origin = std::move(origin)};
    return entry.value;
  }

 private:
  static constexpr size_t kPlaces = 1024;

  struct Entry {
    CallOrigin origin;
    Value value = {};
  };

  static size_t PlaceOf(const CallOrigin& origin) {
    // Multiplied by 2^64 / the golden ratio, neighbours get places far apart.
    return (reinterpret_cast<uintptr_t>(origin.connection()) * uint64_t{0x9e3779b97f4a7c15}) >> 54;
  }

  std::array<Entry, kPlaces> entries_;
};

}  // namespace headgate::transport
