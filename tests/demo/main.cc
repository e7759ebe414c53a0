// headgate-demo: what a greedy backfill does to a busy PostgreSQL, what it does when it asks
// Headgate, and what when its sessions yield as well; or what becomes of jobs when servers that
// share databases die and come. Everything runs here, in a temporary folder, and is gone
// afterwards.

#include <grpc/support/log.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/demo/display.h"
#include "tests/demo/experiment.h"
#include "tests/demo/headgated.h"
#include "tests/demo/interrupt.h"
#include "tests/demo/plot.h"
#include "tests/demo/report.h"
#include "tests/demo/screen.h"
#include "tests/demo/series.h"
#include "tests/demo/servers/fleet.h"
#include "tests/demo/servers/plot.h"
#include "tests/demo/servers/results.h"
#include "tests/demo/servers/script.h"
#include "tests/demo/stage.h"

namespace headgate::demo {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kInterrupted = 130;

struct Flags {
  std::string plot = {};
  bool servers = false;
  std::string series;
  double pace = 1;
};

absl::Status Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

Timing TimingAt(double pace) {
  Timing timing;
  for (absl::Duration* length : {&timing.warm_up, &timing.alone, &timing.settling,
                                 &timing.throttled, &timing.fixed, &timing.greedy, &timing.pause}) {
    *length *= pace;
  }
  return timing;
}

absl::Status Conclude(const Record& record, const Flags& flags) {
  const Results results = Evaluate(record);
  std::cout << "\n" << Table(results, record.checks) << "\n";
  absl::Status status = Write(flags.plot, PlotSvg(record));
  if (status.ok()) std::cout << "plot: " << flags.plot << "\n";
  if (status.ok() && !flags.series.empty()) {
    status = Write(flags.series, SeriesCsv(record));
    std::cout << "series: " << flags.series << "\n";
  }
  std::cout << LastLine(results) << std::endl;
  return status;
}

absl::Status Run(const Flags& flags, const Interrupt& interrupt) {
  // Better now than in a minute.
  for (const std::string& path : {flags.plot, flags.series}) {
    if (path.empty()) continue;
    if (!std::ofstream(path, std::ios::app)) {
      return absl::UnavailableError(absl::StrCat("cannot write ", path));
    }
  }
  Display display(stdout);
  const Timing timing = TimingAt(flags.pace);
  absl::StatusOr<std::unique_ptr<Stage>> stage =
      Stage::Build(interrupt, [&](const std::string& line) { display.Say(line); });
  if (!stage.ok()) return stage.status();
  display.Say("starting headgated, which is told no rate");
  absl::StatusOr<std::unique_ptr<Headgated>> headgated = Headgated::Start(**stage, interrupt);
  if (!headgated.ok()) return headgated.status();
  Experiment experiment(**stage, **headgated, interrupt, display, timing);
  absl::Status status = experiment.Run();
  display.Close();
  return status.ok() ? Conclude(experiment.record(), flags) : status;
}

absl::Status RunServers(const Flags& flags, const Interrupt& interrupt) {
  if (!std::ofstream(flags.plot, std::ios::app)) {
    return absl::UnavailableError(absl::StrCat("cannot write ", flags.plot));
  }
  Screen screen(stdout);
  // In a short run the lease is shorter, too: a server that is stopped shall lose what it has.
  const FleetOptions options = {
      .lease = std::clamp(flags.pace * absl::Seconds(3), absl::Seconds(1), absl::Seconds(3))};
  absl::StatusOr<std::unique_ptr<Fleet>> fleet =
      Fleet::Start(options, interrupt, [&](const std::string& line) { screen.Say(line); });
  if (!fleet.ok()) return fleet.status();
  Script script(**fleet, options, interrupt, screen, flags.pace);
  if (absl::Status status = script.Run(); !status.ok()) return status;
  if (absl::Status status = Write(flags.plot, PlotServers(script.record())); !status.ok()) {
    return status;
  }
  std::cout << "plot: " << flags.plot << "\n"
            << ServersLine(Evaluate(script.record())) << std::endl;
  return absl::OkStatus();
}

// The first line of an error says what failed, and the last one that a program printed says why.
std::string OneLine(const absl::Status& status) {
  const std::string message(status.message());
  const std::vector<std::string> lines = absl::StrSplit(message, '\n', absl::SkipWhitespace());
  if (lines.empty()) return absl::StatusCodeToString(status.code());
  if (lines.size() == 1) return lines[0];
  std::string why = lines.back();
  for (const std::string& line : lines) {
    if (line.find("FATAL:") != line.npos || line.find("ERROR:") != line.npos) why = line;
  }
  return absl::StrCat(lines[0], " ", why);
}

// The last line is the result. What fails is in our own error line.
void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args*) {});
  }
}

int Main(int argc, char** argv) {
  SilenceGrpc();
  CLI::App cli("One backfill on a busy PostgreSQL: by a rate alone, yielding as well, and greedy.",
               "headgate-demo");
  Flags flags;
  cli.add_flag("--servers", flags.servers,
               "Instead: three servers that share two databases, of which one is killed, one "
               "stopped for 10 s and one upgraded, in about 90 s");
  cli.add_option("--plot", flags.plot,
                 "Where the picture goes (SVG), ./headgate-demo.svg or ./headgate-servers.svg");
  cli.add_option("--series", flags.series, "Where the time series go (CSV), if anywhere");
  cli.add_option("--pace", flags.pace, "Factor for the length of all phases")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 100.0));
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kWrongUsage;
  }
  if (flags.plot.empty()) {
    flags.plot = flags.servers ? "./headgate-servers.svg" : "./headgate-demo.svg";
  }
  const Interrupt interrupt;
  const absl::Status status = flags.servers ? RunServers(flags, interrupt) : Run(flags, interrupt);
  if (status.ok()) return 0;
  if (absl::IsCancelled(status)) {
    std::cerr << "demo: stopped; everything it started is gone\n";
    return kInterrupted;
  }
  std::cerr << "demo: " << OneLine(status) << "\n";
  return kFailed;
}

}  // namespace
}  // namespace headgate::demo

int main(int argc, char** argv) { return headgate::demo::Main(argc, argv); }
