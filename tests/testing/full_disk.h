// A disk that is full, for this process.
//
//   const FullDisk full;
//   EXPECT_FALSE(store->Begin().ok());

#pragma once

#include <sys/resource.h>

#include <csignal>

namespace headgate {

// While it lives, this process can write no file.
class FullDisk {
 public:
  FullDisk() : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit none{.rlim_cur = 0, .rlim_max = limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  void (*const before_)(int);
  rlimit limit_{};
};

}  // namespace headgate
