// The words of scenarios for the SDK's enums: the names of the API without their prefixes.
#pragma once

#include <headgate/check.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace headgate::client {

template <typename Enum>
using Words = std::vector<std::pair<std::string, Enum>>;

inline const Words<Reason> kReasons = {{"NONE", Reason::kNone},
                                       {"EXEMPT", Reason::kExempt},
                                       {"DENY_RULE", Reason::kDenyRule},
                                       {"REJECT_RATIO", Reason::kRejectRatio},
                                       {"HEALTH", Reason::kHealth},
                                       {"MAX_COST", Reason::kMaxCost},
                                       {"MAX_CONCURRENCY", Reason::kMaxConcurrency},
                                       {"CAPACITY", Reason::kCapacity},
                                       {"PERMITS", Reason::kPermits},
                                       {"LINE", Reason::kLine},
                                       {"LINE_FULL", Reason::kLineFull},
                                       {"APPROXIMATE", Reason::kApproximate}};
inline const Words<LimitKind> kLimitKinds = {{"RULE", LimitKind::kRule},
                                             {"HEALTH", LimitKind::kHealth},
                                             {"RATE", LimitKind::kRate},
                                             {"BURST", LimitKind::kBurst},
                                             {"MAX_COST", LimitKind::kMaxCost},
                                             {"MAX_CONCURRENCY", LimitKind::kMaxConcurrency},
                                             {"PROBE", LimitKind::kProbe},
                                             {"PERMITS", LimitKind::kPermits},
                                             {"LINE", LimitKind::kLine},
                                             {"LINE_FULL", LimitKind::kLineFull},
                                             {"APPROXIMATE", LimitKind::kApproximate}};
inline const Words<HealthState> kHealthStates = {{"UNMONITORED", HealthState::kUnmonitored},
                                                 {"WARMING", HealthState::kWarming},
                                                 {"HEALTHY", HealthState::kHealthy},
                                                 {"STALE", HealthState::kStale}};
inline const Words<BudgetUnit> kUnits = {{"COST", BudgetUnit::kCost},
                                         {"BUSY_TIME", BudgetUnit::kBusyTime}};
inline const Words<ReportOutcome> kOutcomes = {{"SETTLED", ReportOutcome::kSettled},
                                               {"ALREADY_SETTLED", ReportOutcome::kAlreadySettled},
                                               {"FORGOTTEN", ReportOutcome::kForgotten}};

template <typename Enum>
Enum Meaning(const Words<Enum>& words, const std::string& word) {
  for (const auto& [name, value] : words) {
    if (name == word) return value;
  }
  throw std::invalid_argument(absl::StrCat("this runner does not know the word ", word));
}

template <typename Enum>
std::string Word(const Words<Enum>& words, Enum value) {
  for (const auto& [name, each] : words) {
    if (each == value) return name;
  }
  return "a word of a newer server";
}

// Such as "NOT_FOUND", by the names of google.rpc.Code.
inline absl::StatusCode CodeOf(const std::string& word) {
  for (int code = 0; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const auto each = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(each) == word) return each;
  }
  throw std::invalid_argument(absl::StrCat("there is no error ", word));
}

}  // namespace headgate::client
