// A job that goes through its rows in chunks, as docs/clients.md has it.
//
// Thread-safe, as the client is.
//
//   const absl::Status status = DoChunks(client, step["chunks"], stop, sizes);
#pragma once

#include <headgate/client.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"

namespace headgate::client {

// `what` is the verb's mapping. `sizes` gets the rows of each chunk.
absl::Status DoChunks(Client& client, const YAML::Node& what, const std::stop_token& stop,
                      std::vector<int64_t>& sizes);

}  // namespace headgate::client
