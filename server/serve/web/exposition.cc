#include "server/serve/web/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "common/utf8.h"

namespace headgate::web {

using prometheus::ClientMetric;
using prometheus::MetricType;

std::string ToUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t size = CharacterBytes(bytes);
    text.append(size == 0 ? "\xef\xbf\xbd" : bytes.substr(0, size));
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

struct Exposition::Families {
  std::vector<prometheus::MetricFamily> all;
  absl::flat_hash_map<std::string, size_t> places;

  size_t Find(std::string_view name, std::string_view help, MetricType type) {
    const auto [found, is_new] = places.try_emplace(std::string(name), all.size());
    if (is_new) all.push_back({std::string(name), ToUtf8(help), type, {}});
    return found->second;
  }
  ClientMetric& Add(size_t place, Labels labels) {
    ClientMetric& metric = all[place].metric.emplace_back();
    for (const auto& [name, value] : labels) {
      metric.label.push_back({std::string(name), ToUtf8(value)});
    }
    return metric;
  }
};

Exposition::Exposition() : families_(std::make_unique<Families>()) {}
Exposition::~Exposition() = default;

Exposition::Family& Exposition::Family::Set(Labels labels, double value) {
  ClientMetric& metric = all_.families_->Add(place_, labels);
  if (all_.families_->all[place_].type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return *this;
}

Exposition::Family& Exposition::Family::Set(Labels labels, const HistogramValue& value) {
  ClientMetric::Histogram& histogram = all_.families_->Add(place_, labels).histogram;
  for (const HistogramValue::Bucket& bucket : value.buckets) {
    histogram.bucket.push_back({bucket.cumulative_count, bucket.upper_bound});
  }
  histogram.sample_count = value.count;
  histogram.sample_sum = value.sum;
  return *this;
}

Exposition::Family Exposition::Gauge(std::string_view name, std::string_view help) {
  return {*this, families_->Find(name, help, MetricType::Gauge)};
}
Exposition::Family Exposition::Counter(std::string_view name, std::string_view help) {
  return {*this, families_->Find(name, help, MetricType::Counter)};
}
Exposition::Family Exposition::Histogram(std::string_view name, std::string_view help) {
  return {*this, families_->Find(name, help, MetricType::Histogram)};
}

std::string Exposition::Text() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families_->all);
  return std::move(text).str();
}

}  // namespace headgate::web
