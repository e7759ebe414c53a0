// PageRules: which web pages may call the API, and what they may do there.
//
// A browser lends whatever its user can reach to every page that the user opens, and says in
// `Origin` whose page it is. Let in is the page that this server has sent: its origin is the scheme
// and the host by which the server was called. In plaintext that alone would not do, since another
// site may make a name of its own point at this server, and then has that name in both; so the host
// has to be an address, or localhost, which nobody can do that with. Over TLS the certificate
// proves the name. Other origins are let in where an operator names them: a name in plaintext, or a
// proxy's.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/serve/http/message.h"

namespace headgate::gateway {

// Whether pages may do more than read.
enum class PageChanges : uint8_t {
  kWhereCallersAreKnown,  // only while access control is on, which then says who may do what
  kAlways,
  kNever,
};

struct PageRules {
  bool are_served = true;  // no: no page is let in, this server's own neither
  PageChanges changes = PageChanges::kWhereCallersAreKnown;
  std::vector<std::string> origins = {};  // "https://headgate.example.com", besides its own
};

// Whether the page that this request is from, as its Origin says, may call at all.
bool MayPageCall(const PageRules& rules, const http::Request& request);

// Whether the method at this path changes nothing, and charges nothing.
bool IsRead(std::string_view path);

// Whether a browser would write it so, as in an Origin: "https://headgate.example.com:8443".
bool IsOrigin(std::string_view text);

}  // namespace headgate::gateway
