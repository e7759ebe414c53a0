// Secrets are read by threads that poll a database: whatever stands where a file should be, they
// neither wait for it nor end because of it.

#include "server/app/connection_string.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace headgate::app {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> ReadDsn(const std::string& file) {
  config::PostgresSource source;
  source.dsn_file = file;
  return ReadConnectionString(source);
}

absl::StatusOr<std::string> ReadWithPassword(const std::string& dsn, const std::string& file) {
  config::PostgresSource source;
  source.dsn = dsn;
  source.password_file = file;
  return ReadConnectionString(source);
}

class ConnectionStringTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(folder_.File("secret"), std::ios::binary) << text;
    return folder_.File("secret");
  }

  // What is said of a dsn_file, and of a password_file, without the path in front of it.
  static std::string Error(const std::string& path) {
    const auto dsn = ReadDsn(path);
    const auto with_password = ReadWithPassword("host=h", path);
    EXPECT_EQ(dsn.status(), with_password.status());
    EXPECT_EQ(dsn.status().code(), absl::StatusCode::kFailedPrecondition);
    const std::string message(dsn.status().message());
    EXPECT_EQ(message.substr(0, path.size() + 1), path + " ");
    return message.substr(std::min(message.size(), path.size() + 1));
  }

  TempFolder folder_;
};

TEST_F(ConnectionStringTest, FileIsTakenWithoutItsLastLineBreak) {
  EXPECT_EQ(ReadDsn(Write("host=h dbname=d\n")).value(), "host=h dbname=d");
}

TEST_F(ConnectionStringTest, PasswordIsQuoted) {
  const std::string file = Write("it's\\me\n");
  EXPECT_EQ(ReadWithPassword("host=h", file).value(), "host=h password='it\\'s\\\\me'");
  EXPECT_EQ(ReadWithPassword("postgres://h/d", file).value(),
            "dbname=d host=h password='it\\'s\\\\me'");
}

TEST_F(ConnectionStringTest, VariableThatIsMissingIsNamed) {
  config::PostgresSource source;
  source.dsn_env = "HEADGATE_NO_SUCH_VARIABLE";
  EXPECT_EQ(ReadConnectionString(source).status().message(),
            "the environment has no HEADGATE_NO_SUCH_VARIABLE");
}

TEST_F(ConnectionStringTest, VariableIsReadAtEachCall) {
  config::PostgresSource source;
  source.dsn_env = "HEADGATE_TEST_DSN";
  for (const char* const dsn : {"host=a", "host=b"}) {
    setenv("HEADGATE_TEST_DSN", dsn, /*overwrite=*/1);
    EXPECT_EQ(ReadConnectionString(source).value(), dsn);
  }
  unsetenv("HEADGATE_TEST_DSN");
}

TEST_F(ConnectionStringTest, MissingFileIsNamedWithTheReason) {
  EXPECT_EQ(Error(folder_.File("none")), "cannot be read: No such file or directory");
}

TEST_F(ConnectionStringTest, FileThatMayNotBeReadIsNamedWithTheReason) {
  const std::string file = Write("secret");
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  // Root may read everything, and is nobody meanwhile.
  const uid_t me = geteuid();
  ASSERT_EQ(me == 0 ? seteuid(65534) : 0, 0);
  const std::string error = Error(file);
  ASSERT_EQ(seteuid(me), 0);
  EXPECT_EQ(error, "cannot be read: Permission denied");
}

TEST_F(ConnectionStringTest, LinkThatLeadsToItselfIsNamedWithTheReason) {
  fs::create_symlink("loop", folder_.File("loop"));
  EXPECT_EQ(Error(folder_.File("loop")), "cannot be read: Too many levels of symbolic links");
}

TEST_F(ConnectionStringTest, DirectoryIsRefused) {
  EXPECT_EQ(Error(folder_.path()), "is not a regular file");
}

TEST_F(ConnectionStringTest, PipeThatNobodyWritesToIsRefusedAtOnce) {
  const std::string pipe = folder_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Error(pipe), "is not a regular file");
}

TEST_F(ConnectionStringTest, DeviceWithoutAnEndIsRefused) {
  EXPECT_EQ(Error("/dev/zero"), "is not a regular file");
}

TEST_F(ConnectionStringTest, FileThatIsTooLargeForASecretIsRefused) {
  EXPECT_EQ(ReadDsn(Write(std::string(65536, 'x'))).value().size(), 65536u);
  EXPECT_EQ(Error(Write(std::string(65537, 'x'))), "is larger than 64 KiB");
}

TEST_F(ConnectionStringTest, FileWithoutASecretIsRefused) {
  EXPECT_EQ(Error(Write(" \n")), "is empty");
  EXPECT_EQ(Error(Write(std::string("a\0b", 3))), "does not hold a secret");
}

}  // namespace
}  // namespace headgate::app
