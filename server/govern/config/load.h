// Loading a configuration file: YAML, checked against the schema and against itself.
//
// The result is a Config, or everything that is wrong with the file, each with its line and column:
// structure (unknown keys, types, units, duplicates), names that do not exist, numbers out of
// range, and what the engine would refuse. Only text that is not YAML ends at its first error.
// A file without any content is refused: it was emptied by mistake, or is about to be written, and
// would mean that nothing is limited. `{}` says that on purpose. Size and depth of the input are
// bounded. Warnings are about what is valid and probably not meant.
//
// Pure functions but for reading the file; no exception leaves them.
//
//   const LoadResult loaded = Load("/etc/headgate/headgate.yaml");
//   if (!loaded.config.has_value()) {
//     for (const std::string& error : loaded.Errors()) std::cerr << error << '\n';
//   }

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/govern/config/config.h"
#include "server/govern/config/problem.h"

namespace headgate::config {

struct LoadResult {
  std::optional<Config> config;   // absent if there is any problem
  std::vector<Problem> problems;  // in the order of the file
  std::vector<Problem> warnings = {};

  // "file:line:column: what", each on one line.
  std::vector<std::string> Errors() const;
  std::vector<std::string> Warnings() const;
  // Ok, or InvalidArgument with the errors, one a line.
  absl::Status status() const;
};

// What has expired by `now` is warned of.
LoadResult Load(const std::string& path, absl::Time now = absl::InfinitePast());

// Whether files that a configuration names are looked into, to see that names in them exist. Not
// where the text comes from a caller: it would be told what is in them.
enum class OtherFiles { kIgnored, kRead };

// `filename` is for messages; without one there is no file, and no text means the defaults.
LoadResult Parse(std::string_view text, const std::string& filename,
                 OtherFiles other_files = OtherFiles::kIgnored,
                 absl::Time now = absl::InfinitePast());

}  // namespace headgate::config
