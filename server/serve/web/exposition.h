// Metrics of one moment, and their text for Prometheus.
//
// A family has a name, a help text and a type; its series differ by labels. A family that is named
// twice is one, and its series are added. Labels and helps may hold any bytes: what is not UTF-8
// becomes U+FFFD, since one bad byte would cost the whole scrape. Series that are told twice, and
// counters below zero, are the caller's mistake.
//
// Thread-compatible.
//
//   Exposition out;
//   out.Gauge("headgate_ready", "Whether ...").Set({{"state", "ready"}}, 1);
//   std::string text = out.Text();

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headgate::web {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Of one series. Bounds grow; the last bucket, without a bound, is what `count` has beyond them.
struct HistogramValue {
  struct Bucket {
    double upper_bound = 0;
    uint64_t cumulative_count = 0;
  };
  std::vector<Bucket> buckets;
  uint64_t count = 0;
  double sum = 0;
};

class Exposition {
 public:
  class Family {
   public:
    Family& Set(Labels labels, double value);
    Family& Set(Labels labels, std::integral auto value) {
      return Set(labels, static_cast<double>(value));
    }
    Family& Set(Labels labels, const HistogramValue& value);

   private:
    friend class Exposition;
    Family(Exposition& all, size_t place) : all_(all), place_(place) {}

    Exposition& all_;
    const size_t place_;
  };

  Exposition();
  ~Exposition();
  Exposition(const Exposition&) = delete;
  Exposition& operator=(const Exposition&) = delete;

  Family Gauge(std::string_view name, std::string_view help);
  Family Counter(std::string_view name, std::string_view help);  // named ..._total
  Family Histogram(std::string_view name, std::string_view help);

  // In Prometheus' text format, version 0.0.4.
  std::string Text() const;

 private:
  struct Families;  // the library's types stay in the .cc

  const std::unique_ptr<Families> families_;
};

// Adds what it knows. Called by one thread at a time, seconds apart; must not wait for others.
using Collector = std::function<void(Exposition&)>;

// With U+FFFD for every byte that is not part of UTF-8.
std::string ToUtf8(std::string_view bytes);

}  // namespace headgate::web
