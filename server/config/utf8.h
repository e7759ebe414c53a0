// Whether bytes are text. Pure functions.

#ifndef HEADGATE_SERVER_CONFIG_UTF8_H_
#define HEADGATE_SERVER_CONFIG_UTF8_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace headgate::config {

struct BadByte {
  size_t offset = 0;
  bool is_control = false;  // a control character; else no valid UTF-8
};

// The first byte that is not printable UTF-8, tab or line break. A byte order mark may stand first.
std::optional<BadByte> FindBadByte(std::string_view text);

}  // namespace headgate::config

#endif  // HEADGATE_SERVER_CONFIG_UTF8_H_
