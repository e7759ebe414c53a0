#include "server/serve/transport/received_bytes.h"

#include <headgate/v1/throttler_service.pb.h>

#include <string>

#include "gtest/gtest.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {
namespace {

std::string Times(size_t count, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

bool HasTooMany(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  return HasTooManyParts(buffer, *v1::BatchCheckRequest::descriptor());
}

// A Check with an empty identity: two parts in four bytes.
const std::string kTwoParts("\x0a\x02\x0a\x00", 4);
// Text that looks like many parts: "identity" of a Check.
std::string Text(size_t size) {
  v1::BatchCheckRequest batch;
  batch.add_checks()->set_identity(Times(size / 2, std::string("\x0a\x00", 2)));
  return batch.SerializeAsString();
}

TEST(ReceivedBytes, PartsWithinMessagesAreCounted) {
  EXPECT_FALSE(HasTooMany(Times(kMaxParts / 2, kTwoParts)));
  EXPECT_TRUE(HasTooMany(Times(kMaxParts / 2 + 1, kTwoParts)));
}

TEST(ReceivedBytes, TextIsOnePartWhateverIsInIt) { EXPECT_FALSE(HasTooMany(Text(1 << 20))); }

TEST(ReceivedBytes, PartsBehindAFaultAreNotCountedAsNobodyParsesThem) {
  const std::string no_tag(1, '\0');
  EXPECT_FALSE(HasTooMany(Times(1000, kTwoParts) + no_tag + Times(kMaxParts, kTwoParts)));
  EXPECT_TRUE(HasTooMany(Times(kMaxParts, kTwoParts) + no_tag));
}

TEST(ReceivedBytes, GroupsAreCountedAndBoundedInDepth) {
  const std::string begin("\xfb\x01"), end("\xfc\x01");
  EXPECT_TRUE(HasTooMany(Times(kMaxParts + 1, begin + end)));
  EXPECT_FALSE(HasTooMany(Times(kMaxParts + 1, begin)));  // as a parser, which refuses them
}

TEST(ReceivedBytes, MessageOfTooManyPartsIsRefusedAndTheNextOneRead) {
  Decoded<v1::BatchCheckRequest> request;
  const auto decode = [&](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    grpc::ByteBuffer buffer(&slice, 1);
    request.Decode(buffer);
  };
  decode(Times(kMaxParts + 1, kTwoParts));
  EXPECT_FALSE(request.complete());
  EXPECT_EQ(request.Error().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(request.message.checks_size(), 0);
  decode(kTwoParts);
  EXPECT_TRUE(request.complete());
  EXPECT_EQ(request.message.checks_size(), 1);
}

}  // namespace
}  // namespace headgate::transport
