#include "server/serve/rpc/cost_service.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/decide/engine/sentence_text.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/cost_proto.h"
#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/fleet_answers.h"
#include "server/serve/rpc/operator_change.h"
#include "server/serve/rpc/page_size.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

constexpr char kListCosts[] = "/headgate.v1.CostService/ListCosts";
constexpr char kForgetCosts[] = "/headgate.v1.CostService/ForgetCosts";
constexpr char kForgiveDebt[] = "/headgate.v1.CostService/ForgiveDebt";
constexpr int kCostsOnPage = 100;
constexpr int kMaxCostsOnPage = 1000;
constexpr size_t kMaxPatternBytes = 1024;
constexpr char kWhoChanged[] = "who changed what";

std::string OnTarget(const std::string& target) {
  return target.empty() ? "" : absl::StrCat(" on ", target);
}

// The target's name; `target` may be empty where there is one.
absl::StatusOr<std::string> TargetOf(const engine::Engine& engine, const std::string& target) {
  const auto policy = engine.policy();
  if (policy == nullptr) return absl::FailedPreconditionError("no policy is installed yet");
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  return policy->targets[place].name;
}

absl::Status ValidateFilter(const engine::LearntCostFilter& filter) {
  if (!filter.identity.empty()) {
    absl::Status valid = Identity::Parse(filter.identity, 0).status();
    if (!valid.ok()) return valid;
  }
  if (filter.pattern.size() <= kMaxPatternBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pattern: has ", filter.pattern.size(), " bytes; at most ", kMaxPatternBytes));
}

// As lists are ordered: what was reported last first.
bool ComesBefore(const engine::LearntCost& a, const engine::LearntCost& b) {
  const auto key = [](const engine::LearntCost& cost) {
    return std::tie(cost.target, cost.root, cost.caller, cost.pattern);
  };
  if (a.last_reported_at != b.last_reported_at) return a.last_reported_at > b.last_reported_at;
  return key(a) < key(b);
}

// Of each target what its owner has learnt. Each server's page begins behind the last one's end;
// what comes behind the end of any that goes on is left for the next page.
void Merge(FleetAnswers<v1::ListCostsResponse> answers, size_t most,
           v1::ListCostsResponse& response) {
  std::optional<engine::LearntCost> end;
  const auto note_end = [&end](const v1::ListCostsResponse& page) {
    if (page.next_page_token().empty() || page.costs().empty()) return;
    engine::LearntCost last = PlaceOf(*page.costs().rbegin());
    if (!end.has_value() || ComesBefore(last, *end)) end = std::move(last);
  };
  std::vector<v1::LearntCost> costs;
  note_end(response);
  for (v1::LearntCost& cost : *response.mutable_costs()) {
    const bool is_anothers = std::ranges::any_of(answers.others, [&](const auto& one) {
      return answers.IsOwnersAnswer(one, cost.target());
    });
    if (!is_anothers) costs.push_back(std::move(cost));
  }
  for (auto& one : answers.others) {
    note_end(one.response);
    for (v1::LearntCost& cost : *one.response.mutable_costs()) {
      if (answers.IsOwnersAnswer(one, cost.target())) costs.push_back(std::move(cost));
    }
  }
  std::ranges::sort(costs, ComesBefore, PlaceOf);
  response.Clear();
  for (v1::LearntCost& cost : costs) {
    const bool is_on_page = static_cast<size_t>(response.costs_size()) < most &&
                            (!end.has_value() || !ComesBefore(*end, PlaceOf(cost)));
    if (!is_on_page) {
      if (response.costs_size() > 0) end = PlaceOf(*response.costs().rbegin());
      break;
    }
    *response.add_costs() = std::move(cost);
  }
  if (end.has_value()) response.set_next_page_token(MakeCostToken(*end));
}

// Where the owner of a target did not answer: what only it knows would be missing without a word.
grpc::Status MissingOwner(const FleetAnswers<v1::ListCostsResponse>& answers) {
  for (const auto& one : answers.others) {
    if (one.status.ok()) continue;
    for (const auto& [target, owner] : answers.owners) {
      if (owner != one.member) continue;
      return transport::Failure(absl::StatusCode::kUnavailable, "OWNER_SILENT",
                                absl::StrCat(owner, ", which decides for ", target,
                                             ", did not answer: ", one.status.error_message(),
                                             "; ask again, or for another target by its name"));
    }
  }
  return grpc::Status();
}

std::string ForgottenText(size_t count, const v1::ForgetCostsRequest& request,
                          const engine::LearntCostFilter& filter, const std::string& target) {
  std::string of;
  if (request.has_pattern()) {
    of = absl::StrCat("pattern ", request.pattern());
  } else {
    const std::string& identity = request.identity();
    of = absl::StrCat("root ", identity.substr(identity.rfind(':') + 1));
  }
  return absl::StrCat(count, count == 1 ? " learnt cost of " : " learnt costs of ", of,
                      OnTarget(target), filter.caller.has_value() ? " that the actor taught" : "");
}

std::string ForgivenText(const v1::ForgiveDebtRequest& request, const engine::ForgivenDebt& debt,
                         const std::string& target) {
  const std::string who =
      debt.bucket.empty() ? absl::StrCat(request.identity(), " and others") : debt.bucket;
  return absl::StrCat(engine::Amount(engine::Grouped(debt.units), debt.unit), " that ", who,
                      " owed to ", request.budget(), OnTarget(target));
}

}  // namespace

CostService::CostService(const Sources& sources) : GuardedService(sources.access), on_(sources) {
  AddGuarded(kListCosts, &CostService::List);
  AddGuarded(kForgetCosts, &CostService::Forget);
  AddGuarded(kForgiveDebt, &CostService::Forgive);
}

grpc::Status CostService::Narrow(const access::Asker& who, const std::string& identity,
                                 engine::LearntCostFilter& filter) {
  const access::Caller* const caller = who.caller;
  if (caller == nullptr) return grpc::Status();
  const auto policy = on_.engine.policy();
  const bool shares = policy != nullptr && policy->share_patterns;
  const bool has_its_own = caller->costs() && !caller->MaySpeakForAll() && !shares;
  // What it taught itself is its own, whatever the work was.
  if (!has_its_own || !identity.empty()) {
    const auto refused = access_.MayUseCosts(who, identity, "identity");
    if (refused.has_value()) return ToGrpcStatus(*refused);
  }
  if (has_its_own) filter.caller = caller->name();
  return grpc::Status();
}

grpc::Status CostService::List(const Asked& asked, const v1::ListCostsRequest& request,
                               v1::ListCostsResponse& response) {
  engine::LearntCostFilter filter{
      .target = request.target(), .identity = request.identity(), .pattern = request.pattern()};
  if (grpc::Status may = Narrow(asked.who, request.identity(), filter); !may.ok()) return may;
  const auto size = PageSizeOf(request.page_size(), kCostsOnPage, kMaxCostsOnPage);
  if (!size.ok()) return ChangeToGrpcStatus(size.status());
  if (absl::Status valid = ValidateFilter(filter); !valid.ok()) return ChangeToGrpcStatus(valid);
  if (!request.target().empty()) {
    const auto target = TargetOf(on_.engine, request.target());
    if (!target.ok()) return ChangeToGrpcStatus(target.status());
    const auto listed =
        AskOwner(fleet_, {asked.who, kListCosts, on_.engine, request.target(), request}, response);
    if (listed.has_value()) return *listed;
  }
  const std::vector<engine::LearntCost> costs = on_.engine.ReadLearntCosts(filter);
  auto next = costs.begin();
  if (!request.page_token().empty()) {
    const absl::StatusOr<engine::LearntCost> last = ReadCostToken(request.page_token());
    if (!last.ok()) return ChangeToGrpcStatus(last.status());
    next = std::upper_bound(costs.begin(), costs.end(), *last, ComesBefore);
  }
  const auto end = next + std::min<ptrdiff_t>(static_cast<ptrdiff_t>(*size), costs.end() - next);
  for (; next != end; ++next) {
    FillLearntCost(*next, *response.add_costs());
  }
  if (next != costs.end()) response.set_next_page_token(MakeCostToken(*(next - 1)));
  if (!request.target().empty()) return grpc::Status();
  auto others = AskOthers<v1::ListCostsResponse>(fleet_, asked.who, kListCosts, request);
  if (!others.has_value()) return grpc::Status();
  if (grpc::Status missing = MissingOwner(*others); !missing.ok()) return missing;
  Merge(*std::move(others), *size, response);
  return grpc::Status();
}

grpc::Status CostService::Attributed(const access::Asker& who, const std::string& actor,
                                     const std::string& reason, overrides::Deed& deed) {
  deed.actor = actor;
  deed.reason = reason;
  const absl::Status valid = who.caller != nullptr
                                 ? Attribute(*who.caller, deed.actor, deed.reason)
                                 : overrides::ValidateWho(deed.actor, deed.reason);
  return valid.ok() ? grpc::Status() : ChangeToGrpcStatus(valid);
}

grpc::Status CostService::Forget(const Asked& asked, const v1::ForgetCostsRequest& request,
                                 v1::ForgetCostsResponse& response) {
  engine::LearntCostFilter filter{.identity = request.identity(), .pattern = request.pattern()};
  // What callers share is forgotten for all that work under the root, so it takes that.
  const std::string& identity = request.identity();
  const auto policy = on_.engine.policy();
  const bool shares = policy != nullptr && policy->share_patterns;
  const std::string whose = shares ? identity.substr(identity.rfind(':') + 1) : identity;
  if (grpc::Status may = Narrow(asked.who, whose, filter); !may.ok()) return may;
  if (on_.registry == nullptr) return NoStateFolder(kWhoChanged);
  if (request.what_case() == v1::ForgetCostsRequest::WHAT_NOT_SET) {
    return transport::FieldError("identity", "one of identity and pattern is required");
  }
  if (filter.identity.empty() && filter.pattern.empty()) {
    return transport::FieldError(request.has_pattern() ? "pattern" : "identity",
                                 "must not be empty");
  }
  if (absl::Status valid = ValidateFilter(filter); !valid.ok()) return ChangeToGrpcStatus(valid);
  const auto forgotten_remotely =
      AskOwner(fleet_, {asked.who, kForgetCosts, on_.engine, request.target(), request}, response);
  if (forgotten_remotely.has_value()) return *forgotten_remotely;
  overrides::Deed deed{.kind = overrides::EventKind::kCostsForgotten};
  grpc::Status who = Attributed(asked.who, request.actor(), request.reason(), deed);
  if (!who.ok()) return who;
  const absl::StatusOr<std::string> target = TargetOf(on_.engine, request.target());
  if (!target.ok()) return ChangeToGrpcStatus(target.status());
  filter.target = *target;

  MutexLock lock(&changes_);
  const size_t count = on_.engine.ReadLearntCosts(filter).size();
  if (count == 0) {
    return ChangeToGrpcStatus(absl::NotFoundError(
        absl::StrCat(request.has_pattern() ? "pattern: nothing was learnt of it"
                                           : "identity: nothing was learnt of its root",
                     OnTarget(*target))));
  }
  deed.change = ForgottenText(count, request, filter, *target);
  if (absl::Status kept = on_.registry->Record(deed); !kept.ok()) return ChangeToGrpcStatus(kept);
  const absl::StatusOr<engine::ForgottenCosts> forgotten = on_.engine.ForgetCosts(filter);
  if (!forgotten.ok()) return ChangeToGrpcStatus(forgotten.status());
  TellChange(asked.context, "ForgetCosts", "costs forgotten",
             {{"change", deed.change}, {"actor", deed.actor}, {"reason", deed.reason}});
  response.set_count(static_cast<int64_t>(forgotten->count));
  for (const engine::LearntCost& cost : forgotten->costs) {
    FillLearntCost(cost, *response.add_forgotten());
  }
  return grpc::Status();
}

grpc::Status CostService::Forgive(const Asked& asked, const v1::ForgiveDebtRequest& request,
                                  v1::ForgiveDebtResponse& response) {
  const auto refused = access_.MayForgive(asked.who, request.identity(), "identity");
  if (refused.has_value()) return ToGrpcStatus(*refused);
  if (on_.registry == nullptr) return NoStateFolder(kWhoChanged);
  absl::Status valid = Identity::Parse(request.identity(), 0).status();
  if (!valid.ok()) return ChangeToGrpcStatus(valid);
  if (request.budget().empty()) return transport::FieldError("budget", "must not be empty");
  const auto forgiven_remotely =
      AskOwner(fleet_, {asked.who, kForgiveDebt, on_.engine, request.target(), request}, response);
  if (forgiven_remotely.has_value()) return *forgiven_remotely;
  overrides::Deed deed{.kind = overrides::EventKind::kDebtForgiven};
  grpc::Status who = Attributed(asked.who, request.actor(), request.reason(), deed);
  if (!who.ok()) return who;
  const absl::StatusOr<std::string> target = TargetOf(on_.engine, request.target());
  if (!target.ok()) return ChangeToGrpcStatus(target.status());

  MutexLock lock(&changes_);
  const Now now = on_.clock.Read();
  const absl::StatusOr<engine::ForgivenDebt> debt =
      on_.engine.ReadDebt({.target = *target,
                           .identity = request.identity(),
                           .budget = request.budget(),
                           .tag_value = request.tag_value()},
                          now);
  if (!debt.ok()) return ChangeToGrpcStatus(debt.status());
  deed.change = ForgivenText(request, *debt, *target);
  if (absl::Status kept = on_.registry->Record(deed); !kept.ok()) return ChangeToGrpcStatus(kept);
  // What is kept is what is forgiven, although time has passed meanwhile.
  const absl::StatusOr<engine::ForgivenDebt> forgiven =
      on_.engine.ForgiveDebt({.target = *target,
                              .identity = request.identity(),
                              .budget = request.budget(),
                              .tag_value = request.tag_value()},
                             now, debt->units);
  if (!forgiven.ok()) return ChangeToGrpcStatus(forgiven.status());
  TellChange(asked.context, "ForgiveDebt", "debt forgiven",
             {{"change", deed.change}, {"actor", deed.actor}, {"reason", deed.reason}});
  response.set_bucket(forgiven->bucket);
  response.set_forgiven(forgiven->units);
  response.set_unit(ToBudgetUnit(forgiven->unit));
  return grpc::Status();
}

}  // namespace headgate::rpc
