// Presence: whether there is a foreground, and whether anybody asks for batch work.
//
// A busy foreground is seen at its first sample. One of a few transactions now and then is told
// from none by a short memory, since not every sample has one. One that reads has no transactions:
// where its statements are not counted, or not any more, or not all of them are known, it is known
// by the sessions that are met at work, seldom enough for a long memory.
//
// Thread-compatible.

#pragma once

#include <cstdint>

#include "server/observe/control/flow_meter.h"

namespace headgate::control {

enum class Foreground : uint8_t {
  kNone,
  kSparse,  // a few transactions a second, too few to see whether they are slowed
  kBusy,
};

class Presence {
 public:
  // `active`: foreground sessions at work at the end of the flow.
  void Look(const Flow& flow, double active);
  // What a glance shows, where the throughput of readers is still to come: that there is a
  // foreground may be seen, that there is none may not.
  void Glance(const Flow& glance, double active);
  void Begin(double active) { active_ = active; }
  // Before the first flow: what was there a moment ago.
  void Expect(Foreground foreground) { foreground_ = foreground; }

  Foreground foreground() const { return foreground_; }
  double active() const { return active_; }  // sessions, smoothed
  bool somebody_asks() const { return unasked_ < kRestAfter; }

 private:
  static constexpr double kRestAfter = 2;  // s
  // s in which readers whose sessions are at work for a hundredth of the time are met, nearly
  // always.
  static constexpr double kReadAfter = 60;

  void Age(const Flow& flow, double active);

  Foreground foreground_ = Foreground::kNone;
  double active_ = 0;
  double few_ = 0;              // throughput, smoothed, many counting as few
  double writes_ = 0;           // transactions a second, smoothed
  double unread_ = kReadAfter;  // s since a reader was seen
  double met_ = 0;              // times that a session was met at work, of the last minute
  int many_ = 0;                // flows in a row with many transactions
  double unasked_ = 0;          // s since somebody asked
};

}  // namespace headgate::control
