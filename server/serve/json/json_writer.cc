#include "server/serve/json/json_writer.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/serve/json/time_text.h"

namespace headgate::json {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kTypeKey[] = "@type";
// Of buffers up to so many bytes the memory is kept.
constexpr size_t kKeptBytes = size_t{1} << 16;

// A copy of `message`, which is of this type, if not of this class.
template <typename Known>
Known As(const Message& message) {
  if (const auto* const known = dynamic_cast<const Known*>(&message)) return *known;
  Known copy;
  copy.ParseFromString(message.SerializeAsString());
  return copy;
}

// The fewest that say which double it is.
class Digits {
 public:
  explicit Digits(double value) {
    // "1e+05" would be shorter than 100000.
    constexpr double kWhole = 1e15;
    const bool is_whole = std::abs(value) < kWhole && value == std::trunc(value);
    const bool is_negative_zero = value == 0 && std::signbit(value);
    const std::to_chars_result end =
        is_whole && !is_negative_zero
            ? std::to_chars(bytes_.begin(), bytes_.end(), static_cast<int64_t>(value))
            : std::to_chars(bytes_.begin(), bytes_.end(), value);
    size_ = static_cast<size_t>(end.ptr - bytes_.begin());
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 32> bytes_;
  size_t size_;
};

}  // namespace

class JsonWriter::Printer {
 public:
  void Append(const Message& message, std::string& to) {
    buffer_.Clear();
    writer_.Reset(buffer_);
    Print(message);
    to.append(buffer_.GetString(), buffer_.GetSize());
    if (buffer_.GetSize() > kKeptBytes) buffer_ = rapidjson::StringBuffer();
  }

 private:
  void Text(std::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Key(std::string_view name) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  }

  void Print(const Message& message) {
    switch (message.GetDescriptor()->well_known_type()) {
      case Descriptor::WELLKNOWNTYPE_DURATION:
        return Text(DurationText(As<google::protobuf::Duration>(message)));
      case Descriptor::WELLKNOWNTYPE_TIMESTAMP:
        return Text(TimestampText(As<google::protobuf::Timestamp>(message)));
      case Descriptor::WELLKNOWNTYPE_ANY:
        return PrintAny(As<google::protobuf::Any>(message));
      default:
        writer_.StartObject();
        PrintFields(message);
        writer_.EndObject();
    }
  }

  void PrintAny(const google::protobuf::Any& any) {
    writer_.StartObject();
    Key(kTypeKey);
    Text(any.type_url());
    const std::string name = any.type_url().substr(any.type_url().rfind('/') + 1);
    const Descriptor* const type =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
    if (type != nullptr) {
      const std::unique_ptr<Message> inner(
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
      if (inner->ParseFromString(any.value())) {
        if (type->well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
          PrintFields(*inner);
        } else {
          Key("value");
          Print(*inner);
        }
      }
    }
    writer_.EndObject();
  }

  void PrintFields(const Message& message) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* const field : fields) {
      Key(field->name());
      if (field->is_map()) {
        PrintMap(message, *field);
      } else if (field->is_repeated()) {
        writer_.StartArray();
        const int size = reflection.FieldSize(message, field);
        for (int i = 0; i < size; ++i) PrintValue(message, *field, i);
        writer_.EndArray();
      } else {
        PrintValue(message, *field, -1);
      }
    }
  }

  // Of strings.
  void PrintMap(const Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const Descriptor& entry = *field.message_type();
    writer_.StartObject();
    const int size = reflection.FieldSize(message, &field);
    for (int i = 0; i < size; ++i) {
      const Message& pair = reflection.GetRepeatedMessage(message, &field, i);
      Key(pair.GetReflection()->GetString(pair, entry.map_key()));
      PrintValue(pair, *entry.map_value(), -1);
    }
    writer_.EndObject();
  }

  void PrintDouble(double value) {
    if (std::isnan(value)) return Text("NaN");
    if (std::isinf(value)) return Text(value > 0 ? "Infinity" : "-Infinity");
    const Digits digits(value);
    writer_.RawValue(digits.text().data(), digits.text().size(), rapidjson::kNumberType);
  }

  void PrintEnum(const FieldDescriptor& field, int number) {
    const auto* const value = field.enum_type()->FindValueByNumber(number);
    if (value == nullptr) {
      writer_.Int(number);
    } else {
      Text(value->name());
    }
  }

  // The one at `place` of a repeated field; -1: of a field that is not.
  void PrintValue(const Message& message, const FieldDescriptor& field, int place) {
    const Reflection& reflection = *message.GetReflection();
    const auto get = [&](auto single, auto repeated) -> decltype(auto) {
      return place < 0 ? (reflection.*single)(message, &field)
                       : (reflection.*repeated)(message, &field, place);
    };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        writer_.Int(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        writer_.Uint(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        PrintLong(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        PrintLong(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        PrintDouble(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        PrintDouble(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        writer_.Bool(get(&Reflection::GetBool, &Reflection::GetRepeatedBool));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        PrintEnum(field, get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue));
        break;
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string copied;
        Text(place < 0 ? reflection.GetStringReference(message, &field, &copied)
                       : reflection.GetRepeatedStringReference(message, &field, place, &copied));
        break;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Print(place < 0 ? reflection.GetMessage(message, &field)
                        : reflection.GetRepeatedMessage(message, &field, place));
        break;
    }
  }

  // As text, since most readers of JSON have no more than 53 bits.
  template <typename Number>
  void PrintLong(Number value) {
    const absl::AlphaNum text(value);
    Text({text.data(), text.size()});
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

void AppendText(std::string_view text, std::string& to) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  to.append(buffer.GetString(), buffer.GetSize());
}

void AppendNumber(double value, std::string& to) {
  if (std::isfinite(value)) {
    to += Digits(value).text();
  } else {
    AppendText(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity", to);
  }
}

JsonWriter::JsonWriter() : printer_(std::make_unique<Printer>()) {}
JsonWriter::~JsonWriter() = default;

void JsonWriter::Append(const Message& message, std::string& to) { printer_->Append(message, to); }

}  // namespace headgate::json
