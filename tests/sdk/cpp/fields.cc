#include "tests/sdk/cpp/fields.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"

namespace headgate::client {

absl::Duration DurationOf(const YAML::Node& node) {
  const auto text = node.as<std::string>();
  if (text == "forever") return absl::InfiniteDuration();
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) {
    throw std::invalid_argument(absl::StrCat(text, " is no duration"));
  }
  return duration;
}

Fields::Fields(YAML::Node node, std::string what) : node_(std::move(node)), what_(std::move(what)) {
  if (!node_.IsMap()) throw std::invalid_argument(absl::StrCat(what_, " is no mapping"));
}

std::optional<YAML::Node> Fields::Find(const std::string& key) {
  asked_.insert(key);
  const YAML::Node found = node_[key];
  return found.IsDefined() ? std::optional<YAML::Node>(found) : std::nullopt;
}

std::optional<absl::Duration> Fields::Duration(const std::string& key) {
  const std::optional<YAML::Node> node = Find(key);
  return node.has_value() ? std::optional<absl::Duration>(DurationOf(*node)) : std::nullopt;
}

void Fields::Finish() const {
  for (const auto& field : node_) {
    const auto key = field.first.as<std::string>();
    if (asked_.count(key) == 0) {
      throw std::invalid_argument(absl::StrCat(what_, ": this runner knows no ", key));
    }
  }
}

}  // namespace headgate::client
