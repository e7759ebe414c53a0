#include "server/govern/config/load.h"

#include <google/protobuf/arena.h>
#include <headgate/v1/config.pb.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "common/file_text.h"
#include "server/govern/config/build.h"
#include "server/govern/config/findings.h"
#include "server/govern/config/reader.h"
#include "server/govern/config/source_positions.h"
#include "server/govern/config/yaml_tree.h"

namespace headgate::config {

namespace {

constexpr char kEmpty[] =
    "has no content, and without any nothing is limited: it was emptied by mistake, or is about to "
    "be written; start with {} where no limits are meant";

std::vector<std::string> Texts(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  texts.reserve(problems.size());
  for (const Problem& problem : problems) texts.push_back(problem.ToString());
  return texts;
}

}  // namespace

std::vector<std::string> LoadResult::Errors() const { return Texts(problems); }
std::vector<std::string> LoadResult::Warnings() const { return Texts(warnings); }

absl::Status LoadResult::status() const {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(Errors(), "\n"));
}

LoadResult Parse(std::string_view text, const std::string& filename, OtherFiles other_files,
                 absl::Time now) {
  ProblemList problems(filename);
  ProblemList warnings(filename);
  LoadResult result;
  if (const std::optional<YamlNode> tree = ParseYaml(text, problems); tree.has_value()) {
    const bool empty = tree->kind == YamlNode::Kind::kNull;
    if (empty && !filename.empty()) problems.Add({.line = 1, .column = 1}, kEmpty);
    google::protobuf::Arena arena;
    auto& proto = *google::protobuf::Arena::CreateMessage<v1::Config>(&arena);
    SourcePositions positions;
    ReadMessage(*tree, proto, positions, problems);
    Findings findings(positions, problems, warnings);
    Config config = BuildConfig(proto, findings, {.other_files = other_files, .now = now});
    config.text = std::string(text);
    if (problems.empty()) result.config = std::move(config);
  }
  result.problems = std::move(problems).Take();
  result.warnings = std::move(warnings).Take();
  return result;
}

LoadResult Load(const std::string& path, absl::Time now) {
  const absl::StatusOr<std::string> text = ReadFileText(path);
  if (text.ok()) return Parse(*text, path, OtherFiles::kRead, now);
  LoadResult result;
  result.problems = {{.file = path, .at = {}, .text = std::string(text.status().message())}};
  return result;
}

}  // namespace headgate::config
