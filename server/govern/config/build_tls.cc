// Which certificates the server shows, and which it trusts. What is in the files is not looked at:
// they may come later, with the server's volumes.

#include <string>

#include "server/govern/config/builder.h"

namespace headgate::config {
namespace {

using TlsProto = v1::Tls;

}  // namespace

void Builder::BuildTls() {
  if (!positions().Given(proto, v1::Config::kTlsFieldNumber)) return;
  const TlsProto& from = proto.tls();
  const auto require = [&](int field, const std::string& value, const char* what) {
    if (value.empty() && !positions().Spoilt(from, field)) findings.Say(from, what);
  };
  require(TlsProto::kCertificateFileFieldNumber, from.certificate_file(),
          "tls needs a certificate_file");
  require(TlsProto::kKeyFileFieldNumber, from.key_file(), "tls needs a key_file");
  TlsSettings& to = config.tls.emplace();
  to.certificate_file = from.certificate_file();
  to.key_file = from.key_file();
  to.client_ca_file = from.client_ca_file();
  if (!to.client_ca_file.empty()) {
    to.client_certificates = from.client_certificates() == v1::CLIENT_CERTIFICATES_OPTIONAL
                                 ? ClientCertificates::kOptional
                                 : ClientCertificates::kRequired;
  } else if (positions().Given(from, TlsProto::kClientCertificatesFieldNumber)) {
    findings.Say(from, TlsProto::kClientCertificatesFieldNumber,
                 "client_certificates goes with client_ca_file: there is nothing to verify them "
                 "with");
  }
}

}  // namespace headgate::config
