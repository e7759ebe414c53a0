// Shows frame after frame on the terminal until a key or a signal ends it.
//
// The terminal is its own while it exists, and is given back when it is destroyed. For one thread.
//
//   return LiveView(fetch, signals, {.address = "127.0.0.1:8081"}).Run(first);

#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"
#include "client/cli/output/terminal.h"
#include "client/cli/process/signal_inbox.h"
#include "client/cli/top/top_fetch.h"
#include "common/file_descriptor.h"

namespace headgate::cli {

class LiveView {
 public:
  struct Options {
    std::string address;  // to show
    absl::Duration interval = absl::Seconds(1);
    Colours colours = Colours::kOff;
  };

  // Fetch and signals outlive it.
  LiveView(TopFetch& fetch, const SignalInbox& signals, const Options& options);
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  // Returns the exit status.
  int Run(TopAnswers first);

 private:
  void HandleNext();
  void HandleTick();
  void HandleSignal(int signal);
  void HandleKey();
  void TakeAnswers();
  void Draw();

  TopFetch& fetch_;
  const SignalInbox& signals_;
  const Options options_;
  const FileDescriptor timer_;  // a timerfd
  TopAnswers answers_;
  std::string trouble_;  // why the newest answers are missing
  std::optional<int> exit_status_;
  Screen screen_;
};

}  // namespace headgate::cli
