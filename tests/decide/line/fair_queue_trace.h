// Any bytes are a trace of actions on a FairQueue, which after each of them has to say what its
// model says. Shared by the tests and the fuzzer.
//
//   EXPECT_EQ(RunFairQueueTrace(bytes, &tally), "");

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/decide/line/fair_queue.h"
#include "tests/decide/line/fair_queue_model.h"
#include "tests/decide/line/line_flow.h"

namespace headgate::line {

class FairQueueTrace {
 public:
  using Tally = std::map<std::string, uint64_t>;

  FairQueueTrace(std::span<const uint8_t> bytes, Tally* tally)
      : bytes_(bytes),
        tally_(tally),
        floor_(Pick<double>({0.05, 0, 0.25})),
        max_flows_(Pick<size_t>({4096, 1, 8, 24})),
        queue_({.priority_floor = floor_, .max_flows = max_flows_}),
        model_(floor_, max_flows_) {}

  // What they disagree about; empty: nothing.
  std::string Run() {
    while (at_ < bytes_.size()) {
      const char* const action = Act();
      if (tally_ != nullptr) ++(*tally_)[action];
      ++actions_;
      if (std::string wrong = Compare(); !wrong.empty()) {
        return absl::StrCat("action ", actions_, ", ", action, ": ", wrong);
      }
    }
    return "";
  }

 private:
  struct Entry {
    engine::LineFlow flow;
    double cost;
  };

  uint8_t Byte() { return at_ < bytes_.size() ? bytes_[at_++] : uint8_t{0}; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return *(values.begin() + Byte() % values.size());
  }

  engine::LineFlow AnyFlow() {
    const char* const path = Pick<const char*>(
        {"a",  "b",   "xa", "xb", "xc", "x", "yxa", "yxb", "yb", "y",  "abcd", "abce",
         "ab", "abc", "",   "c",  "d",  "e", "f",   "ga",  "gb", "gc", "gd",   "ge"});
    const int priority = Pick<int>({0, 0, 0, 7, -3});
    const double weight = Pick<double>({1, 1, 3, 0.5, 1000, 0.001});
    return FlowOf(path, priority, {weight, 1, weight});
  }
  double AnyCost() { return Pick<double>({1, 7, 10, 200, 1.0 / 3, 0, 1e9, 12345.678}); }

  const char* Act() {
    const uint8_t what = Byte() % 16;
    if (what < 6) return Push();
    if (what < 11) return AdmitHead(what % 2 == 0);
    if (what == 11) return Remove(queue_.Head().value_or(0), "remove the head");
    if (what == 12) return Remove(AnyId(), "remove anyone");
    if (what == 13) return queue_.size() == 0 ? Charge("charge, nobody waits") : Charge("charge");
    if (what == 14) return Adjust();
    return Foresee();
  }

  const char* Push() {
    if (entries_.size() >= 24) return AdmitHead(true);
    const engine::LineFlow flow = AnyFlow();
    const double cost = AnyCost();
    const uint64_t id = next_id_++;
    // Who comes from another line has an older order.
    const uint64_t order = Byte() % 4 == 0 ? id * 8 % 1000 : 1000 + id;
    queue_.Push(id, flow, cost, order * 65536 + id);
    model_.Push(id, flow, cost, order * 65536 + id);
    entries_[id] = {flow, cost};
    return "push";
  }
  const char* AdmitHead(bool charge_first) {
    const uint64_t id = queue_.Head().value_or(0);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return "nobody to admit";
    const Entry entry = found->second;
    // The model always charges first: it makes no difference.
    if (charge_first) queue_.Charge(entry.flow, entry.cost);
    Remove(id, "");
    if (!charge_first) queue_.Charge(entry.flow, entry.cost);
    return charge_first ? "admit the head" : "admit the head, removed first";
  }
  const char* Remove(uint64_t id, const char* name) {
    const bool was_there = entries_.contains(id);
    if (*name == '\0') model_.Charge(entries_[id].flow, entries_[id].cost);
    if (queue_.Remove(id) != was_there || model_.Remove(id) != was_there) wrong_ = "Remove";
    entries_.erase(id);
    return was_there ? name : "remove nobody";
  }
  const char* Charge(const char* name) {
    const engine::LineFlow flow = AnyFlow();
    const double cost = AnyCost();
    queue_.Charge(flow, cost);
    model_.Charge(flow, cost);
    return name;
  }
  const char* Adjust() {
    const uint64_t leaf_key = AnyFlow().LeafKey();
    const double delta = AnyCost() * Pick<double>({1, -1, -0.5});
    queue_.Adjust(leaf_key, delta);
    model_.Adjust(leaf_key, delta);
    return "adjust";
  }

  // Those who are next by Next come to the head in that order, on a copy of the model.
  const char* Foresee() {
    FairQueueModel later = model_;
    for (const uint64_t id : queue_.Next(6)) {
      if (later.Head() != id) wrong_ = "Next";
      later.Charge(later.Weighed(entries_.at(id).flow), entries_.at(id).cost);
      later.Remove(id);
    }
    const uint64_t id = AnyId();
    if (!entries_.contains(id)) return "foresee nothing";
    double all = 0;
    for (const auto& [each, entry] : entries_) all += entry.cost;
    const double ahead = queue_.CostAhead(id);
    if (!(ahead >= 0 && ahead <= all * 1.000001 + 1e-6)) wrong_ = "CostAhead";
    const size_t position = queue_.Position(id);
    if (position < 1 || position > entries_.size()) wrong_ = "Position";
    return "foresee";
  }

  uint64_t AnyId() {
    if (entries_.empty()) return 0;
    return std::next(entries_.begin(), Byte() % static_cast<int>(entries_.size()))->first;
  }

  std::string Compare() {
    if (!wrong_.empty()) return wrong_;
    const uint64_t head = queue_.Head().value_or(0);
    if (head != model_.Head().value_or(0)) {
      return absl::StrCat("head ", head, ", not ", model_.Head().value_or(0));
    }
    if (queue_.size() != entries_.size()) return "size";
    if (head != 0 && queue_.Position(head) != 1) return "Position of the head";
    // Levels with somebody waiting may not be forgotten, and the others only for a newcomer.
    most_ = std::max(most_, entries_.size());
    if (queue_.flows() > std::max(max_flows_, (most_ + 1) * 5)) return "too many flows";
    if (queue_.flows() != model_.flows()) {
      return absl::StrCat("remembers ", queue_.flows(), " flows, not ", model_.flows());
    }
    return "";
  }

  const std::span<const uint8_t> bytes_;
  Tally* const tally_;
  size_t at_ = 0;
  const double floor_;
  const size_t max_flows_;
  FairQueue queue_;
  FairQueueModel model_;
  std::map<uint64_t, Entry> entries_;
  uint64_t next_id_ = 1;
  uint64_t actions_ = 0;
  size_t most_ = 0;  // that waited at once
  std::string wrong_;
};

inline std::string RunFairQueueTrace(std::span<const uint8_t> bytes,
                                     FairQueueTrace::Tally* tally = nullptr) {
  return FairQueueTrace(bytes, tally).Run();
}

}  // namespace headgate::line
