// Identity: who asks for work, most specific segment first.
//
//   d666bbfc_169e:vcopier:vreplication:online-ddl
//
// Its levels are its suffixes: level 1 is the root ("online-ddl"), level depth() the leaf (all of
// it). Parsing validates and hashes every level in one go, because it is the first part of each
// decision: it neither allocates nor throws unless the text is refused.
//
// Guarantees:
// - LevelHash(d) depends only on the seed and the text of Level(d). A selector that is parsed on
//   its own therefore has, at its leaf, the very hash that the same level has inside a longer
//   identity.
// - Errors are InvalidArgument; they name the 0-based byte position and what is allowed.
//
// An Identity is a view: the parsed text must outlive it. Immutable once parsed, cheap to copy.
//
//   Identity id;
//   if (absl::Status s = Identity::Parse(request.identity(), seed, id); !s.ok()) return s;
//   for (int d = 1; d <= id.depth(); ++d) Touch(id.LevelHash(d));
#pragma once

#include <cassert>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hash.h"

namespace headgate {

class Identity {
 public:
  static constexpr int kMaxSegments = 8;
  static constexpr int kMaxSegmentBytes = 128;
  static constexpr int kMaxBytes = 512;

  // No identity: depth() is 0 and text() is empty. The arrays stay unset, so that a Check doesn't
  // pay for clearing them.
  Identity() {}  // NOLINT(modernize-use-equals-default): = default would clear under Identity{}

  // The hot path. `seed` is the process's secret. If the text is refused, `out` is no identity.
  // Inline, so that the status of a success costs nothing.
  static absl::Status Parse(std::string_view text, uint64_t seed, Identity& out) {
    if (out.TryParse(text, seed)) [[likely]] {
      return absl::OkStatus();
    }
    out = Identity();
    return Explain(text);
  }

  static absl::StatusOr<Identity> Parse(std::string_view text, uint64_t seed);

  // For `segment:` selectors: is this a valid single segment? (A ':' is refused.)
  static absl::Status ValidateSegment(std::string_view segment);

  std::string_view text() const { return {data_, size_}; }

  // The number of segments, which is the number of levels.
  int depth() const { return depth_; }

  // The suffix of `depth` segments. Requires 1 <= depth <= depth(), as do all below.
  std::string_view Level(int depth) const {
    const size_t begin = begin_[Index(depth)];
    return {data_ + begin, size_ - begin};
  }

  // The depth-th segment counted from the root: Segment(1) is the root.
  std::string_view Segment(int depth) const {
    const size_t begin = begin_[Index(depth)];
    const size_t end = depth == 1 ? size_ : begin_[Index(depth) + 1] - size_t{1};
    return {data_ + begin, end - begin};
  }

  uint64_t LevelHash(int depth) const { return level_hash_[Index(depth)]; }

  // HashBytes(Segment(depth), seed).
  uint64_t SegmentHash(int depth) const { return FinishHash(segment_hash_[Index(depth)]); }

 private:
  // The arrays are filled while the text is read, so the leaf comes first.
  int Index(int depth) const {
    assert(depth >= 1 && depth <= depth_);
    return depth_ - depth;
  }

  bool TryParse(std::string_view text, uint64_t seed);

  // What is wrong with a text that TryParse refused: the first fault from the left.
  static absl::Status Explain(std::string_view text);

  const char* data_ = nullptr;
  uint32_t size_ = 0;
  int depth_ = 0;
  uint16_t begin_[kMaxSegments];  // where each segment, and its level, starts
  uint64_t level_hash_[kMaxSegments];
  uint64_t segment_hash_[kMaxSegments];  // unfinished: only segment selectors need it finished
};

}  // namespace headgate
