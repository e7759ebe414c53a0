// Any bytes as a configuration file: they load, or are refused with a place for each complaint;
// what loads the engine accepts, and neither outcome depends on anything but the bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/decide/engine/policy.h"
#include "server/govern/config/load.h"

namespace {

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using headgate::config::LoadResult;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const LoadResult result = headgate::config::Parse(text, "f.yaml");
  Require(result.config.has_value() == result.problems.empty(), "neither loaded nor refused");
  for (const std::string& error : result.Errors()) {
    Require(error.find('\n') == std::string::npos, "an error of two lines: " + error);
  }
  for (const auto& problem : result.problems) {
    const bool is_count = problem.text.starts_with("and ") && result.problems.size() > 200;
    Require(is_count || (problem.at.line > 0 && problem.at.column > 0),
            "no place: " + problem.ToString());
    Require(!problem.text.empty(), "nothing is said");
  }
  Require(headgate::config::Parse(text, "f.yaml").Errors() == result.Errors(), "not repeatable");
  if (!result.config.has_value()) return 0;
  const absl::Status valid = headgate::engine::Validate(result.config->policy);
  Require(valid.ok(), "the engine refuses what was loaded: " + valid.ToString());
  Require(result.config->profiles.size() == result.config->policy.profiles.size() &&
              result.config->targets.size() == result.config->policy.targets.size(),
          "lists that belong together differ");
  return 0;
}
