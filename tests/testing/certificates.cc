#include "tests/testing/certificates.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/freed.h"
#include "gtest/gtest.h"

namespace headgate {
namespace {

// OpenSSL's cleanup at exit forgets what it keeps for each thread: of gRPC's threads, which may
// still run then, LeakSanitizer would call that leaked.
[[maybe_unused]] const int kNoCleanup = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

Key NewKey(unsigned rsa_bits = 0) {
  Key key(rsa_bits == 0 ? EVP_EC_gen("P-256") : EVP_RSA_gen(rsa_bits));
  EXPECT_NE(key, nullptr);
  return key;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

std::string PemOf(const Certificate& certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_X509(bio.get(), certificate.get()), 1);
  return TextOf(bio.get());
}

std::string PemOf(const Key& key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
            1);
  return TextOf(bio.get());
}

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Everything but extensions and signature. It began a day ago, or before it ended.
Certificate NewCertificate(const std::string& name, EVP_PKEY* key, long serial,
                           absl::Duration lifetime) {
  Certificate made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
  const long seconds = static_cast<long>(absl::ToInt64Seconds(lifetime));
  X509_gmtime_adj(X509_getm_notBefore(made.get()), std::min(0L, seconds) - 86'400);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), seconds);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return made;
}

}  // namespace

struct CertificateAuthority::Parts {
  Key key = NewKey();
  Certificate certificate;
};

CertificateAuthority::CertificateAuthority(const std::string& name)
    : parts_(std::make_unique<Parts>()) {
  X509* const made =
      (parts_->certificate = NewCertificate(name, parts_->key.get(), serial_++, absl::Hours(24)))
          .get();
  X509_set_issuer_name(made, X509_get_subject_name(made));
  AddExtension(made, made, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign");
  EXPECT_GT(X509_sign(made, parts_->key.get(), EVP_sha256()), 0);
  pem_ = PemOf(parts_->certificate);
}

CertificateAuthority::~CertificateAuthority() = default;

TestCertificate CertificateAuthority::Sign(const TestCertificateSpec& spec) {
  const Key key = NewKey(spec.rsa_bits);
  const Certificate made = NewCertificate(spec.name, key.get(), serial_++, spec.lifetime);
  X509* const issuer = parts_->certificate.get();
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
  std::vector<std::string> names;
  for (const std::string& name : spec.dns) names.push_back("DNS:" + name);
  for (const std::string& name : spec.ip) names.push_back("IP:" + name);
  for (const std::string& name : spec.uri) names.push_back("URI:" + name);
  if (!names.empty()) {
    AddExtension(made.get(), issuer, NID_subject_alt_name, absl::StrJoin(names, ","));
  }
  EXPECT_GT(X509_sign(made.get(), parts_->key.get(), EVP_sha256()), 0);
  return {.certificate = PemOf(made), .key = PemOf(key)};
}

void ReplaceFile(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

}  // namespace headgate
