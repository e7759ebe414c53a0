#include "server/observe/dsn/password_file.h"

#include <libpq-fe.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace headgate::dsn {
namespace {

std::string ParameterOf(const Dsn& dsn, std::string_view keyword) {
  for (const auto& [name, value] : dsn.others) {
    if (name == keyword && !value.empty()) return value;
  }
  const auto free = [](PQconninfoOption* options) { PQconninfoFree(options); };
  const std::unique_ptr<PQconninfoOption, decltype(free)> defaults(PQconndefaults(), free);
  for (const PQconninfoOption* option = defaults.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == keyword && option->val != nullptr) return option->val;
  }
  return "";
}

// As libpq finds it.
std::string HomeFolder() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  std::array<char, 4096> room = {};
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, room.data(), room.size(), &found);
  return found == nullptr ? "" : entry.pw_dir;
}

std::string WhyUnread(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return std::strerror(errno);
  if (!S_ISREG(file.st_mode)) return "it is no regular file";
  if (const mode_t others = file.st_mode & (S_IRWXG | S_IRWXO); others != 0) {
    return absl::StrFormat(
        "its mode is %04o, and libpq reads none that others than its owner may use (0600); "
        "Headgate's password_file may be read by a group",
        file.st_mode & 07777);
  }
  return access(path.c_str(), R_OK) == 0 ? "" : std::strerror(errno);
}

}  // namespace

std::string UnreadPasswordFile(const Dsn& dsn) {
  if (!ParameterOf(dsn, "password").empty()) return "";
  std::string path = ParameterOf(dsn, "passfile");
  const bool is_named = !path.empty();
  if (!is_named) path = absl::StrCat(HomeFolder(), "/.pgpass");
  // Without being told of one, nobody misses it.
  if (!is_named && access(path.c_str(), F_OK) != 0) return "";
  const std::string why = WhyUnread(path);
  return why.empty() ? "" : absl::StrCat("the file of passwords ", path, " is not read: ", why);
}

}  // namespace headgate::dsn
