#include "common/settled_files.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/hash.h"

namespace headgate {

SettledFiles::Fingerprint SettledFiles::FingerprintOf(const Content& content) {
  // Nobody gains by a collision: whoever writes the file may write what they like. An error's seed
  // keeps its message apart from a file that says the same.
  constexpr uint64_t kTextSeed = 1;
  constexpr uint64_t kErrorSeed = 2;
  if (content.ok()) return {HashBytes(*content, kTextSeed), content->size()};
  const std::string message = content.status().ToString();
  return {HashBytes(message, kErrorSeed), message.size()};
}

FileRead SettledFiles::ReadOne(const std::string& path) const {
  return path.empty() ? FileRead{.text = "", .identity = {}} : ReadFile(path, max_bytes_);
}

bool SettledFiles::AreAsSeen() const {
  return std::equal(paths_.begin(), paths_.end(), identities_.begin(), identities_.end(),
                    [](const std::string& path, const FileIdentity& seen) {
                      return path.empty() || IdentifyFile(path) == seen;
                    });
}

std::optional<SettledFiles::Contents> SettledFiles::Look(absl::Time untouched_since) {
  if (settled_ && AreAsSeen()) return std::nullopt;
  Contents contents;
  std::vector<FileIdentity> identities;
  std::vector<Fingerprint> fingerprints;
  bool readable = true;
  int64_t changed_ns = 0;
  for (const std::string& path : paths_) {
    FileRead read = ReadOne(path);
    readable = readable && read.text.ok();
    // Who copies a file may set one of its times back, never the other.
    changed_ns = std::max({changed_ns, read.identity.modified_ns, read.identity.changed_ns});
    identities.push_back(read.identity);
    fingerprints.push_back(FingerprintOf(read.text));
    contents.push_back(std::move(read.text));
  }
  const bool twice = identities_ == identities && pending_ == fingerprints;
  const bool untouched = readable && absl::FromUnixNanos(changed_ns) <= untouched_since;
  // What keeps a file from being read may pass without a trace in its times.
  settled_ = twice && readable;
  identities_ = std::move(identities);
  pending_ = fingerprints;
  if ((!twice && !untouched) || told_ == fingerprints) return std::nullopt;
  told_ = std::move(fingerprints);
  return contents;
}

absl::StatusOr<SettledFiles::Texts> SettledFiles::Read() const {
  Contents contents;
  for (const std::string& path : paths_) contents.push_back(ReadOne(path).text);
  return TextsOf(contents);
}

absl::StatusOr<SettledFiles::Texts> SettledFiles::TextsOf(const Contents& contents) const {
  Texts texts;
  for (size_t i = 0; i < contents.size(); ++i) {
    if (!contents[i].ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(paths_[i], ": ", contents[i].status().message()));
    }
    texts.push_back(*contents[i]);
  }
  return texts;
}

}  // namespace headgate
