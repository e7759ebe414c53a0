// UnchargedCosts: what was admitted of each bucket and has still to be charged to it.
//
// Bounded: what finds no room is not kept, and whoever adds it is told. Of each bucket is known
// what was admitted in all, since when, and how much of that has not drained yet at the rate at
// which it was admitted, as a bucket of its own would have it.
//
// Thread-compatible. Times are monotonic.
//
//   UnchargedCosts costs(65'536);
//   if (!costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 20, .share = 100}, now_ns)) ...
//   for (const UnchargedCost& cost : costs.Take("orders", 1000, now_ns)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headgate::approximate {

struct UnchargedCost {
  std::string budget;
  uint64_t bucket = 0;
  double cost = 0;  // in the budget's unit
  double undrained = 0;
  int64_t first_ns = 0;  // when the first of it was admitted
};

class UnchargedCosts {
 public:
  explicit UnchargedCosts(size_t most_buckets) : most_(most_buckets) {}

  struct Admitted {
    std::string_view budget;
    uint64_t bucket = 0;
    double cost = 0;
    double share = 0;  // units a second
  };
  // False: there are too many buckets already.
  bool Add(std::string_view target, const Admitted& admitted, int64_t now_ns);
  // Those of a target, `most` of them: they are somebody else's to charge from now on.
  std::vector<UnchargedCost> Take(const std::string& target, size_t most, int64_t now_ns);

  // Of which something is kept.
  std::vector<std::string> Targets() const;
  size_t size() const { return size_; }

 private:
  struct Cost {
    double sum = 0;
    double share = 0;
    int64_t first_ns = 0;
    int64_t drained_at_ns = 0;
  };
  using Bucket = std::pair<std::string, uint64_t>;  // budget, and bucket
  using Buckets = std::map<Bucket, Cost>;

  const size_t most_;
  size_t size_ = 0;
  std::map<std::string, Buckets, std::less<>> targets_;
};

}  // namespace headgate::approximate
