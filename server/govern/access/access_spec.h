// What an operator writes about callers, as plain data: the `access:` of a configuration.
//
// Validated by server/govern/config; compiled by AccessPolicy (access_policy.h). Thread-compatible.

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headgate::access {

// In `identities`: any identity.
inline constexpr char kAnyIdentity[] = "*";

// Key and value.
using TagSpec = std::pair<std::string, std::string>;

// One caller, and what it is granted. Exactly one of certificate, token and anybody is set.
struct CallerSpec {
  std::string name;
  std::string certificate = {};  // "URI:..." or "DNS:...", an alternative name of its certificate
  std::string token = {};        // a name in the token file
  bool anybody = false;          // whoever is nobody else
  std::vector<std::string> identities = {};  // these levels and all below; or kAnyIdentity
  std::vector<TagSpec> tags = {};            // protected ones that it may claim
  std::vector<std::string> segments = {};    // likewise
  bool overrides = false;                    // may pause, throttle and resume, for its identities
  bool exempt_overrides = false;             // may exempt, for its identities
  bool everything = false;                   // may pause, throttle and resume everything
  bool costs = false;    // may see and forget what was learnt of its identities' costs
  bool forgive = false;  // may forgive what its identities owe
  bool logs = false;     // may read the throttle log of its identities
  bool status = false;   // may read status, budgets, buckets and overrides
  bool servers = false;  // may move targets between servers, and drain those
  bool agent = false;    // may say which sessions of a target yield

  friend bool operator==(const CallerSpec&, const CallerSpec&) = default;
};

struct PolicySpec {
  std::string token_file = {};  // empty: no tokens
  std::vector<CallerSpec> callers = {};
  // What earns favours by rules of the configuration: nobody may claim it who is not granted it.
  std::vector<TagSpec> protected_tags = {};
  std::vector<std::string> protected_segments = {};

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

}  // namespace headgate::access
