// A handler either finds the child, or leaves the signal in `pending` for PassOnTo. Both sides
// write their own variable first and read the other's afterwards, so that none can miss the other.

#include "client/cli/process/signal_relay.h"

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace headgate::cli {
namespace {

// Sequentially consistent throughout: "write mine, then read yours" on two variables needs no less.
std::atomic<pid_t> child_of_relay = 0;
std::atomic<uint64_t> pending = 0;  // bit n: signal n
std::atomic<int> handlers_running = 0;

static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free,
              "handlers may use nothing that locks");

// The terminal sends these to the whole foreground group: the child has them already. (A hangup it
// may send to the leader of the session alone.)
bool ReachedChildToo(int signal, const siginfo_t& info) {
  return info.si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
}

void PassOnPending() {
  const pid_t child = child_of_relay.load();
  if (child == 0) return;
  const uint64_t signals = pending.exchange(0);
  for (const int signal : SignalRelay::kSignals) {
    if ((signals >> signal & 1) != 0) kill(child, signal);
  }
}

void Handle(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  handlers_running.fetch_add(1);
  if (child_of_relay.load() == 0 || !ReachedChildToo(signal, *info)) {
    pending.fetch_or(uint64_t{1} << signal);
    PassOnPending();
  }
  handlers_running.fetch_sub(1);
  errno = saved_errno;
}

}  // namespace

SignalRelay::SignalRelay() {
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

SignalRelay::~SignalRelay() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  Stop();
  pending.store(0);
}

void SignalRelay::PassOnTo(pid_t child) {
  child_of_relay.store(child);
  PassOnPending();
}

void SignalRelay::Stop() {
  child_of_relay.store(0);
  // One on another thread may have seen the child just before, and be about to signal it.
  while (handlers_running.load() != 0) sched_yield();
}

}  // namespace headgate::cli
