#include "common/sql_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace headgate {

std::string PostgresArray(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  quoted.reserve(values.size());
  for (const std::string& value : values) {
    quoted.push_back(
        absl::StrCat("\"", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\""));
  }
  return absl::StrCat("{", absl::StrJoin(quoted, ","), "}");
}

std::vector<std::string> LikePatterns(std::vector<std::string> names) {
  for (std::string& name : names) {
    const bool prefix = name.ends_with('*');
    if (prefix) name.pop_back();
    name = absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"%", "\\%"}, {"_", "\\_"}});
    if (prefix) name += '%';
  }
  return names;
}

}  // namespace headgate
