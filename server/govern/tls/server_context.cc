#include "server/govern/tls/server_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "common/freed.h"

namespace headgate::tls {
namespace {

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate ReadNext(const Bio& bio) {
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

bool UseChain(const TlsCredentials& credentials, SSL_CTX* context) {
  const Bio bio = Open(credentials.certificates);
  const Certificate own = ReadNext(bio);
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) return false;
  while (const Certificate next = ReadNext(bio)) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return false;
  }
  const Key key(PEM_read_bio_PrivateKey(Open(credentials.key).get(), nullptr, nullptr, nullptr));
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

bool Trust(const std::string& authorities, SSL_CTX* context) {
  const Bio bio = Open(authorities);
  while (const Certificate next = ReadNext(bio)) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), next.get()) != 1) return false;
    if (SSL_CTX_add_client_CA(context, next.get()) != 1) return false;
  }
  return true;
}

int ModeFor(config::ClientCertificates clients) {
  switch (clients) {
    case config::ClientCertificates::kRequired:
      return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    case config::ClientCertificates::kOptional:
      return SSL_VERIFY_PEER;
    case config::ClientCertificates::kNone:
      break;
  }
  return SSL_VERIFY_NONE;
}

// HTTP/1.1 for those who ask, since many ask for HTTP/2 first.
int ChooseProtocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void* /*unused*/) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, chosen_size, kHttp11, sizeof(kHttp11) - 1,
                                            offered, offered_size);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

std::shared_ptr<SSL_CTX> MakeServerContext(const TlsCredentials& credentials,
                                           config::ClientCertificates clients) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), Freed<SSL_CTX_free>());
  ERR_clear_error();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return nullptr;
  }
  // A session that is resumed would not show its certificate anew.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context.get(), ModeFor(clients), nullptr);
  SSL_CTX_set_alpn_select_cb(context.get(), &ChooseProtocol, nullptr);
  const bool usable =
      UseChain(credentials, context.get()) && (clients == config::ClientCertificates::kNone ||
                                               Trust(credentials.authorities, context.get()));
  ERR_clear_error();
  return usable ? context : nullptr;
}

}  // namespace headgate::tls
