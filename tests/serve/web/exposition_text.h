// What a scrape said: families, series and their labels.
//
//   const Scrape scrape = Scrape::Parse(body);
//   EXPECT_EQ(scrape.Value("headgate_checks_total", {{"verdict", "DENIED"}}), 3);

#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/strings.h"
#include "gtest/gtest.h"

namespace headgate::web {

using LabelMap = std::map<std::string, std::string>;

class Scrape {
 public:
  struct Series {
    std::string name;  // with _bucket, _sum or _count
    LabelMap labels;
    double value = 0;
  };

  static Scrape Parse(const std::string& body) {
    Scrape scrape;
    for (const auto line_view : absl::StrSplit(body, '\n', absl::SkipEmpty())) {
      const std::string line(line_view);
      if (line.starts_with("# TYPE ")) {
        const std::vector<std::string> words = absl::StrSplit(line, ' ');
        scrape.types_[words[2]] = words[3];
      } else if (!line.starts_with("#")) {
        scrape.series_.push_back(ParseSeries(line));
      }
    }
    return scrape;
  }

  // Families of another scrape whose names begin so.
  void Include(const Scrape& other, std::string_view prefix) {
    for (const auto& [name, type] : other.types_) {
      if (name.starts_with(prefix)) types_[name] = type;
    }
    for (const Series& series : other.series_) {
      if (series.name.starts_with(prefix)) series_.push_back(series);
    }
  }

  const std::map<std::string, std::string>& types() const { return types_; }  // by family
  const std::vector<Series>& series() const { return series_; }

  // The sum of the series that have these labels, and maybe more. Absent: there is none.
  std::optional<double> Value(const std::string& name, const LabelMap& labels = {}) const {
    std::optional<double> sum;
    for (const Series& series : series_) {
      if (series.name == name && Has(series, labels)) sum = sum.value_or(0) + series.value;
    }
    return sum;
  }
  // Values of a label; `name` is a series'.
  std::set<std::string> LabelValues(const std::string& name, const std::string& label) const {
    std::set<std::string> values;
    for (const Series& series : series_) {
      if (series.name == name && series.labels.contains(label)) {
        values.insert(series.labels.at(label));
      }
    }
    return values;
  }
  bool HasLabel(const std::string& name, const std::string& label) const {
    return !LabelValues(name, label).empty();
  }
  bool HasSeries(const std::string& name) const { return Value(name).has_value(); }

 private:
  static bool Has(const Series& series, const LabelMap& labels) {
    for (const auto& [name, value] : labels) {
      const auto found = series.labels.find(name);
      if (found == series.labels.end() || found->second != value) return false;
    }
    return true;
  }

  // name{a="b",c="d"} 1
  static Series ParseSeries(const std::string& line) {
    Series series;
    size_t at = line.find_first_of("{ ");
    series.name = line.substr(0, at);
    if (line[at] == '{') {
      ++at;
      while (line[at] != '}') {
        const size_t equals = line.find('=', at);
        const std::string label = line.substr(at, equals - at);
        std::string& value = series.labels[label];
        for (at = equals + 2; line[at] != '"'; ++at) {
          if (line[at] == '\\') ++at;
          value.push_back(line[at]);
        }
        ++at;
        if (line[at] == ',') ++at;
      }
      ++at;
    }
    series.value = std::strtod(line.c_str() + at, nullptr);
    return series;
  }

  std::map<std::string, std::string> types_;
  std::vector<Series> series_;
};

}  // namespace headgate::web
