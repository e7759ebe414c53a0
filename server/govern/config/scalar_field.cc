#include "server/govern/config/scalar_field.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/govern/config/scalar.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

template <typename Value, typename Set>
absl::Status Store(const absl::StatusOr<Value>& value, Set set) {
  if (value.ok()) set(*value);
  return value.status();
}

// One of several alternatives is chosen by being true.
absl::StatusOr<bool> ReadFlag(const YamlNode& node, const FieldDescriptor& field) {
  absl::StatusOr<bool> value = ReadBool(node);
  const OneofDescriptor* const choice = field.real_containing_oneof();
  if (!value.ok() || *value || choice == nullptr) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("write true, or one of the others instead: ", Choices(*choice)));
}

}  // namespace

std::string Choices(const OneofDescriptor& choice) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(choice.field_count()));
  for (int i = 0; i < choice.field_count(); ++i) names.push_back(choice.field(i)->name());
  return Alternatives(names);
}

absl::Status ReadScalarField(const YamlNode& node, const FieldDescriptor& field, Message& message) {
  const Reflection& to = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return Store(ReadText(node, Empty::kRefused),
                   [&](const std::string& value) { to.SetString(&message, &field, value); });
    case FieldDescriptor::CPPTYPE_BOOL:
      return Store(ReadFlag(node, field), [&](bool value) { to.SetBool(&message, &field, value); });
    case FieldDescriptor::CPPTYPE_INT32:
      return Store(
          ReadInteger(node, std::numeric_limits<int32_t>::min(),
                      std::numeric_limits<int32_t>::max()),
          [&](int64_t value) { to.SetInt32(&message, &field, static_cast<int32_t>(value)); });
    case FieldDescriptor::CPPTYPE_INT64:
      return Store(ReadInteger(node, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()),
                   [&](int64_t value) { to.SetInt64(&message, &field, value); });
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Store(ReadNumber(node), [&](double value) { to.SetDouble(&message, &field, value); });
    case FieldDescriptor::CPPTYPE_ENUM:
      return Store(ReadEnum(node, *field.enum_type()),
                   [&](int value) { to.SetEnumValue(&message, &field, value); });
    default:
      return absl::UnimplementedError(absl::StrCat("cannot read a ", field.type_name()));
  }
}

}  // namespace headgate::config
