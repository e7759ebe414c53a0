#include "server/config/load.h"

#include <google/protobuf/arena.h>
#include <headgate/v1/config.pb.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "common/file_text.h"
#include "server/config/build.h"
#include "server/config/reader.h"
#include "server/config/source_positions.h"
#include "server/config/yaml_tree.h"

namespace headgate::config {

std::vector<std::string> LoadResult::Errors() const {
  std::vector<std::string> errors;
  for (const Problem& problem : problems) errors.push_back(problem.ToString());
  return errors;
}

absl::Status LoadResult::status() const {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(Errors(), "\n"));
}

LoadResult Parse(std::string_view text, const std::string& filename, OtherFiles other_files) {
  ProblemList problems(filename);
  LoadResult result;
  if (const std::optional<YamlNode> tree = ParseYaml(text, problems); tree.has_value()) {
    google::protobuf::Arena arena;
    auto& proto = *google::protobuf::Arena::CreateMessage<v1::Config>(&arena);
    SourcePositions positions;
    ReadMessage(*tree, proto, positions, problems);
    Config config = BuildConfig(proto, positions, other_files, problems);
    if (problems.empty()) result.config = std::move(config);
  }
  result.problems = std::move(problems).Take();
  return result;
}

LoadResult Load(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFileText(path);
  if (text.ok()) return Parse(*text, path, OtherFiles::kRead);
  return {.config = std::nullopt,
          .problems = {{.file = path, .at = {}, .text = std::string(text.status().message())}}};
}

}  // namespace headgate::config
