// A YAML document as a tree that knows where each of its parts stands.
//
// Built from yaml-cpp's events and not from its nodes: it takes the same parser, but keeps apart
// what is quoted and what is not, bounds size and depth while parsing, and refuses what a
// configuration does not need: anchors and aliases (with them goes the alias bomb), tags, a second
// document. yaml-cpp's exceptions stop here.
//
// Plain data, thread-compatible.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/govern/config/problem.h"

namespace headgate::config {

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMapping };

  Kind kind = Kind::kNull;
  bool quoted = false;  // a scalar in quotes or a block is text, whatever it looks like
  Position at;
  std::string text;             // of a scalar
  std::vector<YamlNode> items;  // of a list; of a mapping key, value, key, value, ...
};

// No more than the schema could ever need, and than memory and stack could bear; kMaxFileBytes of
// common/file_text.h bounds the text.
inline constexpr size_t kMaxNodes = size_t{2} << 20;
inline constexpr size_t kMaxDepth = 32;

// A file without content is a null. Absent if the text is not one YAML document, with a problem
// that says why; there is only ever one, since nothing is certain behind it.
std::optional<YamlNode> ParseYaml(std::string_view text, ProblemList& problems);

}  // namespace headgate::config
