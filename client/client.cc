#include <headgate/client.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/core.h"
#include "common/random_seed.h"

namespace headgate::client {
namespace {

absl::Status Validate(const ClientOptions& options) {
  const auto positive = [](absl::Duration value, const char* field) {
    if (value > absl::ZeroDuration()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", absl::FormatDuration(value), " is not above zero"));
  };
  absl::Status status = positive(options.check_deadline, "check_deadline");
  status.Update(positive(options.longest_wait, "longest_wait"));
  status.Update(positive(options.outage_pause, "outage_pause"));
  if (options.flush_timeout < absl::ZeroDuration())
    status.Update(absl::InvalidArgumentError("flush_timeout: is below zero"));
  if (options.max_queued_reports == 0)
    status.Update(absl::InvalidArgumentError("max_queued_reports: has to be at least 1"));
  const double rate = options.on_unreachable.cost_units_per_second();
  if (options.on_unreachable.kind() == OnUnreachable::Kind::kFloorRate &&
      !(std::isfinite(rate) && rate > 0)) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("on_unreachable: a floor rate of ", rate, " is not finite and above zero")));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  absl::StatusOr<std::shared_ptr<Transport>> transport = NewGrpcTransport(ConnectionOptions{
      .address = options.address, .tls = options.tls, .token_file = options.token_file});
  if (!transport.ok()) return transport.status();
  return Create(options, *std::move(transport));
}

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options,
                                                       std::shared_ptr<Transport> transport) {
  const absl::Status valid = Validate(options);
  if (!valid.ok()) return valid;
  const absl::StatusOr<uint64_t> seed =
      options.seed.has_value() ? absl::StatusOr<uint64_t>(*options.seed) : RandomSeed();
  if (!seed.ok()) return seed.status();
  ClientOptions complete = options;
  if (complete.time == nullptr) complete.time = NewRealTime();
  // Not make_unique: the constructor is private.
  return std::unique_ptr<Client>(
      new Client(std::make_shared<internal::Core>(complete, *seed, std::move(transport))));
}

Client::Client(std::shared_ptr<internal::Core> core) : core_(std::move(core)) {}

Client::~Client() {
  core_->CloseLeases();
  core_->reporter().Stop(core_->options().flush_timeout);
}

absl::StatusOr<Answer> Client::Check(const CheckRequest& request, const std::stop_token& stop) {
  return core_->Check(request, stop);
}

absl::StatusOr<Permit> Client::CheckOrWait(const CheckRequest& request, absl::Duration max_wait,
                                           const std::stop_token& stop) {
  return core_->CheckOrWait(request, max_wait, stop);
}

absl::Status Client::Report(uint64_t permit_id, const WorkDone& done) {
  return core_->Report({.permit_id = permit_id, .done = done});
}

absl::StatusOr<ReportResult> Client::ReportNow(uint64_t permit_id, const WorkDone& done,
                                               const std::stop_token& stop) {
  return core_->ReportNow({.permit_id = permit_id, .done = done}, stop);
}

bool Client::Flush(absl::Duration timeout) { return core_->reporter().Flush(timeout); }

ReportStats Client::report_stats() const { return core_->reporter().stats(); }

}  // namespace headgate::client
