#include "tests/sdk/cpp/chunk_loop.h"

#include <headgate/chunk_size.h>

#include <algorithm>

#include "tests/sdk/cpp/fields.h"

namespace headgate::client {

absl::Status DoChunks(Client& client, const YAML::Node& what, const std::stop_token& stop,
                      std::vector<int64_t>& sizes) {
  Fields fields(what, "chunks");
  const auto total = fields.Get<int64_t>("total", 0);
  ChunkSizeOptions options;
  options.start = fields.Get("start", options.start);
  options.smallest = fields.Get("smallest", options.smallest);
  options.largest = fields.Get("largest", options.largest);
  const bool estimate = fields.Get("estimate", true);
  const absl::Duration max_wait = fields.Duration("max_wait").value_or(absl::InfiniteDuration());
  fields.Finish();
  ChunkSize size(options);
  for (int64_t first = 0; first < total;) {
    const int64_t rows = std::min(size.rows(), total - first);
    CheckRequest request;
    if (estimate) request.estimated_cost = static_cast<double>(rows);
    const absl::StatusOr<Permit> permit = client.CheckOrWait(request, max_wait, stop);
    if (!permit.ok()) return permit.status();
    sizes.push_back(rows);
    first += rows;
    if (estimate) size.Follow(permit->answer());
  }
  return absl::OkStatus();
}

}  // namespace headgate::client
