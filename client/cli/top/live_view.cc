#include "client/cli/top/live_view.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include "client/cli/output/console.h"

namespace headgate::cli {

LiveView::LiveView(TopFetch& fetch, const SignalInbox& signals, const Options& options)
    : fetch_(fetch),
      signals_(signals),
      options_(options),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  const itimerspec every = {.it_interval = absl::ToTimespec(options.interval),
                            .it_value = absl::ToTimespec(options.interval)};
  timerfd_settime(timer_.number(), 0, &every, nullptr);
}

int LiveView::Run(TopAnswers first) {
  answers_ = std::move(first);
  Draw();
  while (!exit_status_) HandleNext();
  return *exit_status_;
}

void LiveView::HandleNext() {
  const int keys = isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : -1;
  std::array<pollfd, 4> events = {{{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = timer_.number(), .events = POLLIN, .revents = 0},
                                   {.fd = fetch_.ready_fd(), .events = POLLIN, .revents = 0},
                                   {.fd = keys, .events = POLLIN, .revents = 0}}};
  if (poll(events.data(), events.size(), -1) < 0) return;  // interrupted
  if (events[0].revents != 0) HandleSignal(signals_.Take());
  if (events[1].revents != 0) HandleTick();
  if (events[2].revents != 0) TakeAnswers();
  if (events[3].revents != 0) HandleTyped();
}

void LiveView::HandleTick() {
  uint64_t ticks = 0;
  while (read(timer_.number(), &ticks, sizeof(ticks)) < 0 && errno == EINTR) {
  }
  fetch_.Start(options_.now());
}

void LiveView::HandleSignal(int signal) {
  if (signal == SIGWINCH) {
    Draw();
  } else if (signal == SIGTSTP) {
    screen_.Suspend();
    Draw();
  } else {
    // Ctrl-C is the usual way to leave, and no failure.
    exit_status_ = signal == SIGINT ? 0 : 128 + signal;
  }
}

void LiveView::HandleTyped() {
  const std::optional<std::string> typed = Screen::TakeTyped();
  if (!typed) exit_status_ = 0;
  if (typed) {
    for (const Key key : keys_.Take(*typed)) HandleKey(key);
  }
  if (!exit_status_) Draw();
}

void LiveView::HandleKey(Key key) {
  constexpr char kEndOfInput = 4;  // Ctrl-D
  if (key == CharacterKey('q') || key == CharacterKey(kEndOfInput)) {
    exit_status_ = 0;
  } else if (page_ == TopPage::kHelp) {
    page_ = TopPage::kAnswers;
  } else if (key == CharacterKey('?') || key == CharacterKey('h')) {
    page_ = TopPage::kHelp;
  } else if (key == CharacterKey('d')) {
    order_ = TopOrder::kDenied;
  } else if (key == CharacterKey('w')) {
    order_ = TopOrder::kWaited;
  } else if (key == CharacterKey('n')) {
    order_ = TopOrder::kName;
  } else {
    scroll_.Take(key);
  }
}

// What was known stays on the screen while the server is away.
void LiveView::TakeAnswers() {
  absl::StatusOr<TopAnswers> answers = fetch_.Take();
  trouble_ = answers.ok() ? "" : std::string(answers.status().message());
  if (answers.ok()) answers_ = *std::move(answers);
  Draw();
}

void LiveView::Draw() {
  TopFrame frame = {.answers = answers_, .look = options_.look, .page = page_, .trouble = trouble_};
  frame.look.order = order_;
  const std::string text = FrameText(frame, Screen::WindowSize(), scroll_);
  if (!screen_.Draw(text)) exit_status_ = ToInt(ExitStatus::kFailed);
}

}  // namespace headgate::cli
