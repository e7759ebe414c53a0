#include "server/postgres/dsn.h"

#include <arpa/inet.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/strings/str_split.h"

namespace headgate::postgres {
namespace {

struct OptionsFreer {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, OptionsFreer>;

// Empty if it is not set.
std::string ValueOf(const Options& options, std::string_view keyword) {
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == keyword) return option->val == nullptr ? "" : option->val;
  }
  return "";
}

std::vector<std::string> ListOf(const std::string& value) { return absl::StrSplit(value, ','); }

// The i-th of a list that may be shorter: one value stands for all.
std::string ElementOf(const std::vector<std::string>& list, size_t i) {
  if (list.size() == 1) return list[0];
  return i < list.size() ? list[i] : "";
}

// What this room sets itself: where to connect, how long to wait, and as whom to be seen.
bool IsOurs(std::string_view keyword) {
  return keyword == "host" || keyword == "hostaddr" || keyword == "port" ||
         keyword == "connect_timeout" || keyword == "application_name" ||
         keyword == "client_encoding";
}

}  // namespace

bool Dsn::Host::needs_lookup() const {
  if (!address.empty() || host.empty() || host[0] == '/' || host[0] == '@') return false;
  in6_addr ignored;
  return inet_pton(AF_INET, host.c_str(), &ignored) != 1 &&
         inet_pton(AF_INET6, host.c_str(), &ignored) != 1;
}

absl::StatusOr<Dsn> ParseDsn(const std::string& text) {
  char* error = nullptr;
  const Options given(PQconninfoParse(text.c_str(), &error));
  PQfreemem(error);
  if (given == nullptr) {
    return absl::InvalidArgumentError(
        "the connection string is neither key=value pairs nor a postgresql:// URI");
  }
  Dsn dsn;
  for (const PQconninfoOption* option = given.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || IsOurs(option->keyword)) continue;
    dsn.others.emplace_back(option->keyword, option->val);
  }
  std::string host = ValueOf(given, "host");
  std::string address = ValueOf(given, "hostaddr");
  if (host.empty() && address.empty() && ValueOf(given, "service").empty()) {
    const Options defaults(PQconndefaults());
    host = ValueOf(defaults, "host");
    address = ValueOf(defaults, "hostaddr");
  }
  const std::vector<std::string> hosts = ListOf(host);
  const std::vector<std::string> addresses = ListOf(address);
  const std::vector<std::string> ports = ListOf(ValueOf(given, "port"));
  if ((!host.empty() && !address.empty() && hosts.size() != addresses.size()) ||
      (ports.size() > 1 && ports.size() != std::max(hosts.size(), addresses.size()))) {
    return absl::InvalidArgumentError(
        "the connection string's lists of hosts, addresses and ports differ in length");
  }
  for (size_t i = 0; i < std::max(hosts.size(), addresses.size()); ++i) {
    dsn.hosts.push_back({.host = i < hosts.size() ? hosts[i] : "",
                         .address = i < addresses.size() ? addresses[i] : "",
                         .port = ElementOf(ports, i)});
  }
  return dsn;
}

}  // namespace headgate::postgres
