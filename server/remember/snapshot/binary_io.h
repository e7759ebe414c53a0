// Numbers and lists in a row of bytes: what format.cc is written with.
//
// A Reader that runs out of bytes, or finds a count that they cannot hold, says so from then on and
// reads zeros: whoever reads looks once, at the end.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace headgate::snapshot {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename... T>
  void Numbers(T... values) {
    (Number(values), ...);
  }
  void Count(size_t count) { Number(uint64_t{count}); }
  void Text(std::string_view text) {
    Count(text.size());
    out_.append(text.data(), text.size());
  }
  // Items without padding, as they stand in memory.
  template <typename T>
  void Array(const std::vector<T>& items) {
    static_assert(std::has_unique_object_representations_v<T>);
    Count(items.size());
    out_.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <typename T>
  void Number(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    value = T{};
    if (!Take(sizeof(value))) return;
    if constexpr (std::is_same_v<T, bool>) {
      value = taken_[0] != 0;
    } else {
      std::memcpy(&value, taken_, sizeof(value));
    }
  }
  template <typename... T>
  void Numbers(T&... values) {
    (Number(values), ...);
  }
  // Of items that take `least_bytes` or more; 0 where so many cannot follow.
  size_t Count(size_t least_bytes) {
    uint64_t count = 0;
    Number(count);
    if (count <= in_.size() / least_bytes) return static_cast<size_t>(count);
    ok_ = false;
    return 0;
  }
  void Text(std::string& text) {
    const size_t size = Count(1);
    if (Take(size)) text.assign(taken_, size);
  }
  template <typename T>
  void Array(std::vector<T>& items) {
    items.resize(Count(sizeof(T)));
    if (!items.empty() && Take(items.size() * sizeof(T))) {
      std::memcpy(items.data(), taken_, items.size() * sizeof(T));
    }
  }

  // So far nothing was missing.
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

 private:
  bool Take(size_t bytes) {
    ok_ = ok_ && bytes <= in_.size();
    if (!ok_) {
      in_ = {};
      return false;
    }
    taken_ = in_.data();
    in_.remove_prefix(bytes);
    return true;
  }

  std::string_view in_;
  const char* taken_ = nullptr;
  bool ok_ = true;
};

}  // namespace headgate::snapshot
