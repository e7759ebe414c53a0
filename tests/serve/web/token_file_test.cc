// The token file in the metrics of a whole server.

#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/serve/web/scraped_headgated.h"
#include "tests/testing/certificates.h"

namespace headgate::web {
namespace {

constexpr char kSuccess[] = "headgate_access_tokens_reload_success";

class TokenFile : public testing::Test {
 protected:
  TokenFile() {
    CertificateAuthority authority("test");
    const TestCertificate certificate = authority.SignServer();
    ReplaceFile(folder_.File("tls.crt"), certificate.certificate);
    ReplaceFile(folder_.File("tls.key"), certificate.key);
    ReplaceFile(folder_.File("tokens"), Line("first"));
  }

  static std::string Line(const std::string& name) {
    return absl::StrCat(name, " sha256:", std::string(64, 'a'), "\n");
  }
  std::string Tls() const {
    return absl::StrCat("tls: {certificate_file: ", folder_.File("tls.crt"),
                        ", key_file: ", folder_.File("tls.key"), "}\n");
  }
  std::string Yaml() const {
    return absl::StrCat(Tls(), "access:\n  token_file: ", folder_.File("tokens"),
                        "\n  callers: [{name: job, token: first, identities: ['*']}]\n");
  }

  const TempFolder folder_;
};

TEST_F(TokenFile, ThatIsRefusedIsToldUntilAGoodOneComes) {
  const ScrapedHeadgated server(Yaml());
  EXPECT_EQ(server.Scraped().Value(kSuccess), 1);
  ReplaceFile(folder_.File("tokens"), "first oops\n");
  server.AwaitScrape([](const Scrape& seen) { return seen.Value(kSuccess) == 0; });
  ReplaceFile(folder_.File("tokens"), Line("second"));
  server.AwaitScrape([](const Scrape& seen) { return seen.Value(kSuccess) == 1; });
}

TEST_F(TokenFile, ThatVanishesIsTold) {
  const ScrapedHeadgated server(Yaml());
  std::filesystem::remove(folder_.File("tokens"));
  server.AwaitScrape([](const Scrape& seen) { return seen.Value(kSuccess) == 0; });
}

TEST_F(TokenFile, ThatIsNotConfiguredIsNotTold) {
  const ScrapedHeadgated server(Tls());
  EXPECT_EQ(server.Scraped().Value(kSuccess), std::nullopt);
  server.Rewrite(Yaml());
  server.AwaitScrape([](const Scrape& seen) { return seen.Value(kSuccess) == 1; });
}

}  // namespace
}  // namespace headgate::web
