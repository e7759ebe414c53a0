#include "common/published.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace headgate {
namespace {

struct Pair {
  int first = 0;
  int second = 0;
};

TEST(Published, IsNullAtFirst) {
  const Published<Pair> published;
  EXPECT_EQ(published.Get(), nullptr);
}

TEST(Published, ShowsTheNewestValue) {
  Published<Pair> published;
  published.Set(std::make_shared<Pair>(Pair{1, 2}));
  EXPECT_EQ(published.Get()->second, 2);
  published.Set(std::make_shared<Pair>(Pair{3, 4}));
  EXPECT_EQ(published.Get()->second, 4);
}

TEST(Published, TwoOfATypeDoNotMix) {
  Published<Pair> one;
  Published<Pair> two;
  one.Set(std::make_shared<Pair>(Pair{1, 1}));
  two.Set(std::make_shared<Pair>(Pair{2, 2}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.Get()->first, 1);
    EXPECT_EQ(two.Get()->first, 2);
  }
}

TEST(Published, NewOneWhereAnOldOneStoodIsNotTakenForIt) {
  for (int i = 0; i < 10; ++i) {
    Published<Pair> published;  // at the same address each time
    EXPECT_EQ(published.Get(), nullptr);
    published.Set(std::make_shared<Pair>(Pair{i, i}));
    EXPECT_EQ(published.Get()->first, i);
  }
}

TEST(Published, CopyOfAReferenceOutlivesTheNextValue) {
  Published<Pair> published;
  published.Set(std::make_shared<Pair>(Pair{1, 2}));
  const std::shared_ptr<const Pair> kept = published.Get();
  published.Set(std::make_shared<Pair>(Pair{3, 4}));
  EXPECT_EQ(published.Get()->first, 3);
  EXPECT_EQ(kept->first, 1);
}

TEST(Published, ReadersSeeWholeValuesInOrder) {
  Published<Pair> published;
  published.Set(std::make_shared<Pair>(Pair{0, 0}));
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int last = 0;
      while (!done.load()) {
        const auto& value = published.Get();
        if (value->first != value->second || value->first < last) ++wrong;
        last = value->first;
      }
    });
  }
  for (int i = 1; i <= 20'000; ++i) published.Set(std::make_shared<Pair>(Pair{i, i}));
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace headgate
