// Whether anybody has used an identity of late, and which one may have been meant if nobody has.
// The throttle log knows, and the lines of those who wait.
//
// Thread-safe.
//
//   const SelectorUse use = FindUse(connection, selector, {.now = now, .within = absl::Hours(1)});
//   if (!use.is_used) console.Complain(use.Sentence());

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/cli/connection/connection.h"

namespace headgate::cli {

struct SelectorUse {
  bool is_used = true;  // also where it cannot be known, such as without a log, or without access
  std::string nearest;  // used in the last day, and written much like it; empty: nothing is

  std::string selector;   // as a person calls it
  absl::Duration within;  // that was looked at

  // "nobody has used etll in the last hour; did you mean etl?".
  std::string Sentence() const;
};

struct UseOptions {
  absl::Time now;
  absl::Duration within = absl::Hours(24);
};
SelectorUse FindUse(Connection& connection, const v1::Selector& selector,
                    const UseOptions& options);

}  // namespace headgate::cli
