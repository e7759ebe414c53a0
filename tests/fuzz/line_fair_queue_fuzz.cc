// FairQueue against its model: any bytes are a trace of actions (fair_queue_trace.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/decide/line/fair_queue_trace.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxBytes = 2048;  // some 400 actions
  const std::string wrong = headgate::line::RunFairQueueTrace({data, std::min(size, kMaxBytes)});
  headgate::fuzz::Require(wrong.empty(), "queue and model disagree: ", wrong);
  return 0;
}
