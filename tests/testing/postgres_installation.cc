#include "tests/testing/postgres_installation.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace headgate {
namespace {

bool HasPrograms(const std::string& bin) { return access((bin + "/initdb").c_str(), X_OK) == 0; }

}  // namespace

absl::StatusOr<std::string> FindPostgresBin() {
  if (const char* const named = getenv("HEADGATE_POSTGRES"); named != nullptr) {
    std::string bin = absl::StrCat(named, "/bin");
    if (HasPrograms(bin)) return bin;
    return absl::NotFoundError(
        absl::StrCat("there is no PostgreSQL in ", named, ", which HEADGATE_POSTGRES names"));
  }
  std::string newest;
  int newest_version = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    int version = 0;
    const std::string bin = entry.path().string() + "/bin";
    if (!absl::SimpleAtoi(entry.path().filename().string(), &version)) continue;
    if (version <= newest_version || !HasPrograms(bin)) continue;
    newest_version = version;
    newest = bin;
  }
  if (newest_version == 0) {
    return absl::NotFoundError("PostgreSQL is not installed: apt-get install postgresql");
  }
  return newest;
}

}  // namespace headgate
