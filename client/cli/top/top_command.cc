// headgate top: a live view on a terminal, one snapshot elsewhere.

#include <unistd.h>

#include <csignal>
#include <optional>

#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/process/signal_inbox.h"
#include "client/cli/top/live_view.h"
#include "client/cli/top/top_fetch.h"
#include "client/cli/top/top_text.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

void PrintOnce(const TopAnswers& answers, const TopLook& look, const Console& console) {
  switch (console.format) {
    case Format::kTable:
      console.out << TopText(answers, look);
      break;
    case Format::kJson:
      console.out << TopJson(answers);
      break;
    case Format::kCsv:
      console.out << TopCsv(answers).Csv();
      break;
  }
}

absl::Time Now() { return SystemClock::ReadKernel().wall(); }

}  // namespace

int RunTop(const Globals& globals, const TopArguments& arguments, const Console& console) {
  const SignalInbox signals;  // before the connection, which has threads
  Connection connection(globals);
  TopFetch fetch(connection, globals.target);
  fetch.Start(Now());
  if (const std::optional<int> signal = signals.WaitFor(fetch.ready_fd())) return 128 + *signal;
  absl::StatusOr<TopAnswers> first = fetch.Take();
  if (!first.ok()) return ToInt(console.Fail(first.status()));
  const bool live = arguments.mode == TopArguments::Mode::kLive &&
                    console.format == Format::kTable && isatty(STDOUT_FILENO) == 1;
  const TopLook look = {.address = connection.address(),
                        .connection = globals.connection,
                        .target = globals.target,
                        .zone = console.zone,
                        .colours = console.colours};
  if (live) {
    return LiveView(fetch, signals, {.look = look, .interval = arguments.interval, .now = Now})
        .Run(*std::move(first));
  }
  PrintOnce(*first, look, console);
  return ToInt(ExitStatus::kOk);
}

}  // namespace headgate::cli
