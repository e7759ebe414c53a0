// Several servers that share their targets, as one of them sees it.

#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

void AddApproximation(const SharingFigures::Approximation& from, Exposition& out) {
  out.Gauge("headgate_decides_approximately",
            "1: the store does not answer, and this server decides approximately for targets whose "
            "owner it cannot reach.")
      .Set({}, from.is_deciding ? 1 : 0);
  out.Counter("headgate_approximate_admitted_checks_total", "Checks that were admitted so.")
      .Set({}, from.admitted);
  out.Counter("headgate_approximate_untracked_checks_total",
              "Of those, Checks of a bucket that found no counter, and was not limited.")
      .Set({}, from.untracked);
  out.Gauge("headgate_approximate_uncharged_buckets",
            "Buckets that owners have still to be charged for.")
      .Set({}, from.uncharged_buckets);
  auto buckets = out.Counter("headgate_approximate_buckets_total",
                             "Buckets that owners were charged for, and those that were lost.");
  buckets.Set({{"outcome", "charged"}}, from.charged_buckets);
  buckets.Set({{"outcome", "lost"}}, from.lost_buckets);
}

}  // namespace

void AddSharing(const SharingFigures& sharing, Exposition& out) {
  out.Gauge("headgate_store_up", "1: the newest round with the store went well.")
      .Set({}, sharing.store_answers ? 1 : 0);
  out.Gauge("headgate_store_state_seconds", "For how long headgate_store_up has been what it is.")
      .Set({}, absl::ToDoubleSeconds(sharing.store_since));
  out.Gauge("headgate_store_states_up",
            "0: this server could not read or write states in the store for a lease, though its "
            "rounds went well: other servers are given its targets.")
      .Set({}, sharing.keeps_states ? 1 : 0);
  out.Gauge("headgate_decides_without_store",
            "1: the store does not answer, and all servers agree that this one decides on.")
      .Set({}, sharing.is_kept ? 1 : 0);
  if (sharing.approximation.has_value()) AddApproximation(*sharing.approximation, out);
  out.Gauge("headgate_members", "Servers that are here, as of the newest round.")
      .Set({}, sharing.members);
  auto owned = out.Gauge("headgate_target_owned", "1: this server decides for the target.");
  for (const SharingFigures::Target& target : sharing.targets) {
    owned.Set({{"target", target.name}}, target.is_own ? 1 : 0);
  }
  auto known = out.Gauge("headgate_target_has_owner",
                         "0: this server knows nobody who decides for the target now; it does not "
                         "know where headgate_store_up has been 0 for a lease.");
  for (const SharingFigures::Target& target : sharing.targets) {
    known.Set({{"target", target.name}}, target.has_owner ? 1 : 0);
  }
  auto generation = out.Gauge("headgate_target_generation",
                              "Counts owners of the target: each change is a new one.");
  for (const SharingFigures::Target& target : sharing.targets) {
    generation.Set({{"target", target.name}}, target.generation);
  }
  auto configurations =
      out.Gauge("headgate_target_configurations",
                "How differently the servers that are here have the target configured: 1, alike.");
  for (const SharingFigures::Target& target : sharing.targets) {
    configurations.Set({{"target", target.name}}, target.configurations);
  }
  auto servers = out.Gauge("headgate_target_servers",
                           "Servers that are here and have the target in their configuration.");
  for (const SharingFigures::Target& target : sharing.targets) {
    servers.Set({{"target", target.name}}, target.servers);
  }
}

}  // namespace headgate::web
