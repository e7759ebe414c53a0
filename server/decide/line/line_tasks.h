// What is to be done next in the lines, and when.
//
// Deadlines come first, for they are promises; then what has changed, then places that end, then
// waiters that are asked whether they may still wait, then the lines that are due, each by its
// head; at last those that are examined only to learn what they cost now.
//
// At a gate or a pause no room is handed out: when its head gets past, the next one is looked at,
// until all are through. After a change of the policy all of such a line are looked at, for a rule
// may have let go some of them; those who are still refused are put back into the queue when all
// have been examined.
//
// Guarded by its owner. A Check that it hands out is in examination until its owner says otherwise.
//
//   const Task task = tasks.Next(now);
//   if (task.work == Work::kExamine) ... examine *task.waiting ...

#pragma once

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "server/decide/line/place_table.h"
#include "server/decide/line/ticket_table.h"

namespace headgate::line {

enum class Work : uint8_t {
  kNone,       // nothing is due
  kDone,       // it is done already
  kExamine,    // the engine is to be asked about the Check
  kAskWaiter,  // its waiter is to be asked whether it may still wait
};

struct Task {
  Work work = Work::kNone;
  WaitingCheck* waiting = nullptr;  // of kExamine and kAskWaiter
};

class LineTasks {
 public:
  // All outlive it.
  LineTasks(LineTable& lines, TicketTable& tickets, PlaceTable& places)
      : lines_(lines), tickets_(tickets), places_(places) {}
  LineTasks(const LineTasks&) = delete;
  LineTasks& operator=(const LineTasks&) = delete;

  // Takes what is due next off the list.
  Task Next(const Now& now);
  // When that will be; kNever: there is nothing to do.
  int64_t NextInstant() const;

  // What is known of each line may be wrong now.
  void ChangeAll() { changed_ = true; }
  // Each waiter is asked whether it may still wait.
  void AskAllWaiters();
  // Each who waits, wherever it stands in its line.
  void ExamineAll();
  // These are examined, the last one first, to learn what they cost now.
  void Price(const std::vector<WaitingCheck*>& waiting);

 private:
  std::vector<uint64_t> AllTickets() const;
  void MarkChanged();
  // Where the head is somebody who polls: so that what the others wait for is known as things are.
  void ExamineFirstBehindPlace(const Line& line);
  Task LookAtLine(Line& line, const Now& now);
  // The queue is empty: those in to_requeue are put back, or the line is forgotten in time.
  void LookAtEmptyLine(Line& line, const Now& now);
  void Requeue(Line& line);
  // The last of the tickets, if it is still anybody's.
  Task TakeLast(std::vector<uint64_t>& tickets, Work work);
  static Task Begin(Work work, WaitingCheck& waiting);

  LineTable& lines_;
  TicketTable& tickets_;
  PlaceTable& places_;
  bool changed_ = false;
  std::vector<uint64_t> changed_lines_;  // keys of those that are to be marked due
  std::vector<uint64_t> to_ask_;         // tickets
  std::vector<uint64_t> to_price_;       // tickets
};

}  // namespace headgate::line
