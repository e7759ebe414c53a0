// A copy of a LineFlow that takes no more memory than it has levels.
//
// Move-only. Thread-compatible.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "server/decide/engine/line_interface.h"

namespace headgate::line {

class KeptFlow {
 public:
  explicit KeptFlow(const engine::LineFlow& flow)
      : priority_(flow.priority),
        depth_(flow.depth),
        levels_(new engine::FlowLevel[static_cast<size_t>(flow.depth)]) {
    std::copy_n(flow.levels.begin(), depth_, levels_.get());
  }

  engine::LineFlow Flow() const {
    engine::LineFlow flow;
    flow.priority = priority_;
    flow.depth = depth_;
    std::copy_n(levels_.get(), depth_, flow.levels.begin());
    return flow;
  }

 private:
  int priority_ = 0;
  int depth_ = 0;
  std::unique_ptr<engine::FlowLevel[]> levels_;
};

}  // namespace headgate::line
