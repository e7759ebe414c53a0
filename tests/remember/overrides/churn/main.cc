// Makes and ends overrides until it is killed, and says what it is about to do and what was
// acknowledged: one line each, straight to stdout.
//
//   headgate_override_churn FILE SEED
//
//   create      about to make one
//   created 7   was acknowledged
//   delete 7    about to end it
//   deleted 7   was acknowledged

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "common/fake_clock.h"
#include "server/remember/overrides/registry.h"

namespace headgate::overrides {
namespace {

void Say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::_Exit(2);
}

CreateRequest SomeRequest(uint64_t random) {
  CreateRequest request;
  request.kind = static_cast<Kind>(1 + random % 4);
  if (request.kind == Kind::kThrottle) request.ratio = 0.5;
  request.selector.identity = "job-" + std::to_string(random % 100) + ":etl";
  request.actor = "churn";
  request.reason = std::string(1 + random % 900, 'r');
  if (random % 3 != 0) request.expiry = absl::Hours(1);
  if (random % 3 == 0) request.expiry = Never{};
  return request;
}

int Churn(const std::string& path, uint64_t seed) {
  FakeClock clock;
  auto registry = Registry::Open(
      {.path = path, .put = [](engine::PolicySpec) { return absl::OkStatus(); }}, clock);
  if (!registry.ok() || !(*registry)->Install({}).ok()) return 1;
  for (std::mt19937_64 random(seed);;) {
    const std::vector<Override> in_force = (*registry)->List({.most = 1000});
    if (in_force.size() < 20 && (in_force.empty() || random() % 2 == 0)) {
      Say("create");
      const auto made = (*registry)->Create(SomeRequest(random()));
      if (!made.ok()) return 1;
      Say("created " + std::to_string(made->id));
    } else {
      const int64_t id = in_force[random() % in_force.size()].id;
      Say("delete " + std::to_string(id));
      if (!(*registry)->Delete({.id = id, .actor = "churn", .reason = "over"}).ok()) return 1;
      Say("deleted " + std::to_string(id));
    }
  }
}

}  // namespace
}  // namespace headgate::overrides

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return headgate::overrides::Churn(argv[1], std::strtoull(argv[2], nullptr, 10));
}
