#include "server/app/port_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace headgate::app {

absl::Status WritePort(const std::string& path, int port) {
  const std::string draft = absl::StrCat(path, ".new");
  std::ofstream file(draft);
  file << port << '\n';
  file.close();
  if (!file || std::rename(draft.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot write the port to ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace headgate::app
