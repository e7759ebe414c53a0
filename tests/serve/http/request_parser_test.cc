// What a request is made of, in whatever pieces it comes.

#include "server/serve/http/request_parser.h"

#include <malloc.h>

#include <string>
#include <string_view>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::http {
namespace {

void Put(RequestParser& parser, std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = parser.Put(boost::asio::buffer(bytes.data(), bytes.size()));
    ASSERT_GT(taken, 0U);
    bytes.remove_prefix(taken);
  }
}

std::string Head(size_t body_bytes) {
  return absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body_bytes, "\r\n\r\n");
}

TEST(RequestParser, ABodyIsOneTextUpToALength) {
  const std::string body(kMaxBodyText, 'x');
  RequestParser parser({});
  Put(parser, Head(body.size()));
  Put(parser, body.substr(0, 5000));
  Put(parser, body.substr(5000));
  ASSERT_TRUE(parser.is_done());
  EXPECT_FALSE(parser.request().has_long_body);
  EXPECT_EQ(parser.request().body, body);
  EXPECT_EQ(std::string(parser.TakeBody()), body);
}

TEST(RequestParser, ALongerOneIsToBeTaken) {
  const std::string body = std::string(kMaxBodyText, 'x') + 'y';
  RequestParser parser({});
  Put(parser, Head(body.size()));
  Put(parser, body);
  ASSERT_TRUE(parser.is_done());
  EXPECT_TRUE(parser.request().has_long_body);
  EXPECT_EQ(parser.request().body, "");
  EXPECT_EQ(parser.body_bytes(), body.size());
  EXPECT_EQ(std::string(parser.TakeBody()), body);
}

// To move a body of some megabytes as it grows takes the port's thread a millisecond, each time.
// Whatever is as large as that is a mapping of its own for malloc, and none of them is made.
TEST(RequestParser, ABodyIsNotMovedAsItGrows) {
  const std::string piece(size_t{16} << 10, 'x');
  constexpr size_t kPieces = 256;
  RequestParser parser({});
  Put(parser, Head(kPieces * piece.size()));
  const size_t mappings = mallinfo2().hblks;
  for (size_t i = 0; i < kPieces; ++i) {
    Put(parser, piece);
    ASSERT_EQ(mallinfo2().hblks, mappings) << "after piece " << i;
  }
  EXPECT_TRUE(parser.is_done());
  EXPECT_EQ(parser.TakeBody().size(), kPieces * piece.size());
}

int RefusalOf(const std::string& bytes) {
  RequestParser parser({});
  for (std::string_view left = bytes; !left.empty() && parser.refusal() == 0;) {
    const size_t taken = parser.Put(boost::asio::buffer(left.data(), left.size()));
    if (taken == 0) break;
    left.remove_prefix(taken);
  }
  return parser.refusal();
}

// A server before this one may have read it in another way.
TEST(RequestParser, AFieldThatGoesOnInTheNextLineIsRefused) {
  const std::string start = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A: 1\r\n\r\n"), 0);
  EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A:\r\n\r\n"), 0);
  EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A:  \t \r\n\r\n"), 0);
  for (const char* const space : {" ", "\t", "  \t"}) {
    const std::string fold = absl::StrCat("\r\n", space);
    EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A: 1" + fold + "2\r\n\r\n"), 400);
    EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A:" + fold + "2\r\n\r\n"), 400);
    EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A: 1" + fold + "\r\n\r\n"), 400);
    EXPECT_EQ(RefusalOf(start + "Host: x\r\nX-A: 1" + fold + fold + "2\r\n\r\n"), 400);
    EXPECT_EQ(RefusalOf(start + "Host:" + fold + "x\r\n\r\n"), 400);
    EXPECT_EQ(RefusalOf(start + "Host: x\r\nAuthorization: Bearer" + fold + "t\r\n\r\n"), 400);
    // Also in the fields behind a body.
    EXPECT_EQ(RefusalOf("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "0\r\nX-A: 1" +
                        fold + "2\r\n\r\n"),
              400);
  }
}

TEST(RequestParser, AFieldThatGoesOnInTheNextLineIsRefusedInWhateverPieces) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n 2\r\n\r\n";
  for (size_t first = 1; first < bytes.size(); ++first) {
    RequestParser parser({});
    std::string buffer = bytes.substr(0, first);
    buffer.erase(0, parser.Put(boost::asio::buffer(buffer)));
    buffer += bytes.substr(first);
    while (parser.refusal() == 0 && !buffer.empty()) {
      const size_t taken = parser.Put(boost::asio::buffer(buffer));
      if (taken == 0) break;
      buffer.erase(0, taken);
    }
    EXPECT_EQ(parser.refusal(), 400) << "in pieces of " << first;
  }
}

}  // namespace
}  // namespace headgate::http
