// Files that are wrong, and everything that is to be said about them, word for word: wrong/*.txt.
// A line "== Name" begins a case; the file follows, and then what is said of it as "f.yaml".

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "server/govern/config/load.h"

namespace headgate::config {
namespace {

struct WrongCase {
  std::string name;
  std::string yaml;
  std::string errors;  // one a line

  friend std::ostream& operator<<(std::ostream& out, const WrongCase& wrong) {
    return out << wrong.yaml;
  }
};

std::vector<WrongCase> CasesOf(const std::string& topic) {
  std::ifstream file(HEADGATE_WRONG_FILES "/" + topic + ".txt");
  // An empty file is right, so that this case fails.
  if (!file) return {{"CannotBeRead", "", ""}};
  std::vector<WrongCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      cases.emplace_back().name = line.substr(3);
    } else {
      WrongCase& last = cases.back();
      (line.starts_with("f.yaml:") ? last.errors : last.yaml) += line + "\n";
    }
  }
  return cases;
}

class WrongFile : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongFile, IsRefusedAndEachMistakeIsToldWithItsPlace) {
  const LoadResult result = Parse(GetParam().yaml, "f.yaml");
  EXPECT_EQ(absl::StrJoin(result.Errors(), "\n") + "\n", GetParam().errors);
  EXPECT_FALSE(result.config.has_value());
}

std::string NameOfCase(const testing::TestParamInfo<WrongCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Access, WrongFile, testing::ValuesIn(CasesOf("access")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Budget, WrongFile, testing::ValuesIn(CasesOf("budget")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Cluster, WrongFile, testing::ValuesIn(CasesOf("cluster")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Profile, WrongFile, testing::ValuesIn(CasesOf("profile")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Rule, WrongFile, testing::ValuesIn(CasesOf("rule")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Scalar, WrongFile, testing::ValuesIn(CasesOf("scalar")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Structure, WrongFile, testing::ValuesIn(CasesOf("structure")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Target, WrongFile, testing::ValuesIn(CasesOf("target")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(ThrottleLog, WrongFile, testing::ValuesIn(CasesOf("throttle_log")),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(Tls, WrongFile, testing::ValuesIn(CasesOf("tls")), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Yaml, WrongFile, testing::ValuesIn(CasesOf("yaml")), NameOfCase);

}  // namespace
}  // namespace headgate::config
