#include "client/cli/process/find_server.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_split.h"

namespace headgate::cli {
namespace {

constexpr char kServer[] = "headgated";

bool IsExecutable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> FindServer() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && IsExecutable(self.parent_path() / kServer)) return self.parent_path() / kServer;
  const char* path = std::getenv("PATH");
  for (const auto& folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const auto candidate =
        std::filesystem::path(folder.empty() ? "." : std::string(folder)) / kServer;
    if (IsExecutable(candidate)) return candidate.string();
  }
  return std::nullopt;
}

}  // namespace headgate::cli
