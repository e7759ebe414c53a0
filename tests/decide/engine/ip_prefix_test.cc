#include "server/decide/engine/ip_prefix.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace headgate::engine {
namespace {

IpAddress Address(std::string_view text) {
  const absl::StatusOr<IpAddress> address = IpAddress::Parse(text);
  EXPECT_TRUE(address.ok()) << address.status();
  return address.value_or(IpAddress());
}

IpPrefix Prefix(std::string_view text) {
  const absl::StatusOr<IpPrefix> prefix = IpPrefix::Parse(text);
  EXPECT_TRUE(prefix.ok()) << prefix.status();
  return prefix.value_or(IpPrefix());
}

std::string Refusal(std::string_view text) {
  const absl::Status status = IpPrefix::Parse(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

TEST(IpAddress, ParsesBothFamilies) {
  EXPECT_TRUE(Address("10.1.2.3").is_v4());
  EXPECT_FALSE(Address("2001:db8::1").is_v4());
  EXPECT_EQ(Address("10.1.2.3").ToString(), "10.1.2.3");
  EXPECT_EQ(Address("2001:DB8:0::1").ToString(), "2001:db8::1");
}

TEST(IpAddress, AMappedAddressIsTheIpv4Address) {
  EXPECT_EQ(Address("::ffff:10.1.2.3"), Address("10.1.2.3"));
  EXPECT_EQ(Address("::ffff:a01:203"), Address("10.1.2.3"));
  EXPECT_NE(Address("::10.1.2.3"), Address("10.1.2.3"));
}

TEST(IpAddress, AFamilysZeroIsNotTheOthers) { EXPECT_NE(Address("0.0.0.0"), Address("::")); }

TEST(IpAddress, RefusesWhatIsNoAddress) {
  for (std::string_view text :
       {"", "10.1.2", "10.1.2.256", "010.1.2.3", "10.1.2.3 ", " 10.1.2.3", "localhost",
        "fe80::1%eth0", "[::1]", "10.1.2.3:80", ":::", "1::2::3", "10.1.2.3/8"}) {
    EXPECT_FALSE(IpAddress::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(IpAddress::Parse(std::string_view("10.1.2.3\0", 9)).ok());
  EXPECT_FALSE(IpAddress::Parse(std::string(1000, '1')).ok());
  EXPECT_EQ(IpAddress::Parse("local\nhost").status().message(),
            "'local\\nhost' is not an IP address; write one such as 10.0.0.1 or 2001:db8::1");
}

TEST(IpPrefix, ContainsTheAddressesThatBeginWithIt) {
  const IpPrefix net = Prefix("10.0.0.0/8");
  EXPECT_TRUE(net.Contains(Address("10.0.0.0")));
  EXPECT_TRUE(net.Contains(Address("10.255.255.255")));
  EXPECT_FALSE(net.Contains(Address("11.0.0.0")));
  EXPECT_FALSE(net.Contains(Address("9.255.255.255")));
}

TEST(IpPrefix, ContainsAcrossThe64BitBoundaryOfIpv6) {
  const IpPrefix net = Prefix("2001:db8:0:1:8000::/65");
  EXPECT_TRUE(net.Contains(Address("2001:db8:0:1:ffff::1")));
  EXPECT_FALSE(net.Contains(Address("2001:db8:0:1:7fff::1")));
  EXPECT_FALSE(net.Contains(Address("2001:db8:0:2:8000::")));
}

TEST(IpPrefix, EverythingOfOneFamilyIsNothingOfTheOther) {
  EXPECT_TRUE(Prefix("0.0.0.0/0").Contains(Address("255.255.255.255")));
  EXPECT_FALSE(Prefix("0.0.0.0/0").Contains(Address("::1")));
  EXPECT_TRUE(Prefix("::/0").Contains(Address("ffff::1")));
  EXPECT_FALSE(Prefix("::/0").Contains(Address("10.0.0.1")));
}

TEST(IpPrefix, ABareAddressIsAPrefixOfFullLength) {
  EXPECT_EQ(Prefix("10.0.0.1"), Prefix("10.0.0.1/32"));
  EXPECT_EQ(Prefix("2001:db8::1"), Prefix("2001:db8::1/128"));
  EXPECT_FALSE(Prefix("10.0.0.1").Contains(Address("10.0.0.2")));
}

TEST(IpPrefix, AMappedPrefixIsTheIpv4Prefix) {
  EXPECT_EQ(Prefix("::ffff:10.0.0.0/104"), Prefix("10.0.0.0/8"));
  EXPECT_EQ(Prefix("::ffff:0:0/96"), Prefix("0.0.0.0/0"));
  EXPECT_EQ(Prefix("::ffff:10.0.0.1"), Prefix("10.0.0.1/32"));
}

TEST(IpPrefix, BitsBeyondTheLengthAreRefusedWithWhatWasMeant) {
  EXPECT_EQ(Refusal("10.0.0.1/8"), "'10.0.0.1/8' has bits set beyond /8; write 10.0.0.0/8");
  EXPECT_EQ(Refusal("2001:db8::1/32"),
            "'2001:db8::1/32' has bits set beyond /32; write 2001:db8::/32");
  EXPECT_EQ(Refusal("10.0.0.1/0"), "'10.0.0.1/0' has bits set beyond /0; write 0.0.0.0/0");
  EXPECT_EQ(Refusal("::ffff:10.0.0.1/104"),
            "'::ffff:10.0.0.1/104' has bits set beyond /104; write 10.0.0.0/8");
}

TEST(IpPrefix, RefusesBadLengths) {
  EXPECT_EQ(Refusal("10.0.0.0/33"),
            "'10.0.0.0/33' needs a prefix length from 0 to 32 after the '/'");
  EXPECT_EQ(Refusal("::/129"), "'::/129' needs a prefix length from 0 to 128 after the '/'");
  EXPECT_EQ(Refusal("::ffff:0:0/90"),
            "'::ffff:0:0/90' needs a prefix length from 96 to 128 after the '/'");
  for (std::string_view text :
       {"10.0.0.0/", "10.0.0.0/08", "10.0.0.0/+8", "10.0.0.0/-1", "10.0.0.0/8 ", "10.0.0.0/8/8",
        "10.0.0.0/99999999999", "10.0.0.0/255.0.0.0", "/8"}) {
    Refusal(text);
  }
}

TEST(IpPrefix, OfMasksTheAddress) {
  EXPECT_EQ(IpPrefix::Of(Address("10.1.2.3"), 8), Prefix("10.0.0.0/8"));
  EXPECT_EQ(IpPrefix::Of(Address("10.1.2.3"), 32), Prefix("10.1.2.3"));
  EXPECT_EQ(IpPrefix::Of(Address("10.1.2.3"), 0), Prefix("0.0.0.0/0"));
  EXPECT_EQ(IpPrefix::Of(Address("2001:db8::1"), 64), Prefix("2001:db8::/64"));
  EXPECT_EQ(IpPrefix::Of(Address("2001:db8::1"), 0), Prefix("::/0"));
}

TEST(IpPrefix, EachLengthContainsTheAddressAndNoneWithItsLastBitFlipped) {
  const IpAddress ones = Address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  for (int length = 1; length <= 128; ++length) {
    const IpPrefix net = IpPrefix::Of(ones, length);
    EXPECT_TRUE(net.Contains(ones));
    EXPECT_FALSE(net.Contains(IpPrefix::Of(ones, length - 1).address())) << length;
    EXPECT_TRUE(net.Contains(net.address()));
  }
}

TEST(IpPrefix, PrintsAndParsesBackTheSame) {
  for (std::string_view text : {"10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0", "::1/128"}) {
    EXPECT_EQ(Prefix(text).ToString(), text);
  }
}

TEST(IpPrefix, HashTellsAddressLengthFamilyAndSeedApart) {
  const std::set<uint64_t> hashes = {Prefix("0.0.0.0/0").Hash(1),   Prefix("::/0").Hash(1),
                                     Prefix("0.0.0.0/8").Hash(1),   Prefix("10.0.0.0/8").Hash(1),
                                     Prefix("10.0.0.0/16").Hash(1), Prefix("10.0.0.0/8").Hash(2),
                                     Prefix("a00::/8").Hash(1),     Prefix("::a00:0/128").Hash(1)};
  EXPECT_EQ(hashes.size(), 8u);
  EXPECT_EQ(Prefix("10.0.0.0/8").Hash(1), IpPrefix::Of(Address("10.9.9.9"), 8).Hash(1));
}

}  // namespace
}  // namespace headgate::engine
