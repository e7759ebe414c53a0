// Action traces: bytes that become calls of the Engine, each of which the ReferenceModel must
// answer alike.
//
// Any bytes are a trace. The first chooses the targets, and whether a policy is installed at all;
// then follow actions: a byte for the kind (see ActionKind), and bytes that choose from the pool
// (trace_pool.h). What is missing at the end is zeros. So a fuzzer's mutations stay meaningful.
//
//   std::string disagreement = RunTrace(bytes, &tally);
//   EXPECT_EQ(disagreement, "");

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace headgate::model {

enum class ActionKind : uint8_t {
  kCheck,
  kBatch,        // one to four Checks, alike or not
  kExplain,      // twice, which must say the same
  kReport,       // any permit of the trace
  kReportWrong,  // an unknown permit, or a cost that is no cost
  kAdvance,      // both clocks
  kWait,         // as long as the last denial said, or 1 ns less, and ask again
  kStepWall,     // the wall clock alone
  kJump,         // monotonic time alone: 100 years ahead, or back
  kHealth,
  kAutoRate,
  kInstall,
};
inline constexpr size_t kActionKinds = 12;
std::string_view NameOf(ActionKind kind);

// Of the next byte, as RunTrace reads it.
ActionKind KindOf(uint8_t byte);

// How often what happened, by name.
using Tally = std::map<std::string, uint64_t, std::less<>>;

// Empty: engine and model agree. Else the step, the action in words, and both answers. After about
// one action in `restart_one_in` the engine is replaced by one that knows of it only what was
// saved; 0: never.
std::string RunTrace(absl::Span<const uint8_t> bytes, Tally* tally = nullptr,
                     uint64_t restart_one_in = 0);

}  // namespace headgate::model
