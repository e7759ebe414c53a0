// IP addresses and prefixes, as rules match them.
//
// IPv4 and IPv6 are separate worlds: 0.0.0.0/0 holds every IPv4 address and no IPv6 address, ::/0
// the reverse. An IPv4-mapped IPv6 address (::ffff:10.0.0.1), which is how a dual-stack socket
// shows an IPv4 peer, is the IPv4 address. Values; immutable; parsing never resolves names.
//
// Longest prefix wins by trying lengths from long to short in a hash table:
//
//   for (int length : lengths_in_use)  // descending
//     if (auto it = index.find(IpPrefix::Of(address, length)); it != index.end()) return
//     it->second;
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace headgate::engine {

class IpAddress {
 public:
  // 0.0.0.0.
  IpAddress() = default;

  // "10.0.0.1", "2001:db8::1". InvalidArgument for anything else, zone ids and ports included.
  static absl::StatusOr<IpAddress> Parse(std::string_view text);

  bool is_v4() const { return is_v4_; }
  int bits() const { return is_v4_ ? 32 : 128; }
  std::string ToString() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  friend class IpPrefix;

  // The address read as a big-endian number, its first bit the top bit of high_: a prefix masks
  // both families alike.
  uint64_t high_ = 0;
  uint64_t low_ = 0;
  bool is_v4_ = true;
};

class IpPrefix {
 public:
  // 0.0.0.0/0.
  IpPrefix() = default;

  // "10.0.0.0/8", "2001:db8::/32"; a bare address is a prefix of full length. InvalidArgument names
  // what is wrong; bits set beyond the length are refused with the prefix that was probably meant.
  static absl::StatusOr<IpPrefix> Parse(std::string_view text);

  // The prefix of `length` bits that holds `address`. Requires 0 <= length <= address.bits().
  static IpPrefix Of(const IpAddress& address, int length);

  bool Contains(const IpAddress& address) const {
    return address.is_v4() == is_v4() && Of(address, length_) == *this;
  }

  const IpAddress& address() const { return address_; }  // with all bits beyond length() zero
  int length() const { return length_; }
  bool is_v4() const { return address_.is_v4(); }
  uint64_t Hash(uint64_t seed) const;
  std::string ToString() const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;

 private:
  IpPrefix(const IpAddress& address, int length) : address_(address), length_(length) {}

  IpAddress address_;
  int length_ = 0;
};

}  // namespace headgate::engine
