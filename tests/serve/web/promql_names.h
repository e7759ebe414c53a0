// What a PromQL expression names: metrics, label matchers, and labels to group or join by.
//
// Not a parser of PromQL: `promtool check rules` says whether an expression is one. A pure
// function.
//
//   PromqlNames names = NamesOf("sum by (job) (rate(a_total{b=\"c\"}[5m]))");
//   // metrics {"a_total"}, matchers {a_total b = c}, labels {"job"}

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::web {

struct PromqlNames {
  struct Matcher {
    std::string metric;
    std::string label;
    std::string op;
    std::string value;
  };
  std::set<std::string> metrics;
  std::vector<Matcher> matchers;
  std::set<std::string> labels;
};

PromqlNames NamesOf(std::string_view expression);

}  // namespace headgate::web
