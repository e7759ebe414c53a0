// headgate top: a live view on a terminal, one snapshot elsewhere.

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

#include "client/cli/commands.h"
#include "client/cli/connection.h"
#include "client/cli/live_view.h"
#include "client/cli/terminal.h"
#include "client/cli/top_fetch.h"
#include "client/cli/top_text.h"

namespace headgate::cli {
namespace {

// Returns when the first fetch is done, or with the signal that ended the wait for it.
std::optional<int> SignalBeforeFirst(const TopFetch& fetch, const SignalInbox& signals) {
  std::array<pollfd, 2> events = {{{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = fetch.ready_fd(), .events = POLLIN, .revents = 0}}};
  for (;;) {
    if (poll(events.data(), events.size(), -1) < 0) continue;  // interrupted
    if (events[1].revents != 0) return std::nullopt;
    const int signal = signals.Take();
    if (signal == SIGTSTP) {
      kill(getpid(), SIGSTOP);
    } else if (signal != SIGWINCH) {
      return signal;
    }
  }
}

void PrintOnce(const Snapshot& snapshot, const std::string& address, const Console& console) {
  switch (console.format) {
    case Format::kTable:
      console.out << TopText(snapshot, address, console.colours);
      break;
    case Format::kJson:
      console.out << TopJson(snapshot);
      break;
    case Format::kCsv:
      console.out << TopCsv(snapshot).Csv();
      break;
  }
}

}  // namespace

int RunTop(const Globals& globals, const TopArguments& arguments, const Console& console) {
  const SignalInbox signals;  // before the connection, which has threads
  Connection connection(globals);
  TopFetch fetch(connection, globals.target);
  fetch.Start();
  if (const std::optional<int> signal = SignalBeforeFirst(fetch, signals)) return 128 + *signal;
  absl::StatusOr<Snapshot> first = fetch.Take();
  if (!first.ok()) return ToInt(console.Fail(first.status()));
  const bool live = arguments.mode == TopArguments::Mode::kLive &&
                    console.format == Format::kTable && isatty(STDOUT_FILENO) == 1;
  if (live) {
    return LiveView(fetch, signals,
                    {.address = connection.address(),
                     .interval = arguments.interval,
                     .colours = console.colours})
        .Run(*std::move(first));
  }
  PrintOnce(*first, connection.address(), console);
  return ToInt(ExitStatus::kOk);
}

}  // namespace headgate::cli
