#include "client/agent/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file_descriptor.h"

namespace headgate::agent {
namespace {

void AddHelp(std::string& text, absl::string_view name, absl::string_view type,
             absl::string_view help) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

std::string MetricsText(const Figures& figures) {
  std::string text;
  const auto add = [&](absl::string_view name, absl::string_view type, absl::string_view help,
                       double value) {
    AddHelp(text, name, type, help);
    absl::StrAppend(&text, name, " ", value, "\n");
  };
  add("headgate_agent_connected", "gauge", "1 while the agent watches PostgreSQL's sessions.",
      figures.is_connected ? 1 : 0);
  add("headgate_agent_yields", "gauge", "1 if the last probe has shown that yielding works here.",
      figures.yields ? 1 : 0);
  add("headgate_agent_probe_share", "gauge",
      "Processor time of a lowered backend for each second of another, as the last probe saw it.",
      figures.probe_share);
  AddHelp(text, "headgate_agent_sessions", "gauge", "Batch sessions by rank.");
  absl::StrAppend(&text, "headgate_agent_sessions{rank=\"yielding\"} ", figures.yielding, "\n",
                  "headgate_agent_sessions{rank=\"raised\"} ", figures.raised, "\n");
  AddHelp(text, "headgate_agent_raises_total", "counter",
          "Batch sessions that were raised, by the reason.");
  absl::StrAppend(
      &text, "headgate_agent_raises_total{reason=\"lock_wait\"} ", figures.raised_for_waiters, "\n",
      "headgate_agent_raises_total{reason=\"starved\"} ", figures.raised_for_starving, "\n",
      "headgate_agent_raises_total{reason=\"floor\"} ", figures.raised_for_floor, "\n");
  add("headgate_agent_looks_total", "counter", "Times that sessions were looked at.",
      static_cast<double>(figures.looks));
  add("headgate_agent_failures_total", "counter", "Sessions that could not be changed.",
      static_cast<double>(figures.failures));
  add("headgate_agent_processor_seconds_total", "counter",
      "Processor time of batch sessions since they were first seen.", figures.processor_seconds);
  return text;
}

absl::Status WriteMetrics(const std::string& path, const Figures& figures) {
  const std::string fresh = path + ".new";
  FileDescriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const std::string text = MetricsText(figures);
  if (!file.ok() ||
      write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      rename(fresh.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

}  // namespace headgate::agent
