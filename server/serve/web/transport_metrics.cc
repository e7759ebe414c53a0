#include "server/govern/access/refusal.h"
#include "server/serve/web/metrics.h"

namespace headgate::web {

void AddConnections(const transport::ConnectionCounts& connections, Exposition& out) {
  out.Gauge("headgate_connections_open", "Connections to the gRPC port.").Set({}, connections.open);
  out.Gauge("headgate_connections_limit", "Connections that may be open at once.")
      .Set({}, connections.max_open);
  out.Counter("headgate_connections_accepted_total", "Connections that were accepted.")
      .Set({}, connections.accepted);
  out.Counter("headgate_connections_refused_total",
              "Connections that were closed: the limit was reached, the process could open no "
              "more files, they brought more than the server could answer, more headers than calls "
              "have, or their handshake had gone on longest of too many.")
      .Set({{"reason", "limit"}}, connections.refused)
      .Set({{"reason", "files"}}, connections.failed)
      .Set({{"reason", "input"}}, connections.cut)
      .Set({{"reason", "headers"}}, connections.headers)
      .Set({{"reason", "handshake"}}, connections.greeting);
}

void AddMemory(const std::vector<transport::OwnedMemory>& memory, Exposition& out) {
  auto held = out.Gauge("headgate_memory_bytes",
                        "Memory since the server began to listen, by who holds it. Callers are cut "
                        "for what they hold, and for nothing else.");
  for (const auto& [owner, bytes] : memory) held.Set({{"owner", owner}}, bytes);
}

void AddTls(const tls::TlsSnapshot& tls, Exposition& out) {
  auto expiry = out.Gauge("headgate_tls_certificate_expiry_timestamp_seconds",
                          "When the server's certificate ends, since the Unix epoch. Absent in "
                          "plaintext.");
  auto success = out.Gauge("headgate_tls_reload_success",
                           "Whether the newest certificate files are in force; 0: they were "
                           "refused. Absent in plaintext.");
  if (!tls.is_on) return;
  expiry.Set({}, UnixSeconds(tls.expires_at));
  success.Set({}, tls.status.ok() ? 1 : 0);
}

void AddAccess(const access::RefusalCounts& denials, const access::AccessSnapshot& access,
               Exposition& out) {
  auto denied = out.Counter("headgate_access_denied_total",
                            "Calls, and Checks of batches, that their caller may not make.");
  for (size_t reason = 0; reason < denials.size(); ++reason) {
    denied.Set({{"reason", access::ReasonLabel(static_cast<access::RefusalReason>(reason))}},
               denials[reason]);
  }
  out.Gauge("headgate_access_enabled",
            "Whether callers are asked who they are; 0: everybody may do everything.")
      .Set({}, access.is_on ? 1 : 0);
  out.Gauge("headgate_unprotected",
            "1: the gRPC or the HTTP port is in plaintext, without access, and not on the "
            "loopback.")
      .Set({}, access.exposed_at.empty() ? 0 : 1);
  auto success = out.Gauge("headgate_access_tokens_reload_success",
                           "Whether the newest token file is in force; 0: it was refused. Absent "
                           "without a token file.");
  if (!access.token_file.empty()) success.Set({}, access.status.ok() ? 1 : 0);
}

}  // namespace headgate::web
