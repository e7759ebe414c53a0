#include "tests/demo/headgated.h"

#include <grpcpp/grpcpp.h>
#include <headgate/v1/status_service.grpc.pb.h>

#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace headgate::demo {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(15);
constexpr absl::Duration kPause = absl::Milliseconds(20);

// The whole configuration: what is healthy, and that health and foreground alone hold the backfill.
std::string Configuration(Stage& stage) {
  constexpr char kRest[] = R"yaml(    batch_work:
      roles: [batch]
health_profiles:
  - name: database
    signals:
      - name: replication_lag_seconds
      - name: replication_lag_bytes
      - name: standby_lag_seconds
      - name: slot_retained_bytes
      - name: connection_fraction
      - name: lock_wait_max_seconds
      - name: oldest_transaction_seconds
budgets:
  - name: backfill
    rate: auto
    health: database
rules:
  - name: backfills
    match:
      identity: backfill
    charge: [backfill]
)yaml";
  return absl::StrCat(
      "server:\n  grpc_address: 127.0.0.1:0\n", "targets:\n  - name: ", Headgated::kTarget,
      "\n    default_health: database\n",
      "    primary:\n      dsn: ", stage.cluster().primary().Dsn("headgate"),
      "\n    standbys:\n      - name: standby-1\n        connection:\n          dsn: ",
      stage.cluster().standby().Dsn("headgate"), "\n", kRest);
}

std::string NameOf(v1::HealthState state) {
  std::string name = v1::HealthState_Name(state);
  name = std::string(absl::StripPrefix(name, "HEALTH_STATE_"));
  absl::AsciiStrToLower(&name);
  return name;
}

ServerView ViewOf(const v1::GetStatusResponse& response) {
  ServerView view;
  for (const v1::TargetStatus& target : response.targets()) {
    for (const v1::ServerStatus& server : target.servers()) {
      if (!server.error().empty()) view.error = absl::StrCat(server.name(), ": ", server.error());
    }
    for (const v1::Health& profile : target.profiles()) {
      view.health = NameOf(profile.state());
      view.signal = profile.signal();
      view.speed = profile.speed();
    }
    for (const v1::ControllerStatus& controller : target.controllers()) {
      view.phase = controller.phase();
      view.rate = controller.rate();
    }
    if (target.has_agent()) {
      const v1::AgentState& state = target.agent().state();
      view.agent = {.yields = state.yields(),
                    .means = state.means(),
                    .sessions = state.yielding() + state.raised()};
    }
  }
  return view;
}

}  // namespace

class Headgated::Connection {
 public:
  explicit Connection(const std::string& address)
      : stub_(v1::StatusService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  absl::StatusOr<ServerView> View() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    v1::GetStatusResponse response;
    const grpc::Status status = stub_->GetStatus(&context, {}, &response);
    if (status.ok()) return ViewOf(response);
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::StrCat("headgated: ", status.error_message()));
  }

 private:
  const std::unique_ptr<v1::StatusService::Stub> stub_;
};

absl::StatusOr<std::unique_ptr<Headgated>> Headgated::Start(Stage& stage,
                                                            const Interrupt& interrupt) {
  std::unique_ptr<Headgated> headgated(new Headgated(stage));
  absl::Status status = headgated->process_.Start();
  if (!status.ok()) return status;
  headgated->connection_ = std::make_unique<Connection>(headgated->address());
  status = headgated->WaitForHealth(interrupt);
  if (!status.ok()) return status;
  return headgated;
}

Headgated::Headgated(Stage& stage)
    : process_({.yaml = Configuration(stage), .folder = stage.folder(), .stateless = true}) {}

Headgated::~Headgated() { process_.Stop().IgnoreError(); }

absl::StatusOr<ServerView> Headgated::View() {
  if (process_.HasEnded()) return process_.Stop();
  return connection_->View();
}

absl::Status Headgated::WaitForHealth(const Interrupt& interrupt) {
  std::string state;
  for (absl::Duration waited; waited < kPatience; waited += kPause) {
    absl::StatusOr<ServerView> view = View();
    if (!view.ok() && process_.HasEnded()) return view.status();
    if (view.ok() && view->health == "healthy") return absl::OkStatus();
    if (view.ok()) state = absl::StrCat(view->health, " ", view->error);
    if (absl::Status status = interrupt.Wait(kPause); !status.ok()) return status;
  }
  return absl::DeadlineExceededError(
      absl::StrCat("headgated does not find the database healthy: ", state));
}

}  // namespace headgate::demo
