#include "tests/soak/traffic.h"

#include "tests/soak/bad_connections.h"
#include "tests/soak/jobs.h"
#include "tests/soak/other_callers.h"

namespace headgate::soak {
namespace {

// Acts until the soak ends. The rests bound the load, so that two CPUs bear it together with
// PostgreSQL: about a thousand RPCs and several thousand decisions a second.
template <typename Actor>
void ActAgain(const SoakState& state, Actor& actor, void (Actor::*act)(), int rest_ms) {
  while (!state.stopping()) {
    (actor.*act)();
    state.Rest(rest_ms);
  }
}

void Work(SoakState& state, uint64_t number, void (Jobs::*act)(), int rest_ms) {
  Jobs jobs(state, number);
  ActAgain(state, jobs, act, rest_ms);
}

void Bother(SoakState& state, void (OtherCallers::*act)(), int rest_ms) {
  OtherCallers others(state);
  ActAgain(state, others, act, rest_ms);
}

void Disturb(SoakState& state, int rest_ms) {
  BadConnections sockets(state);
  ActAgain(state, sockets, &BadConnections::OpenOnce, rest_ms);
}

}  // namespace

Traffic::Traffic(SoakState& state) : state_(state) {
  const auto jobs = [&](uint64_t number, void (Jobs::*act)(), int rest_ms) {
    threads_.emplace_back([&state, number, act, rest_ms] { Work(state, number, act, rest_ms); });
  };
  const auto others = [&](void (OtherCallers::*act)(), int rest_ms) {
    threads_.emplace_back([&state, act, rest_ms] { Bother(state, act, rest_ms); });
  };
  jobs(1, &Jobs::CheckOnce, 2);
  jobs(2, &Jobs::CheckOnce, 2);
  jobs(3, &Jobs::BatchOnce, 20);
  jobs(4, &Jobs::StreamOnce, 20);
  others(&OtherCallers::LookOnce, 200);
  others(&OtherCallers::ReadLogOnce, 300);
  others(&OtherCallers::OverrideOnce, 150);
  others(&OtherCallers::WatchOnce, 100);
  others(&OtherCallers::ErrOnce, 50);
  others(&OtherCallers::VisitOnce, 10);
  threads_.emplace_back([&state] { Disturb(state, 100); });
}

void Traffic::Stop() {
  state_.stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace headgate::soak
