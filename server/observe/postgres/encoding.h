// Which databases can hold what Headgate writes: names of identities, rules and budgets, and
// reasons that people give, which are UTF-8 and of any language.
//
// PostgreSQL turns text into the encoding of its database. What that has no characters for is an
// error, with which a whole batch would be refused again and again. And libpqxx sends COPY what is
// not ASCII by the numbers of its bytes, which PostgreSQL takes as they are, whatever they mean
// there.
//
// Pure functions.
//
//   if (!HoldsAnyText(encoding)) return absl::FailedPreconditionError(WhyNotAnyText(encoding));
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::postgres {

// As getdatabaseencoding() names it. SQL_ASCII takes bytes as they are.
inline bool HoldsAnyText(std::string_view encoding) {
  return encoding == "UTF8" || encoding == "SQL_ASCII";
}

inline std::string WhyNotAnyText(std::string_view encoding) {
  return absl::StrCat("its encoding is ", Sv(encoding),
                      ", which cannot hold every name; make one by CREATE DATABASE ... ENCODING "
                      "'UTF8' TEMPLATE template0");
}

// UTF-8 with a ? in place of each character that is not ASCII.
inline std::string AsciiOf(std::string_view text) {
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) ascii.push_back(c);
    if (byte >= 0xC0) ascii.push_back('?');  // the first byte of a character
  }
  return ascii;
}

}  // namespace headgate::postgres
