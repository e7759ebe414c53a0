// InputLimit: which connections bring more than the server could ever answer.
//
// gRPC takes in what comes, and then makes room by ending calls (its resource quota). Of a flood it
// does not get round to that: four connections of loopback brought 2 GiB into memory within two
// seconds, where the quota was 256 MiB. Up to a few hundred MiB a second it keeps to its quota.
//
// All connections share a leaky bucket of bytes. When it overflows, those that brought the most
// since the last look are to go, until what the others brought fits: a flood through a few
// connections is ended before anybody else is hit, a flood through thousands of them is not. The
// limit is far beyond what Checks come to, which are about 100 bytes each.
//
// Thread-compatible.
//
//   for (int connection : limit.Judge({{7, 3 << 20}, {8, 900 << 20}}, absl::Milliseconds(100))) ...

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace headgate::transport {

class InputLimit {
 public:
  struct Options {
    int64_t bytes_per_second = int64_t{256} << 20;
    int64_t burst = int64_t{128} << 20;
  };
  // A connection, and the bytes that it brought since the last look; negative: so many fewer.
  using Brought = std::pair<int, int64_t>;

  explicit InputLimit(const Options& options) : options_(options) {}

  // Those to be closed; what they brought is not held against the others. Valid until it is asked
  // again; where nobody is to go it takes no memory.
  const std::vector<int>& Judge(const std::vector<Brought>& brought, absl::Duration since_last);

 private:
  const Options options_;
  double debt_ = 0;  // bytes
  std::vector<int> beyond_;
};

}  // namespace headgate::transport
