// The first packet of a connection: what it is, and how what is none is refused.

#include "client/proxy/wire/startup.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/proxy/wire/big_endian.h"
#include "client/proxy/wire/messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::proxy {
namespace {

using std::string_literals::operator""s;
using ::testing::HasSubstr;

constexpr uint32_t kVersion3 = 3 << 16;

std::string Packet(uint32_t code, std::string_view body) {
  std::string packet;
  AppendUint32(static_cast<uint32_t>(8 + body.size()), packet);
  AppendUint32(code, packet);
  return packet.append(body);
}

Startup Read(std::string_view bytes) {
  absl::StatusOr<std::optional<Startup>> read = ReadStartup(bytes);
  EXPECT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read.ok() && read->has_value());
  return read.ok() && read->has_value() ? **read : Startup();
}

// "08P01 message".
std::string Refusal(std::string_view bytes) {
  const absl::Status status = ReadStartup(bytes).status();
  EXPECT_FALSE(status.ok());
  return absl::StrCat(std::string(SqlStateOf(status)), " ", std::string(status.message()));
}

TEST(ReadStartup, ASessionSaysWhatItIs) {
  const std::string packet =
      Packet(kVersion3, "user\0etl\0database\0orders\0application_name\0pg_dump\0\0"s);
  const Startup startup = Read(packet + "next");
  EXPECT_EQ(startup.kind, Startup::Kind::kSession);
  EXPECT_EQ(startup.size, packet.size());
  EXPECT_EQ(startup.Parameter("user"), "etl");
  EXPECT_EQ(startup.Parameter("database"), "orders");
  EXPECT_EQ(startup.Parameter("application_name"), "pg_dump");
  EXPECT_EQ(startup.Parameter("options"), "");
  EXPECT_FALSE(startup.IsReplication());
}

TEST(ReadStartup, OfAParameterThatComesTwiceTheLaterCounts) {
  EXPECT_EQ(Read(Packet(kVersion3, "user\0a\0user\0b\0\0"s)).Parameter("user"), "b");
}

TEST(ReadStartup, LaterMinorVersionsAreSessionsToo) {
  EXPECT_EQ(Read(Packet(kVersion3 + 2, "user\0a\0\0"s)).Parameter("user"), "a");
}

TEST(ReadStartup, WalsendersAreTold) {
  for (const char* const value : {"true", "on", "database", "yes", "1"}) {
    EXPECT_TRUE(
        Read(Packet(kVersion3, "user\0a\0replication\0"s + value + "\0\0"s)).IsReplication())
        << value;
  }
  for (const char* const value : {"false", "OFF", "no", "0"}) {
    EXPECT_FALSE(
        Read(Packet(kVersion3, "user\0a\0replication\0"s + value + "\0\0"s)).IsReplication())
        << value;
  }
}

TEST(ReadStartup, ACancelRequestNamesItsSession) {
  const Startup startup = Read(Packet(kCancelCode, "\0\0\x01\x02secr"s));
  EXPECT_EQ(startup.kind, Startup::Kind::kCancel);
  EXPECT_EQ(startup.key, (CancelKey{.process = 0x102, .secret = "secr"}));
  EXPECT_EQ(CancelRequest(startup.key), Packet(kCancelCode, "\0\0\x01\x02secr"s));
}

TEST(ReadStartup, ASecretMayBeLongerSinceProtocol32) {
  const std::string secret(256, 's');
  EXPECT_EQ(Read(Packet(kCancelCode, "\0\0\0\x01"s + secret)).key.secret, secret);
  EXPECT_THAT(Refusal(Packet(kCancelCode, "\0\0\0\x01"s + secret + "s")), HasSubstr("08P01"));
  EXPECT_THAT(Refusal(Packet(kCancelCode, "\0\0\0\x01sec"s)), HasSubstr("08P01"));
  EXPECT_THAT(Refusal(Packet(kCancelCode, "")), HasSubstr("08P01"));
}

TEST(ReadStartup, RequestsForEncryptionAreTold) {
  EXPECT_EQ(Read(Packet(80877103, "")).kind, Startup::Kind::kSslRequest);
  EXPECT_EQ(Read(Packet(80877104, "")).kind, Startup::Kind::kGssRequest);
  EXPECT_THAT(Refusal(Packet(80877103, "x")), HasSubstr("08P01"));
}

TEST(ReadStartup, WaitsForAllOfIt) {
  const std::string packet = Packet(kVersion3, "user\0etl\0\0"s);
  for (size_t size = 0; size < packet.size(); ++size) {
    const absl::StatusOr<std::optional<Startup>> read = ReadStartup(packet.substr(0, size));
    ASSERT_TRUE(read.ok()) << size;
    EXPECT_FALSE(read->has_value()) << size;
  }
}

TEST(ReadStartup, WhatIsNoneIsRefusedAsPostgreSQLDoes) {
  EXPECT_EQ(Refusal("\0\0\0\x07"s), "08P01 invalid length of startup packet");
  EXPECT_EQ(Refusal("\x7f\xff\xff\xff"s), "08P01 invalid length of startup packet");
  EXPECT_EQ(Refusal("\x80\0\0\0"s), "08P01 invalid length of startup packet");
  // What a client begins with that speaks TLS or HTTP at once.
  EXPECT_EQ(Refusal("\x16\x03\x01\x02\0\x01"s), "08P01 invalid length of startup packet");
  EXPECT_EQ(Refusal("GET / HTTP/1.1\r\n"), "08P01 invalid length of startup packet");
  EXPECT_EQ(Refusal(Packet(2 << 16, "x")),
            "0A000 unsupported frontend protocol 2.0: this proxy relays 3.x");
  EXPECT_THAT(Refusal(Packet(4 << 16, "x")), HasSubstr("0A000 unsupported frontend protocol 4.0"));
  EXPECT_EQ(Refusal(Packet(kVersion3, "database\0orders\0\0"s)),
            "28000 no PostgreSQL user name specified in startup packet");
  for (const std::string& body :
       {"user\0etl"s, "user\0etl\0"s, "user\0etl\0database\0\0"s, "user\0etl\0\0more"s, ""s}) {
    EXPECT_THAT(Refusal(Packet(kVersion3, body)), HasSubstr("08P01 invalid startup packet layout"))
        << body;
  }
}

}  // namespace
}  // namespace headgate::proxy
