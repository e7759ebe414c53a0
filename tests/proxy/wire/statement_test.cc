// What is read of a statement's text: what kind of work it is, and what its comments say.

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/proxy/wire/statement_pattern.h"
#include "client/proxy/wire/statement_tags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::proxy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PatternOf, LeavesOutConstantsCommentsAndCase) {
  EXPECT_EQ(PatternOf("SELECT * FROM t\n  WHERE id = 42 AND name='x''y' -- why\n;"),
            "select * from t where id = ? and name=?");
  EXPECT_EQ(PatternOf("/*controller='a'*/ COPY public.t (a, b) TO stdout;"),
            "copy public.t (a, b) to stdout");
  EXPECT_EQ(PatternOf("FETCH 100 FROM c"), "fetch ? from c");
}

TEST(PatternOf, IsOneForListsAndRowsOfAnyLength) {
  EXPECT_EQ(PatternOf("SELECT 1 WHERE a IN (1, 2,3)"), PatternOf("SELECT 7 WHERE a IN ($1)"));
  EXPECT_EQ(PatternOf("INSERT INTO t VALUES (1, 'a'), (2, 'b'),(3, 'c')"),
            "insert into t values (?)");
}

TEST(PatternOf, KnowsWhereStringsEnd) {
  EXPECT_EQ(PatternOf(R"(SELECT 'it''s', E'a\'b', $$ a 'b' $$, $x$ $$ $x$, U&'\0041', b'01')"),
            "select ?");
  EXPECT_EQ(PatternOf(R"(SELECT 'a\' , 1)"), "select ?") << "a backslash is none in such a string";
  EXPECT_EQ(PatternOf(R"(SELECT "Odd ' name", a$1)"), R"(select "Odd ' name", a$1)");
  EXPECT_EQ(PatternOf("SELECT /* a /* b */ ' */ 1"), "select ?");
}

TEST(PatternOf, KnowsNumbers) {
  EXPECT_EQ(PatternOf("SELECT 1.5e-3 + .5 - 0x1F * 1_000"), "select ? + ? - ? * ?");
  EXPECT_EQ(PatternOf("SELECT a.b, t1.c2"), "select a.b, t1.c2");
  EXPECT_EQ(PatternOf("FOR i IN 1..10"), "for i in ?..?");
}

TEST(PatternOf, OfWhatWasCutIsWhatIsThere) {
  EXPECT_EQ(PatternOf("SELECT 'never end"), "select ?");
  EXPECT_EQ(PatternOf("SELECT 1 /* never"), "select ?");
  EXPECT_EQ(PatternOf("SELECT $tag$ never"), "select ?");
  EXPECT_EQ(PatternOf("  -- nothing"), "");
}

TEST(PatternOf, IsBoundedAndToldApartByAllOfIt) {
  const std::string columns(1000, 'c');
  const std::string one = PatternOf("SELECT " + columns + "a");
  const std::string other = PatternOf("SELECT " + columns + "b");
  EXPECT_EQ(one.size(), kMaxPatternBytes);
  EXPECT_NE(one, other);
  EXPECT_EQ(one.substr(0, 180), other.substr(0, 180));
}

TEST(PatternOf, IsPrintableWhateverTheEncoding) {
  EXPECT_EQ(PatternOf("SELECT caf\xe9, \x01"), R"(select caf\xe9, \x01)");
  EXPECT_EQ(PatternOf("SELECT größe"), "select größe");
}

TEST(TagsOf, AreThoseOfSQLCommenter) {
  EXPECT_THAT(TagsOf("SELECT 1 /*controller='orders',route='%2Forders%2Fid'*/"),
              ElementsAre(Pair("controller", "orders"), Pair("route", "/orders/id")));
  EXPECT_THAT(TagsOf("SELECT 1 /* a = 'x' , b='it\\'s' */ "),
              ElementsAre(Pair("a", "x"), Pair("b", "it's")));
}

TEST(TagsOf, AreTheLastCommentsThatHasAny) {
  EXPECT_THAT(TagsOf("/*a='1'*/ SELECT 1 /*a='2'*/ /* nothing */"), ElementsAre(Pair("a", "2")));
}

TEST(TagsOf, AreNoneOfWhatIsNoComment) {
  EXPECT_THAT(TagsOf("SELECT '/*a=''1''*/'"), IsEmpty());
  EXPECT_THAT(TagsOf("SELECT 1 -- a='1'"), IsEmpty());
  for (const char* const comment : {"/*a=1*/", "/*a='1*/", "/*='1'*/", "/*a='1' b='2'*/",
                                    "/*a='%zz'*/", "/*a='%2'*/", "/*a*/", "/*/", "/**/"}) {
    EXPECT_THAT(TagsOf(absl::StrCat("SELECT 1 ", comment)), IsEmpty()) << comment;
  }
}

TEST(TagsOf, AreBounded) {
  EXPECT_THAT(TagsOf(absl::StrCat("/*a='", std::string(10'000, 'x'), "',b='y'*/")),
              ElementsAre(Pair("b", "y")));
  std::string many = "/*";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&many, i == 0 ? "" : ",", "k", i, "='v'");
  EXPECT_EQ(TagsOf(many + "*/").size(), kMaxTags);
}

}  // namespace
}  // namespace headgate::proxy
