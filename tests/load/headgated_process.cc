#include "tests/load/headgated_process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tests/testing/wait_until.h"

namespace headgate::load {
namespace {

absl::StatusOr<std::string> Program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path program = self.parent_path() / "headgated";
  if (!error && std::filesystem::exists(program, error)) return program.string();
  return absl::NotFoundError(absl::StrCat(program.string(), " is missing: ./dev build"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HeadgatedProcess>> HeadgatedProcess::Start(
    const std::string& folder, const std::vector<std::string>& arguments) {
  const absl::StatusOr<std::string> program = Program();
  if (!program.ok()) return program.status();
  const std::string port_file = folder + "/headgated.port";
  std::vector<std::string> argv = {*program, "--grpc-address", "127.0.0.1:0", "--port-file",
                                   port_file};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  // Of HTTP too: the usual port may be another server's.
  setenv("HEADGATE_HTTP_ADDRESS", "off", /*overwrite=*/1);
  absl::StatusOr<std::unique_ptr<Subprocess>> process =
      Subprocess::Start(argv, folder + "/headgated.log");
  if (!process.ok()) return process.status();
  std::unique_ptr<HeadgatedProcess> started(new HeadgatedProcess(*std::move(process)));
  std::string port;
  const bool told = WaitUntil(
      [&] { return static_cast<bool>(std::ifstream(port_file) >> port) || started->HasEnded(); });
  if (!told) return absl::DeadlineExceededError("headgated does not start to serve");
  if (started->HasEnded()) return started->Stop();
  started->address_ = absl::StrCat("127.0.0.1:", port);
  return started;
}

absl::Status HeadgatedProcess::Stop() {
  if (process_->HasEnded()) {
    const absl::Status outcome = process_->Outcome();
    return outcome.ok() ? absl::InternalError("headgated has ended by itself") : outcome;
  }
  // It catches SIGTERM, so a death by the signal, which Stop forgives, does not arise.
  return process_->Stop(absl::Seconds(30));
}

}  // namespace headgate::load
