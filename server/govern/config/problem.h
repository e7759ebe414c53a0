// What is wrong with a configuration file, and where.
//
// Plain data, thread-compatible.
//
//   ProblemList problems("headgate.yaml");
//   problems.Add({.line = 3, .column = 5}, "unknown key 'rte'; did you mean 'rate'?");
//   for (const Problem& problem : std::move(problems).Take()) std::cerr << problem.ToString();

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace headgate::config {

// Counted from 1, columns in bytes; line 0 stands for the file as a whole.
struct Position {
  int line = 0;
  int column = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

struct Problem {
  std::string file;
  Position at;
  std::string text;

  // "file:line:column: text", or "file: text".
  std::string ToString() const;
};

// Collects problems; beyond the first 200 they are only counted, so that a file which is not a
// configuration at all cannot fill the memory with complaints.
class ProblemList {
 public:
  explicit ProblemList(std::string file) : file_(std::move(file)) {}

  void Add(Position at, std::string text);

  bool empty() const { return problems_.empty(); }
  // Whether further ones are only counted.
  bool full() const { return problems_.size() >= kMax; }

  // In the order of the file.
  std::vector<Problem> Take() &&;

 private:
  static constexpr size_t kMax = 200;

  std::string file_;
  std::vector<Problem> problems_;
  size_t dropped_ = 0;
};

}  // namespace headgate::config
