#include "server/serve/transport/field_counter.h"

#include <algorithm>

namespace headgate::transport {
namespace {

// More bytes of a number than it takes for any that may be.
constexpr uint32_t kMostShift = 28;
constexpr uint8_t kMoreFollows = 0x80;

// How many bits of an instruction's first byte begin its number: an index alone, a literal that is
// added to the table, a change of the table's size, and a literal that is not added.
uint32_t NumberMask(uint8_t byte) {
  if ((byte & 0x80) != 0) return 0x7f;
  if ((byte & 0x40) != 0) return 0x3f;
  if ((byte & 0x20) != 0) return 0x1f;
  return 0x0f;
}

bool IsLiteral(uint8_t byte) { return (byte & 0xc0) == 0x40 || (byte & 0xe0) == 0; }

}  // namespace

bool FieldCounter::Take(std::string_view part) {
  while (!part.empty()) {
    if (step_ == Step::kText) {
      const size_t some = std::min(left_, part.size());
      part.remove_prefix(some);
      left_ -= some;
      if (left_ == 0) EndText();
      continue;
    }
    const auto byte = static_cast<uint8_t>(part.front());
    part.remove_prefix(1);
    if (!TakeByte(byte)) return false;
  }
  return true;
}

bool FieldCounter::TakeByte(uint8_t byte) {
  if (step_ == Step::kMore) {
    number_ += (byte & ~uint32_t{kMoreFollows}) << shift_;
    shift_ += 7;
    if (shift_ > kMostShift || number_ > most_number_) return false;
    return (byte & kMoreFollows) != 0 || EndNumber();
  }
  uint32_t mask = 0x7f;  // of a text's length, beside the bit that says Huffman
  if (of_ == Of::kField) {
    ++count_;
    is_literal_ = IsLiteral(byte);
    mask = NumberMask(byte);
  }
  number_ = byte & mask;
  if (number_ < mask) return EndNumber();
  shift_ = 0;
  step_ = Step::kMore;
  return true;
}

bool FieldCounter::EndNumber() {
  step_ = Step::kFirst;
  if (of_ == Of::kField) {
    // Without an index a literal brings its name too.
    if (is_literal_) of_ = number_ == 0 ? Of::kName : Of::kValue;
    return true;
  }
  left_ = number_;
  step_ = Step::kText;
  if (left_ == 0) EndText();
  return number_ <= most_number_;
}

void FieldCounter::EndText() {
  of_ = of_ == Of::kName ? Of::kValue : Of::kField;
  step_ = Step::kFirst;
}

}  // namespace headgate::transport
