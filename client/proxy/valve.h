// Valve: when what a session says next may pass to PostgreSQL, and for how long PostgreSQL worked
// for it.
//
// A valve is open under leave for one slice of the server's time. When that is used it is shut, and
// what can wait does until there is leave for the next one: the first message of a unit of work
// (what ends with one ReadyForQuery), and a stream in its middle, of COPY data or of rows. What
// cannot wait passes, and its time is counted all the same.
//
// Where it may be held back:
//
//                         | no transaction  | in a transaction     | in one that has written
//   kTransactions         | units, streams  | streams              | COPY data of the client
//   kStatements           | units, streams  | units, streams       | units, streams
//   kNothing              | -               | -                    | -
//
// A session that is held inside a transaction keeps its snapshot and its locks; hence the table.
//
// Busy time is when the server has the ball: from the first message of a unit that passed to its
// ReadyForQuery, less what the valve was shut, and less what the client took to read or to send,
// which the relay tells.
//
// Thread-compatible, no I/O and no clock: times are monotonic nanoseconds.
//
//   if (!valve.MayPass(Sender::kClient, frame, now_ns)) ... ask for leave, then Open ...
//   valve.Passed(Sender::kClient, frame, now_ns);
//   if (valve.IsSliceUsed(now_ns)) Report(valve.TakeBusyTime(now_ns));

#pragma once

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "client/proxy/wire/frames.h"
#include "client/proxy/wire/messages.h"

namespace headgate::proxy {

enum class Hold : uint8_t { kTransactions, kStatements, kNothing };

struct ValveOptions {
  Hold hold = Hold::kTransactions;
  absl::Duration slice = absl::Milliseconds(10);  // of the server's time
};

class Valve {
 public:
  explicit Valve(const ValveOptions& options)
      : hold_(options.hold), slice_ns_(absl::ToInt64Nanoseconds(options.slice)) {}

  // Whether the message that begins now may pass. If not, the valve is shut, and opens with Open.
  bool MayPass(Sender sender, const Frame& frame, int64_t now_ns);
  // It passes: also where it may be held back and whoever decides lets it.
  void Passed(Sender sender, const Frame& frame, int64_t now_ns);
  // There is leave for a slice. Of the one before TakeBusyTime has been asked.
  void Open(int64_t now_ns);
  // What was asked for is not to be had: the message that waited is answered by somebody else, and
  // nothing of it has passed.
  void GiveUp(int64_t now_ns);

  // The client has the ball: it does not read what waits for it, or a COPY waits for its data.
  void ClientHasTheBall(bool has, int64_t now_ns);

  // Nothing is under way, and no transaction open.
  bool IsIdle() const { return units_ == 0 && !has_begun_ && status_ == TransactionStatus::kIdle; }
  bool IsOpen() const { return is_open_; }
  // A message waits for leave.
  bool IsHeld() const { return is_held_; }
  bool IsSliceUsed(int64_t now_ns) const { return BusyNs(now_ns) >= slice_ns_; }
  // What the server worked since this was asked before. The valve is shut then; what is under way
  // goes on, and is counted for the next time.
  absl::Duration TakeBusyTime(int64_t now_ns);

  TransactionStatus status() const { return status_; }

 private:
  enum class Stream : uint8_t { kNone, kCopyIn, kCopyOut, kCopyBoth };

  bool BeginsUnit(char type) const;
  bool MayHoldUnit() const;
  bool MayHoldStream(Sender sender, char type) const;
  bool IsServerWorking() const {
    return (units_ > 0 || has_begun_) && !is_held_ && !client_has_the_ball_;
  }
  int64_t BusyNs(int64_t now_ns) const {
    return busy_ns_ + (IsServerWorking() && now_ns > since_ns_ ? now_ns - since_ns_ : 0);
  }
  // Counts until now, before anything changes that busy time hangs on.
  void Count(int64_t now_ns) {
    busy_ns_ = BusyNs(now_ns);
    since_ns_ = now_ns;
  }
  void PassedFromClient(char type);
  void PassedFromServer(const Frame& frame);

  const Hold hold_;
  const int64_t slice_ns_;
  bool has_started_ = false;  // the first ReadyForQuery has come
  TransactionStatus status_ = TransactionStatus::kIdle;
  bool has_written_ = false;  // in the transaction that is open
  int units_ = 0;             // ReadyForQuery that the server owes
  bool has_begun_ = false;    // a unit of the extended protocol, without its Sync so far
  Stream stream_ = Stream::kNone;

  bool is_open_ = false;
  bool is_held_ = false;
  bool client_has_the_ball_ = false;
  int64_t busy_ns_ = 0;
  int64_t since_ns_ = 0;
};

}  // namespace headgate::proxy
