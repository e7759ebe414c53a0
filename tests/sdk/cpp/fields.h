// Fields: a mapping of a scenario, of which nothing may be overlooked.
//
// Finish throws if there is a key that nobody has asked for: a runner refuses what it does not
// know. What is wrong is a std::invalid_argument, here as in yaml-cpp's own exceptions.
//
// Thread-compatible.
//
//   Fields fields(node, "a step");
//   const int repeat = fields.Get("repeat", 1);
//   fields.Finish();
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"

namespace headgate::client {

// `250ms` or `forever`.
absl::Duration DurationOf(const YAML::Node& node);

class Fields {
 public:
  Fields(YAML::Node node, std::string what);

  bool Has(const std::string& key) const { return node_[key].IsDefined(); }
  // Absent: there is none.
  std::optional<YAML::Node> Find(const std::string& key);
  template <typename T>
  T Get(const std::string& key, T otherwise) {
    const std::optional<YAML::Node> node = Find(key);
    return node.has_value() ? node->as<T>() : otherwise;
  }
  template <typename T>
  std::optional<T> Maybe(const std::string& key) {
    const std::optional<YAML::Node> node = Find(key);
    return node.has_value() ? std::optional<T>(node->as<T>()) : std::nullopt;
  }
  std::optional<absl::Duration> Duration(const std::string& key);
  void Finish() const;

 private:
  const YAML::Node node_;
  const std::string what_;
  std::set<std::string> asked_;
};

}  // namespace headgate::client
