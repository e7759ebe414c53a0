#include "server/remember/snapshot/format.h"

#include <xxhash.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "server/remember/snapshot/binary_io.h"
#include "server/remember/snapshot/fields.h"

namespace headgate::snapshot {
namespace {

constexpr uint64_t kMagic = 0x50414e5345544748;  // "HGTESNAP"

uint64_t ChecksumOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// Buckets are found by hashes: a release that hashes otherwise would find none.
uint64_t ProbeOf(uint64_t seed) { return HashBytes("headgate:snapshot:probe", seed); }

struct Header {
  uint64_t magic = kMagic;
  uint32_t version = kFormatVersion;
  uint32_t header_bytes = kHeaderBytes;
  uint64_t body_bytes = 0;
  uint64_t body_checksum = 0;
  Now saved_at;
  BootId boot = {};
  uint64_t probe = 0;

  // All but the checksum at its end.
  template <typename Pass, typename Self>
  static void Fields(Pass& pass, Self& self) {
    pass.Numbers(self.magic, self.version, self.header_bytes, self.body_bytes, self.body_checksum,
                 self.saved_at.wall_ns, self.saved_at.monotonic_ns);
    for (auto& byte : self.boot) pass.Number(byte);
    pass.Number(self.probe);
  }
};
constexpr size_t kCheckedHeaderBytes = kHeaderBytes - sizeof(uint64_t);

void WriteClocks(const engine::SavedState& state, Writer& to) {
  to.Count(state.clocks.size());
  for (const engine::SavedClock& clock : state.clocks) ClockFields(to, clock);
}

void WriteRest(const engine::SavedState& state, Writer& to) {
  to.Numbers(state.seed, state.policy_version, state.shape, state.dice);
  to.Count(state.ledgers.size());
  for (const engine::SavedLedger& ledger : state.ledgers) LedgerFields(to, ledger);
  to.Numbers(state.first_generation, state.generation_floor);
  to.Array(state.hands);
  to.Array(state.generations);
  to.Count(state.permits.size());
  for (const engine::SavedPermit& permit : state.permits) PermitFields(to, permit);
  to.Count(state.charges.size());
  for (const engine::SavedCharge& charge : state.charges) ChargeFields(to, charge);
  to.Count(state.holders.size());
  for (const engine::SavedHolder& holder : state.holders) HolderFields(to, holder);
  to.Count(state.requests.size());
  for (const engine::SavedRequest& request : state.requests) {
    RequestFields(to, request);
    to.Count(request.warnings.size());
    for (const engine::Violation& warning : request.warnings) WarningFields(to, warning);
  }
  to.Count(state.patterns.size());
  for (const engine::SavedPattern& pattern : state.patterns) PatternFields(to, pattern);
  to.Count(state.reported_debts.size());
  for (const engine::SavedReportedDebt& debt : state.reported_debts) ReportedDebtFields(to, debt);
  to.Count(state.controls.size());
  for (const engine::SavedControl& control : state.controls) ControlFields(to, control);
  SafeRateList(to, state.safe_rates);
}

// Bytes that the smallest of each takes.
constexpr size_t kLeastClock = 50, kLeastLedger = 100, kLeastPermit = 84, kLeastCharge = 44,
                 kLeastHolder = 16, kLeastRequest = 100, kLeastWarning = 50, kLeastPattern = 157,
                 kLeastReportedDebt = 24, kLeastControl = 16;

template <typename Item, typename Fields>
void ReadList(Reader& from, size_t least_bytes, std::vector<Item>& items, const Fields& fields) {
  const size_t count = from.Count(least_bytes);
  items.reserve(count);
  for (size_t i = 0; i < count && from.ok(); ++i) fields(from, items.emplace_back());
}

void ReadBody(Reader& from, uint32_t version, engine::SavedState& state) {
  ReadList(from, kLeastClock, state.clocks,
           [](Reader& in, engine::SavedClock& clock) { ClockFields(in, clock); });
  from.Numbers(state.seed, state.policy_version, state.shape, state.dice);
  ReadList(from, kLeastLedger, state.ledgers,
           [](Reader& in, engine::SavedLedger& ledger) { LedgerFields(in, ledger); });
  from.Numbers(state.first_generation, state.generation_floor);
  from.Array(state.hands);
  from.Array(state.generations);
  ReadList(from, kLeastPermit, state.permits,
           [](Reader& in, engine::SavedPermit& permit) { PermitFields(in, permit); });
  ReadList(from, kLeastCharge, state.charges,
           [](Reader& in, engine::SavedCharge& charge) { ChargeFields(in, charge); });
  ReadList(from, kLeastHolder, state.holders,
           [](Reader& in, engine::SavedHolder& holder) { HolderFields(in, holder); });
  ReadList(from, kLeastRequest, state.requests, [](Reader& in, engine::SavedRequest& request) {
    RequestFields(in, request);
    ReadList(in, kLeastWarning, request.warnings,
             [](Reader& inner, engine::Violation& warning) { WarningFields(inner, warning); });
  });
  ReadList(from, kLeastPattern, state.patterns,
           [](Reader& in, engine::SavedPattern& pattern) { PatternFields(in, pattern); });
  ReadList(from, kLeastReportedDebt, state.reported_debts,
           [](Reader& in, engine::SavedReportedDebt& debt) { ReportedDebtFields(in, debt); });
  ReadList(from, kLeastControl, state.controls,
           [](Reader& in, engine::SavedControl& control) { ControlFields(in, control); });
  if (version > kOldestFormatVersion) SafeRateList(from, state.safe_rates);
}

bool OwesOrHolds(const engine::SavedState& state) {
  if (!state.permits.empty()) return true;
  return std::any_of(state.ledgers.begin(), state.ledgers.end(), [](const auto& ledger) {
    return ledger.empties_at_ns > 0 || !ledger.table.buckets.empty();
  });
}

absl::Status ReadHeader(std::string_view bytes, uint64_t file_bytes, Header& header) {
  if (bytes.size() < kHeaderBytes) {
    return absl::DataLossError(absl::StrCat("has ", bytes.size(), " bytes, less than its header"));
  }
  Reader from(bytes.substr(0, kHeaderBytes));
  Header::Fields(from, header);
  uint64_t checksum = 0;
  from.Number(checksum);
  if (header.magic != kMagic) return absl::DataLossError("is not a snapshot");
  // Before the checksum, of which another version may know nothing.
  if (header.version < kOldestFormatVersion || header.version > kFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "is of format ", header.version, ", ", header.version > kFormatVersion ? "newer" : "older",
        " than what this release reads (", kOldestFormatVersion, " to ", kFormatVersion, ")"));
  }
  if (checksum != ChecksumOf(bytes.substr(0, kCheckedHeaderBytes)) ||
      header.header_bytes != kHeaderBytes) {
    return absl::DataLossError("has a damaged header: its checksum is wrong");
  }
  const uint64_t body = file_bytes - kHeaderBytes;
  if (body != header.body_bytes) {
    return absl::DataLossError(
        absl::StrCat(body < header.body_bytes ? "is cut short: " : "is too long: ", body,
                     " bytes instead of ", header.body_bytes, " behind its header"));
  }
  return absl::OkStatus();
}

}  // namespace

void Encode(const engine::SavedState& state, const BootId& boot, Encoded& encoded) {
  std::string& bytes = encoded.bytes;
  bytes.assign(kHeaderBytes, '\0');
  Writer body(bytes);
  WriteClocks(state, body);
  const size_t rest_at = bytes.size();
  WriteRest(state, body);
  const std::string_view all = std::string_view(bytes).substr(kHeaderBytes);
  const std::string_view rest = std::string_view(bytes).substr(rest_at);
  const Header header{.body_bytes = all.size(),
                      .body_checksum = ChecksumOf(all),
                      .saved_at = state.saved_at,
                      .boot = boot,
                      .probe = ProbeOf(state.seed)};
  encoded.fingerprint = OwesOrHolds(state) ? header.body_checksum : ChecksumOf(rest);
  std::string head;
  Writer to(head);
  Header::Fields(to, header);
  to.Number(ChecksumOf(head));
  std::copy(head.begin(), head.end(), bytes.begin());
}

void Seal(std::string& bytes, uint32_t version) {
  if (bytes.size() < kHeaderBytes) return;
  Header header;
  Reader from(std::string_view(bytes).substr(0, kHeaderBytes));
  Header::Fields(from, header);
  const std::string_view body = std::string_view(bytes).substr(kHeaderBytes);
  header.magic = kMagic;
  header.version = version;
  header.header_bytes = kHeaderBytes;
  header.body_bytes = body.size();
  header.body_checksum = ChecksumOf(body);
  std::string head;
  Writer to(head);
  Header::Fields(to, header);
  to.Number(ChecksumOf(head));
  std::copy(head.begin(), head.end(), bytes.begin());
}

absl::Status CheckHeader(std::string_view begins_with, uint64_t file_bytes) {
  Header header;
  return ReadHeader(begins_with, file_bytes, header);
}

absl::StatusOr<Decoded> Decode(std::string_view bytes) {
  Header header;
  if (absl::Status read = ReadHeader(bytes, bytes.size(), header); !read.ok()) return read;
  const std::string_view body = bytes.substr(kHeaderBytes);
  if (ChecksumOf(body) != header.body_checksum) {
    return absl::DataLossError("is damaged: its checksum is wrong");
  }
  absl::StatusOr<Decoded> decoded(absl::in_place);
  decoded->boot = header.boot;
  decoded->state.saved_at = header.saved_at;
  Reader from(body);
  ReadBody(from, header.version, decoded->state);
  if (!from.ok() || !from.at_end()) {
    return absl::InvalidArgumentError("has lists that do not fit in it");
  }
  if (ProbeOf(decoded->state.seed) != header.probe) {
    return absl::FailedPreconditionError("was written by a release that hashes in another way");
  }
  if (absl::Status valid = engine::Validate(decoded->state); !valid.ok()) return valid;
  return decoded;
}

}  // namespace headgate::snapshot
