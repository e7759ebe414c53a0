#include "server/app/health_handover.h"

#include <algorithm>
#include <cstdint>

#include "common/hash.h"
#include "server/remember/snapshot/binary_io.h"

namespace headgate::app {
namespace {

constexpr uint32_t kHealthVersion = 1;
// Bytes that the smallest of each takes.
constexpr size_t kLeastServer = 16, kLeastInstance = 33;
// Against damage, not against anybody.
constexpr uint64_t kChecksumSeed = 0;

int64_t OlderBy(int64_t age_ns, absl::Duration more) {
  return absl::ToInt64Nanoseconds(absl::Nanoseconds(std::max<int64_t>(age_ns, 0)) +
                                  std::max(more, absl::ZeroDuration()));
}

}  // namespace

std::string EncodeHealth(const health::HandedSample& sample) {
  if (sample.empty()) return {};
  std::string body;
  snapshot::Writer to(body);
  to.Count(sample.servers.size());
  for (const health::HandedSample::Server& server : sample.servers) {
    to.Text(server.name);
    to.Number(server.age_ns);
  }
  to.Count(sample.instances.size());
  for (const health::HandedSample::Instance& instance : sample.instances) {
    to.Text(instance.reading.instance);
    to.Numbers(instance.reading.value.has_value(), instance.reading.value.value_or(0));
    to.Text(instance.reading.error);
    to.Number(instance.age_ns);
  }
  std::string bytes;
  snapshot::Writer(bytes).Numbers(kHealthVersion, HashBytes(body, kChecksumSeed));
  return bytes + body;
}

health::HandedSample DecodeHealth(std::string_view bytes, absl::Duration age) {
  snapshot::Reader from(bytes);
  uint32_t version = 0;
  uint64_t checksum = 0;
  from.Numbers(version, checksum);
  const std::string_view body =
      bytes.substr(std::min(bytes.size(), sizeof(version) + sizeof(checksum)));
  if (!from.ok() || version != kHealthVersion || checksum != HashBytes(body, kChecksumSeed)) {
    return {};
  }
  health::HandedSample sample;
  sample.servers.resize(from.Count(kLeastServer));
  for (health::HandedSample::Server& server : sample.servers) {
    from.Text(server.name);
    from.Number(server.age_ns);
    server.age_ns = OlderBy(server.age_ns, age);
  }
  sample.instances.resize(from.Count(kLeastInstance));
  for (health::HandedSample::Instance& instance : sample.instances) {
    bool has_value = false;
    double value = 0;
    from.Text(instance.reading.instance);
    from.Numbers(has_value, value);
    from.Text(instance.reading.error);
    from.Number(instance.age_ns);
    if (has_value) instance.reading.value = value;
    instance.age_ns = OlderBy(instance.age_ns, age);
  }
  return from.ok() && from.at_end() ? sample : health::HandedSample();
}

}  // namespace headgate::app
