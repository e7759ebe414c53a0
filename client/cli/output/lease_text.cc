#include "client/cli/output/lease_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

using Charges = google::protobuf::RepeatedPtrField<v1::LeaseCharge>;

std::string Count(int64_t count, const char* one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

// "rows 250, busy 0.5 s".
std::string ChargedText(const Charges& charges) {
  std::string text;
  for (const v1::LeaseCharge& charge : charges) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", charge.budget(), " ",
                    Amount(charge.cost(), charge.unit()));
  }
  return text;
}

std::string ExactCharges(const Charges& charges) {
  std::string text;
  for (const v1::LeaseCharge& charge : charges) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", charge.budget(), " ",
                    ExactNumber(charge.cost()));
  }
  return text;
}

// "2 (40)": so many, of so much.
Cell Overdue(const v1::LeaseHolder& holder) {
  if (holder.overdue() == 0) return {""};
  return {absl::StrCat(holder.overdue(), " (", ShortNumber(holder.overdue_amount()), ")"),
          Paint::kWarn};
}

Cell Who(const v1::LeaseHolder& holder) {
  return holder.identity().empty() ? Cell{"(not known)", Paint::kDim} : Cell{holder.identity()};
}

std::string OverdueText(int64_t overdue, double amount, Colours colours) {
  return absl::StrCat(Painted("overdue", Paint::kWarn, colours), " ", overdue, " of ",
                      ShortNumber(amount), ", which ", overdue == 1 ? "counts" : "count",
                      " as used");
}

}  // namespace

std::string HeldText(const v1::LeaseHolder& holder) {
  if (holder.leases() == 0) return "";
  return absl::StrCat(Count(holder.leases(), "lease"), " of ", ShortNumber(holder.amount()));
}

std::string LeasesText(const v1::TargetStatus& target, Colours colours, std::string_view indent) {
  if (!target.has_leases()) return "";
  const v1::LeasesStatus& leases = target.leases();
  std::string text = absl::StrCat(Sv(indent), "leases ", leases.leases());
  if (leases.leases() > 0) {
    absl::StrAppend(&text, " of ", ShortNumber(leases.amount()), ", held by ", leases.holders(),
                    leases.holders() == 1 ? " identity" : " identities");
  }
  if (leases.overdue() > 0) {
    absl::StrAppend(&text, "; ", OverdueText(leases.overdue(), leases.overdue_amount(), colours));
  }
  std::string most;
  for (const v1::LeaseHolder& holder : leases.most()) {
    if (holder.leases() == 0) continue;
    absl::StrAppend(&most, most.empty() ? "; most: " : ", ", Escaped(Who(holder).text), " ",
                    ShortNumber(holder.amount()));
  }
  return absl::StrCat(text, most, "\n");
}

std::string LeasesText(const v1::ExplainResponse& explanation, Colours colours) {
  if (!explanation.has_leases()) return "";
  const v1::LeasesHeld& held = explanation.leases();
  std::string text;
  if (held.leases() > 0) {
    text =
        absl::StrCat("it holds ", Count(held.leases(), "lease"), " of ", ShortNumber(held.amount()),
                     held.leases() == 1 ? "" : " together", ", charged in advance; ",
                     held.leases() == 1 ? "it ends in " : "the last one ends in ",
                     ShortDuration(FromProto(held.ends_in())));
  }
  if (held.overdue() > 0) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "its leases ",
                    OverdueText(held.overdue(), held.overdue_amount(), colours));
  }
  return absl::StrCat(text, "\n");
}

Table Holders(const LeaseHolders& holders) {
  Table table(Titles("HOLDS LEASES,TARGET,>LEASES,>AMOUNT,>ENDS IN,CHARGED,>OVERDUE"));
  for (const v1::LeaseHolder& holder : holders) {
    table.Add({Who(holder),
               {holder.target()},
               {absl::StrCat(holder.leases())},
               {ShortNumber(holder.amount())},
               {holder.has_ends_in() ? ShortDuration(FromProto(holder.ends_in())) : ""},
               {ChargedText(holder.charges())},
               Overdue(holder)});
  }
  return table;
}

Table HeldLeases(const LeaseHolders& holders) {
  Table table(Titles("LEASE OF,TARGET,>AMOUNT,>GRANTED,>ENDS IN,CHARGED"));
  for (const v1::LeaseHolder& holder : holders) {
    for (const v1::HeldLease& lease : holder.held()) {
      const std::string granted =
          absl::StrCat(ShortDuration(FromProto(lease.granted_ago())), " ago");
      const Cell ends =
          lease.has_ends_in()
              ? Cell{ShortDuration(FromProto(lease.ends_in()))}
              : Cell{absl::StrCat("overdue for ", ShortDuration(FromProto(lease.overdue_for()))),
                     Paint::kWarn};
      table.Add({Who(holder),
                 {holder.target()},
                 {ShortNumber(lease.amount())},
                 {granted},
                 ends,
                 {ChargedText(lease.charges())}});
    }
  }
  return table;
}

Table LeasesCsv(const LeaseHolders& holders) {
  Table table(
      Titles("kind,target,identity,leases,amount,ends_in_s,charges,overdue,overdue_amount,"
             "granted_ago_s,overdue_for_s"));
  for (const v1::LeaseHolder& holder : holders) {
    table.Add({{"holder"},
               {holder.target()},
               {holder.identity()},
               {absl::StrCat(holder.leases())},
               {ExactNumber(holder.amount())},
               {Seconds(holder.has_ends_in(), holder.ends_in())},
               {ExactCharges(holder.charges())},
               {absl::StrCat(holder.overdue())},
               {ExactNumber(holder.overdue_amount())}});
    for (const v1::HeldLease& lease : holder.held()) {
      table.Add({{"lease"},
                 {holder.target()},
                 {holder.identity()},
                 {},
                 {ExactNumber(lease.amount())},
                 {Seconds(lease.has_ends_in(), lease.ends_in())},
                 {ExactCharges(lease.charges())},
                 {},
                 {},
                 {Seconds(lease.has_granted_ago(), lease.granted_ago())},
                 {Seconds(lease.has_overdue_for(), lease.overdue_for())}});
    }
  }
  return table;
}

}  // namespace headgate::cli
