#include "tests/testing/headgated_process.h"

#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr absl::Duration kLimit = absl::Minutes(2);
constexpr char kPortFile[] = "headgated.port";
constexpr char kHttpPortFile[] = "headgated.http_port";

int PortIn(const std::string& address) {
  int port = 0;
  return absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port) ? port : 0;
}

// Puts the port into the address, once the file tells it.
bool ReadPort(const std::filesystem::path& file, std::string& address) {
  int port = 0;
  if (!(std::ifstream(file) >> port)) return false;
  address = absl::StrCat(address.substr(0, address.rfind(':') + 1), port);
  return true;
}

}  // namespace

std::string HeadgatedProgram() { return HEADGATED_PROGRAM; }

Finished RunHeadgated(std::vector<std::string> words,
                      std::map<std::string, std::string> environment) {
  words.insert(words.begin(), HeadgatedProgram());
  environment.try_emplace("HEADGATE_HTTP_ADDRESS", "off");
  return Subprocess(words, {.environment = std::move(environment)}).Wait();
}

HeadgatedProcess::HeadgatedProcess(HeadgatedOptions options) : options_(std::move(options)) {
  if (options_.folder.empty()) options_.folder = own_folder_.emplace().path();
  if (options_.state.empty() && !options_.stateless) {
    options_.state = options_.folder / "state";
    std::filesystem::create_directory(options_.state);
  }
  if (!options_.yaml.empty()) Rewrite(options_.yaml);
}

int HeadgatedProcess::port() const { return PortIn(options_.grpc_address); }

int HeadgatedProcess::http_port() const { return PortIn(options_.http_address); }

void HeadgatedProcess::Rewrite(const std::string& yaml) const {
  const std::filesystem::path draft = folder() / "draft";
  std::ofstream(draft) << yaml;
  std::filesystem::rename(draft, config_path());
}

std::string HeadgatedProcess::Log() const {
  std::string log = process_->Err();
  log.resize(log.rfind('\n') + 1);  // npos + 1 is 0
  return log;
}

std::vector<std::string> HeadgatedProcess::Command() const {
  std::vector<std::string> command = options_.wrapper;
  for (const std::string& word :
       {HeadgatedProgram(), absl::StrCat("--grpc-address=", options_.grpc_address),
        absl::StrCat("--http-address=", options_.http_address),
        absl::StrCat("--port-file=", (folder() / kPortFile).string()),
        absl::StrCat("--http-port-file=", (folder() / kHttpPortFile).string())}) {
    command.push_back(word);
  }
  if (!options_.yaml.empty()) command.push_back(absl::StrCat("--config=", config_path().string()));
  if (!options_.stateless) command.push_back(absl::StrCat("--state-dir=", state().string()));
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  return command;
}

absl::Status HeadgatedProcess::Start() {
  for (const char* file : {kPortFile, kHttpPortFile}) std::filesystem::remove(folder() / file);
  process_.emplace(Command(), SubprocessOptions{.environment = options_.environment,
                                                .log = (folder() / "headgated.log").string()});
  const auto serves = [&] {
    return ReadPort(folder() / kPortFile, options_.grpc_address) &&
           (options_.http_address == "off" ||
            ReadPort(folder() / kHttpPortFile, options_.http_address));
  };
  const bool told = WaitUntil([&] { return HasEnded() || serves(); }, kLimit);
  if (!told) return absl::DeadlineExceededError("headgated does not start to serve");
  return HasEnded() ? Stop() : absl::OkStatus();
}

absl::Status HeadgatedProcess::Stop() {
  if (HasEnded()) {
    const absl::Status outcome = Outcome();
    return outcome.ok() ? absl::InternalError("headgated has ended by itself") : outcome;
  }
  // It catches SIGTERM, so a death by the signal, which Stop forgives, does not arise.
  return process_->Stop(kLimit);
}

}  // namespace headgate
