#include "server/app/exposed.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "server/govern/access/status.h"

namespace headgate::app {

std::string ExposedAt(const std::string& http_address, const std::string& grpc_address) {
  std::string exposed_at;
  for (const std::string& address : {http_address, grpc_address}) {
    const std::optional<HostPort> place = ParseHostPort(address);
    if (place.has_value() && !IsLoopback(place->host)) exposed_at = address;
  }
  return exposed_at;
}

absl::Status RefuseExposed(const config::Config& config, const std::string& http_address,
                           const std::string& grpc_address) {
  if (config.tls.has_value() || config.access.has_value()) return absl::OkStatus();
  const std::string exposed_at = ExposedAt(http_address, grpc_address);
  if (exposed_at.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "refused to start: ", access::ExposedText(exposed_at),
      "; or start it with --if-exposed=warn (HEADGATE_IF_EXPOSED=warn), where something else keeps "
      "strangers away"));
}

}  // namespace headgate::app
