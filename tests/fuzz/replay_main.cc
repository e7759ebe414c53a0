// Runs a fuzzer without libFuzzer: every file of the corpus folders first, then
// inputs mutated from them until the seconds or the iterations are used up.
//
//   headgate-fuzz-<name> [--seconds=N] [--iterations=N] [--seed=N]
//                        [--crash-file=PATH] FOLDER...
//
// Which inputs follow each other depends on the corpus and the seed alone; time
// decides only where they stop. The input that brings the program down is left
// in the crash file; to reproduce, put it alone into a folder and replay that.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
// Defined in programs that are built with a sanitizer, absent from the others.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Input = std::vector<uint8_t>;

constexpr size_t kMaxMutatedSize = 4096;

struct Options {
  uint64_t seconds = 0;
  uint64_t iterations = std::numeric_limits<uint64_t>::max();
  uint64_t seed = 1;
  std::string crash_file = "fuzz-crash-input";
  std::vector<std::string> folders;
};

// Read by signal handlers, hence plain globals set before each run.
const uint8_t* current_data = nullptr;
size_t current_size = 0;
std::string crash_file;  // NOLINT(cert-err58-cpp)

// Only async-signal-safe calls from here on.
void SaveCurrentInput() {
  if (current_data == nullptr) return;
  const int fd = open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, current_data, current_size);
  close(fd);
}

void OnFatalSignal(int signal) {
  SaveCurrentInput();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void SaveInputOnCrash() {
  std::signal(SIGABRT, OnFatalSignal);
  std::signal(SIGTERM, OnFatalSignal);  // A hanging input, ended by the test runner.
  if (__sanitizer_set_death_callback != nullptr) {
    // Sanitizers report the other signals better than this program could.
    __sanitizer_set_death_callback(SaveCurrentInput);
    return;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, OnFatalSignal);
}

void RunOne(const Input& input) {
  // A copy of exactly this size, so that AddressSanitizer sees each overrun.
  const Input copy(input);
  current_data = copy.data();
  current_size = copy.size();
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  current_data = nullptr;
}

// Mutates without feedback from coverage: the corpus carries the structure.
class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

  Input Next() {
    Input input = corpus_[Below(corpus_.size())];
    const size_t mutations = 1 + Below(8);
    for (size_t i = 0; i < mutations; ++i) MutateOnce(input);
    if (input.size() > kMaxMutatedSize) input.resize(kMaxMutatedSize);
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(random_() % bound); }
  uint8_t RandomByte() { return static_cast<uint8_t>(random_()); }

  void MutateOnce(Input& input) {
    if (input.empty()) return Insert(input);
    switch (Below(7)) {
      case 0:
        input[Below(input.size())] ^= static_cast<uint8_t>(1U << Below(8));
        return;
      case 1:
        input[Below(input.size())] = RandomByte();
        return;
      case 2:
        return OverwriteWithBoundaryValue(input);
      case 3:
        return Insert(input);
      case 4:
        return Erase(input);
      case 5:
        return CopyWithin(input);
      default:
        return Splice(input);
    }
  }

  void OverwriteWithBoundaryValue(Input& input) {
    static constexpr std::array<uint8_t, 12> kValues = {0x00, 0x01, 0x7f, 0x80, 0xff, ' ',
                                                        '.',  '/',  ':',  '-',  '0',  '9'};
    const uint8_t value = kValues[Below(kValues.size())];
    const size_t begin = Below(input.size());
    const size_t length = std::min<size_t>(size_t{1} << Below(4), input.size() - begin);
    std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(begin), length, value);
  }

  void Insert(Input& input) {
    const size_t length = 1 + Below(8);
    Input bytes(length);
    for (uint8_t& byte : bytes) byte = RandomByte();
    InsertAt(input, Below(input.size() + 1), bytes);
  }

  void Erase(Input& input) {
    const auto begin = input.begin() + static_cast<std::ptrdiff_t>(Below(input.size()));
    const auto rest = static_cast<size_t>(input.end() - begin);
    const size_t length = 1 + Below(std::min<size_t>(rest, 32));
    input.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(length, rest)));
  }

  void CopyWithin(Input& input) {
    const Input piece = Piece(input);
    InsertAt(input, Below(input.size() + 1), piece);
  }

  void Splice(Input& input) {
    const Input piece = Piece(corpus_[Below(corpus_.size())]);
    InsertAt(input, Below(input.size() + 1), piece);
  }

  Input Piece(const Input& from) {
    const size_t begin = Below(from.size());
    const size_t length = Below(from.size() - begin) + (from.empty() ? 0 : 1);
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin);
    return Input(first, first + static_cast<std::ptrdiff_t>(length));
  }

  static void InsertAt(Input& input, size_t position, const Input& bytes) {
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(position), bytes.begin(), bytes.end());
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_;
};

bool ParseNumber(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseArgument(std::string_view argument, Options& options) {
  const auto value_of = [&](std::string_view name) {
    return argument.starts_with(name) ? argument.substr(name.size()) : std::string_view();
  };
  if (const auto value = value_of("--seconds="); !value.empty())
    return ParseNumber(value, options.seconds);
  if (const auto value = value_of("--iterations="); !value.empty())
    return ParseNumber(value, options.iterations);
  if (const auto value = value_of("--seed="); !value.empty())
    return ParseNumber(value, options.seed);
  if (const auto value = value_of("--crash-file="); !value.empty()) {
    options.crash_file = value;
    return true;
  }
  if (argument.starts_with("-")) return false;
  options.folders.emplace_back(argument);
  return true;
}

// The folder's files in the order of their names; empty when there are none.
std::vector<Input> ReadFolder(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

uint64_t RunMutated(const std::vector<Input>& corpus, const Options& options) {
  Mutator mutator(corpus, options.seed);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  uint64_t runs = 0;
  while (runs < options.iterations && std::chrono::steady_clock::now() < stop) {
    RunOne(mutator.Next());
    ++runs;
  }
  return runs;
}

int Replay(const Options& options) {
  std::vector<Input> corpus;
  for (const std::string& folder : options.folders) {
    const std::vector<Input> inputs = ReadFolder(folder);
    if (inputs.empty()) {
      std::fprintf(stderr, "no corpus in %s\n", folder.c_str());
      return EXIT_FAILURE;
    }
    corpus.insert(corpus.end(), inputs.begin(), inputs.end());
  }
  for (const Input& input : corpus) RunOne(input);
  const uint64_t mutated = RunMutated(corpus, options);
  std::printf("%zu corpus files, %llu mutated inputs, seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(mutated),
              static_cast<unsigned long long>(options.seed));
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  Options options;
  bool valid = true;
  for (int i = 1; i < argc; ++i) valid = ParseArgument(argv[i], options) && valid;
  if (!valid || options.folders.empty()) {
    std::fprintf(stderr,
                 "usage: %s [--seconds=N] [--iterations=N] [--seed=N] [--crash-file=PATH] "
                 "FOLDER...\n",
                 argv[0]);
    return 2;
  }
  crash_file = options.crash_file;
  SaveInputOnCrash();
  return Replay(options);
}
