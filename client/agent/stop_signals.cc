#include "client/agent/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace headgate::agent {

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
  signal(SIGPIPE, SIG_IGN);
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  fd_ = FileDescriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

StopSignals::~StopSignals() {
  // What has arrived has been heard, and must not end the process now.
  signalfd_siginfo heard = {};
  while (read(fd_.number(), &heard, sizeof(heard)) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace headgate::agent
