// How much a test with many steps or rounds does: all of it in a long run, a tenth in a short one.
//
//   for (int round = 0; round < Scaled(50); ++round) ...
#pragma once

#include <cstdlib>

namespace headgate {

// HEADGATE_TEST_SCALE, which is 1 where it is not set, but under ThreadSanitizer, where everything
// takes ten times as long.
inline double TestScale() {
#if defined(__SANITIZE_THREAD__)
  constexpr double kUsual = 0.1;
#else
  constexpr double kUsual = 1;
#endif
  const char* text = std::getenv("HEADGATE_TEST_SCALE");
  const double scale = text == nullptr ? 0 : std::strtod(text, nullptr);
  return scale > 0 ? scale : kUsual;
}

// One at least.
inline int Scaled(int count) { return static_cast<int>(count * TestScale()) + 1; }

}  // namespace headgate
