// The state of the server in protobuf.
//
// Pure functions.

#pragma once

#include <headgate/v1/status_service.pb.h>

#include "common/clock.h"
#include "server/decide/engine/budget_view.h"
#include "server/decide/engine/engine.h"
#include "server/decide/engine/policy.h"
#include "server/govern/access/access_policy.h"
#include "server/govern/config/load_status.h"
#include "server/observe/health/snapshot.h"
#include "server/serve/rpc/sources.h"
#include "server/serve/transport/acceptor.h"

namespace headgate::rpc {

void FillConfig(const config::LoadStatus& from, v1::ConfigStatus& to);
// The policy, for what signals are compared with; null: there is none yet.
void FillTarget(const health::TargetSnapshot& from, const engine::Policy* policy, const Now& now,
                v1::TargetStatus& to);
void FillPermits(const engine::Engine& engine, const Now& now, v1::PermitsStatus& to);
void FillThrottleLog(const throttle_log::ThrottleLogSnapshot& from, v1::ThrottleLogStatus& to);
void FillOverrides(const overrides::OverridesSnapshot& from, v1::OverridesStatus& to);
void FillSnapshot(const snapshot::SnapshotView& from, const Now& now, v1::SnapshotStatus& to);
void FillTls(const tls::TlsSnapshot& from, v1::TlsStatus& to);
void FillAccess(const access::AccessSnapshot& from, v1::AccessStatus& to);
void FillCaller(const access::Caller& from, v1::CallerStatus& to);
void FillConnections(const transport::ConnectionCounts& from, v1::ConnectionStatus& to);
void FillBudget(const engine::BudgetView& from, v1::BudgetStatus& to);
void FillBucketStatus(const engine::FullBucket& from, v1::BucketStatus& to);

}  // namespace headgate::rpc
