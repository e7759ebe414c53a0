// The one thread that works off the lines: it admits who waits at the instant of their turn, and
// answers those whose time is up.
//
// It sleeps until the next instant that the lines know of, or until something happens that moves
// that instant to the front. However many wait, there is one such thread, and a thread that
// serves calls is never held up by those who wait.
//
// Thread-safe. Its end answers nobody: whoever owns the lines ends the waiting before.
//
//   LineThread thread(lines, clock);
//   ...
//   thread.Stop();

#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/clock.h"
#include "server/decide/line/waiting_lines.h"

namespace headgate::rpc {

class LineThread {
 public:
  // Both outlive this. The lines are woken by this thread from now on.
  LineThread(line::WaitingLines& lines, Clock& clock);
  ~LineThread() { Stop(); }
  LineThread(const LineThread&) = delete;
  LineThread& operator=(const LineThread&) = delete;

  // Returns when the thread has ended. May be called again.
  void Stop();

 private:
  void Run();
  // What is due earlier than the thread thinks.
  void Wake();

  line::WaitingLines& lines_;
  Clock& clock_;
  std::mutex mutex_;  // for waiting alone
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headgate::rpc
