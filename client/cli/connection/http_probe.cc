#include "client/cli/connection/http_probe.h"

#include <sys/socket.h>

#include <iterator>
#include <optional>
#include <string_view>

#include "client/cli/connection/dial.h"
#include "common/host_port.h"

namespace headgate::cli {
namespace {

using namespace std::string_view_literals;

// RFC 9113, 3.4: the preface, and settings that change nothing.
constexpr std::string_view kOpening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"sv;
constexpr std::string_view kHttp1 = "HTTP/1.";

}  // namespace

bool SpeaksHttp1(const std::string& address, absl::Duration timeout) {
  const std::optional<HostPort> to = ParseHostPort(address);
  if (!to.has_value()) return false;
  const FileDescriptor connection = Dial(*to, timeout);
  if (!connection.ok()) return false;
  // What cannot be sent has no answer, which is all that matters.
  (void)send(connection.number(), kOpening.data(), kOpening.size(), MSG_NOSIGNAL);
  char answer[kHttp1.size()];
  const ssize_t got = recv(connection.number(), answer, std::size(answer), MSG_WAITALL);
  return got == static_cast<ssize_t>(kHttp1.size()) &&
         std::string_view(answer, std::size(answer)) == kHttp1;
}

}  // namespace headgate::cli
