// What OpenSSL needs to serve TLS for HTTP: the same certificate, authorities and versions as gRPC
// has.
//
//   std::shared_ptr<SSL_CTX> context = MakeServerContext(credentials, clients);  // null: it could
//   not

#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "common/tls/credentials.h"
#include "server/govern/config/config.h"

namespace headgate::tls {

// Of credentials that have been checked.
std::shared_ptr<SSL_CTX> MakeServerContext(const TlsCredentials& credentials,
                                           config::ClientCertificates clients);

}  // namespace headgate::tls
