#include "server/app/peer_certificate.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file_text.h"
#include "common/freed.h"
#include "common/host_port.h"
#include "server/govern/access/access_policy.h"

namespace headgate::app {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;

void FreeStack(STACK_OF(X509) * stack) { sk_X509_free(stack); }

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Certificates = std::vector<Certificate>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using Authorities = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using Between = std::unique_ptr<STACK_OF(X509), Freed<FreeStack>>;

absl::StatusOr<Certificates> ReadCertificates(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFileText(path, kMaxPemBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " ", text.status().message()));
  }
  const Bio bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  Certificates certificates;
  while (X509* const read = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(read);
  }
  if (certificates.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has no certificate"));
  }
  return certificates;
}

// "DNS:..." and "URI:...", as they are compared.
std::vector<std::string> NamesIn(const X509* certificate) {
  std::vector<std::string> found;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    const ASN1_IA5STRING* const text = name->d.ia5;
    const std::string value(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                            static_cast<size_t>(ASN1_STRING_length(text)));
    found.push_back(
        access::CanonicalName(absl::StrCat(name->type == GEN_URI ? "URI:" : "DNS:", value)));
  }
  return found;
}

bool IsFor(X509* certificate, const std::string& host) {
  return X509_check_ip_asc(certificate, host.c_str(), 0) == 1 ||
         X509_check_host(certificate, host.data(), host.size(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
                         nullptr) == 1;
}

// Nothing: they vouch for it. The first of `chain` is the server's own.
std::optional<std::string> Unvouched(const Certificates& chain, const Certificates& authorities,
                                     int purpose) {
  const Authorities store(X509_STORE_new());
  for (const Certificate& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  const Between between(sk_X509_new_null());
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(between.get(), chain[i].get());
  const Verification context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between.get()) != 1) {
    return "OpenSSL cannot look at it";
  }
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_NO_CHECK_TIME);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  if (X509_verify_cert(context.get()) == 1) return std::nullopt;
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

}  // namespace

absl::Status CheckPeerCertificate(const PeerCertificateNeeds& needs) {
  const std::string& path = needs.tls.certificate_file;
  const absl::StatusOr<Certificates> chain = ReadCertificates(path);
  if (!chain.ok()) return chain.status();
  const absl::StatusOr<Certificates> authorities = ReadCertificates(needs.tls.client_ca_file);
  if (!authorities.ok()) return authorities.status();
  X509* const own = chain->front().get();
  const std::vector<std::string> names = NamesIn(own);
  const bool is_peers = std::ranges::any_of(needs.names, [&](const std::string& name) {
    return std::ranges::find(names, access::CanonicalName(name)) != names.end();
  });
  if (!is_peers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the certificate in tls.certificate_file ", path,
        " has none of cluster.peer_certificates (", absl::StrJoin(needs.names, ", "),
        ") among its names (", names.empty() ? "it has none" : absl::StrJoin(names, ", "),
        "): no other server would take this one for one of them"));
  }
  const std::optional<HostPort> place = ParseHostPort(needs.address);
  if (place.has_value() && !IsFor(own, place->host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate in tls.certificate_file ", path, " is not for ", place->host,
                     ", where --member-address says that the others reach this server"));
  }
  for (const auto& [purpose, role] : {std::pair(X509_PURPOSE_SSL_SERVER, "server"),
                                      std::pair(X509_PURPOSE_SSL_CLIENT, "client")}) {
    if (const auto why = Unvouched(*chain, *authorities, purpose); why.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("what is in tls.client_ca_file ", needs.tls.client_ca_file,
                       " does not vouch for the certificate in tls.certificate_file ", path,
                       " as that of a ", role, ", which servers are to each other: ", *why));
    }
  }
  return absl::OkStatus();
}

}  // namespace headgate::app
