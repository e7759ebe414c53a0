#include "server/app/json_members.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace headgate::app {
namespace {

void AppendCharacter(std::string_view character, std::string& to) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character == "\"" || character == "\\") {
    to.push_back('\\');
  } else if (byte < 0x20 || byte == 0x7f) {
    absl::StrAppend(&to, "\\u", absl::Hex(byte, absl::kZeroPad4));
    return;
  }
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
