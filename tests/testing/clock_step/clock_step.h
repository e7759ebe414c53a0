// ClockStep: sets the wall clock of a program that is started with its environment, while that runs
// (clock_step.cc).
//
// Thread-safe.
//
//   ClockStep clock(folder.File("clock"));
//   RunningHeadgated server({.environment = clock.environment()});
//   clock.Set(-absl::Hours(1));
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "gtest/gtest.h"

namespace headgate {

class ClockStep {
 public:
  // Of a file that is made.
  explicit ClockStep(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    Set(absl::ZeroDuration());
  }

  std::map<std::string, std::string> environment() const {
    return {{"LD_PRELOAD", HEADGATE_CLOCK_STEP_LIBRARY},
            {"HEADGATE_CLOCK_STEP", path_},
            {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  }

  // So far ahead of the real one from now on.
  void Set(absl::Duration ahead) const {
    const int64_t ns = absl::ToInt64Nanoseconds(ahead);
    EXPECT_EQ(pwrite(file_.number(), &ns, sizeof(ns), 0), static_cast<ssize_t>(sizeof(ns)));
  }

 private:
  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace headgate
