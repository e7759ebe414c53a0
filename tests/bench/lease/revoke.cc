#include "tests/bench/lease/revoke.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <headgate/client.h>
#include <headgate/lease.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "tests/bench/lease/measuring.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/median.h"

namespace headgate::bench {
namespace {

using client::Client;

constexpr char kPlenty[] = R"(
targets: [{name: orders}]
budgets: [{name: plenty, rate: 1e12, burst: 1e12}]
rules: [{name: plenty, match: {identity: plenty}, charge: [plenty]}]
)";

// Pauses whoever is of the identity, for a minute; its number.
int64_t Pause(v1::OverrideService::Stub& overrides, const std::string& identity) {
  v1::CreateOverrideRequest request;
  request.set_kind(v1::OVERRIDE_KIND_PAUSE);
  request.mutable_selector()->set_identity(identity);
  request.set_actor("bench");
  request.set_reason("how soon it is heard");
  request.mutable_expires_in()->set_seconds(60);
  v1::CreateOverrideResponse response;
  grpc::ClientContext context;
  const grpc::Status status = overrides.CreateOverride(&context, request, &response);
  if (!status.ok()) Fail(status.error_message());
  return response.override().id();
}

void Resume(v1::OverrideService::Stub& overrides, int64_t pause) {
  v1::DeleteOverrideRequest request;
  request.set_id(pause);
  request.set_actor("bench");
  request.set_reason("it was heard");
  v1::DeleteOverrideResponse response;
  grpc::ClientContext context;
  const grpc::Status status = overrides.DeleteOverride(&context, request, &response);
  if (!status.ok()) Fail(status.error_message());
}

// Of each pause, in milliseconds.
std::vector<double> Revocations(const HeadgatedProcess& server) {
  constexpr size_t kHolders = 8;
  constexpr int kPauses = 15;
  const std::unique_ptr<Client> client = Take(Client::Create(
      {.address = server.address(), .on_unreachable = client::OnUnreachable::Fail()}));
  const auto overrides = v1::OverrideService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  // When each admitted a piece last, and how often: in a line of the cache of its own.
  struct alignas(64) Holder {
    std::atomic<double> last = 0;
    std::atomic<int64_t> admitted = 0;
  };
  std::array<Holder, kHolders> holders;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (Holder& holder : holders) {
    threads.emplace_back([&] {
      const auto lease = Take(
          client->NewLease({.identity = "job:plenty", .piece = 1e6, .time = absl::Seconds(10)}));
      while (!done.load()) {
        if (lease->Admit(1)) {
          holder.last = NowSeconds();
          ++holder.admitted;
        }
        usleep(200);
      }
    });
  }
  std::vector<double> took;
  for (int i = 0; i < kPauses; ++i) {
    // All hold a lease, and have for a while.
    for (const Holder& holder : holders) {
      const int64_t before = holder.admitted;
      while (holder.admitted < before + 100) usleep(1000);
    }
    const int64_t pause = Pause(*overrides, "plenty");
    const double returned = NowSeconds();
    // Until nobody has admitted anything for a while.
    double last = returned;
    do {
      usleep(300'000);
      for (const Holder& holder : holders) last = std::max<double>(last, holder.last);
    } while (NowSeconds() - last < 0.25);
    took.push_back(1e3 * (last - returned));
    Resume(*overrides, pause);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  return took;
}

}  // namespace

std::string MeasureRevocation() {
  HeadgatedProcess server({.yaml = kPlenty});
  if (absl::Status started = server.Start(); !started.ok()) Fail(started.ToString());
  std::vector<double> took = Revocations(server);
  const double worst = *std::max_element(took.begin(), took.end());
  return absl::StrFormat("revoke_ms=%.1f\nrevoke_median_ms=%.1f\n", worst, Median(std::move(took)));
}

}  // namespace headgate::bench
