#include "tests/soak/calls.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::soak {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Calls, WhatWasExpectedIsCounted) {
  Calls calls;
  EXPECT_TRUE(calls.Expect("log", grpc::Status()));
  EXPECT_FALSE(calls.Expect("log", {grpc::StatusCode::UNAVAILABLE, "disk full"},
                            {grpc::StatusCode::UNAVAILABLE}));
  EXPECT_EQ(calls.counts()["log"].ok, 1);
  EXPECT_EQ(calls.counts()["log"].refused, 1);
  EXPECT_THAT(calls.surprises(), IsEmpty());
}

TEST(Calls, AnyOtherErrorIsASurprise) {
  Calls calls;
  EXPECT_FALSE(
      calls.Expect("check", {grpc::StatusCode::INTERNAL, "boom"}, {grpc::StatusCode::UNAVAILABLE}));
  EXPECT_THAT(calls.surprises(), ElementsAre("check: code 13: boom"));
}

TEST(Calls, SurprisesAreAllCountedAndSomeKept) {
  Calls calls;
  for (int i = 0; i < 1000; ++i) calls.Require(false, "one permit, two answers");
  EXPECT_EQ(calls.surprise_count(), 1000);
  EXPECT_EQ(calls.surprises().size(), 20);
}

}  // namespace
}  // namespace headgate::soak
