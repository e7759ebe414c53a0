#include "client/cli/connection/tls_probe.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/connection/dial.h"
#include "common/file_descriptor.h"
#include "common/freed.h"
#include "common/host_port.h"

namespace headgate::cli {
namespace {

using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<SSL_free>>;

// Blocks SIGPIPE, because OpenSSL writes to a connection that the other end may have closed.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once = {};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_ = {};
  sigset_t before_ = {};
};

constexpr char kSpeaksNoTls[] = "the server speaks no TLS; try without --tls";
constexpr char kClosesAtOnce[] =
    "the server closes the connection at once: it may be full (server.max_connections) or stopping";

Context NewContext(const client::TlsOptions* tls) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || tls == nullptr) return context;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (tls->ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else {
    SSL_CTX_load_verify_locations(context.get(), tls->ca_file.c_str(), nullptr);
  }
  if (!tls->certificate_file.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), tls->certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), tls->key_file.c_str(), SSL_FILETYPE_PEM);
  }
  return context;
}

bool IsIpAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

void Expect(SSL* session, const std::string& name) {
  if (IsIpAddress(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str());
  } else {
    SSL_set1_host(session, name.c_str());
    SSL_set_tlsext_host_name(session, name.c_str());
  }
}

// What the server's alert says about the client's certificate.
std::string OfOurs(int alert) {
  switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
      return "the server asks for a certificate: give --tls-cert and --tls-key";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "the server says that your certificate has expired";
    case SSL_AD_UNKNOWN_CA:
      return "the server does not know the authority that signed your certificate";
    default:
      return absl::StrCat("the server refuses your certificate: ",
                          SSL_alert_desc_string_long(alert));
  }
}

// The alert that was received, as OpenSSL encodes it in the reason of an error; -1: there was none.
int AlertIn(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  return reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : -1;
}

bool IsUnknownAuthority(long verified) {
  return verified == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
         verified == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         verified == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         verified == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
}

std::string OfOurs(SSL* session);

// Whether the other end has closed the connection, in a handshake that ended with `result`.
bool IsClosed(SSL* session, int result) {
  switch (SSL_get_error(session, result)) {
    case SSL_ERROR_SYSCALL:  // such as a reset; a server that is merely slow is none
      return true;
    case SSL_ERROR_SSL:
      return ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    default:
      return false;
  }
}

// gRPC's servers speak first in plaintext, and answer in TLS: from one that is there and has room
// something has come.
bool HasSaidNothing(SSL* session) { return BIO_number_read(SSL_get_rbio(session)) == 0; }

// With an alert or a hello. Without one the session stays where it was when it sent its own hello,
// whatever else has come.
bool HasAnsweredInTls(const SSL* session) {
  if (AlertIn(ERR_peek_last_error()) >= 0) return true;
  const OSSL_HANDSHAKE_STATE state = SSL_get_state(session);
  return state != TLS_ST_BEFORE && state != TLS_ST_CW_CLNT_HELLO;
}

std::string WhyFailed(SSL* session, int result, const client::TlsOptions& tls) {
  const long verified = SSL_get_verify_result(session);
  if (IsUnknownAuthority(verified)) {
    return absl::StrCat(
        "the server's certificate is refused: its authority is ",
        tls.ca_file.empty() ? "none of the system's; give it with --tls-ca" : "not in --tls-ca",
        " (", X509_verify_cert_error_string(verified), ")");
  }
  if (verified != X509_V_OK) {
    return absl::StrCat("the server's certificate is refused: ",
                        X509_verify_cert_error_string(verified));
  }
  const unsigned long error = ERR_peek_last_error();
  if (const int alert = AlertIn(error); alert >= 0) return OfOurs(alert);
  if (IsClosed(session, result)) {
    return HasSaidNothing(session) ? absl::StrCat(kClosesAtOnce, ", or speak no TLS")
                                   : OfOurs(session);
  }
  const int reason = ERR_GET_REASON(error);
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG) {
    return kSpeaksNoTls;
  }
  return error == 0 ? "" : absl::StrCat("TLS failed: ", ERR_reason_error_string(error));
}

// The server has closed the connection without an alert, as gRPC's servers do.
std::string OfOurs(SSL* session) {
  X509* const own = SSL_get_certificate(session);
  if (own == nullptr) {
    return "the server closes the connection: if it asks for a certificate, give --tls-cert and "
           "--tls-key";
  }
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) return "your certificate has expired";
  return "the server closes the connection: it may not know the authority of your certificate";
}

// With TLS 1.3 a server judges the client's certificate after the client's end of the handshake.
std::string WhyRefused(SSL* session) {
  char byte = 0;
  const int got = SSL_read(session, &byte, 1);
  if (got > 0) return "";
  if (const int alert = AlertIn(ERR_peek_last_error()); alert >= 0) return OfOurs(alert);
  // A server that is merely slow has not closed the connection.
  return SSL_get_error(session, got) == SSL_ERROR_WANT_READ ? "" : OfOurs(session);
}

}  // namespace

TlsFinding ProbeTls(const client::ConnectionOptions& options, absl::Duration timeout) {
  const std::optional<HostPort> to = ParseHostPort(options.address);
  if (!to.has_value()) return {};
  const FileDescriptor connection = Dial(*to, timeout);
  if (!connection.ok()) return {};
  const client::TlsOptions* const tls = options.tls.has_value() ? &*options.tls : nullptr;
  const NoSigpipe no_sigpipe;
  ERR_clear_error();
  TlsFinding found;
  {
    const Context context = NewContext(tls);
    const Session session(context == nullptr ? nullptr : SSL_new(context.get()));
    if (session != nullptr) {
      constexpr unsigned char kHttp2[] = {2, 'h', '2'};
      SSL_set_alpn_protos(session.get(), kHttp2, sizeof(kHttp2));
      if (tls != nullptr)
        Expect(session.get(), tls->server_name.empty() ? to->host : tls->server_name);
      SSL_set_fd(session.get(), connection.number());
      const int result = SSL_connect(session.get());
      const bool shaken = result == 1;
      found.speaks_tls = shaken || HasAnsweredInTls(session.get());
      if (tls != nullptr) {
        found.why = shaken ? WhyRefused(session.get()) : WhyFailed(session.get(), result, *tls);
      } else if (found.speaks_tls) {
        found.why = "the server speaks TLS; give --tls";
      } else if (IsClosed(session.get(), result) && HasSaidNothing(session.get())) {
        found.why = kClosesAtOnce;
      }
    }
  }
  ERR_clear_error();
  return found;
}

}  // namespace headgate::cli
