#include "tests/soak/traffic.h"

#include "tests/soak/jobs.h"
#include "tests/soak/people.h"
#include "tests/soak/sockets.h"

namespace headgate::soak {
namespace {

// Acts until the soak ends. The rests bound the load, so that two CPUs bear it together with
// PostgreSQL: about a thousand RPCs and several thousand decisions a second.
template <typename Actor>
void ActAgain(const World& world, Actor& actor, void (Actor::*act)(), int rest_ms) {
  while (!world.stopping()) {
    (actor.*act)();
    world.Rest(rest_ms);
  }
}

void Work(World& world, uint64_t number, void (Jobs::*act)(), int rest_ms) {
  Jobs jobs(world, number);
  ActAgain(world, jobs, act, rest_ms);
}

void Bother(World& world, void (People::*act)(), int rest_ms) {
  People people(world);
  ActAgain(world, people, act, rest_ms);
}

void Disturb(World& world, int rest_ms) {
  Sockets sockets(world);
  ActAgain(world, sockets, &Sockets::OpenOnce, rest_ms);
}

}  // namespace

Traffic::Traffic(World& world) : world_(world) {
  const auto jobs = [&](uint64_t number, void (Jobs::*act)(), int rest_ms) {
    threads_.emplace_back([&world, number, act, rest_ms] { Work(world, number, act, rest_ms); });
  };
  const auto people = [&](void (People::*act)(), int rest_ms) {
    threads_.emplace_back([&world, act, rest_ms] { Bother(world, act, rest_ms); });
  };
  jobs(1, &Jobs::CheckOnce, 2);
  jobs(2, &Jobs::CheckOnce, 2);
  jobs(3, &Jobs::BatchOnce, 20);
  jobs(4, &Jobs::StreamOnce, 20);
  people(&People::LookOnce, 200);
  people(&People::ReadLogOnce, 300);
  people(&People::OverrideOnce, 150);
  people(&People::WatchOnce, 100);
  people(&People::ErrOnce, 50);
  people(&People::VisitOnce, 10);
  threads_.emplace_back([&world] { Disturb(world, 100); });
}

void Traffic::Stop() {
  world_.stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace headgate::soak
