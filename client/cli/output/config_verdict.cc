#include "client/cli/output/config_verdict.h"

#include "absl/strings/str_cat.h"
#include "client/cli/output/table.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

std::string JsonList(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) {
    absl::StrAppend(&json, json.back() == '[' ? "" : ", ", JsonString(text));
  }
  return json + "]";
}

std::string VerdictJson(const std::string& file, const std::vector<std::string>& errors,
                        const std::vector<std::string>& warnings) {
  std::string json =
      absl::StrCat("{\"file\": ", JsonString(file), ", \"ok\": ", errors.empty() ? "true" : "false",
                   ", \"errors\": ", JsonList(errors));
  if (!warnings.empty()) absl::StrAppend(&json, ", \"warnings\": ", JsonList(warnings));
  return absl::StrCat(json, "}\n");
}

}  // namespace

void PrintVerdict(const std::string& file, const std::vector<std::string>& errors,
                  const std::vector<std::string>& warnings, const Console& console) {
  Table csv(Titles("file,error"));
  if (console.format != Format::kJson) {
    for (const std::string& warning : warnings) console.err << Escaped(warning) << '\n';
  }
  switch (console.format) {
    case Format::kTable:
      if (errors.empty()) console.out << Escaped(file) << ": ok\n";
      for (const std::string& error : errors) console.err << Escaped(error) << '\n';
      break;
    case Format::kJson:
      console.out << VerdictJson(file, errors, warnings);
      break;
    case Format::kCsv:
      for (const std::string& error : errors) csv.Add({{file}, {error}});
      console.out << csv.Csv();
      break;
  }
}

}  // namespace headgate::cli
