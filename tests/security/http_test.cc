// The HTTP port of a server that has TLS and a policy.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/security/access_fixture.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/raw_socket.h"
#include "tests/testing/wait_until.h"

namespace headgate::security {
namespace {

using testing::HasSubstr;

constexpr char kCheck[] = R"({"identity": "a:etl", "estimated_cost": 1})";

TEST(HttpWithTls, IsNotCalledInPlaintextWhateverTokenThereIs) {
  GuardedServer server;
  HttpCaller plain(server.http_port());
  const auto result = plain.Post("/v1/check", kCheck, Bearer(kSreToken));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 403);
  EXPECT_THAT(result->body, HasSubstr("PLAINTEXT"));
  EXPECT_EQ(plain.client().Get("/openapi.json")->status, 403);
  EXPECT_EQ(plain.client().Get("/check/a:etl/mysql/default")->status, 403);
  EXPECT_EQ(server.permits(), 0U);
}

TEST(HttpWithTls, SaysWhatTheCallerLacks) {
  GuardedServer server;
  HttpCaller nobody(server.http_port(), server.authority.certificate(), {});
  const auto result = nobody.Post("/v1/check", kCheck);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 401);
  EXPECT_EQ(result->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(nobody.client().Get("/openapi.json")->status, 401);
  EXPECT_EQ(nobody.client().Head("/check/a:etl/mysql/default")->status, 401);
}

TEST(HttpWithTls, ShowsANewCertificateToTheNextConnection) {
  GuardedServer server;
  const auto is_answered = [&] {
    HttpCaller caller(server.http_port(), server.authority.certificate(), {});
    return static_cast<bool>(caller.Post("/v1/check", kCheck, Bearer(kSreToken)));
  };
  EXPECT_TRUE(is_answered());
  CertificateAuthority other("another authority");
  server.Write(other.SignServer());
  EXPECT_TRUE(WaitUntil([&] { return !is_answered(); }));
  server.Write(server.authority.SignServer());
  EXPECT_TRUE(WaitUntil(is_answered));
}

// It may have been taken away meanwhile.
TEST(HttpWithTls, AsksForEachRequestWhoseItIs) {
  GuardedServer server;
  HttpCaller caller(server.http_port(), server.authority.certificate(), {});
  EXPECT_EQ(caller.Post("/v1/check", kCheck, Bearer(kSreToken))->status, 200);
  EXPECT_EQ(caller.Post("/v1/check", kCheck)->status, 401);
  EXPECT_EQ(caller.Post("/v1/check", kCheck, Bearer(kAuditorToken))->status, 200);
  server.access.SetTokens({});
  EXPECT_EQ(caller.Post("/v1/check", kCheck, Bearer(kSreToken))->status, 401);
}

}  // namespace
}  // namespace headgate::security
