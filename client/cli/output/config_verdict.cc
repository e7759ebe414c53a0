#include "client/cli/output/config_verdict.h"

#include "absl/strings/str_cat.h"
#include "client/cli/output/table.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

std::string VerdictJson(const std::string& file, const std::vector<std::string>& errors) {
  std::string json =
      absl::StrCat("{\"file\": ", JsonString(file), ", \"ok\": ", errors.empty() ? "true" : "false",
                   ", \"errors\": [");
  for (const std::string& error : errors) {
    absl::StrAppend(&json, json.back() == '[' ? "" : ", ", JsonString(error));
  }
  return absl::StrCat(json, "]}\n");
}

}  // namespace

void PrintVerdict(const std::string& file, const std::vector<std::string>& errors,
                  const Console& console) {
  Table csv(Titles("file,error"));
  switch (console.format) {
    case Format::kTable:
      if (errors.empty()) console.out << Escaped(file) << ": ok\n";
      for (const std::string& error : errors) console.err << Escaped(error) << '\n';
      break;
    case Format::kJson:
      console.out << VerdictJson(file, errors);
      break;
    case Format::kCsv:
      for (const std::string& error : errors) csv.Add({{file}, {error}});
      console.out << csv.Csv();
      break;
  }
}

}  // namespace headgate::cli
