// A server whose certificate the others would refuse does not start, and says why.

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/certificates.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/temp_folder.h"

namespace headgate {
namespace {

TEST(PeerCertificate, WithoutThePeersNameTheServerDoesNotStart) {
  const TempFolder folder;
  CertificateAuthority authority("authority");
  const TestCertificate own = authority.Sign({.dns = {"localhost"}, .ip = {"127.0.0.1"}});
  ReplaceFile(folder.File("ca.crt"), authority.certificate());
  ReplaceFile(folder.File("peer.crt"), own.certificate);
  ReplaceFile(folder.File("peer.key"), own.key);
  ReplaceFile(folder.File("secret"), "0123456789abcdef0123456789abcdef");
  HeadgatedProcess server(
      {.yaml = absl::StrCat("cluster:\n  store: {dsn: \"host=127.0.0.1 port=1\"}\n  secret_file: ",
                            folder.File("secret"),
                            "\n  peer_certificates: [\"DNS:headgate-peer\"]\n"
                            "tls: {certificate_file: ",
                            folder.File("peer.crt"), ", key_file: ", folder.File("peer.key"),
                            ", client_ca_file: ", folder.File("ca.crt"),
                            "}\ntargets: [{name: orders}]\n"),
       .stateless = true,
       .flags = {"--member=a", "--member-address=127.0.0.1:1"}});
  EXPECT_FALSE(server.Start().ok());
  EXPECT_THAT(server.Log(),
              testing::HasSubstr("none of cluster.peer_certificates (DNS:headgate-peer)"));
}

}  // namespace
}  // namespace headgate
