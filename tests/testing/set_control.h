// SetControl: what a test says of several servers, and what operators ordered of them.
//
// Orders come one at a time; thread-compatible otherwise.
//
//   SetControl control([] { return SomeView(); });
//   EXPECT_THAT(control.orders, ElementsAre("drain s1"));

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/share/cluster/view.h"

namespace headgate {

class SetControl final : public cluster::Control {
 public:
  explicit SetControl(std::function<cluster::ClusterView()> view) : view_(std::move(view)) {}

  cluster::ClusterView View() const override { return view_(); }
  absl::StatusOr<cluster::Offer> TryToMeasure(std::string_view target,
                                              std::string_view member) override {
    tried.push_back(absl::StrCat(Sv(member), " ", Sv(target)));
    return measured;
  }
  absl::Status SetDrained(std::string_view member, bool drained) override {
    orders.push_back(absl::StrCat(drained ? "drain " : "undrain ", Sv(member)));
    return absl::OkStatus();
  }
  absl::Status SetPreferred(std::string_view target, std::string_view member) override {
    orders.push_back(absl::StrCat("move ", Sv(target), " to ", Sv(member)));
    return absl::OkStatus();
  }

  std::vector<std::string> orders;
  std::vector<std::string> tried;
  absl::StatusOr<cluster::Offer> measured = cluster::Offer{.measures = cluster::Measures::kAll};

 private:
  const std::function<cluster::ClusterView()> view_;
};

// Of one server, s0, which decides for the target t0.
inline cluster::ClusterView ViewOfOne() {
  cluster::ClusterView view;
  view.self = "s0";
  cluster::ViewedMember& member = view.members.emplace_back();
  member.row = {.name = "s0", .incarnation = 1, .address = "s0:1"};
  member.is_self = member.is_here = true;
  cluster::ViewedTarget& target = view.targets.emplace_back();
  target.target = "t0";
  target.owner = "s0";
  target.generation = 1;
  target.is_self = true;
  return view;
}

}  // namespace headgate
