// Files that are wrong, and everything that is to be said about them, word for word.
//
//   INSTANTIATE_TEST_SUITE_P(Types, WrongFile, testing::ValuesIn(kCases), NameOfCase);

#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "server/config/load.h"

namespace headgate::config {

struct WrongCase {
  const char* name;
  // A raw string may begin with a line break, which is not counted.
  const char* yaml;
  const char* errors;  // one a line

  friend std::ostream& operator<<(std::ostream& out, const WrongCase& wrong) {
    return out << wrong.yaml;
  }
};

inline std::string_view WithoutFirstBreak(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

inline std::string NameOfCase(const testing::TestParamInfo<WrongCase>& info) {
  return info.param.name;
}

inline void ExpectErrors(const WrongCase& wrong) {
  const LoadResult result = Parse(WithoutFirstBreak(wrong.yaml), "f.yaml");
  EXPECT_EQ(absl::StrJoin(result.Errors(), "\n") + "\n", WithoutFirstBreak(wrong.errors));
  EXPECT_FALSE(result.config.has_value());
}

}  // namespace headgate::config
