#include "server/decide/engine/ip_prefix.h"

#include <cassert>
#include <charconv>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "common/ip_text.h"
#include "common/strings.h"

namespace headgate::engine {
namespace {

constexpr uint64_t kMappedPrefix = 0xffff;  // ::ffff:0:0/96, the words above the IPv4 address

absl::Status Error(std::string_view text, std::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(Sv(text)), "' ", Sv(problem)));
}

uint64_t BigEndian(const uint8_t* bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}

void ToBytes(uint64_t value, uint8_t* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (56 - 8 * i));
}

// The first `length` of 64 bits; any length beyond these means none or all.
uint64_t Mask(int length) {
  if (length <= 0) return 0;
  return length >= 64 ? ~uint64_t{0} : ~uint64_t{0} << (64 - length);
}

// Digits only, without a leading zero, so that nobody reads 010 as 8.
bool ParseLength(std::string_view digits, int& length) {
  if (digits.empty() || digits.front() < '0' || (digits.front() == '0' && digits.size() > 1)) {
    return false;
  }
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, length);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

absl::StatusOr<IpAddress> IpAddress::Parse(std::string_view text) {
  uint8_t bytes[16] = {};
  const IpFamily family = ParseIp(text, bytes);
  if (family == IpFamily::kNone) {
    return Error(text, "is not an IP address; write one such as 10.0.0.1 or 2001:db8::1");
  }
  IpAddress address;
  address.high_ = BigEndian(bytes);
  if (family == IpFamily::kV4) return address;
  address.low_ = BigEndian(bytes + 8);
  address.is_v4_ = address.high_ == 0 && address.low_ >> 32 == kMappedPrefix;
  if (address.is_v4_) address.high_ = std::exchange(address.low_, 0) << 32;
  return address;
}

std::string IpAddress::ToString() const {
  uint8_t bytes[16];
  ToBytes(high_, bytes);
  ToBytes(low_, bytes + 8);
  return FormatIp(is_v4_ ? IpFamily::kV4 : IpFamily::kV6, bytes);
}

absl::StatusOr<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view address_text = text.substr(0, slash);
  absl::StatusOr<IpAddress> address = IpAddress::Parse(address_text);
  if (!address.ok()) return address.status();
  if (slash == std::string_view::npos) return Of(*address, address->bits());

  int length = 0;
  const std::string_view length_text = text.substr(slash + 1);
  // How a mapped address was written counts for its length: ::ffff:10.0.0.0/104 is 10.0.0.0/8.
  const bool mapped = address->is_v4() && address_text.find(':') != std::string_view::npos;
  const int least = mapped ? 96 : 0;
  const int most = mapped ? 128 : address->bits();
  if (!ParseLength(length_text, length) || length < least || length > most) {
    return Error(
        text, absl::StrCat("needs a prefix length from ", least, " to ", most, " after the '/'"));
  }
  length -= least;
  const IpPrefix prefix = Of(*address, length);
  if (prefix.address_ != *address) {
    return Error(
        text, absl::StrCat("has bits set beyond /", length + least, "; write ", prefix.ToString()));
  }
  return prefix;
}

IpPrefix IpPrefix::Of(const IpAddress& address, int length) {
  assert(length >= 0 && length <= address.bits());
  IpAddress masked = address;
  masked.high_ &= Mask(length);
  masked.low_ &= Mask(length - 64);
  return IpPrefix(masked, length);
}

uint64_t IpPrefix::Hash(uint64_t seed) const {
  const uint64_t kind = static_cast<uint64_t>(length_) << 1 | uint64_t{is_v4()};
  return CombineHash(CombineHash(CombineHash(seed, kind), address_.high_), address_.low_);
}

std::string IpPrefix::ToString() const { return absl::StrCat(address_.ToString(), "/", length_); }

}  // namespace headgate::engine
