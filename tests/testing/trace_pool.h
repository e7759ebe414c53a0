// What action traces draw from: few names, so that they meet again and again, and policies that
// differ from each other in each way that a reload can.
//
// Everything lives as long as the program, so requests may point into it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine.h"
#include "server/decide/engine/spec.h"

namespace headgate::model {

// Names of targets: family 0 has one nameless target, family 1 has "alpha" and "beta".
inline constexpr int kFamilies = 2;

struct PooledPolicy {
  std::string name;  // what is changed
  engine::PolicySpec spec;
  absl::StatusCode expected = absl::StatusCode::kOk;
};

// The first is where a trace starts.
const std::vector<PooledPolicy>& Policies(int family);

const std::vector<std::string>&
Identities();  // from kMalformedIdentities on they are no identities
extern const size_t kMalformedIdentities;
absl::Span<const std::string_view> TargetNames(int family);
const std::vector<std::vector<engine::Tag>>& TagSets();  // from kMalformedTagSets on invalid
extern const size_t kMalformedTagSets;
const std::vector<std::optional<engine::IpAddress>>& Addresses();
absl::Span<const std::optional<double>> Costs();
const std::vector<std::string>& Patterns();
const std::vector<std::string>& RequestIds();
absl::Span<const std::string_view> Callers();
absl::Span<const std::optional<absl::Duration>> BusyTimes();  // mostly none

inline constexpr size_t kPermitsPerTrace = 1024;

// For an engine on which no two names of the pool share a set of buckets: the
// model knows of none. (Which names would share them depends on the seed alone.)
engine::EngineOptions OptionsFor(int family);

}  // namespace headgate::model
