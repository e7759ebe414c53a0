#include "common/tls/credentials.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <climits>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/freed.h"

namespace headgate {
namespace {

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

absl::Status Wrong(const std::string& file, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", why));
}

// gRPC takes texts up to their first NUL: what stands behind it would be checked, and not used.
absl::Status HasNoNul(const std::string& file, const std::string& text) {
  if (text.find('\0') == std::string::npos) return absl::OkStatus();
  return Wrong(file, "has a NUL byte, and is to be PEM");
}

Bio Open(const std::string& text) {
  if (text.size() > INT_MAX) return nullptr;
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// OpenSSL would ask at the terminal otherwise.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

absl::StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& file,
                                                          const std::string& text) {
  const Bio bio = Open(text);
  std::vector<Certificate> read;
  ERR_clear_error();
  while (bio != nullptr) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (next == nullptr) break;
    read.push_back(std::move(next));
  }
  const auto end = ERR_GET_REASON(ERR_peek_last_error());
  ERR_clear_error();
  if (end != PEM_R_NO_START_LINE) {
    return Wrong(file, "has a certificate that is damaged or not complete");
  }
  if (read.empty()) return Wrong(file, "has no certificate in PEM form");
  return read;
}

absl::StatusOr<Key> ReadKey(const std::string& file, const std::string& text) {
  const Bio bio = Open(text);
  Key key(bio == nullptr ? nullptr
                         : PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) return Wrong(file, "has no private key in PEM form, or an encrypted one");
  return key;
}

// A good pair may still be one that every handshake fails with, such as a key of 1,024 bits: its
// security level decides. gRPC would say so to nobody but the log of its own.
absl::Status TryToUse(const TlsFiles& files, const std::vector<Certificate>& chain,
                      const Key& key) {
  const Context context(SSL_CTX_new(TLS_method()));
  ERR_clear_error();
  const auto refused = [](const std::string& file) {
    const char* const why = ERR_reason_error_string(ERR_peek_last_error());
    const std::string text =
        absl::StrCat("OpenSSL does not take it: ", why != nullptr ? why : "it does not say why");
    ERR_clear_error();
    return Wrong(file, text.c_str());
  };
  if (context == nullptr) return refused(files.certificates);
  for (const Certificate& certificate : chain) {
    const bool taken = certificate == chain.front()
                           ? SSL_CTX_use_certificate(context.get(), certificate.get()) == 1
                           : SSL_CTX_add1_chain_cert(context.get(), certificate.get()) == 1;
    if (!taken) return refused(files.certificates);
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) return refused(files.key);
  return absl::OkStatus();
}

absl::Time EndOf(const Certificate& certificate) {
  std::tm end = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
    ERR_clear_error();
    return absl::InfinitePast();
  }
  return absl::FromTM(end, absl::UTCTimeZone());
}

}  // namespace

std::vector<std::string> PathsOf(const TlsFiles& files) {
  return {files.certificates, files.key, files.authorities};
}

absl::StatusOr<TlsCredentials> CredentialsOf(const TlsFiles& files,
                                             const std::vector<std::string>& texts) {
  TlsCredentials read{.certificates = texts[0], .key = texts[1], .authorities = texts[2]};
  if (absl::Status checked = CheckCredentials(files, read); !checked.ok()) return checked;
  return read;
}

absl::Status CheckCredentials(const TlsFiles& files, TlsCredentials& credentials) {
  absl::Status text = HasNoNul(files.certificates, credentials.certificates);
  text.Update(HasNoNul(files.key, credentials.key));
  text.Update(HasNoNul(files.authorities, credentials.authorities));
  if (!text.ok()) return text;
  credentials.expires_at = absl::InfiniteFuture();
  if (!files.certificates.empty()) {
    const auto chain = ReadCertificates(files.certificates, credentials.certificates);
    if (!chain.ok()) return chain.status();
    const auto key = ReadKey(files.key, credentials.key);
    if (!key.ok()) return key.status();
    const bool pair = X509_check_private_key(chain->front().get(), key->get()) == 1;
    ERR_clear_error();
    if (!pair) {
      return Wrong(
          files.key,
          absl::StrCat("is not the key of the certificate in ", files.certificates).c_str());
    }
    if (absl::Status usable = TryToUse(files, *chain, *key); !usable.ok()) return usable;
    credentials.expires_at = EndOf(chain->front());
  }
  if (files.authorities.empty()) return absl::OkStatus();
  return ReadCertificates(files.authorities, credentials.authorities).status();
}

}  // namespace headgate
