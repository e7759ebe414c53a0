#include "server/govern/config/reader.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/govern/config/scalar.h"
#include "server/govern/config/scalar_field.h"
#include "server/govern/config/shorthand.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using Kind = YamlNode::Kind;

std::vector<std::string> FieldNames(const Descriptor& descriptor) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(descriptor.field_count()));
  for (int i = 0; i < descriptor.field_count(); ++i) names.push_back(descriptor.field(i)->name());
  return names;
}

// Calls `visit(key, value)` for each pair whose key is text and stands for the first time.
template <typename Visit>
void ForEachPair(const YamlNode& mapping, ProblemList& problems, Visit visit) {
  absl::flat_hash_map<std::string, int> lines;
  for (size_t i = 0; i + 1 < mapping.items.size(); i += 2) {
    const YamlNode& key = mapping.items[i];
    if (key.kind != Kind::kScalar) {
      problems.Add(key.at, "a key must be text");
      continue;
    }
    const auto [first, is_new] = lines.emplace(key.text, key.at.line);
    if (!is_new) {
      problems.Add(key.at, absl::StrCat("key ", Quoted(key.text), " is given twice, first in line ",
                                        first->second));
      continue;
    }
    visit(key, mapping.items[i + 1]);
  }
}

class Reader {
 public:
  Reader(SourcePositions& positions, ProblemList& problems)
      : positions_(positions), problems_(problems) {}

  // Whether the message is of any use; one of whose fields are wrong is, an alternative of which
  // none is left is not.
  bool Read(const YamlNode& node, std::string_view name, Message& message) {
    positions_.Put(message, node.at);
    const Descriptor& descriptor = *message.GetDescriptor();
    const Shorthand* const shorthand = FindShorthand(descriptor);
    if (shorthand != nullptr && (shorthand->only || node.kind != Kind::kMapping)) {
      return ReadShorthand(*shorthand, node, name, message);
    }
    if (node.kind == Kind::kScalar || node.kind == Kind::kList) {
      const std::string what =
          absl::StrCat("a mapping with ", Alternatives(FieldNames(descriptor)));
      Complain(node.at, name, ExpectedNotShown(what, node));
      return false;
    }
    ForEachPair(node, problems_, [&](const YamlNode& key, const YamlNode& value) {
      ReadField(key, value, message);
    });
    return CheckChoices(message);
  }

 private:
  void Complain(Position at, std::string_view name, const absl::Status& wrong) {
    const char* const colon = name.empty() ? "" : ": ";
    problems_.Add(at, absl::StrCat(Sv(name), colon, wrong.message()));
  }

  bool ReadShorthand(const Shorthand& shorthand, const YamlNode& node, std::string_view name,
                     Message& message) {
    const absl::Status status = shorthand.read(node, message);
    if (!status.ok()) {
      Complain(node.at, name, status);
      return false;
    }
    std::vector<const FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    for (const FieldDescriptor* field : set) positions_.Put(message, field->number(), node.at);
    return true;
  }

  void ReadField(const YamlNode& key, const YamlNode& value, Message& message) {
    const Descriptor& descriptor = *message.GetDescriptor();
    const FieldDescriptor* const field = descriptor.FindFieldByName(key.text);
    if (field == nullptr) {
      std::string text = absl::StrCat("unknown key ", Quoted(key.text));
      // A comparison with every field is too much for words that nobody will read.
      if (!problems_.full()) text += Suggestion(key.text, FieldNames(descriptor));
      problems_.Add(key.at, std::move(text));
      return;
    }
    if (!IsFirstChoice(*field, message)) {
      problems_.Add(key.at,
                    absl::StrCat("only one of ", Choices(*field->containing_oneof()),
                                 " may be given, and ", field->name(), " is not the first"));
      positions_.Put(message, field->number(), key.at);
      positions_.Spoil(message, field->number());
      return;
    }
    positions_.Put(message, field->number(), value.at);
    if (!ReadValue(value, *field, message)) {
      message.GetReflection()->ClearField(&message, field);
      positions_.Spoil(message, field->number());
    }
  }

  bool ReadValue(const YamlNode& node, const FieldDescriptor& field, Message& message) {
    if (field.is_map()) return ReadMap(node, field, message);
    if (field.is_repeated()) return ReadList(node, field, message);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Read(node, field.name(), *message.GetReflection()->MutableMessage(&message, &field));
    }
    const absl::Status status = ReadScalarField(node, field, message);
    if (!status.ok()) Complain(node.at, field.name(), status);
    return status.ok();
  }

  // The schema has maps from text to text.
  bool ReadMap(const YamlNode& node, const FieldDescriptor& field, Message& message) {
    if (node.kind == Kind::kNull) return true;
    if (node.kind != Kind::kMapping) {
      Complain(node.at, field.name(), Expected("a mapping such as {key: value}", node));
      return false;
    }
    const Reflection& reflection = *message.GetReflection();
    ForEachPair(node, problems_, [&](const YamlNode& key, const YamlNode& value) {
      const absl::StatusOr<std::string> key_text = ReadText(key, Empty::kRefused);
      const absl::StatusOr<std::string> value_text = ReadText(value, Empty::kAllowed);
      if (!key_text.ok()) Complain(key.at, field.name(), key_text.status());
      if (!value_text.ok()) Complain(value.at, Quoted(key.text), value_text.status());
      if (!key_text.ok() || !value_text.ok()) return;
      Message& entry = *reflection.AddMessage(&message, &field);
      const Descriptor& type = *entry.GetDescriptor();
      entry.GetReflection()->SetString(&entry, type.map_key(), *key_text);
      entry.GetReflection()->SetString(&entry, type.map_value(), *value_text);
    });
    return true;
  }

  // The schema has lists of messages and of text.
  bool ReadList(const YamlNode& node, const FieldDescriptor& field, Message& message) {
    if (node.kind == Kind::kNull) return true;
    if (node.kind != Kind::kList) {
      const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      Complain(node.at, field.name(),
               ExpectedNotShown(text ? "a list such as [a, b]" : "a list", node));
      return false;
    }
    bool complete = true;
    for (const YamlNode& item : node.items) {
      complete = ReadItem(item, field, message) && complete;
    }
    // Items of which nothing is known would make a partial list lie about what there is.
    if (!complete) positions_.Spoil(message, field.number());
    return true;
  }

  bool ReadItem(const YamlNode& item, const FieldDescriptor& field, Message& message) {
    const Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const bool useful = Read(item, field.name(), *reflection.AddMessage(&message, &field));
      // Not RemoveLast, which would hand out the same address, positions and all, once more.
      if (!useful) reflection.UnsafeArenaReleaseLast(&message, &field);
      return useful;
    }
    absl::StatusOr<std::string> text = ReadText(item, Empty::kRefused);
    if (!text.ok()) {
      Complain(item.at, field.name(), text.status());
      return false;
    }
    positions_.PutItem(message, field.number(), reflection.FieldSize(message, &field), item.at);
    reflection.AddString(&message, &field, *std::move(text));
    return true;
  }

  bool IsFirstChoice(const FieldDescriptor& field, const Message& message) const {
    const OneofDescriptor* const choice = field.real_containing_oneof();
    for (int i = 0; choice != nullptr && i < choice->field_count(); ++i) {
      if (positions_.Given(message, choice->field(i)->number())) return false;
    }
    return true;
  }

  // Whether each of the message's alternatives, of which it has at most one, is decided.
  bool CheckChoices(const Message& message) {
    const Descriptor& descriptor = *message.GetDescriptor();
    if (descriptor.real_oneof_decl_count() == 0) return true;
    const OneofDescriptor& choice = *descriptor.oneof_decl(0);  // real ones come first
    bool given = false;
    for (int i = 0; i < choice.field_count(); ++i) {
      given = given || positions_.Given(message, choice.field(i)->number());
    }
    if (!given) {
      problems_.Add(positions_.At(message), absl::StrCat("needs one of ", Choices(choice)));
    }
    return message.GetReflection()->HasOneof(message, &choice);
  }

  SourcePositions& positions_;
  ProblemList& problems_;
};

}  // namespace

void ReadMessage(const YamlNode& tree, Message& message, SourcePositions& positions,
                 ProblemList& problems) {
  Reader(positions, problems).Read(tree, "", message);
}

}  // namespace headgate::config
