#include "server/observe/dsn/password_file.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "tests/testing/temp_folder.h"

namespace headgate::dsn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PasswordFile : public testing::Test {
 protected:
  PasswordFile() { setenv("HOME", folder_.path().c_str(), 1); }
  ~PasswordFile() override { unsetenv("PGPASSFILE"); }

  std::string Write(const std::string& name, mode_t mode) {
    folder_.WriteInPlace(name, "*:*:*:*:secret\n");
    EXPECT_EQ(chmod(folder_.File(name).c_str(), mode), 0);
    return folder_.File(name);
  }
  static std::string Unread(const std::string& text) {
    const absl::StatusOr<Dsn> dsn = ParseDsn(text);
    EXPECT_TRUE(dsn.ok()) << dsn.status();
    return dsn.ok() ? UnreadPasswordFile(*dsn) : "?";
  }

  TempFolder folder_;
};

TEST_F(PasswordFile, OfItsOwnerAloneIsRead) {
  EXPECT_EQ(Unread("host=h passfile=" + Write("mine", 0600)), "");
  EXPECT_EQ(Unread("host=h passfile=" + Write("mine", 0400)), "");
  EXPECT_EQ(Unread("host=h"), "");  // there is none at home
  Write(".pgpass", 0600);
  EXPECT_EQ(Unread("host=h"), "");
}

TEST_F(PasswordFile, ThatOthersMayUseIsNotAndSaysWhatToDo) {
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    EXPECT_THAT(Unread("host=h passfile=" + Write("ours", mode)),
                AllOf(StartsWith("the file of passwords " + folder_.File("ours") + " is not read"),
                      HasSubstr("(0600)"), HasSubstr("password_file")));
  }
  EXPECT_THAT(Unread("host=h passfile=" + Write("ours", 0440)), HasSubstr("its mode is 0440"));
}

TEST_F(PasswordFile, IsFoundWhereLibpqFindsIt) {
  Write(".pgpass", 0644);
  EXPECT_THAT(Unread("host=h"), HasSubstr("/.pgpass is not read"));
  setenv("PGPASSFILE", Write("named", 0644).c_str(), 1);
  EXPECT_THAT(Unread("host=h"), HasSubstr("/named is not read"));
}

TEST_F(PasswordFile, ThatIsNoneOrIsNotThereIsSaid) {
  EXPECT_THAT(Unread("host=h passfile=" + folder_.path().string()), HasSubstr("no regular file"));
  EXPECT_THAT(Unread("host=h passfile=" + folder_.File("none")), HasSubstr("No such file"));
}

TEST_F(PasswordFile, IsNotAskedForWhereThereIsAPassword) {
  EXPECT_EQ(Unread("host=h password=x passfile=" + Write("ours", 0640)), "");
}

}  // namespace
}  // namespace headgate::dsn
