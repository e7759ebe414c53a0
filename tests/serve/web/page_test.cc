// The page's files: what they are sent with, to whom, and that all else is answered by others.

#include "server/serve/web/page.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/serve/web/page_files.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Others final : public http::Handler {
 public:
  bool Handle(const http::Request& /*request*/, http::Response& response,
              http::Exchange& /*exchange*/) override {
    response.status = 404;
    return true;
  }
};

class NoExchange final : public http::Exchange {
 public:
  std::shared_ptr<http::Deferred> Defer(std::shared_ptr<transport::ParkListener>) override {
    return nullptr;
  }
  absl::Cord TakeBody() override { return {}; }
};

class PageTest : public testing::Test {
 protected:
  http::Response Get(std::string_view path,
                     http::Request::Method method = http::Request::Method::kGet) {
    http::Request request;
    request.method = method;
    request.path = path;
    request.peer = &peer_;
    http::Response response;
    NoExchange exchange;
    EXPECT_TRUE(page_.Handle(request, response, exchange));
    return response;
  }

  Others others_;
  http::Peer peer_;
  Page page_{others_, {}};
  Page over_tls_{others_, {.requires_tls = true}};
};

TEST_F(PageTest, IsADocumentItsCodeAndItsStyle) {
  for (const char* path : {"/", "/page.js", "/page.css"}) {
    const http::Response response = Get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_THAT(response.body, StartsWith("\x1f\x8b")) << path;
    EXPECT_THAT(std::string(response.headers), HasSubstr("Content-Encoding: gzip\r\n"));
  }
  EXPECT_THAT(std::string(Get("/").content_type), StartsWith("text/html"));
  EXPECT_EQ(Get("/page.js.map").status, 404);
  EXPECT_EQ(Get("/index.html").status, 404);
}

TEST_F(PageTest, MayLoadAndCallNothingButThisServer) {
  const std::string headers(Get("/").headers);
  EXPECT_THAT(headers, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(headers, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(headers, HasSubstr("require-trusted-types-for 'script'"));
  EXPECT_THAT(headers, Not(HasSubstr("unsafe")));
  EXPECT_THAT(headers, Not(HasSubstr("http:")));
  EXPECT_THAT(headers, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
}

TEST_F(PageTest, IsRead) {
  const http::Response response = Get("/", http::Request::Method::kPost);
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.allow, "GET, HEAD");
}

TEST_F(PageTest, IsNotSentInPlaintextWhereThereIsTls) {
  http::Request request;
  request.method = http::Request::Method::kGet;
  request.path = "/";
  request.peer = &peer_;
  NoExchange exchange;
  http::Response refused;
  EXPECT_TRUE(over_tls_.Handle(request, refused, exchange));
  EXPECT_EQ(refused.status, 403);
  peer_.is_tls = true;
  http::Response sent;
  EXPECT_TRUE(over_tls_.Handle(request, sent, exchange));
  EXPECT_EQ(sent.status, 200);
}

TEST(PageFiles, AreTogetherBelowAHundredKilobytes) {
  size_t bytes = 0;
  for (const PageFile& file : PageFiles()) bytes += file.gzipped.size();
  EXPECT_GT(bytes, 10'000u);
  EXPECT_LT(bytes, 100'000u);
}

}  // namespace
}  // namespace headgate::web
