// How long a pause takes to reach holders of leases.
//
// Not thread-safe: it starts a server and threads, and ends them.

#pragma once

#include <string>

namespace headgate::bench {

// revoke_ms is from the moment that CreateOverride returns until the last of eight, who hold leases
// of ten seconds and work all the time, admits nothing more; 0: it had stopped before. It is the
// worst of fifteen pauses, and revoke_median_ms their median. NAME=VALUE, one a line. Ends the
// program where it cannot be measured.
std::string MeasureRevocation();

}  // namespace headgate::bench
