// Complaints, as whoever reads along gets them.

#include "client/cli/output/console.h"

#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using ::testing::ElementsAre;

// Keeps each piece that is written by itself, as a stream without a buffer hands it on.
class Pieces : public std::streambuf {
 public:
  const std::vector<std::string>& all() const { return all_; }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    all_.emplace_back(text, static_cast<size_t>(size));
    return size;
  }
  int_type overflow(int_type character) override {
    all_.emplace_back(1, traits_type::to_char_type(character));
    return character;
  }

 private:
  std::vector<std::string> all_;
};

TEST(Console, AComplaintIsWrittenInOnePiece) {
  Pieces pieces;
  std::ostream err(&pieces);
  std::ostringstream out;
  const Console console{.out = out, .err = err};
  console.Complain("waiting: 4 wait\nbefore it");
  console.Complain("no permit");
  EXPECT_THAT(pieces.all(),
              ElementsAre("headgate: waiting: 4 wait\\nbefore it\n", "headgate: no permit\n"));
}

}  // namespace
}  // namespace headgate::cli
