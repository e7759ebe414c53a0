// What the semantic checks share: saying that a field is wrong, at its place in the file.
//
// Thread-compatible.
//
//   findings.InRange(server, v1::ServerConfig::kThreadsFieldNumber, server.threads(), 1, 256);

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/decide/engine/spec.h"
#include "server/govern/config/problem.h"
#include "server/govern/config/source_positions.h"

namespace headgate::config {

class Findings {
 public:
  using Message = google::protobuf::Message;

  Findings(const SourcePositions& positions, ProblemList& problems, ProblemList& warnings)
      : positions_(positions), problems_(problems), warnings_(warnings) {}

  const SourcePositions& positions() const { return positions_; }

  void Say(Position at, std::string text) { problems_.Add(at, std::move(text)); }
  void Say(const Message& message, std::string text) {
    Say(positions_.At(message), std::move(text));
  }
  void Say(const Message& message, int field, std::string text) {
    Say(positions_.At(message, field), std::move(text));
  }
  // Warns of what is valid and probably not meant: it does not keep a file from being taken.
  void Warn(const Message& message, int field, std::string text) {
    Warn(positions_.At(message, field), std::move(text));
  }
  void Warn(Position at, std::string text) { warnings_.Add(at, std::move(text)); }
  // Whether nobody would read more than has been said.
  bool full() const { return problems_.full(); }

  template <typename Number>
  void InRange(const Message& message, int field, Number value, Number least, Number most) {
    if (value >= least && value <= most) return;  // false for a NaN
    Say(message, field,
        absl::StrCat(NameOf(message, field), " must be ", least, " to ", most, "; it is ", value));
  }

  // The duration of a field that is set.
  absl::Duration InRange(const Message& message, int field, const google::protobuf::Duration& value,
                         absl::Duration least, absl::Duration most);

  // What the engine has to say about a policy of which one item matters; `item_name` is how its
  // messages begin, such as "budget 'etl': ". Each message is placed at the field that it speaks of
  // first. Returns whether there was none.
  bool AskEngine(const engine::PolicySpec& policy, std::string_view item_name, const Message& item);

 private:
  static const std::string& NameOf(const Message& message, int field);

  const SourcePositions& positions_;
  ProblemList& problems_;
  ProblemList& warnings_;
};

absl::Duration ToDuration(const google::protobuf::Duration& proto);

}  // namespace headgate::config
