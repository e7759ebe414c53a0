#include "client/cli/output/table.h"

#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

TEST(Table, AlignsByColumnsOfTheTerminal) {
  Table table({{"NAME"}, {"DEBT", Align::kRight}, {"NOTE"}});
  table.Add({{"日本"}, {"5"}, {"x"}});
  table.Add({{"etl"}, {"1200"}, {"y"}});
  EXPECT_EQ(table.Text(Colours::kOff, "> "),
            "> NAME  DEBT  NOTE\n"
            "> 日本     5  x\n"
            "> etl   1200  y\n");
}

TEST(Table, EndsLinesAfterTheLastCellThatSaysSomething) {
  Table table({{"A"}, {"B"}});
  table.Add({{"long name"}, {}});
  EXPECT_EQ(table.Text(Colours::kOff), "A          B\nlong name\n");
}

TEST(Table, HasNoTitleLineWithoutTitles) {
  Table table({{""}, {""}});
  table.Add({{"permit"}, {"7"}});
  EXPECT_EQ(table.Text(Colours::kOff), "permit  7\n");
}

TEST(Table, ColoursDoNotMoveColumns) {
  Table table({{"A"}, {"B"}});
  table.Add({{"bad", Paint::kBad}, {"x"}});
  table.Add({{"longer"}, {"y"}});
  EXPECT_EQ(table.Text(Colours::kOn),
            "\x1b[1mA\x1b[0m       \x1b[1mB\x1b[0m\n"
            "\x1b[31mbad\x1b[0m     x\n"
            "longer  y\n");
}

TEST(Table, EscapesWhatItIsGiven) {
  Table table({{"A"}});
  table.Add({{"\x1b[2J\n"}});
  EXPECT_EQ(table.Text(Colours::kOff), "A\n\\x1b[2J\\n\n");
  EXPECT_EQ(table.Csv(), "A\r\n\\x1b[2J\\n\r\n");
}

TEST(Table, QuotesCsvAsTheStandardHasIt) {
  Table table({{"name"}, {"message"}, {"empty"}});
  table.Add({{"a,b"}, {"said \"no\""}, {}});
  table.Add({{"plain"}, {"two words"}, {}});
  EXPECT_EQ(table.Csv(),
            "name,message,empty\r\n"
            "\"a,b\",\"said \"\"no\"\"\",\r\n"
            "plain,two words,\r\n");
}

}  // namespace
}  // namespace headgate::cli
