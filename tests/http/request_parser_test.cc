// What a request is made of, in whatever pieces it comes.

#include "server/http/request_parser.h"

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

}  // namespace
}  // namespace headgate::http
