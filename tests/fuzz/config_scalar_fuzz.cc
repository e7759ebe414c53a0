// Any text as each kind of plain value of a configuration: what is taken is within the bounds that
// scalar.h gives, and written out reads back as the same; what is refused is told in one line.
//
// The first byte says whether the text stands in quotes.
#include <google/protobuf/duration.pb.h>
#include <headgate/v1/config.pb.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/utf8.h"
#include "server/govern/config/scalar.h"
#include "server/govern/config/shorthand.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::config::YamlNode;
using headgate::fuzz::Require;
using headgate::fuzz::RequireReadable;

YamlNode Plain(std::string text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = std::move(text);
  return node;
}

void Duration(const YamlNode& node) {
  const absl::StatusOr<absl::Duration> read = headgate::config::ReadDuration(node);
  if (!read.ok()) return RequireReadable(read.status());
  Require(*read >= absl::ZeroDuration() && *read <= absl::Hours(24 * 36525), "out of bounds");
  const auto again = headgate::config::ReadDuration(Plain(absl::FormatDuration(*read)));
  // Abseil writes a zero without a unit, which is what a file must have.
  Require(*read == absl::ZeroDuration() || (again.ok() && *again == *read),
          "written out it is another: ", absl::FormatDuration(*read));
}

void Time(const YamlNode& node) {
  const absl::StatusOr<absl::Time> read = headgate::config::ReadTime(node);
  if (!read.ok()) return RequireReadable(read.status());
  Require(*read >= absl::UnixEpoch() &&
              *read < absl::FromCivil(absl::CivilYear(2262), absl::UTCTimeZone()),
          "out of bounds");
  const std::string text = absl::FormatTime(absl::RFC3339_full, *read, absl::UTCTimeZone());
  const auto again = headgate::config::ReadTime(Plain(text));
  Require(again.ok() && *again == *read, "written out it is another: ", text);
}

void Integer(const YamlNode& node, int64_t least, int64_t most) {
  const absl::StatusOr<int64_t> read = headgate::config::ReadInteger(node, least, most);
  if (!read.ok()) return RequireReadable(read.status());
  Require(*read >= least && *read <= most, "out of bounds: ", *read);
  const auto again = headgate::config::ReadInteger(Plain(absl::StrCat(*read)), least, most);
  Require(again.ok() && *again == *read, "written out it is another: ", *read);
}

void Number(const YamlNode& node) {
  const absl::StatusOr<double> read = headgate::config::ReadNumber(node);
  if (!read.ok()) return RequireReadable(read.status());
  Require(std::isfinite(*read), "a number that is none");
  Require(headgate::config::LooksLikeNumber(node), "a number that does not look like one");
  const auto again = headgate::config::ReadNumber(Plain(absl::StrFormat("%.17g", *read)));
  Require(again.ok() && *again == *read, "written out it is another: ", *read);
}

void Word(const YamlNode& node) {
  const absl::StatusOr<bool> truth = headgate::config::ReadBool(node);
  if (!truth.ok()) RequireReadable(truth.status());
  Require(!truth.ok() || node.text == (*truth ? "true" : "false"), "a truth value of ", node.text);
  const auto* modes = headgate::v1::Mode_descriptor();
  const absl::StatusOr<int> mode = headgate::config::ReadEnum(node, *modes);
  if (!mode.ok()) return RequireReadable(mode.status());
  Require(modes->FindValueByNumber(*mode)->name() == "MODE_" + node.text, "a mode of ", node.text);
}

void Text(const YamlNode& node) {
  const auto read = headgate::config::ReadText(node, headgate::config::Empty::kRefused);
  if (!read.ok()) return RequireReadable(read.status());
  Require(*read == node.text && !read->empty(), "text that was changed");
  Require(!headgate::FindBadByte(*read).has_value(), "text that is none");
}

// Rates, bursts and on_stale: which kind of value it is, is told by the text alone.
template <typename Message>
void Shorthand(const YamlNode& node) {
  Message message;
  const auto* shorthand = headgate::config::FindShorthand(*Message::descriptor());
  const absl::Status status = shorthand->read(node, message);
  if (!status.ok()) return RequireReadable(status);
  Require(message.ByteSizeLong() > 0, "taken for nothing: ", node.text);
  if constexpr (std::is_same_v<Message, headgate::v1::Rate>) {
    Require(message.has_server_share() == node.text.ends_with('%'), "a share: ", node.text);
    Require(std::isfinite(message.server_share()) && std::isfinite(message.units_per_second()),
            "a rate that is no number: ", node.text);
  }
  if constexpr (std::is_same_v<Message, headgate::v1::Burst>) {
    Require(std::isfinite(message.units()), "a burst that is no number: ", node.text);
    Require(message.duration().seconds() >= 0 && message.duration().nanos() >= 0 &&
                message.duration().nanos() < 1'000'000'000,
            "a duration that is none: ", node.text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  YamlNode node = Plain(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  node.quoted = (data[0] & 1) != 0;
  Duration(node);
  Time(node);
  Integer(node, INT64_MIN, INT64_MAX);
  Integer(node, 0, 100);
  Number(node);
  Word(node);
  Text(node);
  Shorthand<headgate::v1::Rate>(node);
  Shorthand<headgate::v1::Burst>(node);
  Shorthand<headgate::v1::OnStale>(node);
  const absl::Status hidden = headgate::config::ExpectedNotShown("another", node);
  Require(hidden.message() == "expected another, got a plain value", "it shows ", node.text);
  return 0;
}
