// RapidJSON calls for each name and value in turn. What is open then, messages, lists and maps, is
// a stack of frames; the field that the next value is for is the top frame's.

#include "server/serve/json/json_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "server/serve/json/expected_value.h"
#include "server/serve/json/scalar_text.h"
#include "server/serve/json/time_text.h"

namespace headgate::json {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMaxFields = 64;
constexpr size_t kShownBytes = 64;
constexpr char kSurrogateLead = '\xed';  // the first byte of one, and of characters below them

bool IsText(const Descriptor& type) {
  return type.well_known_type() == Descriptor::WELLKNOWNTYPE_DURATION ||
         type.well_known_type() == Descriptor::WELLKNOWNTYPE_TIMESTAMP;
}

// What a caller sent, cut to a size, and so that it may stand in a line of text.
std::string Shown(std::string_view text) {
  if (text.size() <= kShownBytes) return EscapeHarmful(text);
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(EscapeHarmful(text.substr(0, end)), "...");
}

std::string Quoted(std::string_view text) { return absl::StrCat("\"", Shown(text), "\""); }

}  // namespace

class JsonReader::Parser final
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonReader::Parser> {
 public:
  explicit Parser(size_t most_values) : most_values_(most_values) {}

  std::optional<JsonFault> Read(std::string_view text, Message& message) {
    frames_.clear();
    fault_.reset();
    root_ = &message;
    values_ = 0;
    // RapidJSON takes it for the end.
    if (text.find('\0') != std::string_view::npos) return NotJson("it has a byte 0");
    rapidjson::MemoryStream stream(text.data(), text.size());
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                                rapidjson::kParseNumbersAsStringsFlag |
                                rapidjson::kParseValidateEncodingFlag;
    const rapidjson::ParseResult result = reader_.Parse<kFlags>(stream, *this);
    if (fault_.has_value()) return fault_;
    if (!result.IsError()) return std::nullopt;
    if (result.Code() == rapidjson::kParseErrorNumberTooBig && IsForField()) {
      RefuseTooBig(text.substr(result.Offset()));
      return fault_;
    }
    return NotJson(absl::StrCat(rapidjson::GetParseError_En(result.Code()), " At byte ",
                                result.Offset(), "."));
  }

  bool Null() {
    if (!Counted()) return false;
    if (frames_.empty()) return Refuse("an object", "null");
    if (frames_.back().kind == Kind::kMessage) return true;  // as if it were not there
    return RefuseValue("null");
  }
  bool Bool(bool value) {
    const std::string_view text = value ? "true" : "false";
    Slot slot;
    if (!FindSlot(text, slot)) return false;
    if (slot.field->cpp_type() != FieldDescriptor::CPPTYPE_BOOL) return RefuseValue(text);
    return slot.Put(value, &Reflection::SetBool, &Reflection::AddBool) && Placed();
  }
  bool RawNumber(const char* digits, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view text(digits, size);
    Slot slot;
    return FindSlot(text, slot) && (PutNumber(slot, text) || RefuseNumber(slot, text)) && Placed();
  }
  bool String(const char* bytes, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view text(bytes, size);
    if (!HasPairedSurrogates(text)) return false;
    Slot slot;
    return FindSlot(text, slot) &&
           (PutText(slot, text) ||
            (IsNumber(text) ? RefuseNumber(slot, Quoted(text)) : RefuseValue(Quoted(text)))) &&
           Placed();
  }
  bool StartObject() {
    if (!Counted()) return false;
    if (frames_.empty()) return Open({.message = root_, .kind = Kind::kMessage});
    Frame& in = frames_.back();
    if (in.kind == Kind::kMap || in.field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        (in.kind == Kind::kMessage && in.field->is_repeated() && !in.field->is_map())) {
      return RefuseValue("an object");
    }
    if (in.field->is_map()) {
      return Open({.message = in.message, .field = in.field, .kind = Kind::kMap});
    }
    if (IsText(*in.field->message_type())) return RefuseValue("an object");
    if (!IsTheOnlyOne(in)) return false;
    const Reflection& reflection = *in.message->GetReflection();
    Message* const inner = in.field->is_repeated()
                               ? reflection.AddMessage(in.message, in.field)
                               : reflection.MutableMessage(in.message, in.field);
    return Open({.message = inner, .kind = Kind::kMessage});
  }
  bool Key(const char* bytes, rapidjson::SizeType size, bool /*copy*/) {
    Frame& in = frames_.back();
    key_.assign(bytes, size);
    if (!HasPairedSurrogates(key_)) return false;
    if (in.kind == Kind::kMap) {
      if (in.keys == nullptr) in.keys = std::make_unique<absl::flat_hash_set<std::string>>();
      return in.keys->insert(key_).second || RefuseName("is there twice");
    }
    const Descriptor& type = *in.message->GetDescriptor();
    const FieldDescriptor* field = type.FindFieldByName(key_);
    if (field == nullptr) field = type.FindFieldByCamelcaseName(key_);
    const auto place = field == nullptr ? kMaxFields : static_cast<size_t>(field->index());
    if (place >= kMaxFields) return RefuseName(absl::StrCat("is not a field of ", type.name()));
    if (in.seen[place]) return RefuseName("is there twice");
    in.seen.set(place);
    in.field = field;
    return true;
  }
  bool EndObject(rapidjson::SizeType /*size*/) { return Close(); }
  bool StartArray() {
    if (!Counted()) return false;
    if (frames_.empty()) return Refuse("an object", "a list");
    Frame& in = frames_.back();
    if (in.kind != Kind::kMessage || !in.field->is_repeated() || in.field->is_map()) {
      return RefuseValue("a list");
    }
    return Open({.message = in.message, .field = in.field, .kind = Kind::kList});
  }
  bool EndArray(rapidjson::SizeType /*size*/) { return Close(); }

 private:
  enum class Kind : uint8_t { kMessage, kList, kMap };
  struct Frame {
    Message* message = nullptr;              // of a list or a map: the one that has it
    const FieldDescriptor* field = nullptr;  // that the next value is for
    Kind kind = Kind::kMessage;
    int items = 0;                                                     // of a list, until now
    std::bitset<kMaxFields> seen = {};                                 // of a message
    std::unique_ptr<absl::flat_hash_set<std::string>> keys = nullptr;  // of a map; null: none yet
  };
  // Where a value goes that is neither an object nor a list.
  struct Slot {
    Message* message = nullptr;
    const FieldDescriptor* field = nullptr;
    bool is_item = false;

    template <typename Value, typename Set, typename Add>
    bool Put(const Value& value, Set set, Add add) const {
      const Reflection& reflection = *message->GetReflection();
      is_item ? (reflection.*add)(message, field, value) : (reflection.*set)(message, field, value);
      return true;
    }
    Message* Inner() const {
      const Reflection& reflection = *message->GetReflection();
      return is_item ? reflection.AddMessage(message, field)
                     : reflection.MutableMessage(message, field);
    }
  };

  bool Counted() {
    if (++values_ <= most_values_) [[likely]]
      return true;
    fault_ = {.what = absl::StrCat("has more than ", most_values_, " values"), .too_many = true};
    return false;
  }
  // The parser takes the escape of a low surrogate without a high one: what it makes of it is no
  // UTF-8. All else it has looked at.
  bool HasPairedSurrogates(std::string_view text) {
    constexpr size_t kNone = std::string_view::npos;
    for (size_t at = text.find(kSurrogateLead); at != kNone;
         at = text.find(kSurrogateLead, at + 1)) {
      const std::string_view next = text.substr(at + 1, 1);
      if (next.empty() || static_cast<unsigned char>(next[0]) < 0xa0) continue;
      fault_ = NotJson("The surrogate pair in string is invalid.");
      return false;
    }
    return true;
  }
  bool Open(Frame frame) {
    if (frames_.size() >= kMaxDepth)
      return Refuse("", absl::StrCat("nested in more than ", kMaxDepth));
    frames_.push_back(std::move(frame));
    return true;
  }
  bool Close() {
    frames_.pop_back();
    return frames_.empty() || Placed();
  }
  bool Placed() {
    if (frames_.back().kind == Kind::kList) ++frames_.back().items;
    return true;
  }

  bool FindSlot(std::string_view text, Slot& slot) {
    if (!Counted()) return false;
    if (frames_.empty()) return Refuse("an object", Shown(text));
    Frame& in = frames_.back();
    slot = {.message = in.message, .field = in.field, .is_item = in.kind == Kind::kList};
    if (in.kind == Kind::kList) return true;
    if (in.kind == Kind::kMessage) {
      return in.field->is_repeated() ? RefuseValue(Shown(text)) : IsTheOnlyOne(in);
    }
    const Descriptor& entry = *in.field->message_type();
    slot.message = in.message->GetReflection()->AddMessage(in.message, in.field);
    slot.field = entry.map_value();
    slot.message->GetReflection()->SetString(slot.message, entry.map_key(), key_);
    return true;
  }

  static bool PutNumber(const Slot& slot, std::string_view text) {
    switch (slot.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return Put<int32_t>(slot, text, &Reflection::SetInt32, &Reflection::AddInt32);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Put<uint32_t>(slot, text, &Reflection::SetUInt32, &Reflection::AddUInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return Put<int64_t>(slot, text, &Reflection::SetInt64, &Reflection::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT64:
        return Put<uint64_t>(slot, text, &Reflection::SetUInt64, &Reflection::AddUInt64);
      case FieldDescriptor::CPPTYPE_ENUM:
        return Put<int32_t>(slot, text, &Reflection::SetEnumValue, &Reflection::AddEnumValue);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Put<double>(slot, text, &Reflection::SetDouble, &Reflection::AddDouble);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Put<float>(slot, text, &Reflection::SetFloat, &Reflection::AddFloat);
      default:
        return false;
    }
  }
  template <typename Number, typename Set, typename Add>
  static bool Put(const Slot& slot, std::string_view text, Set set, Add add) {
    Number value = 0;
    return ReadNumber(text, value) && slot.Put(value, set, add);
  }

  static bool PutText(const Slot& slot, std::string_view text) {
    switch (slot.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return slot.field->type() == FieldDescriptor::TYPE_STRING &&
               slot.Put(std::string(text), &Reflection::SetString, &Reflection::AddString);
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* const value = slot.field->enum_type()->FindValueByName(std::string(text));
        return value != nullptr && slot.Put(value, &Reflection::SetEnum, &Reflection::AddEnum);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return PutTime(slot, text);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Put<double>(slot, WordOrNumber(text), &Reflection::SetDouble,
                           &Reflection::AddDouble);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Put<float>(slot, WordOrNumber(text), &Reflection::SetFloat, &Reflection::AddFloat);
      case FieldDescriptor::CPPTYPE_BOOL:
        return false;
      default:
        return IsNumber(text) && PutNumber(slot, text);
    }
  }
  static bool PutTime(const Slot& slot, std::string_view text) {
    switch (slot.field->message_type()->well_known_type()) {
      case Descriptor::WELLKNOWNTYPE_DURATION: {
        google::protobuf::Duration value;
        if (!ReadDuration(text, value)) return false;
        slot.Inner()->CopyFrom(value);
        return true;
      }
      case Descriptor::WELLKNOWNTYPE_TIMESTAMP: {
        google::protobuf::Timestamp value;
        if (!ReadTimestamp(text, value)) return false;
        slot.Inner()->CopyFrom(value);
        return true;
      }
      default:
        return false;
    }
  }

  // Whether no other member of its oneof is there.
  bool IsTheOnlyOne(const Frame& in) {
    if (in.kind != Kind::kMessage || in.field == nullptr) return true;
    const auto* const oneof = in.field->real_containing_oneof();
    if (oneof == nullptr || !in.message->GetReflection()->HasOneof(*in.message, oneof)) return true;
    const FieldDescriptor* const other =
        in.message->GetReflection()->GetOneofFieldDescriptor(*in.message, oneof);
    fault_ = {.field = Path(), .what = absl::StrCat("must not be there beside ", other->name())};
    return false;
  }

  // "checks[3].tags.team"
  std::string Path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.kind == Kind::kList) {
        absl::StrAppend(&path, "[", frame.items, "]");
      } else if (frame.kind == Kind::kMap) {
        absl::StrAppend(&path, ".", Shown(key_));
      } else if (frame.field != nullptr) {
        absl::StrAppend(&path, path.empty() ? "" : ".", frame.field->name());
      }
    }
    return path;
  }
  bool Refuse(std::string_view wanted, std::string_view found) {
    fault_ = {.field = Path(),
              .what = wanted.empty() ? absl::StrCat("is ", Sv(found))
                                     : absl::StrCat("must be ", Sv(wanted), "; it is ", Sv(found))};
    return false;
  }
  bool RefuseValue(std::string_view found) {
    const Frame& in = frames_.back();
    const bool is_whole = in.kind == Kind::kMessage && in.field->is_repeated();
    if (is_whole) return Refuse(in.field->is_map() ? "an object" : "a list", Shown(found));
    return Refuse(in.kind == Kind::kMap ? "a string" : ExpectedValueOf(*in.field), Shown(found));
  }
  // A number that the field's type has no room for, or that is no value of it at all.
  bool RefuseNumber(const Slot& slot, std::string_view found) {
    const bool is_real = IsReal(*slot.field);
    return is_real ? Refuse(LargestOf(*slot.field), Shown(found)) : RefuseValue(found);
  }
  bool IsForField() const { return !frames_.empty() && frames_.back().field != nullptr; }
  // The parser itself has no room for the number that this begins with.
  void RefuseTooBig(std::string_view text) {
    const std::string_view number = text.substr(0, text.find_first_not_of("+-.0123456789eE"));
    const FieldDescriptor& field = *frames_.back().field;
    IsReal(field) ? Refuse(LargestOf(field), Shown(number)) : RefuseValue(Shown(number));
  }
  // Refuses a name within the object at the top.
  bool RefuseName(std::string_view what) {
    const bool is_field = frames_.back().kind == Kind::kMessage;
    if (is_field) frames_.back().field = nullptr;
    std::string path = Path();
    if (is_field) absl::StrAppend(&path, path.empty() ? "" : ".", Shown(key_));
    fault_ = {.field = std::move(path), .what = std::string(what)};
    return false;
  }
  static std::optional<JsonFault> NotJson(std::string_view why) {
    return JsonFault{.what = absl::StrCat("the request's body is not JSON: ", Sv(why))};
  }

  const size_t most_values_;
  rapidjson::Reader reader_;
  Message* root_ = nullptr;
  std::vector<Frame> frames_;
  std::string key_;
  size_t values_ = 0;
  std::optional<JsonFault> fault_;
};

JsonReader::JsonReader(size_t most_values) : parser_(std::make_unique<Parser>(most_values)) {}
JsonReader::~JsonReader() = default;

std::optional<JsonFault> JsonReader::Read(std::string_view text, Message& message) {
  return parser_->Read(text, message);
}

}  // namespace headgate::json
