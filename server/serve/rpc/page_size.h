// How many items of a list a page has.
//
// A pure function.
//
//   const absl::StatusOr<size_t> size = PageSizeOf(request.page_size(), 100, 1000);

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace headgate::rpc {

// `usual` where none is asked for. InvalidArgument, about page_size: below 0 or above `most`.
inline absl::StatusOr<size_t> PageSizeOf(int32_t asked, int usual, int most) {
  if (asked >= 0 && asked <= most) return static_cast<size_t>(asked == 0 ? usual : asked);
  return absl::InvalidArgumentError(
      absl::StrCat("page_size: must be 0 to ", most, "; it is ", asked));
}

}  // namespace headgate::rpc
