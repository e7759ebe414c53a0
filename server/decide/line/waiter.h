// Who is told what becomes of a Check that waits in a line.
//
// A waiter may have several Checks in lines, each with a number of its own, `place`.
//
//   class Answerer final : public Waiter {
//     void Answer(int place, const Decided& decided) override;
//   };

#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"

namespace headgate::line {

// What became of a Check that waited: the answer, admitted or denied with what refuses it, or an
// error.
struct Decided {
  const absl::Status& status;
  const engine::CheckRequest& request;
  engine::CheckAnswer& answer;
  Now now;
};

class Waiter {
 public:
  virtual ~Waiter() = default;

  // Once for each, without locks, by the thread that runs Advance or Close. Not after Leave has
  // returned true.
  virtual void Answer(int place, const Decided& decided) = 0;
  // Whether its caller still has the right to ask; without locks.
  virtual bool MayWait(const engine::CheckRequest& /*request*/) { return true; }
};

// Who waits, and until when at most: a monotonic instant.
struct Wait {
  std::shared_ptr<Waiter> waiter;
  int place = 0;  // of the Check, for the waiter
  int64_t until_ns = 0;
};

// What became of a Check that would wait.
enum class Entered : uint8_t {
  kWaits,
  kFull,        // as many wait as may, but for callers of whom few do
  kCallerFull,  // as many of this caller wait as may
  kNotCurable,  // time does not cure what refuses it
  kClosed,
};

}  // namespace headgate::line
