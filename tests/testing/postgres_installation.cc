#include "tests/testing/postgres_installation.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace headgate {
namespace {

bool HasProgram(const std::string& bin, const std::string& program) {
  return access(absl::StrCat(bin, "/", program).c_str(), X_OK) == 0;
}

// The folder of programs of the newest version that has this one; empty: there is none.
std::string DebiansNewestWith(const std::string& program) {
  std::string newest;
  int newest_version = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    int version = 0;
    const std::string bin = entry.path().string() + "/bin";
    if (!absl::SimpleAtoi(entry.path().filename().string(), &version)) continue;
    if (version <= newest_version || !HasProgram(bin, program)) continue;
    newest_version = version;
    newest = bin;
  }
  return newest;
}

}  // namespace

absl::StatusOr<std::string> FindPostgresBin() {
  if (const char* const named = getenv("HEADGATE_POSTGRES"); named != nullptr) {
    std::string bin = absl::StrCat(named, "/bin");
    if (HasProgram(bin, "initdb")) return bin;
    return absl::NotFoundError(
        absl::StrCat("there is no PostgreSQL in ", named, ", which HEADGATE_POSTGRES names"));
  }
  std::string newest = DebiansNewestWith("initdb");
  if (newest.empty()) {
    return absl::NotFoundError("PostgreSQL is not installed: apt-get install postgresql");
  }
  return newest;
}

absl::StatusOr<std::string> FindPostgresClient(const std::string& bin, const std::string& program) {
  const std::string from = HasProgram(bin, program) ? bin : DebiansNewestWith(program);
  if (from.empty()) {
    return absl::NotFoundError(
        absl::StrCat(program, " is not installed: apt-get install postgresql"));
  }
  return absl::StrCat(from, "/", program);
}

}  // namespace headgate
