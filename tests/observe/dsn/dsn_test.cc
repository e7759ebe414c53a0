#include "server/observe/dsn/dsn.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace headgate::dsn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Dsn, WithoutPasswordIsFine) {
  for (const char* const dsn : {
           "host=h",
           "host = h  port= 5432\tdbname ='my db' user=u",
           "host=h application_name='it\\'s' passfile=/home/u/.pgpass",
           "dbname='password=x'",
           "dbname=a\\ password\\=b",
           "service=prod",
           "options=",
           "postgresql://",
           "postgresql://h",
           "postgres://u@h:5432,h2:5433/db?sslmode=require",
           "postgresql://u:@h/db",
           "postgresql://[::1]:5432/db",
           "postgresql:///db?host=/run/postgresql",
       }) {
    EXPECT_TRUE(CheckDsn(dsn).ok()) << dsn << ": " << CheckDsn(dsn);
  }
}

TEST(Dsn, WithPasswordIsRefused) {
  for (const char* const dsn : {
           "host=h password=x",
           "password = 'a b' host=h",
           "host='a'password=x",
           "host=h sslpassword=x",
           "host=h password\f=x",
           "host=h sslpassword\v= x",
           "postgresql://u:x@h/db",
           "postgres://u:x@h",
           "postgres://u:x/y@h/db",
           "postgres://u:x@y@h/db",
           "postgres://u:x?y@h/db",
           "postgresql://u@h/db?password=x",
           "postgresql://u@h/db?sslmode=require&password=x",
           "postgresql://u@h/db?sslpassword=x",
           "postgresql://u@h/db?pass%77ord=x",
           "postgresql://u@h/db?sslmode=require&%70assword=x",
       }) {
    EXPECT_NE(CheckDsn(dsn).message().find("holds a password"), std::string::npos) << dsn;
    EXPECT_TRUE(absl::IsInvalidArgument(CheckDsn(dsn))) << dsn;
    EXPECT_TRUE(HoldsPassword(dsn)) << dsn;
  }
}

TEST(Dsn, ThatIsNoConnectionStringIsRefused) {
  for (const char* const dsn : {"h", "=x", "host=h user", "host='h", "mysql://h/db", " , "}) {
    EXPECT_NE(CheckDsn(dsn).message().find("no connection string"), std::string::npos) << dsn;
    EXPECT_FALSE(HoldsPassword(dsn)) << dsn;
  }
}

TEST(Dsn, ListsOfHostsAreTakenApart) {
  absl::StatusOr<Dsn> dsn =
      ParseDsn("postgresql://me:pw@db-1:5433,10.0.0.2:5434/shop?sslmode=require");
  ASSERT_TRUE(dsn.ok()) << dsn.status();
  ASSERT_EQ(dsn->hosts.size(), 2u);
  EXPECT_EQ(dsn->hosts[0].host, "db-1");
  EXPECT_EQ(dsn->hosts[0].port, "5433");
  EXPECT_TRUE(dsn->hosts[0].needs_lookup());
  EXPECT_EQ(dsn->hosts[1].port, "5434");
  EXPECT_FALSE(dsn->hosts[1].needs_lookup());
  EXPECT_THAT(dsn->others, testing::UnorderedElementsAre(
                               std::pair("user", "me"), std::pair("password", "pw"),
                               std::pair("dbname", "shop"), std::pair("sslmode", "require")));
}

TEST(Dsn, WhatIsOursIsLeftOut) {
  absl::StatusOr<Dsn> dsn = ParseDsn(
      "host=/run/postgresql,::1 hostaddr=,::1 port=1 application_name=x connect_timeout=9");
  ASSERT_TRUE(dsn.ok()) << dsn.status();
  EXPECT_TRUE(dsn->others.empty());
  ASSERT_EQ(dsn->hosts.size(), 2u);
  EXPECT_FALSE(dsn->hosts[0].needs_lookup());
  EXPECT_EQ(dsn->hosts[1].address, "::1");
  EXPECT_EQ(dsn->hosts[1].port, "1");
}

TEST(Dsn, ListsThatDifferInLengthAreRefused) {
  EXPECT_FALSE(ParseDsn("host=a,b port=1,2,3").ok());
  EXPECT_FALSE(ParseDsn("host=a,b hostaddr=10.0.0.1").ok());
}

// A variable of the environment, for as long as this object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

std::vector<std::string> HostsOf(const std::string& text) {
  const absl::StatusOr<Dsn> dsn = ParseDsn(text);
  if (!dsn.ok()) return {std::string(dsn.status().message())};
  std::vector<std::string> hosts;
  for (const Dsn::Host& host : dsn->hosts) {
    hosts.push_back(host.host + "/" + host.address + ":" + host.port);
  }
  return hosts;
}

// As psql takes them.
TEST(Dsn, ListsOfTheEnvironmentAreTakenApartToo) {
  const Variable hosts("PGHOST", "a,b");
  EXPECT_THAT(HostsOf("user=u"), ElementsAre("a/:", "b/:"));
  {
    const Variable ports("PGPORT", "5433,5434");
    EXPECT_THAT(HostsOf("user=u"), ElementsAre("a/:5433", "b/:5434"));
    EXPECT_THAT(HostsOf("host=c,d"), ElementsAre("c/:5433", "d/:5434"));
    EXPECT_THAT(HostsOf("postgresql:///db"), ElementsAre("a/:5433", "b/:5434"));
    EXPECT_THAT(HostsOf("user=u port=1"), ElementsAre("a/:1", "b/:1"));
    EXPECT_THAT(HostsOf("host=c"), ElementsAre(HasSubstr("differ in length")));
  }
  {
    const Variable ports("PGPORT", "5433,");
    EXPECT_THAT(HostsOf("user=u"), ElementsAre("a/:5433", "b/:5432"));
  }
  const Variable addresses("PGHOSTADDR", "10.0.0.1,10.0.0.2");
  EXPECT_THAT(HostsOf("user=u"), ElementsAre("a/10.0.0.1:", "b/10.0.0.2:"));
  EXPECT_THAT(HostsOf("host=c"), ElementsAre(HasSubstr("differ in length")));
}

TEST(Dsn, OptionsOfTheServerAreThoseOfTheEnvironmentIfNoneAreGiven) {
  const Variable options("PGOPTIONS", "-c a=b");
  EXPECT_EQ(ParseDsn("host=h")->options, "-c a=b");
  EXPECT_EQ(ParseDsn("host=h options='-c c=d'")->options, "-c c=d");
  EXPECT_TRUE(ParseDsn("service=prod")->names_service);
}

// libpq 15 looks for a file of that name.
TEST(Dsn, TheSystemsCertificatesTakeALibpqThatKnowsThem) {
  if (PQlibVersion() >= 160000) GTEST_SKIP() << "this libpq knows them";
  for (const char* const dsn :
       {"host=h sslmode=verify-full sslrootcert=system", "postgresql://h/db?sslrootcert=system"}) {
    for (const absl::Status& status : {CheckDsn(dsn), ParseDsn(dsn).status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << dsn;
      EXPECT_THAT(std::string(status.message()), HasSubstr("takes libpq 16 or newer"));
    }
  }
  const Variable certificate("PGSSLROOTCERT", "system");
  EXPECT_FALSE(ParseDsn("host=h").ok());
  EXPECT_TRUE(ParseDsn("host=h sslrootcert=/etc/ssl/certs/ca-certificates.crt").ok());
}

// A misspelt keyword would be found by who connects, long after the check.
TEST(Dsn, WithAnUnknownKeywordIsRefused) {
  EXPECT_THAT(std::string(CheckDsn("hots=h").message()), HasSubstr("no connection string"));
  EXPECT_THAT(std::string(CheckDsn("postgresql://h/d?sslmod=require").message()),
              HasSubstr("no connection string"));
}

TEST(Dsn, APasswordIsAddedWhateverTheStringEndsIn) {
  for (const auto& [text, expected] : {
           std::pair("host=h", "host=h password='a b'"),
           std::pair("host=h\\", "host=h password='a b'"),
           std::pair("host='' user='it\\'s'", "user='it\\'s' host='' password='a b'"),
           std::pair("postgres://a?b@h/d", "user=a?b dbname=d host=h password='a b'"),
           std::pair("postgres://h/d?", "dbname=d host=h password='a b'"),
           std::pair("postgres://h/d?sslmode=require",
                     "dbname=d host=h sslmode=require password='a b'"),
       }) {
    EXPECT_EQ(WithPassword(text, "a b").value(), expected) << text;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(WithPassword("h", "secret").status()));
}

TEST(Keywords, AreFoundInBothForms) {
  using ::testing::ElementsAre;
  EXPECT_THAT(KeywordsIn("host=a port = 5 password='x y=z' user=u\\ v=w"),
              ElementsAre("host", "port", "password", "user"));
  EXPECT_THAT(KeywordsIn("postgresql://u:p=q@h/d?sslmod=x&b=c"), ElementsAre("sslmod", "b"));
  EXPECT_THAT(KeywordsIn("no words"), ElementsAre());
  EXPECT_THAT(KeywordsIn("a="), ElementsAre("a"));
  EXPECT_THAT(KnownKeywords(), testing::Contains("sslmode"));
}

}  // namespace
}  // namespace headgate::dsn
