#include "tests/demo/servers/script.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/system_clock.h"
#include "tests/demo/text.h"

namespace headgate::demo {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(250);
constexpr double kLineEvery = 2;  // seconds, where there is no terminal
constexpr double kEnd = 75;       // seconds, at pace 1
constexpr size_t kBars = 48;

int64_t NowNs() { return SystemClock::ReadKernel().monotonic_ns; }

}  // namespace

Script::Script(Fleet& fleet, const FleetOptions& options, const Interrupt& interrupt,
               Screen& screen, double pace)
    : fleet_(fleet),
      interrupt_(interrupt),
      screen_(screen),
      pace_(pace),
      began_ns_(NowNs()),
      rates_(Fleet::Databases().size()),
      admitted_(Fleet::Databases().size()) {
  record_.rate = options.rate;
  record_.burst = options.burst;
  for (int i = 0; i < Fleet::kServers; ++i) record_.servers.push_back(Fleet::NameOf(i));
}

double Script::Seconds() const { return static_cast<double>(NowNs() - began_ns_) * 1e-9; }

// Each befalls the owner of a database, so that there is something to be taken over.
std::vector<Script::Step> Script::Steps() {
  auto server = std::make_shared<int>(0);
  const auto of = [this, server](size_t database) { return *server = fleet_.OwnerOf(database); };
  const auto step = [this, server](double at_s, const char* what, std::function<void()> act) {
    return Step{at_s * pace_, [this, server, what, act = std::move(act)] {
                  act();
                  Happen(*server, what);
                  return absl::OkStatus();
                }};
  };
  return {step(10, "is killed", [this, of] { fleet_.Kill(of(0)); }),
          {24 * pace_,
           [this, server] {
             Happen(*server, "is started again");
             return fleet_.StartAgain(*server);
           }},
          step(36, "is stopped in its tracks", [this, of] { fleet_.Suspend(of(1)); }),
          step(46, "goes on", [this, server] { fleet_.Resume(*server); }),
          step(60, "is upgraded", [this, of] { fleet_.Upgrade(of(0)); })};
}

absl::Status Script::Run() {
  Jobs jobs(fleet_, [this] { return Seconds(); });
  absl::Status status;
  for (const Step& step : Steps()) {
    while (status.ok() && Seconds() < step.at_s) status = Tick(jobs);
    if (status.ok()) status = step.act();
  }
  while (status.ok() && Seconds() < kEnd * pace_) status = Tick(jobs);
  const absl::Status stopped = jobs.Stop(record_);
  record_.ended_s = Seconds();
  screen_.Close();
  return status.ok() ? stopped : status;
}

void Script::Happen(int server, const std::string& what) {
  record_.happenings.push_back({Seconds(), absl::StrCat(Fleet::NameOf(server), " ", what)});
  screen_.Say(absl::StrFormat("%5.1f s  %s", Seconds(), record_.happenings.back().what));
}

absl::Status Script::Tick(const Jobs& jobs) {
  if (absl::Status status = fleet_.Tend(); !status.ok()) return status;
  if (absl::Status status = jobs.Health(); !status.ok()) return status;
  const std::vector<std::string> owners = fleet_.View().owners;
  if (record_.owners.empty() || record_.owners.back().owners != owners) {
    record_.owners.push_back({Seconds(), owners});
  }
  const double now_s = Seconds();
  for (size_t i = 0; i < rates_.size(); ++i) {
    const double admitted = jobs.Admitted(i);
    rates_[i].push_back((admitted - admitted_[i]) / std::max(now_s - last_tick_s_, 0.01));
    admitted_[i] = admitted;
  }
  last_tick_s_ = now_s;
  Show(jobs);
  return interrupt_.Wait(kTick);
}

std::string Script::StateOf(int server) const {
  switch (fleet_.state(server)) {
    case Fleet::State::kRuns:
      return "runs";
    case Fleet::State::kKilled:
      return "KILLED";
    case Fleet::State::kStopped:
      return "STOPPED";
    case Fleet::State::kEnds:
      return "is upgraded";
  }
  return "";
}

std::vector<std::string> Script::Panel(const Jobs& jobs) const {
  const double end_s = kEnd * pace_;
  std::vector<std::string> lines = {
      Progress(absl::Seconds(Seconds()), absl::Seconds(end_s)) +
      (record_.happenings.empty() ? "" : "   " + record_.happenings.back().what)};
  const std::vector<std::string>& owners = record_.owners.back().owners;
  for (int server = 0; server < Fleet::kServers; ++server) {
    std::string line = absl::StrFormat("%-12s%-14s", Fleet::NameOf(server), StateOf(server));
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == Fleet::NameOf(server)) absl::StrAppend(&line, Fleet::Databases()[i], " ");
    }
    lines.push_back(line);
  }
  for (size_t i = 0; i < owners.size(); ++i) {
    const size_t bars = std::min(rates_[i].size(), kBars);
    std::vector<double> newest(kBars - bars);
    newest.insert(newest.end(), rates_[i].end() - static_cast<std::ptrdiff_t>(bars),
                  rates_[i].end());
    lines.push_back(absl::StrFormat("%-12s%s %s rows of %s due, %s", Fleet::Databases()[i],
                                    Sparkline(newest), Whole(jobs.Admitted(i)),
                                    Whole(record_.burst + record_.rate * Seconds()),
                                    owners[i].empty() ? "NOBODY decides" : owners[i] + " decides"));
  }
  return lines;
}

void Script::Show(const Jobs& jobs) {
  if (screen_.is_terminal()) return screen_.Draw(Panel(jobs));
  if (Seconds() - last_line_s_ < kLineEvery) return;
  last_line_s_ = Seconds();
  std::string line = absl::StrFormat("%5.1f s", Seconds());
  const std::vector<std::string>& owners = record_.owners.back().owners;
  for (size_t i = 0; i < owners.size(); ++i) {
    absl::StrAppendFormat(&line, "  %s by %s, %s rows of %s due", Fleet::Databases()[i],
                          owners[i].empty() ? "NOBODY" : owners[i], Whole(jobs.Admitted(i)),
                          Whole(record_.burst + record_.rate * Seconds()));
  }
  screen_.Say(line);
}

}  // namespace headgate::demo
