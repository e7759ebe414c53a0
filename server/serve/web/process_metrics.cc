// From /proc/self, whose fields proc(5) numbers from 1.

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

std::optional<std::string> ReadText(const char* path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) return std::nullopt;
  return text;
}

// Fields of /proc/self/stat from the third on: the second, the command, may hold spaces.
std::vector<double> ReadStat() {
  std::vector<double> fields;
  const std::optional<std::string> text = ReadText("/proc/self/stat");
  if (!text.has_value()) return fields;
  const size_t end = text->rfind(')');
  if (end == std::string::npos) return fields;
  std::istringstream rest(text->substr(end + 1));
  std::string word;
  while (rest >> word) {
    double number = 0;  // of the state, which is a letter
    std::from_chars(word.data(), word.data() + word.size(), number);
    fields.push_back(number);
  }
  return fields;
}

std::optional<double> BootTime() {
  const std::optional<std::string> text = ReadText("/proc/stat");
  if (!text.has_value()) return std::nullopt;
  const size_t at = text->find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  double seconds = 0;
  const char* const from = text->data() + at + 7;
  const auto read = std::from_chars(from, text->data() + text->size(), seconds);
  if (read.ec != std::errc()) return std::nullopt;
  return seconds;
}

void AddFiles(Exposition& out) {
  std::error_code error;
  auto files = std::filesystem::directory_iterator("/proc/self/fd", error);
  int open = -1;  // this very folder
  for (const auto end = std::filesystem::directory_iterator(); !error && files != end;
       files.increment(error)) {
    ++open;
  }
  if (!error) out.Gauge("process_open_fds", "Open file descriptors.").Set({}, open);
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  out.Gauge("process_max_fds", "The most file descriptors that may be open.")
      .Set({}, limit.rlim_cur);
}

}  // namespace

void AddProcess(Exposition& out) {
  AddFiles(out);
  // Places in what ReadStat returns: the third field is 0.
  constexpr size_t kUserTicks = 11, kSystemTicks = 12, kThreads = 17, kStartTicks = 19,
                   kVirtualBytes = 20, kResidentPages = 21;
  const std::vector<double> stat = ReadStat();
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (stat.size() <= kResidentPages || ticks_a_second <= 0) return;
  out.Counter("process_cpu_seconds_total", "Processor time, of user and system.")
      .Set({}, (stat[kUserTicks] + stat[kSystemTicks]) / ticks_a_second);
  out.Gauge("process_resident_memory_bytes", "Memory that is in use.")
      .Set({}, stat[kResidentPages] * static_cast<double>(sysconf(_SC_PAGESIZE)));
  out.Gauge("process_virtual_memory_bytes", "Memory that is mapped.").Set({}, stat[kVirtualBytes]);
  out.Gauge("process_threads", "Threads.").Set({}, stat[kThreads]);
  const std::optional<double> boot = BootTime();
  if (!boot.has_value()) return;
  out.Gauge("process_start_time_seconds", "When the process began, since the Unix epoch.")
      .Set({}, *boot + stat[kStartTicks] / ticks_a_second);
}

}  // namespace headgate::web
