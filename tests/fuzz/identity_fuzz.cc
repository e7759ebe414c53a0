// Identity::Parse against a reading of the specification that is as simple as can be.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/hash.h"
#include "common/identity.h"

namespace {

using headgate::Identity;

constexpr uint64_t kSeed = 0x5eed5eed5eed5eed;
constexpr std::string_view kAllowed =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.@/";

void Require(bool condition) {
  if (!condition) std::abort();
}

// Leaf first.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> segments;
  for (;;) {
    const size_t colon = text.find(':');
    segments.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return segments;
    text.remove_prefix(colon + 1);
  }
}

bool IsSegment(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool IsIdentity(std::string_view text, const std::vector<std::string_view>& segments) {
  if (text.size() > 512 || segments.size() > 8) return false;
  for (std::string_view segment : segments) {
    if (!IsSegment(segment)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> segments = Split(text);
  Identity id;
  const absl::Status status = Identity::Parse(text, kSeed, id);

  Require(Identity::ValidateSegment(text).ok() == IsSegment(text));
  Require(status.ok() == IsIdentity(text, segments));
  if (!status.ok()) {
    Require(status.code() == absl::StatusCode::kInvalidArgument);
    Require(id.depth() == 0);
    return 0;
  }
  Require(id.text() == text);
  Require(id.depth() == static_cast<int>(segments.size()));
  std::string reassembled;
  for (int d = 1; d <= id.depth(); ++d) {
    Require(id.Segment(d) == segments[segments.size() - static_cast<size_t>(d)]);
    Require(id.SegmentHash(d) == headgate::HashBytes(id.Segment(d), kSeed));
    if (d > 1) reassembled.insert(0, ":");
    reassembled.insert(0, id.Segment(d));
    Require(id.Level(d) == reassembled);
    Identity level;
    Require(Identity::Parse(reassembled, kSeed, level).ok());
    Require(level.LevelHash(d) == id.LevelHash(d));
  }
  Require(reassembled == text);
  return 0;
}
