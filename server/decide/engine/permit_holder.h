// Who holds permits: the caller that a Check names, or else the root of its identity.
//
// Plain data, thread-compatible.
//
//   const PermitHolder etl{.key = PermitHolder::RootKey(hash), .name = "job-7:etl"};

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::engine {

// The name is read only where it was not known before.
struct PermitHolder {
  // Keys are made from a keyed hash of the name. The kind is in them.
  static constexpr uint64_t kCallerBit = uint64_t{1} << 63;
  static uint64_t CallerKey(uint64_t hash) { return hash | kCallerBit; }
  static uint64_t RootKey(uint64_t hash) { return hash & ~kCallerBit; }

  uint64_t key = 0;
  std::string_view name = {};  // of a caller; else an identity, whose root it is

  bool is_caller() const { return key >> 63 != 0; }
};

// One holder, for people.
struct PermitHolderView {
  std::string name;  // empty: those who found no cell of their own, together
  bool is_caller = false;
  int64_t permits = 0;
  int64_t turned_away = 0;  // Checks, since it has its cell
};

}  // namespace headgate::engine
