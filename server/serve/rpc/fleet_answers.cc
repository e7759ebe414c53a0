#include "server/serve/rpc/fleet_answers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

double SecondsOf(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) * 1e-9;
}

bool WaitedLonger(const v1::LineStatus& a, const v1::LineStatus& b) {
  return SecondsOf(a.longest_waited()) > SecondsOf(b.longest_waited());
}

// The first so many in this order.
template <typename Item, typename ComesBefore>
void Keep(size_t most, ComesBefore comes_before, google::protobuf::RepeatedPtrField<Item>& items) {
  std::stable_sort(items.begin(), items.end(), comes_before);
  const int extra = items.size() - static_cast<int>(most);
  if (extra > 0) items.DeleteSubrange(static_cast<int>(most), extra);
}

template <typename Item>
void Append(google::protobuf::RepeatedPtrField<Item>& from,
            google::protobuf::RepeatedPtrField<Item>& to) {
  for (Item& item : from) to.Add(std::move(item));
}

void AddWaiting(v1::WaitingStatus& other, v1::WaitingStatus& all) {
  all.set_waiting(all.waiting() + other.waiting());
  all.set_max_waiting(all.max_waiting() + other.max_waiting());
  all.set_lines(all.lines() + other.lines());
  all.set_admitted(all.admitted() + other.admitted());
  all.set_timed_out(all.timed_out() + other.timed_out());
  all.set_left(all.left() + other.left());
  all.set_turned_away(all.turned_away() + other.turned_away());
  if (other.has_longest_waited() &&
      SecondsOf(other.longest_waited()) > SecondsOf(all.longest_waited())) {
    *all.mutable_longest_waited() = other.longest_waited();
  }
  Append(*other.mutable_longest(), *all.mutable_longest());
}

void FillOffers(const cluster::SharedOffers& offers, v1::MemberStatus& member) {
  member.set_says_no_targets(!offers.has_value());
  if (!offers.has_value()) return;
  for (const auto& [target, offer] : *offers) {
    v1::MemberTarget& to = *member.add_offers();
    to.set_target(target);
    to.set_configuration(cluster::ConfigurationText(offer.configuration));
    to.set_measured(static_cast<v1::MemberTarget::Measured>(offer.measures));  // the same numbers
    to.set_keeps_no_state(!offer.keeps_state);
    to.set_why(offer.why);
  }
}

// Those of other targets go; the targets stay in their order.
template <typename Response>
void TakeTargets(FleetAnswers<Response>& answers, v1::GetStatusResponse& response) {
  std::map<std::string, v1::TargetStatus*> own;
  for (v1::TargetStatus& target : *response.mutable_targets()) own[target.name()] = &target;
  for (auto& one : answers.others) {
    for (v1::TargetStatus& target : *one.response.mutable_targets()) {
      const auto found = own.find(target.name());
      if (found == own.end() || !answers.IsOwnersAnswer(one, target.name())) continue;
      found->second->Swap(&target);
    }
  }
}

}  // namespace

Fleet::Question QuestionOf(const char* path, const google::protobuf::Message& request,
                           const access::Asker& who) {
  const bool is_named = who.caller != nullptr && !who.caller->is_anybody();
  return {.path = path,
          .request = request,
          .caller = is_named ? std::string_view(who.caller->name()) : std::string_view(),
          .peer = who.evidence == nullptr ? "" : who.evidence->Peer()};
}

std::optional<std::string> RemoteOwner(Fleet* fleet, const access::Asker& who,
                                       const engine::Engine& engine, const std::string& target) {
  if (!MayAskOthers(fleet, who)) return std::nullopt;
  const std::shared_ptr<const engine::Policy> policy = engine.policy();
  uint32_t place = 0;
  if (policy == nullptr) return std::nullopt;
  // One that this server lacks another may have.
  const std::string& name =
      policy->ResolveTarget(target, place).ok() ? policy->target_specs[place].name : target;
  const cluster::ClusterView view = fleet->View();
  for (const cluster::ViewedTarget& viewed : view.targets) {
    const std::string& asked = cluster::AskedAbout(viewed);
    if (viewed.target != name || asked.empty() || asked == view.self) continue;
    return asked;
  }
  return std::nullopt;
}

void FillCluster(const cluster::ClusterView& view, v1::ClusterStatus& status) {
  status.set_server(view.self);
  std::map<std::string, int32_t> targets;
  for (const cluster::ViewedTarget& viewed : view.targets) {
    v1::TargetOwner& owner = *status.add_targets();
    owner.set_target(viewed.target);
    owner.set_owner(viewed.owner);
    owner.set_generation(static_cast<int64_t>(viewed.generation));
    owner.set_preferred(viewed.preferred);
    owner.set_configurations(viewed.configurations);
    owner.set_servers(viewed.servers);
    ++targets[viewed.owner];
  }
  for (const cluster::ViewedMember& viewed : view.members) {
    v1::MemberStatus& member = *status.add_members();
    member.set_name(viewed.row.name);
    member.set_address(viewed.row.address);
    member.set_is_here(viewed.is_here);
    member.set_is_leaving(viewed.row.state == cluster::MemberState::kLeaving);
    member.set_is_drained(viewed.is_drained);
    SetDuration(std::max(viewed.seen_ago, absl::ZeroDuration()), *member.mutable_seen_ago());
    member.set_targets(targets[viewed.row.name]);
    FillOffers(viewed.row.offers, member);
  }
  if (!view.store.ok()) status.set_store_error(std::string(view.store.message()));
  status.set_store_note(view.store_note);
  SetDuration(std::max(view.store_since, absl::ZeroDuration()), *status.mutable_store_since());
  status.set_name_is_taken(view.name_is_taken);
  status.set_decides_on(view.is_kept);
  if (view.approximation.has_value() && view.approximation->is_deciding) {
    v1::ApproximateStatus& approximate = *status.mutable_approximate();
    approximate.set_servers(view.approximation->servers);
    approximate.set_uncharged_buckets(view.approximation->uncharged_buckets);
  }
  for (const std::string& name : view.not_agreeing) status.add_not_agreeing(name);
}

void Merge(FleetAnswers<v1::GetStatusResponse> answers, v1::GetStatusResponse& response) {
  v1::ClusterStatus& cluster = *response.mutable_cluster();
  FillCluster(answers.view, cluster);
  TakeTargets(answers, response);
  for (auto& one : answers.others) {
    for (v1::MemberStatus& member : *cluster.mutable_members()) {
      if (member.name() != one.member) continue;
      member.set_version(one.response.version());
      if (!one.status.ok()) member.set_error(one.status.error_message());
    }
    v1::GetStatusResponse& other = one.response;
    response.set_permits_outstanding(response.permits_outstanding() + other.permits_outstanding());
    response.set_buckets_owing(response.buckets_owing() + other.buckets_owing());
    response.set_live_evictions(response.live_evictions() + other.live_evictions());
    if (other.has_waiting()) AddWaiting(*other.mutable_waiting(), *response.mutable_waiting());
    for (const std::string& warning : other.warnings()) {
      response.add_warnings(absl::StrCat(one.member, ": ", warning));
    }
  }
  for (v1::MemberStatus& member : *cluster.mutable_members()) {
    if (member.name() == cluster.server()) member.set_version(response.version());
  }
  if (!response.has_waiting()) return;
  Keep(kLinesOfStatus, WaitedLonger, *response.mutable_waiting()->mutable_longest());
}

void Merge(FleetAnswers<v1::ListBudgetsResponse> answers,
           google::protobuf::RepeatedPtrField<v1::BudgetStatus>& budgets) {
  std::map<std::pair<std::string, std::string>, v1::BudgetStatus*> of_owners;
  for (auto& one : answers.others) {
    for (v1::BudgetStatus& budget : *one.response.mutable_budgets()) {
      if (!answers.IsOwnersAnswer(one, budget.target())) continue;
      of_owners[{budget.target(), budget.budget()}] = &budget;
    }
  }
  for (v1::BudgetStatus& budget : budgets) {
    const auto found = of_owners.find({budget.target(), budget.budget()});
    if (found != of_owners.end()) budget.Swap(found->second);
  }
}

void Merge(FleetAnswers<v1::ListBucketsResponse> answers, size_t most,
           v1::ListBucketsResponse& response) {
  // What a server keeps of a target that it gave away owes nothing any more.
  for (auto& one : answers.others) {
    Append(*one.response.mutable_buckets(), *response.mutable_buckets());
  }
  Keep(
      most,
      [](const v1::BucketStatus& a, const v1::BucketStatus& b) { return a.fill() > b.fill(); },
      *response.mutable_buckets());
}

void Merge(FleetAnswers<v1::ListLinesResponse> answers, size_t most,
           v1::ListLinesResponse& response) {
  for (auto& one : answers.others) {
    Append(*one.response.mutable_lines(), *response.mutable_lines());
    response.set_lines_in_all(response.lines_in_all() + one.response.lines_in_all());
    response.set_waiting(response.waiting() + one.response.waiting());
  }
  Keep(most, WaitedLonger, *response.mutable_lines());
}

void Merge(FleetAnswers<v1::ListLeasesResponse> answers, size_t most,
           v1::ListLeasesResponse& response) {
  // Each tells of the targets alone that it decides for.
  for (auto& one : answers.others) {
    Append(*one.response.mutable_holders(), *response.mutable_holders());
    response.set_holders_in_all(response.holders_in_all() + one.response.holders_in_all());
    response.set_leases(response.leases() + one.response.leases());
    response.set_overdue(response.overdue() + one.response.overdue());
  }
  Keep(
      most,
      [](const v1::LeaseHolder& a, const v1::LeaseHolder& b) { return a.amount() > b.amount(); },
      *response.mutable_holders());
}

}  // namespace headgate::rpc
