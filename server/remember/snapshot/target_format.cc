#include "server/remember/snapshot/target_format.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/remember/snapshot/binary_io.h"
#include "server/remember/snapshot/fields.h"

namespace headgate::snapshot {
namespace {

constexpr uint32_t kWithoutControl = 1, kWithoutSafeRates = 2;
constexpr uint64_t kTargetMagic = 0x5447525454474847;  // "GHGTTRGT"
// Magic, version, and a checksum of what follows.
constexpr size_t kPrefixBytes = sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t);

template <typename Pass, typename Debts>
void DebtsFields(Pass& pass, Debts& debts) {
  pass.Text(debts.budget);
  pass.Numbers(debts.ns_per_unit, debts.is_auto, debts.unit);
  pass.Text(debts.split);
  pass.Numbers(debts.owed_ns, debts.table.filled_until_ns, debts.table.live_evictions);
  pass.Array(debts.table.lines);
  pass.Array(debts.table.buckets);
}

template <typename Pass, typename Permit>
void TargetPermitFields(Pass& pass, Permit& permit) {
  pass.Numbers(permit.id, permit.expires_in_ns, permit.issued_before_ns, permit.subject.target,
               permit.subject.root, permit.subject.caller, permit.subject.pattern, permit.estimate,
               permit.teaches, permit.busy_charges);
}

template <typename Pass, typename Charge>
void TargetChargeFields(Pass& pass, Charge& charge) {
  pass.Numbers(charge.tag, charge.ends_in_ns, charge.refunded_since_ns, charge.cost, charge.debts,
               charge.concurrency_key);
}

// Bytes that the smallest of each takes.
constexpr size_t kLeastDebts = 66, kLeastTargetPermit = 75, kLeastTargetCharge = 44;

void ReadTarget(Reader& from, uint32_t version, engine::SavedTarget& saved) {
  from.Number(saved.seed);
  from.Text(saved.target);
  saved.debts.resize(from.Count(kLeastDebts));
  for (engine::SavedDebts& debts : saved.debts) DebtsFields(from, debts);
  saved.permits.resize(from.Count(kLeastTargetPermit));
  for (engine::SavedTargetPermit& permit : saved.permits) {
    TargetPermitFields(from, permit);
    permit.charges.resize(from.Count(kLeastTargetCharge));
    for (engine::SavedTargetCharge& charge : permit.charges) TargetChargeFields(from, charge);
  }
  if (version > kWithoutControl) from.Text(saved.control);
  if (version > kWithoutSafeRates) SafeRateList(from, saved.safe_rates);
}

}  // namespace

std::string EncodeTarget(const engine::SavedTarget& saved) {
  std::string body;
  Writer to(body);
  to.Number(saved.seed);
  to.Text(saved.target);
  to.Count(saved.debts.size());
  for (const engine::SavedDebts& debts : saved.debts) DebtsFields(to, debts);
  to.Count(saved.permits.size());
  for (const engine::SavedTargetPermit& permit : saved.permits) {
    TargetPermitFields(to, permit);
    to.Count(permit.charges.size());
    for (const engine::SavedTargetCharge& charge : permit.charges) TargetChargeFields(to, charge);
  }
  // The oldest that can say it: the next owner may be of a release before.
  uint32_t version = saved.control.empty() ? kWithoutControl : kWithoutSafeRates;
  const bool has_leases = std::any_of(
      saved.permits.begin(), saved.permits.end(),
      [](const auto& permit) { return (permit.teaches & engine::kTeachesPieces) != 0; });
  if (has_leases || !saved.safe_rates.empty()) version = kTargetFormatVersion;
  if (version > kWithoutControl) to.Text(saved.control);
  if (version > kWithoutSafeRates) SafeRateList(to, saved.safe_rates);
  std::string bytes;
  bytes.reserve(kPrefixBytes + body.size());
  Writer(bytes).Numbers(kTargetMagic, version, uint64_t{XXH3_64bits(body.data(), body.size())});
  return bytes + body;
}

absl::StatusOr<engine::SavedTarget> DecodeTarget(std::string_view bytes) {
  Reader prefix(bytes.substr(0, kPrefixBytes));
  uint64_t magic = 0, checksum = 0;
  uint32_t version = 0;
  prefix.Numbers(magic, version, checksum);
  if (!prefix.ok() || magic != kTargetMagic) {
    return absl::DataLossError("is not the state of a target");
  }
  if (version < kWithoutControl || version > kTargetFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the state of a target is of format ", version, ", and this release reads ",
                     kWithoutControl, " to ", kTargetFormatVersion));
  }
  const std::string_view body = bytes.substr(kPrefixBytes);
  if (checksum != XXH3_64bits(body.data(), body.size())) {
    return absl::DataLossError("the state of a target is damaged: its checksum is wrong");
  }
  engine::SavedTarget saved;
  Reader from(body);
  ReadTarget(from, version, saved);
  if (!from.ok() || !from.at_end()) {
    return absl::InvalidArgumentError("the state of a target has lists that do not fit in it");
  }
  if (absl::Status valid = engine::Validate(saved); !valid.ok()) return valid;
  return saved;
}

}  // namespace headgate::snapshot
