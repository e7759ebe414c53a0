// Who calls, by connection: reading a certificate's names for each call would cost more than the
// decision.
//
// gRPC keeps one authentication context for each connection; an entry holds a reference to it, so
// that its address can be nobody else's meanwhile. Entries of gone connections keep theirs until
// their place is needed: at most kPlaces, a few kilobytes each. An entry of replaced grants counts
// for nothing.
//
// Thread-compatible: each serving thread has one. It must be destroyed before gRPC shuts down.

#ifndef HEADGATE_SERVER_ACCESS_CALLER_CACHE_H_
#define HEADGATE_SERVER_ACCESS_CALLER_CACHE_H_

#include <grpc/grpc_security.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace headgate::access {

class Caller;

class CallerCache {
 public:
  struct Entry {
    grpc_auth_context* context = nullptr;  // a reference of ours; null: empty
    uint64_t grants = 0;                   // Grants::number
    const Caller* by_certificate = nullptr;
    // The last good token on this connection, and whose it is.
    std::string token;
    const Caller* by_token = nullptr;
  };

  CallerCache() = default;
  ~CallerCache() {
    for (Entry& entry : entries_) Clear(entry);
  }
  CallerCache(const CallerCache&) = delete;
  CallerCache& operator=(const CallerCache&) = delete;

  // The connection's entry; null: there is none under these grants.
  Entry* Find(const grpc_auth_context* context, uint64_t grants) {
    Entry& entry = entries_[PlaceOf(context)];
    return entry.context == context && entry.grants == grants ? &entry : nullptr;
  }
  // An empty entry for the connection, in the place of what stood there. Takes the reference.
  Entry& Put(grpc_auth_context* context, uint64_t grants) {
    Entry& entry = entries_[PlaceOf(context)];
    Clear(entry);
    entry.context = context;
    entry.grants = grants;
    return entry;
  }

 private:
  static constexpr size_t kPlaces = 1024;

  static size_t PlaceOf(const grpc_auth_context* context) {
    // Multiplied by 2^64 / the golden ratio, neighbours get places far apart.
    return (reinterpret_cast<uintptr_t>(context) * uint64_t{0x9e3779b97f4a7c15}) >> 54;
  }
  static void Clear(Entry& entry) {
    if (entry.context != nullptr) grpc_auth_context_release(entry.context);
    entry = Entry();
  }

  std::array<Entry, kPlaces> entries_;
};

}  // namespace headgate::access

#endif  // HEADGATE_SERVER_ACCESS_CALLER_CACHE_H_
