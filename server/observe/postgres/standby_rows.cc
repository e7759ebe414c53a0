#include "server/observe/postgres/standby_rows.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "server/observe/postgres/signal_sql.h"

namespace headgate::postgres {
namespace {

using health::StandbySpec;
using SenderRow = std::vector<std::optional<std::string>>;

constexpr size_t kMostListed = 5;

std::optional<std::string> CellAt(const SenderRow& row, size_t column) {
  return column < row.size() ? row[column] : std::nullopt;
}

bool IsSameAddress(const std::string& one, const std::string& other) {
  for (const int family : {AF_INET, AF_INET6}) {
    in6_addr a = {};
    in6_addr b = {};
    if (inet_pton(family, one.c_str(), &a) != 1) continue;
    return inet_pton(family, other.c_str(), &b) == 1 && std::memcmp(&a, &b, sizeof(a)) == 0;
  }
  return one == other;
}

bool Matches(const StandbySpec& standby, const SenderRow& row) {
  const std::optional<std::string> name = CellAt(row, kReplicationName);
  if (!name.has_value()) return false;  // there is no sender at all
  if (!standby.application_name.empty() && *name != standby.application_name) return false;
  if (!standby.slot.empty() && CellAt(row, kReplicationSlot) != standby.slot) return false;
  return standby.client_address.empty() ||
         IsSameAddress(standby.client_address, CellAt(row, kReplicationAddress).value_or(""));
}

// The more is said of it.
int WeightOf(const StandbySpec& standby) {
  return (standby.slot.empty() ? 0 : 4) + (standby.client_address.empty() ? 0 : 2) +
         (standby.application_name.empty() ? 0 : 1);
}

bool SaysTheSame(const StandbySpec& one, const StandbySpec& other) {
  return one.application_name == other.application_name && one.slot == other.slot &&
         one.client_address == other.client_address;
}

std::string WhatIsThere(const Table& table) {
  std::vector<std::string> there;
  size_t more = 0;
  for (const SenderRow& row : table) {
    const std::optional<std::string> name = CellAt(row, kReplicationName);
    if (!name.has_value()) continue;
    if (there.size() == kMostListed) {
      ++more;
      continue;
    }
    const auto address = CellAt(row, kReplicationAddress);
    const auto slot = CellAt(row, kReplicationSlot);
    there.push_back(absl::StrCat("'", *name, "' from ", address.value_or("a Unix socket"),
                                 slot.has_value() ? absl::StrCat(" with slot '", *slot, "'") : ""));
  }
  if (there.empty()) return "there are none";
  return absl::StrCat("there ", there.size() + more == 1 ? "is " : "are ",
                      absl::StrJoin(there, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Standbys of which the same is said, and the rows that are theirs.
struct Group {
  std::vector<size_t> standbys;        // those that count first
  std::vector<const SenderRow*> rows;  // those that stream first
};

// The groups by what is said of them, most first.
std::vector<Group> GroupsOf(absl::Span<const StandbySpec> standbys, double now) {
  std::vector<size_t> order(standbys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const absl::Time at = absl::UnixEpoch() + absl::Seconds(now);
  const auto is_set_aside = [&](size_t i) { return at < standbys[i].set_aside_until; };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    const int weight_a = WeightOf(standbys[a]);
    const int weight_b = WeightOf(standbys[b]);
    return weight_a != weight_b ? weight_a > weight_b : is_set_aside(a) < is_set_aside(b);
  });
  std::vector<Group> groups;
  for (const size_t i : order) {
    const auto known = std::ranges::find_if(groups, [&](const Group& group) {
      return SaysTheSame(standbys[group.standbys[0]], standbys[i]);
    });
    (known == groups.end() ? groups.emplace_back() : *known).standbys.push_back(i);
  }
  return groups;
}

void Share(const Group& group, absl::Span<const StandbySpec> standbys, const Table& table,
           std::vector<StandbyRows>& found) {
  const size_t expected = group.standbys.size();
  const size_t there = group.rows.size();
  const std::string match = MatchText(standbys[group.standbys[0]]);
  for (size_t i = 0; i < expected; ++i) {
    StandbyRows& its = found[group.standbys[i]];
    its.name = standbys[group.standbys[i]].name;
    // The last one has what is left as well.
    const size_t end = i + 1 == expected ? there : std::min(i + 1, there);
    for (size_t row = i; row < end; ++row) its.rows.push_back(group.rows[row]);
    if (there == 0) {
      its.missing =
          absl::StrCat("no row of pg_stat_replication has ", match, "; ", WhatIsThere(table));
    } else {
      its.missing = absl::StrCat("of ", expected, " standbys with ", match, " ", there,
                                 there == 1 ? " is" : " are", " there, and nobody knows which");
    }
    if (there <= expected) continue;
    its.note = absl::StrCat(there, " rows of pg_stat_replication have ", match, ", where ",
                            expected, expected == 1 ? " standby is" : " standbys are",
                            " expected: one that is missing would not be noticed; give each a slot "
                            "or a client_address");
  }
}

}  // namespace

std::string MatchText(const StandbySpec& standby) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* what, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(what, " '", value, "'"));
  };
  add("application_name", standby.application_name);
  add("client_address", standby.client_address);
  add("slot", standby.slot);
  return absl::StrJoin(parts, " and ");
}

std::vector<StandbyRows> RowsOfStandbys(absl::Span<const StandbySpec> standbys, const Table& table,
                                        double now) {
  std::vector<StandbyRows> found(standbys.size());
  std::vector<bool> is_taken(table.size());
  for (Group& group : GroupsOf(standbys, now)) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (is_taken[i] || !Matches(standbys[group.standbys[0]], table[i])) continue;
      is_taken[i] = true;
      group.rows.push_back(&table[i]);
    }
    std::stable_partition(group.rows.begin(), group.rows.end(), [](const SenderRow* row) {
      return (*row)[kReplicationState] == "streaming";
    });
    Share(group, standbys, table, found);
  }
  return found;
}

}  // namespace headgate::postgres
