// What three servers admit that are cut off from each other and from their store, and what becomes
// of an honest job beside a greedy one.
//
// Real servers with a PostgreSQL for their store, each in a network namespace of its own, and
// on_store_loss: APPROXIMATE. Each identity has a bucket of its own. For 30 s an owner decides,
// then the servers are cut off, and for 30 s each decides for itself. In both times a greedy
// identity offers eight times the limit, spread over all servers, and does not come back for what
// is refused; an honest one offers .6 of its limit, and comes back when it is told to. Prints:
//
//   approx_error    what the greedy one was admitted by all servers that are cut off, over the
//   limit
//                   of that time, less 1
//   approx_goodput  what the honest one was admitted then, over what it was with an owner
//
// Call it before the process has a second thread: network namespaces are of threads. It takes root.

#pragma once

#include <string>

namespace headgate::bench {

// NAME=VALUE, one a line; empty: this machine has no network namespaces, and stderr says why.
std::string MeasureApproximate();

}  // namespace headgate::bench
