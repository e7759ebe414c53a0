// What-if: the demand that the throttle log recorded, decided by other rules.
//
// The Checks of each step are spread evenly over it, those of different identities interleaved, and
// decided by an engine of their own on simulated time. What the log does not know cannot be
// simulated, and no guess is made:
// - A Check that health denied stays denied where the new rules gate it by a health profile: the
//   database would have been as it was. Where they exempt it, or no profile gates it, they decide.
// - A Check that an auto budget denied stays denied where the new rules charge it to that budget,
//   and one that max_concurrency denied where they charge it to any budget with such a limit; all
//   other Checks pass these limits.
// - Everything else is decided anew. An admitted Check is reported at once, at its predicted cost.
// Caveats say so, with what else makes the comparison inexact.
//
// Reads no clock, and rolls dice from a seed: the same log gives the same answer. Takes about a
// second for a million Checks. Memory: a part of the log, and the identities. Thread-safe.
//
//   absl::StatusOr<ReplayResult> result = Replay(store, {.policy = ..., .filter = ...});

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/held_bytes.h"
#include "server/decide/engine/spec.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

struct ReplayOptions {
  engine::PolicySpec policy = {};
  size_t bucket_bytes = size_t{256} << 20;  // of all its split budgets
  ScanFilter filter = {};                   // only who, where and when
  uint64_t seed = 0;                        // of dice
  int64_t max_checks = 100'000'000;
  size_t max_identities = 20'000;
  std::function<bool()> cancelled = nullptr;  // asked now and then
  HeldBytes* held = nullptr;                  // counts what this takes; null: nobody does
};

// Checks and predicted cost in cost units; would-be-denied counts as allowed.
struct Outcomes {
  int64_t allowed = 0;
  int64_t denied = 0;
  double allowed_cost = 0;
};

struct ReplayedIdentity {
  std::string identity;
  std::string target;
  Outcomes before;
  Outcomes after;
};

struct ReplayResult {
  std::vector<ReplayedIdentity> identities;  // by identity, then by target
  std::vector<std::string> caveats;          // a sentence in each
};

// InvalidArgument: what is wrong with the policy, one finding a line. ResourceExhausted: too much
// to replay. Cancelled. Else the store's errors.
absl::StatusOr<ReplayResult> Replay(const Store& store, const ReplayOptions& options);

}  // namespace headgate::throttle_log
