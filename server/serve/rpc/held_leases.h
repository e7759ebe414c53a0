// Leases that are out, in protobuf, and whose they are to tell of.
//
// Pure functions but for the fleet's view and the engine, which are read. Thread-safe.

#pragma once

#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <string>
#include <vector>

#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/serve/rpc/fleet.h"

namespace headgate::rpc {

// How many holders GetStatus shows of each target, for a first look.
inline constexpr int kHoldersOfStatus = 5;

// Targets that another server decides for. The permits of one that was given away are here still,
// while their leases are returned elsewhere. Null: this server is alone.
std::vector<std::string> TargetsElsewhere(Fleet* fleet);

void FillHolder(const engine::LeaseHolderView& from, v1::LeaseHolder& to);
// Beside each target that has any.
void FillLeases(const engine::Engine& engine, Fleet* fleet, Now now,
                google::protobuf::RepeatedPtrField<v1::TargetStatus>& targets);
// Of the subject that is explained, where it has any.
void FillLeasesHeld(const engine::Engine& engine, const engine::Explanation& explanation, Now now,
                    v1::ExplainResponse& response);

}  // namespace headgate::rpc
