// Which row is which standby's, without servers.

#include "server/observe/postgres/standby_rows.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::postgres {
namespace {

using health::StandbySpec;
using testing::ElementsAre;
using testing::IsEmpty;

using Cell = std::optional<std::string>;
using Cells = std::vector<Cell>;

// Told apart by how far they have replayed.
Cells Row(std::string replayed, std::string name, Cell address = {}, Cell slot = {},
          std::string state = "streaming") {
  return {"1000", name, state, replayed, "0", address, slot};
}

StandbySpec Named(std::string name, std::string application_name) {
  StandbySpec spec;
  spec.name = std::move(name);
  spec.application_name = std::move(application_name);
  return spec;
}

// How far the rows of each have replayed, "1 2" for two; or why there is none.
std::vector<std::string> RowsOf(const std::vector<StandbySpec>& standbys, const Table& table) {
  std::vector<std::string> all;
  for (const StandbyRows& its : RowsOfStandbys(standbys, table, 1000)) {
    std::string rows;
    for (const Cells* row : its.rows) absl::StrAppend(&rows, rows.empty() ? "" : " ", *(*row)[3]);
    all.push_back(rows.empty() ? its.missing : rows);
  }
  return all;
}

TEST(StandbyRowsTest, AreFoundByNameAddressAndSlot) {
  std::vector<StandbySpec> standbys = {Named("a", "x"), Named("b", ""), Named("c", "")};
  standbys[1].client_address = "10.0.0.2";
  standbys[2].slot = "third";
  EXPECT_THAT(RowsOf(standbys, {Row("3", "15/main", "10.0.0.9", "third"),
                                Row("2", "15/main", "10.0.0.2"), Row("1", "x", "10.0.0.1")}),
              ElementsAre("1", "2", "3"));
}

TEST(StandbyRowsTest, AnAddressIsTheSameHoweverItIsWritten) {
  std::vector<StandbySpec> standbys = {Named("a", "")};
  standbys[0].client_address = "2001:DB8:0::1";
  EXPECT_THAT(RowsOf(standbys, {Row("1", "x", "2001:db8::1")}), ElementsAre("1"));
}

TEST(StandbyRowsTest, WhatFitsSeveralIsTheOnesOfWhomMostIsSaid) {
  std::vector<StandbySpec> standbys = {Named("any", "x"), Named("east", "x")};
  standbys[1].slot = "east";
  EXPECT_THAT(RowsOf(standbys, {Row("1", "x", {}, "east"), Row("2", "x")}), ElementsAre("2", "1"));
  EXPECT_THAT(RowsOf(standbys, {Row("1", "x", {}, "east")}),
              ElementsAre("no row of pg_stat_replication has application_name 'x'; there is 'x' "
                          "from a Unix socket with slot 'east'",
                          "1"));
}

TEST(StandbyRowsTest, OneThatIsMissingIsNotHiddenByAnotherOfItsName) {
  std::vector<StandbySpec> standbys = {Named("a", "15/main"), Named("b", "15/main")};
  EXPECT_THAT(RowsOf(standbys, {Row("1", "15/main"), Row("2", "15/main")}), ElementsAre("1", "2"));
  const std::string missing =
      "of 2 standbys with application_name '15/main' 1 is there, and nobody knows which";
  EXPECT_THAT(RowsOf(standbys, {Row("1", "15/main")}), ElementsAre("1", missing));
  // Where one was set aside it is that one that does without.
  standbys[0].set_aside_until = absl::UnixEpoch() + absl::Seconds(2000);
  EXPECT_THAT(RowsOf(standbys, {Row("1", "15/main")}), ElementsAre(missing, "1"));
  standbys[0].set_aside_until = absl::UnixEpoch() + absl::Seconds(500);
  EXPECT_THAT(RowsOf(standbys, {Row("1", "15/main")}), ElementsAre("1", missing));
}

TEST(StandbyRowsTest, WhoStreamsGoesBeforeWhoDoesNot) {
  const std::vector<StandbySpec> standbys = {Named("a", "x"), Named("b", "x")};
  EXPECT_THAT(RowsOf(standbys, {Row("1", "x", {}, {}, "catchup"), Row("2", "x")}),
              ElementsAre("2", "1"));
}

TEST(StandbyRowsTest, MoreRowsThanStandbysAreTheLastOnesAndNoted) {
  const Table table = {Row("1", "x"), Row("2", "x"), Row("3", "x")};
  EXPECT_THAT(RowsOf({Named("a", "x")}, table), ElementsAre("1 2 3"));
  EXPECT_THAT(RowsOf({Named("a", "x"), Named("b", "x")}, table), ElementsAre("1", "2 3"));
  EXPECT_EQ(RowsOfStandbys({Named("a", "x")}, table, 1000)[0].note,
            "3 rows of pg_stat_replication have application_name 'x', where 1 standby is expected: "
            "one that is missing would not be noticed; give each a slot or a client_address");
  EXPECT_THAT(RowsOfStandbys({Named("a", "x")}, {Row("1", "x")}, 1000)[0].note, IsEmpty());
}

TEST(StandbyRowsTest, WhereThereIsNoneThoseThatAreThereAreListed) {
  EXPECT_THAT(RowsOf({Named("a", "ghost")},
                     {Row("1", "15/main", "10.0.0.1"), Row("2", "15/main", "10.0.0.2", "b")}),
              ElementsAre("no row of pg_stat_replication has application_name 'ghost'; there are "
                          "'15/main' from 10.0.0.1, '15/main' from 10.0.0.2 with slot 'b'"));
  EXPECT_THAT(RowsOf({Named("a", "ghost")}, {{"1000", {}, {}, {}, {}, {}, {}}}),
              ElementsAre("no row of pg_stat_replication has application_name 'ghost'; there are "
                          "none"));
  Table many;
  for (int i = 0; i < 8; ++i) many.push_back(Row("1", absl::StrCat("s", i)));
  EXPECT_THAT(RowsOf({Named("a", "ghost")}, many)[0], testing::EndsWith(" and 3 more"));
}

}  // namespace
}  // namespace headgate::postgres
