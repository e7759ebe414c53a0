#include "server/serve/gateway/page_rules.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/ip_text.h"
#include "common/strings.h"

namespace headgate::gateway {
namespace {

constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";
// A method that is new may change something until it is written down here.
constexpr std::array<std::string_view, 6> kReads = {"/v1/get_",    "/v1/list_",   "/v1/query_",
                                                    "/v1/replay_", "/v1/explain", "/v1/batch_read"};

// "[::1]:8080" is "::1", "localhost:8080" is "localhost".
std::string_view NameOf(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    const bool ends_there = end != host.npos && (end + 1 == host.size() || host[end + 1] == ':');
    return ends_there ? host.substr(1, end - 1) : std::string_view();
  }
  return host.substr(0, host.find(':'));
}

// Whether no name service is asked what it means.
bool IsFixed(std::string_view host) {
  const std::string_view name = NameOf(host);
  uint8_t bytes[16];
  return name == "localhost" || name.ends_with(".localhost") ||
         ParseIp(name, bytes) != IpFamily::kNone;
}

}  // namespace

bool MayPageCall(const PageRules& rules, const http::Request& request) {
  if (!rules.are_served) return false;
  if (std::find(rules.origins.begin(), rules.origins.end(), request.origin) !=
      rules.origins.end()) {
    return true;
  }
  const bool is_tls = request.peer->is_tls;
  return !request.host.empty() && (is_tls || IsFixed(request.host)) &&
         request.origin == absl::StrCat(is_tls ? kHttps : kHttp, Sv(request.host));
}

bool IsRead(std::string_view path) {
  return std::any_of(kReads.begin(), kReads.end(),
                     [path](std::string_view read) { return path.starts_with(read); });
}

bool IsOrigin(std::string_view text) {
  const size_t scheme = text.starts_with(kHttps)  ? sizeof(kHttps) - 1
                        : text.starts_with(kHttp) ? sizeof(kHttp) - 1
                                                  : text.size();
  const std::string_view host = text.substr(scheme);
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  });
}

}  // namespace headgate::gateway
