// Parsing goes over the text 64 bytes at a time: a scan finds the ':' and validates the bytes. Then
// the segments are hashed from the root on, and each level's hash is made of the one before and its
// own segment's. A refused text is read again, to say why.
#include "common/identity.h"

#include <bit>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "common/identity_scan.h"
#include "common/strings.h"

namespace headgate {
namespace {

static_assert(std::is_trivially_copyable_v<Identity>);

constexpr char kAllowed[] = "allowed are A-Z a-z 0-9 _ - . @ /";

absl::Status ByteError(std::string_view what, std::string_view text, size_t at,
                       std::string_view separator) {
  return absl::InvalidArgumentError(
      absl::StrCat(Sv(what), " has the byte '", absl::CHexEscape(Sv(text.substr(at, 1))),
                   "' at position ", at, "; ", kAllowed, Sv(separator)));
}

}  // namespace

bool Identity::TryParse(std::string_view text, uint64_t seed) {
  if (text.empty() || text.size() > kMaxBytes) return false;
  const char* const data = text.data();
  const size_t size = text.size();
  const HashKey key(seed);
  internal::IdentityScan scan(text);
  int depth = 0;
  size_t begin = 0;
  for (size_t base = 0; base <= size; base += 64) {
    uint64_t ends = base < size ? scan.Colons(base) : 0;
    // The end of the text ends a segment too.
    if (size - base < 64) ends |= uint64_t{1} << (size - base);
    for (; ends != 0; ends &= ends - 1) {
      const size_t end = base + static_cast<size_t>(std::countr_zero(ends));
      const size_t length = end - begin;
      // A length of 0 wraps around and is refused as well.
      if (length - 1 >= kMaxSegmentBytes || depth == kMaxSegments) return false;
      begin_[depth++] = static_cast<uint16_t>(begin);
      begin = end + 1;
    }
  }
  if (!scan.valid()) return false;
  data_ = data;
  size_ = static_cast<uint32_t>(size);
  depth_ = depth;
  uint64_t hash = key.mask;
  size_t end = size;
  for (int i = depth; i-- > 0;) {
    const size_t from = begin_[i];
    segment_hash_[i] = UnfinishedHash({data + from, end - from}, key);
    level_hash_[i] = hash = CombineHash(hash, segment_hash_[i]);
    end = from - 1;
  }
  return true;
}

absl::Status Identity::Explain(std::string_view text) {
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "identity is empty; it needs 1 to 8 segments, separated by ':'");
  }
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("identity has ", text.size(), " bytes; ", kMaxBytes,
                     " are allowed, so it is too long from position ", kMaxBytes));
  }
  size_t begin = 0;
  int segments = 1;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ':') {
      if (!internal::IsIdentityByte(text[i])) {
        return ByteError("identity", text, i, " and, between segments, ':'");
      }
      if (i - begin == kMaxSegmentBytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            "identity has a segment from position ", begin, " that is too long from position ", i,
            "; ", kMaxSegmentBytes, " bytes are allowed"));
      }
      continue;
    }
    if (i == begin) {
      return absl::InvalidArgumentError(absl::StrCat("identity has an empty segment at position ",
                                                     i, "; a segment has 1 to ", kMaxSegmentBytes,
                                                     " bytes"));
    }
    begin = i + 1;
    if (i < text.size() && ++segments > kMaxSegments) {
      return absl::InvalidArgumentError(absl::StrCat("identity has more than ", kMaxSegments,
                                                     " segments; one too many starts at position ",
                                                     begin));
    }
  }
  return absl::InternalError("identity was refused without a reason");
}

absl::StatusOr<Identity> Identity::Parse(std::string_view text, uint64_t seed) {
  Identity identity;
  absl::Status status = Parse(text, seed, identity);
  if (!status.ok()) return status;
  return identity;
}

absl::Status Identity::ValidateSegment(std::string_view segment) {
  if (segment.empty()) {
    return absl::InvalidArgumentError("segment is empty; it needs 1 to 128 bytes");
  }
  for (size_t i = 0; i < segment.size(); ++i) {
    if (i == kMaxSegmentBytes) {
      return absl::InvalidArgumentError(absl::StrCat("segment is too long from position ", i, "; ",
                                                     kMaxSegmentBytes, " bytes are allowed"));
    }
    if (segment[i] == ':' || !internal::IsIdentityByte(segment[i])) {
      return ByteError("segment", segment, i, "");
    }
  }
  return absl::OkStatus();
}

}  // namespace headgate
