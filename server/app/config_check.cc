#include "server/app/config_check.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "server/app/database_check.h"
#include "server/govern/config/load.h"

namespace headgate::app {
namespace {

// For all databases together.
constexpr absl::Duration kAskLimit = absl::Seconds(2);

}  // namespace

bool CheckConfig(const std::string& path, bool ask_databases) {
  const config::LoadResult loaded = config::Load(path, SystemClock::ReadKernel().wall());
  for (const std::string& error : loaded.Errors()) std::cerr << error << '\n';
  for (const config::Problem& warning : loaded.warnings) {
    config::Problem told = warning;
    told.text = absl::StrCat("warning: ", warning.text);
    std::cerr << told.ToString() << '\n';
  }
  if (!loaded.config.has_value()) return false;
  if (ask_databases) {
    SystemClock clock;
    for (const std::string& said : AskDatabases(*loaded.config, kAskLimit, clock)) {
      std::cerr << path << ": warning: " << said << '\n';
    }
  }
  std::cout << path << ": ok\n";
  return true;
}

}  // namespace headgate::app
