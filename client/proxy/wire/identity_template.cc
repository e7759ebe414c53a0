#include "client/proxy/wire/identity_template.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/identity.h"
#include "common/strings.h"

namespace headgate::proxy {
namespace {

constexpr std::string_view kNothing = "none";

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "identity template: ", what,
      "; fields are {user}, {database}, {application_name}, {client_address} and {tag:NAME}"));
}

// Identities have no other characters; within a segment no colon either.
char Cleaned(char c) {
  const bool is_kept = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ||
                       c == '.' || c == '@' || c == '/';
  return is_kept ? c : '_';
}

// Where a segment ends: at a colon that is in no field.
size_t EndOfSegment(std::string_view text) {
  bool in_field = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') in_field = true;
    if (text[i] == '}') in_field = false;
    if (text[i] == ':' && !in_field) return i;
  }
  return text.size();
}

}  // namespace

absl::StatusOr<IdentityTemplate> IdentityTemplate::Parse(std::string_view text) {
  IdentityTemplate parsed;
  for (std::string_view rest = text;;) {
    const size_t end = EndOfSegment(rest);
    if (absl::Status status = parsed.ParseSegment(rest.substr(0, end)); !status.ok()) return status;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (parsed.segments_.size() > Identity::kMaxSegments) {
    return Wrong(absl::StrCat("has ", parsed.segments_.size(),
                              " segments; an identity has at most ", Identity::kMaxSegments));
  }
  return parsed;
}

absl::StatusOr<IdentityTemplate::Part> IdentityTemplate::ParseField(std::string_view field) {
  using Kind = Part::Kind;
  if (field == "user") return Part{.kind = Kind::kUser, .text = {}};
  if (field == "database") return Part{.kind = Kind::kDatabase, .text = {}};
  if (field == "application_name") return Part{.kind = Kind::kApplicationName, .text = {}};
  if (field == "client_address") return Part{.kind = Kind::kClientAddress, .text = {}};
  constexpr std::string_view kTag = "tag:";
  if (field.starts_with(kTag) && field != kTag) {
    return Part{.kind = Kind::kTag, .text = std::string(field.substr(kTag.size()))};
  }
  return Wrong(absl::StrCat("{", Sv(field), "} is no field"));
}

absl::Status IdentityTemplate::ParseSegment(std::string_view text) {
  if (text.empty()) return Wrong("has an empty segment");
  Segment segment;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    const std::string_view literal = text.substr(0, open);
    if (!literal.empty()) {
      if (absl::Status valid = Identity::ValidateSegment(literal); !valid.ok()) {
        return Wrong(absl::StrCat("'", Sv(literal), "' is no part of an identity"));
      }
      segment.push_back({.kind = Part::Kind::kText, .text = std::string(literal)});
    }
    if (open == text.size()) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) return Wrong("has a { without its }");
    absl::StatusOr<Part> field = ParseField(text.substr(open + 1, close - open - 1));
    if (!field.ok()) return field.status();
    has_tags_ |= field->kind == Part::Kind::kTag;
    segment.push_back(*std::move(field));
    text.remove_prefix(close + 1);
  }
  segments_.push_back(std::move(segment));
  return absl::OkStatus();
}

std::string_view IdentityTemplate::ValueOf(const Part& part, const ConnectionFacts& facts,
                                           const std::map<std::string, std::string>& tags) {
  switch (part.kind) {
    case Part::Kind::kText:
      return part.text;
    case Part::Kind::kUser:
      return facts.user;
    case Part::Kind::kDatabase:
      return facts.database;
    case Part::Kind::kApplicationName:
      return facts.application_name;
    case Part::Kind::kClientAddress:
      return facts.client_address;
    case Part::Kind::kTag:
      break;
  }
  const auto tag = tags.find(part.text);
  return tag == tags.end() ? std::string_view() : tag->second;
}

std::string IdentityTemplate::Fill(const ConnectionFacts& facts,
                                   const std::map<std::string, std::string>& tags) const {
  // With the colons in between all of them fit.
  const size_t most = std::min<size_t>(Identity::kMaxSegmentBytes,
                                       (Identity::kMaxBytes + 1) / segments_.size() - 1);
  std::vector<std::string> filled;
  for (const Segment& segment : segments_) {
    std::string text;
    for (const Part& part : segment) {
      const std::string_view value = ValueOf(part, facts, tags);
      text.append(value.empty() ? kNothing : value);
    }
    text.resize(std::min(text.size(), most));
    std::transform(text.begin(), text.end(), text.begin(), Cleaned);
    filled.push_back(std::move(text));
  }
  return absl::StrJoin(filled, ":");
}

}  // namespace headgate::proxy
