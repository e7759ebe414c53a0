#include "tests/sim/leases/cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/decide/line/binding_limit.h"
#include "server/decide/line/instants.h"
#include "tests/sim/leases/cluster_server.h"

namespace headgate::leases {
namespace {

client::Reason ReasonOf(engine::Reason reason) {
  return reason <= engine::Reason::kPermits ? static_cast<client::Reason>(reason)
                                            : client::Reason::kLine;
}

client::GrantedLease LeaseOf(const engine::Grant& grant) {
  client::GrantedLease lease{.amount = grant.amount,
                             .time = grant.time,
                             .reject_ratio = grant.reject_ratio,
                             .one_at_a_time = grant.one_at_a_time,
                             .safe_rate = grant.safe_rate,
                             .safe_time = grant.safe_time};
  if (grant.largest_piece < engine::kMaxAmount) lease.largest_piece = grant.largest_piece;
  return lease;
}

engine::ActualCost ActualOf(const client::PermitReport& report) {
  engine::ActualCost actual{.cost = report.done.actual_cost};
  if (report.lease_use.has_value()) {
    actual.spent = engine::ActualCost::Spent{.estimate = report.lease_use->spent,
                                             .pieces = report.lease_use->pieces,
                                             .safe_estimate = report.lease_use->safe_spent};
  }
  return actual;
}

}  // namespace

// One that waits in a server's line.
class Cluster::InLine final : public line::Waiter {
 public:
  InLine(Cluster& cluster, const Server& server, leases::Ask ask, Replied replied)
      : cluster_(cluster),
        server_(server),
        ask_(std::move(ask)),
        replied_(std::move(replied)),
        entered_ns_(cluster.timeline_.now_ns()) {}

  void Answer(int /*place*/, const line::Decided& decided) override {
    if (!decided.status.ok()) return replied_({.status = absl::UnavailableError("gone")});
    Reply reply = cluster_.ReplyTo(server_, ask_, decided.answer);
    reply.answer.waited = absl::Nanoseconds(cluster_.timeline_.now_ns() - entered_ns_);
    replied_(reply);
  }
  bool MayWait(const engine::CheckRequest& /*request*/) override {
    return cluster_.IsOwner(server_, ask_.what.target);
  }

 private:
  Cluster& cluster_;
  const Server& server_;
  const leases::Ask ask_;
  const Replied replied_;
  const int64_t entered_ns_;
};

Cluster::Cluster(Timeline& timeline, Observer& observer, Broken broken)
    : timeline_(timeline), observer_(observer), broken_(broken) {
  for (size_t i = 0; i < servers_.size(); ++i) {
    servers_[i] = std::make_unique<Server>();
    servers_[i]->offset_ns = static_cast<int64_t>(i + 1) * 1'000'000'000'000;
    StartEmpty(*servers_[i]);
  }
  for (size_t i = 0; i < stored_.size(); ++i) {
    stored_[i] = std::make_unique<Stored>();
    stored_[i]->owner = servers_[i].get();  // kShared's may be another one later
    StoreTarget(i, Final::kNo);
  }
}

Cluster::~Cluster() = default;

Now Cluster::NowOf(const Server& server) const {
  return {.monotonic_ns = server.offset_ns + timeline_.now_ns(),
          .wall_ns = 1'767'225'600'000'000'000 + timeline_.now_ns()};
}

bool Cluster::IsOwner(const Server& server, int target) const {
  return stored_[static_cast<size_t>(target)]->owner == &server;
}

Cluster::Server* Cluster::OwnerOf(int target) {
  Server* const owner = stored_[static_cast<size_t>(target)]->owner;
  return owner != nullptr && owner->engine != nullptr ? owner : nullptr;
}

Reply Cluster::ReplyTo(const Server& server, const leases::Ask& ask,
                       const engine::CheckAnswer& answer) {
  Reply reply{.process = server.process};
  reply.answer.reason = ReasonOf(answer.reason);
  if (answer.verdict == engine::Verdict::kDenied) {
    if (answer.retry_after < absl::InfiniteDuration()) {
      reply.answer.retry_after = answer.retry_after;
    }
    return reply;
  }
  reply.lease = observer_.Granted(ask.what, answer);
  reply.decided = std::make_shared<const engine::CheckAnswer>(answer);
  reply.answer.verdict = client::Verdict::kAllowed;
  if (answer.permit != 0) reply.answer.permit_id = answer.permit;
  reply.answer.predicted_cost = answer.predicted_cost;
  if (ask.what.least > 0) reply.answer.lease = LeaseOf(answer.grant);
  return reply;
}

void Cluster::Ask(const leases::Ask& ask, const Replied& replied) {
  Server* const server = OwnerOf(ask.what.target);
  if (server == nullptr) return replied({.status = absl::UnavailableError("nobody decides")});
  if (ask.returned.has_value()) Settle(*server, *ask.returned);
  const engine::LeaseTerms terms{.least = ask.what.least,
                                 .life = ask.time,
                                 .safe_rate = ask.safe_rate,
                                 .safe_life = ask.safe_time};
  const engine::CheckRequest request{.identity = ask.what.identity,
                                     .target = kTargets[static_cast<size_t>(ask.what.target)],
                                     .estimated_cost = ask.what.most,
                                     .request_id = ask.request_id,
                                     .waits = ask.max_wait > absl::ZeroDuration(),
                                     .lease = ask.what.least > 0 ? &terms : nullptr};
  engine::CheckAnswer answer;
  const absl::Status checked = server->engine->Check(request, NowOf(*server), answer);
  if (!checked.ok()) return replied({.status = checked});
  if (!request.waits || line::BindingViolation(answer) == nullptr) {
    return replied(ReplyTo(*server, ask, answer));
  }
  const int64_t until_ns = NowOf(*server).monotonic_ns + absl::ToInt64Nanoseconds(ask.max_wait);
  line::Wait wait{.waiter = std::make_shared<InLine>(*this, *server, ask, replied),
                  .until_ns = until_ns};
  uint64_t ticket = 0;
  if (server->lines->Enter({request, answer, NowOf(*server)}, std::move(wait), &ticket) !=
      line::Entered::kWaits) {
    return replied(ReplyTo(*server, ask, answer));
  }
}

bool Cluster::Report(int target, const client::PermitReport& report) {
  Server* const server = OwnerOf(target);
  if (server == nullptr) return false;
  Settle(*server, report);
  return true;
}

void Cluster::Settle(Server& server, const client::PermitReport& report) {
  if (report.permit_id == 0) return;  // it is only counted
  engine::ActualCost actual = ActualOf(report);
  if (broken_ == Broken::kReturns && actual.spent.has_value()) actual.spent->estimate /= 2;
  const absl::StatusOr<engine::Settlement> settled =
      server.engine->Report(report.permit_id, actual, NowOf(server));
  if (settled.ok()) {
    return observer_.Settled(report.permit_id, settled->outcome, actual.cost.value_or(-1));
  }
  if (!absl::IsNotFound(settled.status())) {
    return timeline_.Violate(absl::StrCat("refuses a return: ", settled.status().message()));
  }
  observer_.NotKnown(report.permit_id);
}

void Cluster::Withdraw(const leases::Ask& ask, const Reply& reply) {
  Server* const server = OwnerOf(ask.what.target);
  // By the process that has answered, or not at all.
  if (server == nullptr || server->process != reply.process) return;
  const engine::CheckRequest request{.identity = ask.what.identity,
                                     .target = kTargets[static_cast<size_t>(ask.what.target)],
                                     .request_id = ask.request_id};
  server->engine->Withdraw(request, *reply.decided, NowOf(*server));
  if (!reply.decided->repeated) observer_.Withdrawn(reply.decided->permit);
}

int64_t Cluster::NextDue() const {
  int64_t due_ns = line::kNever;
  for (const auto& server : servers_) {
    if (server->engine == nullptr) continue;
    due_ns = std::min({due_ns, server->line_due_ns, server->copy_due_ns, server->store_due_ns});
  }
  return due_ns;
}

void Cluster::Advance() {
  const int64_t now_ns = timeline_.now_ns();
  for (const auto& server : servers_) {
    if (server->engine == nullptr) continue;
    while (server->line_due_ns <= now_ns) {
      server->line_due_ns = line::kNever;
      const int64_t next_ns = server->lines->Advance(NowOf(*server));
      if (next_ns == line::kNever) continue;
      server->line_due_ns = std::min(server->line_due_ns, next_ns - server->offset_ns);
    }
    if (server->copy_due_ns <= now_ns) Copy(*server);
    if (server->store_due_ns <= now_ns) Store(*server);
  }
}

}  // namespace headgate::leases
