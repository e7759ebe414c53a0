#include "server/app/cluster_monitoring.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate::app {

namespace {

std::string WithoutStates(const cluster::ClusterView& view) {
  const auto is_own = [&](const cluster::ViewedTarget& target) { return target.is_self; };
  const auto own = std::ranges::count_if(view.targets, is_own);
  return absl::StrCat("the store does not keep this server's states: ", view.states.message(), "; ",
                      own == 0 ? "it decides for nothing"
                               : absl::StrCat("it has ", own, own == 1 ? " target" : " targets",
                                              " that nobody else could be given"));
}

}  // namespace

web::Readiness::View ReadinessOf(const cluster::ClusterView& view, bool has_joined) {
  using State = web::Readiness::State;
  if (view.name_is_taken) {
    return {State::kStarting, absl::StrCat("another server has the name ", view.self)};
  }
  if (view.store.ok() && view.states.ok()) return {State::kReady, ""};
  if (view.store.ok()) return {State::kDegraded, WithoutStates(view)};
  const char* decides = "";
  if (view.is_kept) decides = "; targets are decided for, as all servers agree";
  if (view.approximation.has_value()) decides = "; what has no owner is decided approximately";
  const std::string away =
      absl::StrCat("the store has not answered for ", absl::FormatDuration(view.store_since), ": ",
                   view.store.message(), has_joined ? decides : "");
  return {has_joined ? State::kDegraded : State::kStarting, away};
}

web::SharingFigures SharingOf(const cluster::ClusterView& view) {
  web::SharingFigures figures{.store_answers = view.store.ok(),
                              .store_since = view.store_since,
                              .is_kept = view.is_kept,
                              .keeps_states = view.states.ok()};
  if (view.approximation.has_value()) {
    const cluster::ApproximationView& from = *view.approximation;
    figures.approximation = {.is_deciding = from.is_deciding,
                             .admitted = from.admitted,
                             .untracked = from.untracked,
                             .uncharged_buckets = from.uncharged_buckets,
                             .charged_buckets = from.charged_buckets,
                             .lost_buckets = from.lost_buckets};
  }
  for (const cluster::ViewedMember& member : view.members) {
    figures.members += member.is_here ? 1 : 0;
  }
  for (const cluster::ViewedTarget& target : view.targets) {
    figures.targets.push_back({.name = target.target,
                               .is_own = target.owner == view.self,
                               .has_owner = !target.owner.empty(),
                               .generation = target.generation,
                               .configurations = target.configurations,
                               .servers = target.servers});
  }
  return figures;
}

}  // namespace headgate::app
