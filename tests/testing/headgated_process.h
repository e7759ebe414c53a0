// HeadgatedProcess: headgated as an operating system runs it, on a free port of loopback: started,
// told to stop or killed, and started again on the same port with the state that it left.
//
// Thread-compatible. It is killed when the thread that started it ends; see subprocess.h. A test
// that wants it to serve, and calls it, takes RunningHeadgated.
//
//   HeadgatedProcess server({.yaml = "budgets: ..."});
//   absl::Status status = server.Start();
//   ... server.address() ...
//   status = server.Stop();
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/temp_folder.h"

namespace headgate {

// Where it was built.
std::string HeadgatedProgram();

// headgated to its end, and without a port for HTTP, since the usual one may be another server's.
Finished RunHeadgated(std::vector<std::string> words,
                      std::map<std::string, std::string> environment = {});

struct HeadgatedOptions {
  std::string yaml = {};              // its configuration; empty: it has none
  std::filesystem::path folder = {};  // that exists, of its files; empty: a temporary one
  std::filesystem::path state = {};   // a folder that exists; empty: "state" in its folder
  bool stateless = false;             // it keeps nothing
  std::string grpc_address = "127.0.0.1:0";
  std::string http_address = "off";
  std::vector<std::string> flags = {};    // more of them
  std::vector<std::string> wrapper = {};  // a command that becomes it, such as prlimit
  std::map<std::string, std::string> environment = {};
};

class HeadgatedProcess {
 public:
  // Makes its folders and its configuration, and starts nothing.
  explicit HeadgatedProcess(HeadgatedOptions options = {});

  // Returns once it listens, on the same ports as before.
  absl::Status Start();
  // SIGTERM: an error unless it ends well within half a minute, and had not ended before.
  absl::Status Stop();
  void Kill() { process_->Kill(); }
  void Signal(int signal) const { process_->Signal(signal); }
  bool HasEnded(absl::Duration limit = absl::ZeroDuration()) { return process_->HasEnded(limit); }
  absl::Status Outcome() { return process_->Outcome(); }

  pid_t pid() const { return process_->pid(); }
  int port() const;
  int http_port() const;
  const std::string& address() const { return options_.grpc_address; }  // host:port
  const std::filesystem::path& folder() const { return options_.folder; }
  const std::filesystem::path& state() const { return options_.state; }
  std::filesystem::path config_path() const { return folder() / "headgate.yaml"; }

  // Another configuration under its name, as an editor saves it.
  void Rewrite(const std::string& yaml) const;
  // All lines that it has logged, since it was first started. While it runs the last one may have
  // come in part, and is left out.
  std::string Log() const;

 private:
  std::vector<std::string> Command() const;

  std::optional<const TempFolder> own_folder_;
  HeadgatedOptions options_;  // as they are in force
  std::optional<Subprocess> process_;
};

}  // namespace headgate
