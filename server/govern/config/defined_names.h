// The names that a file defines in one of its lists, and whether others refer to them rightly.
//
// Thread-compatible.

#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/govern/config/findings.h"

namespace headgate::config {

class NameTable {
 public:
  // `what` is how messages call an item: "budget". Incomplete: items are missing because they could
  // not be read, so that an unknown name may be theirs.
  enum class Completeness { kComplete, kIncomplete };
  NameTable(std::string what, Completeness completeness, Findings& findings)
      : what_(std::move(what)),
        complete_(completeness == Completeness::kComplete),
        findings_(findings) {}

  // Takes the items' names; says which are missing, unfit or not the first of their kind.
  template <typename Item>
  void AddAll(const google::protobuf::RepeatedPtrField<Item>& items) {
    for (const Item& item : items) Add(item, Item::kNameFieldNumber, item.name());
  }

  // False, having said so at `at`, if there is surely no such name.
  bool Require(Position at, const std::string& name) const;

  bool Contains(const std::string& name) const { return lines_.contains(name); }

 private:
  void Add(const google::protobuf::Message& item, int field, const std::string& name);

  std::string what_;
  bool complete_;
  Findings& findings_;
  absl::flat_hash_map<std::string, int> lines_;  // where each is defined
  std::vector<std::string> in_order_;
};

// For an item whose missing name has been told: messages about the rest of it need one.
inline std::string NameOr(const std::string& name) { return name.empty() ? "unnamed" : name; }

}  // namespace headgate::config
