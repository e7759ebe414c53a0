// Flows for tests of the line.
//
//   LineFlow flow = FlowOf("xa", 3);  // job a of team x, of priority 3

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "server/decide/engine/line_interface.h"

namespace headgate::line {

// A level for each letter, the root first; at most six. `weights`, from the root on, are 1 where
// there are too few of them.
inline engine::LineFlow FlowOf(std::string_view path, int priority = 0,
                               std::initializer_list<double> weights = {}) {
  engine::LineFlow flow;
  flow.priority = priority;
  uint64_t key = 1;
  const double* weight = weights.begin();
  for (const char level : path) {
    key = key * 1024 + 4 * static_cast<uint64_t>(level) + 1;
    const double its = weight == weights.end() ? 1 : *weight++;
    flow.levels[static_cast<size_t>(flow.depth++)] = {.key = key, .weight = its};
  }
  return flow;
}

}  // namespace headgate::line
