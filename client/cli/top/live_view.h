// Shows frame after frame on the terminal until a key or a signal ends it.
//
// The terminal is its own while it exists, and is given back when it is destroyed. For one thread.
//
//   return LiveView(fetch, signals, {.look = look, .now = now}).Run(first);

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/cli/output/keys.h"
#include "client/cli/output/terminal.h"
#include "client/cli/process/signal_inbox.h"
#include "client/cli/top/scroll.h"
#include "client/cli/top/top_fetch.h"
#include "client/cli/top/top_frame.h"
#include "common/file_descriptor.h"

namespace headgate::cli {

class LiveView {
 public:
  struct Options {
    TopLook look;
    absl::Duration interval = absl::Seconds(1);
    std::function<absl::Time()> now;
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
  void HandleTyped();
  void HandleKey(Key key);
  void TakeAnswers();
  void Draw();

  TopFetch& fetch_;
  const SignalInbox& signals_;
  const Options options_;
  const FileDescriptor timer_;  // a timerfd
  TopAnswers answers_;
  std::string trouble_;  // why the newest answers are missing
  TopPage page_ = TopPage::kAnswers;
  TopOrder order_ = TopOrder::kDenied;
  Scroll scroll_;
  KeyReader keys_;
  std::optional<int> exit_status_;
  Screen screen_;
};

}  // namespace headgate::cli
