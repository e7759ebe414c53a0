// How a client reaches a server over TLS, and who it says it is. Plain data.
//
// Files are PEM. They are read again when they change, about a second later: a job may run for
// longer than its certificate lives. New ones are taken once certificate and key belong together;
// until then the ones before are used.
//
//   Client::Create({.address = "headgate:8081",
//                   .on_unreachable = OnUnreachable::Wait(),
//                   .tls = TlsOptions{.ca_file = "/etc/headgate/ca.crt",
//                                     .certificate_file = "/etc/headgate/tls.crt",
//                                     .key_file = "/etc/headgate/tls.key"}});

#ifndef HEADGATE_TLS_H_
#define HEADGATE_TLS_H_

#include <optional>
#include <string>

namespace headgate::client {

struct TlsOptions {
  // Authorities that the server's certificate is verified with. Empty: the system's.
  std::string ca_file = {};
  // What the client shows, for servers that ask for it. Both or neither.
  std::string certificate_file = {};
  std::string key_file = {};
  // The name that the server's certificate has to have. Empty: the address's host.
  std::string server_name = {};
};

struct ConnectionOptions {
  std::string address = "127.0.0.1:8081";
  std::optional<TlsOptions> tls = {};  // absent: plaintext
  // A file with a bearer token, sent with each call; only over TLS. Read again when it changes.
  std::string token_file = {};
};

}  // namespace headgate::client

#endif  // HEADGATE_TLS_H_
