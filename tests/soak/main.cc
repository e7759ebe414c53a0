// headgate-soak [--minutes N] [--keep]: see soak.h. Exit status 0: flat; 1: not, or something else
// went wrong; 2: wrong usage.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "tests/soak/soak.h"

namespace {

int Usage() {
  std::fprintf(stderr,
               "usage: headgate-soak [--minutes N] [--keep]\n"
               "N is %g or more; --keep leaves the server's log and the samples where they are.\n",
               headgate::soak::kLeastMinutes);
  return 2;
}

int Report(const absl::StatusOr<headgate::soak::Verdict>& verdict) {
  if (!verdict.ok()) {
    std::printf("soak: %s\n", std::string(verdict.status().message()).c_str());
    return EXIT_FAILURE;
  }
  for (const std::string& line : verdict->lines) std::printf("%s\n", line.c_str());
  for (const std::string& fault : verdict->faults) std::printf("FAULT: %s\n", fault.c_str());
  std::printf("\n%s\n", verdict->summary.c_str());
  return verdict->faults.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  headgate::soak::SoakOptions options;
  bool keep = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--keep") == 0) {
      keep = true;
    } else if (std::strcmp(argv[i], "--minutes") != 0 || ++i == argc ||
               !absl::SimpleAtod(argv[i], &options.minutes) || !std::isfinite(options.minutes) ||
               options.minutes < headgate::soak::kLeastMinutes) {
      return Usage();
    }
  }
  std::string folder = (std::filesystem::temp_directory_path() / "headgate-soak-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("soak: a folder");
    return EXIT_FAILURE;
  }
  options.folder = folder;
  const int status = Report(headgate::soak::Soak(options));
  if (keep) {
    std::fprintf(stderr, "kept: %s\n", folder.c_str());
  } else {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  return status;
}
