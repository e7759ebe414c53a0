// The engine against the reference model: any bytes are a trace of actions (action_trace.h).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/testing/action_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxBytes = 4096;  // some 400 actions
  const std::string disagreement = headgate::model::RunTrace({data, std::min(size, kMaxBytes)});
  if (disagreement.empty()) return 0;
  std::fprintf(stderr, "engine and model disagree at %s\n", disagreement.c_str());
  std::abort();
}
