// What is told of a server that shares its targets with others: whether it is ready, and its
// metrics.
//
// Pure functions of what it knows. Thread-safe.
//
//   const cluster::ClusterView view = member.View();
//   readiness.Serve(targets, [&] { return ReadinessOf(member.View(), member.HasJoined()); });
//   web::AddSharing(SharingOf(view), out);

#pragma once

#include "server/serve/web/metrics.h"
#include "server/serve/web/readiness.h"
#include "server/share/cluster/view.h"

namespace headgate::app {

// A server that the store has never answered is not ready, however long that takes; one that has
// lost it later, or cannot keep states in it, is ready, in a degraded mode: it hands calls on.
web::Readiness::View ReadinessOf(const cluster::ClusterView& view, bool has_joined);

web::SharingFigures SharingOf(const cluster::ClusterView& view);

}  // namespace headgate::app
