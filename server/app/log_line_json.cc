#include "server/app/log_line_json.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace headgate::app {
namespace {

// Beyond 16 bits JSON has a pair of surrogates.
void AppendEscape(char32_t code, std::string& to) {
  const auto append = [&to](uint32_t unit) {
    absl::StrAppend(&to, "\\u", absl::Hex(unit, absl::kZeroPad4));
  };
  if (code > 0xffff) {
    append(0xd800 + ((code - 0x10000) >> 10));
    append(0xdc00 + ((code - 0x10000) & 0x3ff));
  } else {
    append(code);
  }
}

void AppendCharacter(std::string_view character, std::string& to) {
  const char32_t code = DecodeUtf8(character).code;
  if (IsHarmful(code)) {
    AppendEscape(code, to);
    return;
  }
  if (character == "\"" || character == "\\") to.push_back('\\');
  to.append(character);
}

void AppendString(std::string_view bytes, std::string& to) {
  to.push_back('"');
  while (!bytes.empty()) {
    const size_t size = CharacterBytes(bytes);
    if (size == 0) {
      to.append("\\ufffd");
    } else {
      AppendCharacter(bytes.substr(0, size), to);
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  to.push_back('"');
}

}  // namespace

std::string JsonMembers(std::string_view event, LogFields fields) {
  std::string members = "\"event\":";
  AppendString(event, members);
  for (const auto& [key, value] : fields) {
    members.push_back(',');
    AppendString(key, members);
    members.push_back(':');
    AppendString(value, members);
  }
  return members;
}

}  // namespace headgate::app
