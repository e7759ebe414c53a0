// Identities made of what connections say: always valid, whatever they say.

#include "client/proxy/wire/identity_template.h"

#include <string>

#include "common/identity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::proxy {
namespace {

using ::testing::HasSubstr;

IdentityTemplate Parsed(std::string_view text) {
  absl::StatusOr<IdentityTemplate> parsed = IdentityTemplate::Parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *std::move(parsed);
}

TEST(IdentityTemplate, IsFilledWithWhatIsSaid) {
  const IdentityTemplate identity =
      Parsed("{application_name}:{user}-of-{database}:{client_address}:{tag:route}:unasked");
  EXPECT_EQ(identity.Fill({.user = "etl",
                           .database = "orders",
                           .application_name = "pg_dump",
                           .client_address = "10.0.0.7"},
                          {{"route", "/orders"}, {"other", "x"}}),
            "pg_dump:etl-of-orders:10.0.0.7:/orders:unasked");
  EXPECT_TRUE(identity.has_tags());
  EXPECT_FALSE(Parsed("{user}").has_tags());
}

TEST(IdentityTemplate, SaysNoneOfWhatIsNotSaid) {
  EXPECT_EQ(Parsed("{application_name}:{tag:job}").Fill({}, {}), "none:none");
}

TEST(IdentityTemplate, CleansWhatIdentitiesDoNotHave) {
  EXPECT_EQ(Parsed("{application_name}:x").Fill({.application_name = "a:b c\n\xc3\xa9{user}"}, {}),
            "a_b_c____user_:x");
}

TEST(IdentityTemplate, IsAlwaysAnIdentity) {
  const std::string many(10'000, 'x');
  const ConnectionFacts facts{
      .user = many, .database = many, .application_name = many, .client_address = many};
  for (const char* const text :
       {"{user}", "{user}:{database}", "{user}{user}:a:{tag:t}:{client_address}:e:f:g:{user}"}) {
    const std::string identity = Parsed(text).Fill(facts, {{"t", many}});
    EXPECT_TRUE(Identity::Parse(identity, 7).ok()) << identity;
  }
}

TEST(IdentityTemplate, ThatMakesNoneIsRefusedWithTheFieldsThatThereAre) {
  for (const char* const text : {"", ":", "a::b", "{user", "{none}", "{tag:}", "a b", "user}",
                                 "a:b:c:d:e:f:g:h:i", "{user}\n"}) {
    const absl::Status status = IdentityTemplate::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("{application_name}")) << text;
  }
}

}  // namespace
}  // namespace headgate::proxy
