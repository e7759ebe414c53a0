// The agent's metrics are those that the operations guide tells, with the same types and labels.

#include "client/agent/metrics.h"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

using Names = std::set<std::string>;

Names Found(const std::string& text, const std::regex& pattern) {
  Names found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), pattern);
       at != std::sregex_iterator(); ++at) {
    found.insert(absl::StrCat(std::string((*at)[1]), " ", std::string((*at)[2])));
  }
  return found;
}

TEST(AgentMetrics, AreThoseOfTheOperationsGuide) {
  std::ifstream file(HEADGATE_OPERATIONS_GUIDE);
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = guide.find("\n### The agent\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string section = guide.substr(begin, guide.find("\n### ", begin + 1) - begin);
  const std::string text = MetricsText({});

  EXPECT_EQ(Found(text, std::regex(R"(# TYPE (\w+) (\w+))")),
            Found(section, std::regex(R"(\n\| `(\w+)` \| (\w+) \|)")));
  EXPECT_EQ(Found(text, std::regex(R"(\n(\w+)\{(\w+)=)")),
            Found(section, std::regex(R"(\n\| `(\w+)` \| \w+ \| `(\w+)`)")));
}

}  // namespace
}  // namespace headgate::agent
