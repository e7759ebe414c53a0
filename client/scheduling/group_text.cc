#include "client/scheduling/group_text.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"

namespace headgate::scheduling {
namespace {

using Words = std::vector<absl::string_view>;

bool IsInList(absl::string_view list, absl::string_view word) {
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    if (part == word) return true;
  }
  return false;
}

// mountinfo writes a blank as \040, and so on.
std::string Unescaped(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t code = 0;
    if (text[i] == '\\' && i + 3 < text.size()) {
      for (size_t j = 1; j <= 3; ++j) code = code * 8 + static_cast<uint32_t>(text[i + j] - '0');
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The path of a process's cgroup within a hierarchy; version 2 has the number 0 and no controllers.
std::optional<std::string> PathIn(absl::string_view cgroups, bool unified) {
  for (const absl::string_view line : absl::StrSplit(cgroups, '\n')) {
    const Words parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (unified ? parts[0] == "0" && parts[1].empty() : IsInList(parts[1], "cpu")) {
      return std::string(parts[2]);
    }
  }
  return std::nullopt;
}

struct Mount {
  std::string root;  // of the hierarchy, which is mounted
  std::string folder;
};

std::optional<Mount> MountOf(absl::string_view mounts, bool unified) {
  for (const absl::string_view line : absl::StrSplit(mounts, '\n')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const Words place = absl::StrSplit(halves[0], ' ');
    const Words kind = absl::StrSplit(halves[1], ' ');
    if (place.size() < 5 || kind.size() < 3) continue;
    if (unified ? kind[0] == "cgroup2" : kind[0] == "cgroup" && IsInList(kind[2], "cpu")) {
      return Mount{Unescaped(place[3]), Unescaped(place[4])};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> ParseAutogroupNice(std::string_view text) {
  constexpr std::string_view kNice = " nice ";
  const size_t at = text.find(kNice);
  int nice = 0;
  if (at == std::string_view::npos ||
      !absl::SimpleAtoi(Sv(text.substr(at + kNice.size())), &nice)) {
    return std::nullopt;
  }
  return nice;
}

std::optional<CpuGroupPlace> FindCpuGroup(std::string_view cgroups, std::string_view mounts) {
  // The cpu controller is in a hierarchy of its own, or else in the unified one.
  for (const bool unified : {false, true}) {
    const std::optional<std::string> path = PathIn(Sv(cgroups), unified);
    const std::optional<Mount> mount = MountOf(Sv(mounts), unified);
    if (!path.has_value() || !mount.has_value()) continue;
    // A container sees a part of the hierarchy, whose root stands before the path.
    std::string below = *path;
    if (mount->root != "/") {
      if (below == mount->root) {
        below = "/";
      } else if (below.starts_with(mount->root + "/")) {
        below.erase(0, mount->root.size());
      } else {
        return std::nullopt;
      }
    }
    if (below.starts_with("/..")) return std::nullopt;  // outside of what is seen from here
    return CpuGroupPlace{.folder = below == "/" ? mount->folder : mount->folder + below,
                         .mount = mount->folder,
                         .unified = unified};
  }
  return std::nullopt;
}

}  // namespace headgate::scheduling
