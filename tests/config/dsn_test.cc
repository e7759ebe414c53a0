#include "server/config/dsn.h"

#include "gtest/gtest.h"

namespace headgate::config {
namespace {

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
  }
}

TEST(Dsn, ThatIsNoConnectionStringIsRefused) {
  for (const char* const dsn : {"h", "=x", "host=h user", "host='h", "mysql://h/db", " , "}) {
    EXPECT_NE(CheckDsn(dsn).message().find("no connection string"), std::string::npos) << dsn;
  }
}

}  // namespace
}  // namespace headgate::config
