#include "server/serve/rpc/status_service.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/decide/engine/target_text.h"
#include "server/govern/config/shown_text.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/agent_proto.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/fleet_answers.h"
#include "server/serve/rpc/held_leases.h"
#include "server/serve/rpc/line_proto.h"
#include "server/serve/rpc/page_size.h"
#include "server/serve/rpc/proto_time.h"
#include "server/serve/rpc/rule_text.h"
#include "server/serve/rpc/status_proto.h"

namespace headgate::rpc {
namespace {

constexpr char kGetStatus[] = "/headgate.v1.StatusService/GetStatus";
constexpr char kListBudgets[] = "/headgate.v1.StatusService/ListBudgets";
constexpr char kListBuckets[] = "/headgate.v1.StatusService/ListBuckets";
constexpr char kListLeases[] = "/headgate.v1.StatusService/ListLeases";
constexpr char kListLines[] = "/headgate.v1.StatusService/ListLines";

constexpr int kMaxOnPage = 1000;
constexpr int kBudgetsOnPage = 100;
constexpr int kBucketsOnPage = 20;
constexpr int kLinesOnPage = 20;
constexpr int kHoldersOnPage = 20;
constexpr int kRulesOnPage = 100;
constexpr int kMaxOfOne = 100;  // waiters of a line, leases of a holder
constexpr int kUsualOfOne = 5;
constexpr size_t kWaitersOfStatus = 3;  // of GetStatus, for a first look

// A token is the place of the next page's first item.
absl::Status FindStart(const std::string& token, size_t items, size_t& start) {
  start = 0;
  if (token.empty()) return absl::OkStatus();
  if (absl::SimpleAtoi(token, &start) && start > 0 && start < items) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "page_token: is not one that this server gave out, or the configuration has changed since");
}

// NotFound for a name, if there is one, that no target or budget has.
absl::Status Exists(const engine::Engine& engine, const std::string& target,
                    const std::string& budget) {
  const std::shared_ptr<const engine::Policy> policy = engine.policy();
  if (policy == nullptr) return absl::FailedPreconditionError("no policy is installed yet");
  uint32_t place = 0;
  if (!target.empty()) {
    if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  }
  const auto& budgets = policy->budget_specs;
  const auto named = [&](const engine::BudgetSpec& spec) { return spec.name == budget; };
  if (!budget.empty() && std::none_of(budgets.begin(), budgets.end(), named)) {
    return absl::NotFoundError(absl::StrCat("budget: no budget '", budget, "' is configured"));
  }
  return absl::OkStatus();
}

// How many of one line's waiters, or of one holder's leases. InvalidArgument: below 0 or above the
// most.
absl::StatusOr<size_t> PartOf(const char* field, int32_t asked) {
  if (asked >= 0 && asked <= kMaxOfOne) {
    return static_cast<size_t>(asked == 0 ? kUsualOfOne : asked);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": must be 0 to ", kMaxOfOne, "; it is ", asked));
}

void FillRule(const engine::RuleSpec& rule, v1::RuleStatus& to) {
  to.set_name(rule.name);
  to.set_match(MatchText(rule.match));
  to.set_action(ActionText(rule.action));
  if (rule.expires_at != absl::InfiniteFuture()) {
    SetTimestamp(rule.expires_at, *to.mutable_expires_at());
  }
}

}  // namespace

template <typename Request, typename Response>
void StatusService::AddForReaders(const char* path,
                                  grpc::Status (StatusService::*run)(const Asked&, const Request&,
                                                                     Response&)) {
  AddGuarded<Request, Response>(path, [this, run](const Asked& asked, const Request& request,
                                                  Response& response) {
    const auto refused = access_.MayReadStatus(asked.who);
    return refused.has_value() ? ToGrpcStatus(*refused) : (this->*run)(asked, request, response);
  });
}

StatusService::StatusService(std::string version, const Dependencies& on,
                             std::function<transport::ConnectionCounts()> connections)
    : GuardedService(on.access),
      version_(std::move(version)),
      engine_(on.engine),
      clock_(on.clock),
      source_(on.status),
      lines_(on.lines),
      fleet_(on.fleet),
      connections_(std::move(connections)) {
  AddForReaders(kGetStatus, &StatusService::GetStatus);
  AddForReaders(kListBudgets, &StatusService::ListBudgets);
  AddForReaders(kListBuckets, &StatusService::ListBuckets);
  AddForReaders(kListLines, &StatusService::ListLines);
  AddForReaders(kListLeases, &StatusService::ListLeases);
  AddForReaders("/headgate.v1.StatusService/ListRules", &StatusService::ListRules);
  AddForReaders("/headgate.v1.StatusService/GetConfiguration", &StatusService::GetConfiguration);
}

grpc::Status StatusService::GetStatus(const Asked& asked, const v1::GetStatusRequest& request,
                                      v1::GetStatusResponse& response) {
  const Now now = clock_.Read();
  response.set_version(version_);
  SetTimestamp(source_.StartedAt(), *response.mutable_started_at());
  FillConfig(source_.Config(), *response.mutable_config());
  std::vector<engine::BudgetView> budgets = engine_.ReadBudgets(now);
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  const std::vector<agents::AgentView> agents = source_.Agents();
  for (health::TargetSnapshot& target : source_.Targets()) {
    if (!request.target().empty() && target.name != request.target()) continue;
    std::erase_if(target.controllers, [&](const auto& controller) {
      return std::any_of(budgets.begin(), budgets.end(), [&](const auto& budget) {
        return !budget.is_charged && budget.target == target.name &&
               budget.budget == controller.budget;
      });
    });
    v1::TargetStatus& to = *response.add_targets();
    FillTarget(target, policy.get(), now, to);
    const auto agent = std::ranges::find_if(
        agents, [&](const auto& view) { return view.is_here && view.target == target.name; });
    if (agent != agents.end()) FillAgent(*agent, now, *to.mutable_agent());
  }
  if (!request.target().empty() && response.targets().empty()) {
    const std::string text = engine::NoTargetText(request.target(), policy->TargetNames());
    return ToGrpcStatus(absl::NotFoundError(absl::StrCat("target: ", text)), {});
  }
  const engine::Engine::Stats stats = engine_.ReadStats(now);
  response.set_permits_outstanding(static_cast<int64_t>(stats.permits_live));
  FillPermits(engine_, now, *response.mutable_permits());
  response.set_buckets_owing(static_cast<int64_t>(stats.buckets_owing));
  response.set_buckets_capacity(static_cast<int64_t>(stats.buckets));
  response.set_live_evictions(static_cast<int64_t>(stats.live_evictions));
  FillThrottleLog(source_.ThrottleLog(), *response.mutable_throttle_log());
  overrides::OverridesSnapshot overrides = source_.Overrides();
  std::erase_if(overrides.stops, [&](const overrides::Override& stop) {
    return !request.target().empty() && !stop.selector.target.empty() &&
           stop.selector.target != request.target();
  });
  if (overrides.is_kept) FillOverrides(overrides, *response.mutable_overrides());
  const snapshot::SnapshotView snapshot = source_.Snapshot();
  if (!snapshot.path.empty()) FillSnapshot(snapshot, now, *response.mutable_snapshot());
  if (const tls::TlsSnapshot tls = source_.Tls(); tls.is_on) FillTls(tls, *response.mutable_tls());
  const access::AccessSnapshot access = source_.Access();
  if (access.is_on) FillAccess(access, *response.mutable_access());
  if (!access.exposed_at.empty()) response.add_warnings(access::ExposedText(access.exposed_at));
  for (const std::string& warning : source_.Warnings()) response.add_warnings(warning);
  FillConnections(connections_(), *response.mutable_connections());
  if (asked.who.caller != nullptr) FillCaller(*asked.who.caller, *response.mutable_caller());
  FillLines(request.target(), now, response);
  FillLeases(engine_, fleet_, now, *response.mutable_targets());
  auto others = AskOthers<v1::GetStatusResponse>(fleet_, asked.who, kGetStatus, request);
  if (others.has_value()) Merge(*std::move(others), response);
  // Warnings of targets that others decide for are shown as well.
  for (const v1::TargetStatus& target : response.targets()) {
    for (const std::string& warning : target.warnings()) {
      response.add_warnings(absl::StrCat("target '", target.name(), "': ", warning));
    }
  }
  return grpc::Status();
}

grpc::Status StatusService::GetConfiguration(const Asked& /*asked*/,
                                             const v1::GetConfigurationRequest& /*request*/,
                                             v1::GetConfigurationResponse& response) {
  const std::shared_ptr<const config::Config> in_force = source_.InForce();
  absl::StatusOr<std::string> shown =
      config::ShownText(in_force == nullptr ? std::string() : in_force->text);
  if (!shown.ok()) return ToGrpcStatus(shown.status(), {});
  response.set_yaml(*std::move(shown));
  response.set_version(source_.Config().version);
  return grpc::Status();
}

void StatusService::FillLines(const std::string& target, Now now,
                              v1::GetStatusResponse& response) const {
  const line::LineStats stats = lines_.ReadStats(now);
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  if (stats.max_waiting == 0 || policy == nullptr) return;
  v1::WaitingStatus& waiting = *response.mutable_waiting();
  FillWaiting(stats, waiting);
  const line::LineQuery longest{
      .target = target, .most_lines = kLinesOfStatus, .most_waiting = kWaitersOfStatus};
  for (const line::LineView& line : lines_.ReadLines(longest, now).lines) {
    FillLine(line, *policy, *waiting.add_longest());
  }
}

grpc::Status StatusService::ListBudgets(const Asked& asked, const v1::ListBudgetsRequest& request,
                                        v1::ListBudgetsResponse& response) {
  size_t start = 0;
  const auto size = PageSizeOf(request.page_size(), kBudgetsOnPage, kMaxOnPage);
  absl::Status status = size.status();
  if (status.ok()) status = Exists(engine_, request.target(), "");
  if (!status.ok()) return ToGrpcStatus(status, {});
  std::vector<v1::BudgetStatus> budgets;
  for (const engine::BudgetView& budget : engine_.ReadBudgets(clock_.Read())) {
    if (!request.target().empty() && budget.target != request.target()) continue;
    if (budget.is_charged || request.include_uncharged())
      FillBudget(budget, budgets.emplace_back());
  }
  status = FindStart(request.page_token(), budgets.size(), start);
  if (!status.ok()) return ToGrpcStatus(status, {});
  const size_t end = std::min(start + *size, budgets.size());
  for (size_t i = start; i < end; ++i) response.add_budgets()->Swap(&budgets[i]);
  if (end < budgets.size()) response.set_next_page_token(absl::StrCat(end));
  // Servers of one configuration have the same budgets on the same page.
  auto others = AskOthers<v1::ListBudgetsResponse>(fleet_, asked.who, kListBudgets, request);
  if (others.has_value()) Merge(*std::move(others), *response.mutable_budgets());
  return grpc::Status();
}

grpc::Status StatusService::ListBuckets(const Asked& asked, const v1::ListBucketsRequest& request,
                                        v1::ListBucketsResponse& response) {
  const auto size = PageSizeOf(request.page_size(), kBucketsOnPage, kMaxOnPage);
  absl::Status status = size.status();
  if (status.ok()) status = Exists(engine_, request.target(), request.budget());
  if (!status.ok()) return ToGrpcStatus(status, {});
  for (const engine::FullBucket& bucket :
       engine_.ReadFullestBuckets(request.target(), request.budget(), *size, clock_.Read())) {
    FillBucketStatus(bucket, *response.add_buckets());
  }
  auto others = AskOthers<v1::ListBucketsResponse>(fleet_, asked.who, kListBuckets, request);
  if (others.has_value()) Merge(*std::move(others), *size, response);
  return grpc::Status();
}

grpc::Status StatusService::ListLines(const Asked& asked, const v1::ListLinesRequest& request,
                                      v1::ListLinesResponse& response) {
  const auto size = PageSizeOf(request.page_size(), kLinesOnPage, kMaxOnPage);
  const auto waiters = PartOf("waiters", request.waiters());
  absl::Status status = size.ok() ? waiters.status() : size.status();
  if (status.ok()) status = Exists(engine_, request.target(), request.budget());
  if (!status.ok()) return ToGrpcStatus(status, {});
  const line::LinesView view = lines_.ReadLines({.target = request.target(),
                                                 .budget = request.budget(),
                                                 .most_lines = *size,
                                                 .most_waiting = *waiters},
                                                clock_.Read());
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  for (const line::LineView& line : view.lines) FillLine(line, *policy, *response.add_lines());
  response.set_lines_in_all(static_cast<int64_t>(view.in_all));
  response.set_waiting(static_cast<int64_t>(view.waiting));
  auto others = AskOthers<v1::ListLinesResponse>(fleet_, asked.who, kListLines, request);
  if (others.has_value()) Merge(*std::move(others), *size, response);
  return grpc::Status();
}

grpc::Status StatusService::ListLeases(const Asked& asked, const v1::ListLeasesRequest& request,
                                       v1::ListLeasesResponse& response) {
  const auto size = PageSizeOf(request.page_size(), kHoldersOnPage, kMaxOnPage);
  const auto leases = PartOf("leases", request.leases());
  absl::Status status = size.ok() ? leases.status() : size.status();
  if (status.ok() && !request.identity().empty()) {
    status = Identity::Parse(request.identity(), 0).status();
  }
  if (status.ok()) status = Exists(engine_, request.target(), "");
  if (!status.ok()) return ToGrpcStatus(status, {});
  const engine::LeasesView view = engine_.ReadLeases({.target = request.target(),
                                                      .identity = request.identity(),
                                                      .not_on = TargetsElsewhere(fleet_),
                                                      .most_holders = *size,
                                                      .most_leases = *leases},
                                                     clock_.Read());
  for (const engine::LeaseHolderView& holder : view.holders) {
    FillHolder(holder, *response.add_holders());
  }
  response.set_holders_in_all(static_cast<int64_t>(view.holders_in_all));
  for (const engine::LeasesOfTarget& target : view.targets) {
    response.set_leases(response.leases() + target.sums.leases);
    response.set_overdue(response.overdue() + target.sums.overdue);
  }
  auto others = AskOthers<v1::ListLeasesResponse>(fleet_, asked.who, kListLeases, request);
  if (others.has_value()) Merge(*std::move(others), *size, response);
  return grpc::Status();
}

grpc::Status StatusService::ListRules(const Asked& /*asked*/, const v1::ListRulesRequest& request,
                                      v1::ListRulesResponse& response) {
  size_t start = 0;
  const auto size = PageSizeOf(request.page_size(), kRulesOnPage, kMaxOnPage);
  absl::Status status = size.status();
  if (status.ok()) status = Exists(engine_, request.target(), "");
  if (!status.ok()) return ToGrpcStatus(status, {});
  const std::shared_ptr<const config::Config> config = source_.InForce();
  std::vector<const engine::RuleSpec*> rules;
  if (config != nullptr) {
    for (const engine::RuleSpec& rule : config->policy.rules) {
      const std::string& on = rule.match.target;
      if (on.empty() || request.target().empty() || on == request.target()) rules.push_back(&rule);
    }
  }
  status = FindStart(request.page_token(), rules.size(), start);
  if (!status.ok()) return ToGrpcStatus(status, {});
  const size_t end = std::min(start + *size, rules.size());
  for (size_t i = start; i < end; ++i) FillRule(*rules[i], *response.add_rules());
  if (end < rules.size()) response.set_next_page_token(absl::StrCat(end));
  return grpc::Status();
}

}  // namespace headgate::rpc
