#include "server/govern/config/findings.h"

#include <google/protobuf/descriptor.h>

#include <optional>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/strings.h"
#include "server/decide/engine/policy.h"

namespace headgate::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The place of a field with that name, in the message or below it.
std::optional<Position> Find(const SourcePositions& positions, const Message& message,
                             const std::string& name) {
  const FieldDescriptor* const own = message.GetDescriptor()->FindFieldByName(name);
  if (own != nullptr && positions.Given(message, own->number())) {
    return positions.At(message, own->number());
  }
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const auto below = Find(positions, reflection.GetMessage(message, field), name);
    if (below.has_value()) return below;
  }
  return std::nullopt;
}

// The place of the first field that the text names: "tag 'a' is ..." may mean `tags`.
Position FindWords(const SourcePositions& positions, const Message& item, absl::string_view text) {
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" ,:;'"))) {
    if (word.empty()) continue;
    for (const char* const plural : {"", "s"}) {
      const auto found = Find(positions, item, absl::StrCat(word, plural));
      if (found.has_value()) return *found;
    }
  }
  return positions.At(item);
}

}  // namespace

absl::Duration ToDuration(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

const std::string& Findings::NameOf(const Message& message, int field) {
  return message.GetDescriptor()->FindFieldByNumber(field)->name();
}

absl::Duration Findings::InRange(const Message& message, int field,
                                 const google::protobuf::Duration& value, absl::Duration least,
                                 absl::Duration most) {
  const absl::Duration duration = ToDuration(value);
  if (duration < least || duration > most) {
    Say(message, field,
        absl::StrCat(NameOf(message, field), " must be ", absl::FormatDuration(least), " to ",
                     absl::FormatDuration(most), "; it is ", absl::FormatDuration(duration)));
  }
  return duration;
}

bool Findings::AskEngine(const engine::PolicySpec& policy, std::string_view item_name,
                         const Message& item) {
  const absl::Status status = engine::Validate(policy);
  bool fine = true;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    if (line.substr(0, item_name.size()) != Sv(item_name)) continue;
    fine = false;
    Say(FindWords(positions_, item, line.substr(item_name.size())), std::string(line));
  }
  return fine;
}

}  // namespace headgate::config
