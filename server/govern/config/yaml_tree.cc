#include "server/govern/config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_text.h"
#include "common/utf8.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

Position PositionOf(const YAML::Mark& mark) {
  if (mark.is_null()) return {.line = 1, .column = 1};
  return {.line = mark.line + 1, .column = mark.column + 1};
}

// What is YAML, but not for us.
class Refusal final : public YAML::ParserException {
 public:
  using ParserException::ParserException;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& why) {
  throw Refusal(mark, why);
}

// Refuses by throwing, as the parser itself does.
class TreeBuilder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Refuse(mark, "a second YAML document starts here; a configuration is a single one");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Place(Node(mark, Kind::kNull)); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    YamlNode node = Node(mark, Kind::kScalar);
    node.quoted = tag == "!";
    node.text = value;
    CheckTag(mark, tag);
    Place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, Kind::kMapping);
  }
  void OnMapEnd() override { Close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases are not supported; write the value out");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    Refuse(mark, absl::StrCat("anchors such as &", name,
                              " are not supported; write the value out where it is used"));
  }

  YamlNode Take() { return std::move(root_); }

 private:
  using Kind = YamlNode::Kind;

  YamlNode Node(const YAML::Mark& mark, Kind kind) {
    if (++nodes_ > kMaxNodes) {
      Refuse(mark, absl::StrCat("more than ", kMaxNodes, " values in one file"));
    }
    YamlNode node;
    node.kind = kind;
    node.at = PositionOf(mark);
    return node;
  }

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    Refuse(mark,
           absl::StrCat("type tags (here ", Quoted(tag), ") are not supported; leave it out"));
  }

  void Open(const YAML::Mark& mark, const std::string& tag, Kind kind) {
    if (open_.size() == kMaxDepth) {
      Refuse(mark, absl::StrCat("nested more than ", kMaxDepth, " levels deep"));
    }
    open_.push_back(Node(mark, kind));
    CheckTag(mark, tag);
  }

  void Close() {
    YamlNode done = std::move(open_.back());
    open_.pop_back();
    Place(std::move(done));
  }

  void Place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    std::vector<YamlNode>& siblings = open_.back().items;
    // yaml-cpp reports an absent value where the next token stands; its key is a better place.
    const bool is_value = open_.back().kind == Kind::kMapping && siblings.size() % 2 == 1;
    if (node.kind == Kind::kNull && is_value) node.at = siblings.back().at;
    siblings.push_back(std::move(node));
  }

  YamlNode root_;
  std::vector<YamlNode> open_;  // from the root to where the parser is
  size_t nodes_ = 0;
  int documents_ = 0;
};

// yaml-cpp takes bytes that are no text for other encodings, or for the end of the file.
bool CheckText(std::string_view text, ProblemList& problems) {
  const std::optional<BadByte> bad = FindBadByte(text);
  if (!bad.has_value()) return true;
  const std::string_view before = text.substr(0, bad->offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const Position at = {.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
                       .column = 1 + static_cast<int>(bad->offset - line_start)};
  problems.Add(at, bad->is_control ? "a control character; YAML files are text"
                                   : "not valid UTF-8; save the file as UTF-8");
  return false;
}

// yaml-cpp says what it met, not what somebody may have done.
const char* HintFor(const YAML::Exception& error, std::string_view text) {
  size_t line_start = 0;
  for (int i = 0; i < error.mark.line && line_start < text.size(); ++i) {
    line_start = std::min(text.find('\n', line_start), text.size() - 1) + 1;
  }
  const std::string_view line = text.substr(line_start);
  const size_t indentation = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.substr(0, indentation).find('\t') != std::string_view::npos) {
    return "; indent with spaces, not tabs";
  }
  if (error.msg == YAML::ErrorMsg::MAP_VALUE) {
    return "; is the line indented as it should be, or a text with a colon without quotes?";
  }
  if (error.msg == YAML::ErrorMsg::UNKNOWN_TOKEN) {
    return "; text that begins with such a character needs quotes";
  }
  return "";
}

// With white space behind it, yaml-cpp takes the end of the file for a closing quote.
std::string_view WithoutTrailingSpace(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last + 1);  // npos + 1 is 0
}

}  // namespace

std::optional<YamlNode> ParseYaml(std::string_view text, ProblemList& problems) {
  if (text.size() > kMaxFileBytes) {
    problems.Add({}, absl::StrCat("larger than ", kMaxFileBytes >> 20, " MiB"));
    return std::nullopt;
  }
  if (!CheckText(text, problems)) return std::nullopt;
  std::istringstream stream{std::string(WithoutTrailingSpace(text))};
  TreeBuilder builder;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.Take();
  } catch (const Refusal& error) {
    problems.Add(PositionOf(error.mark), error.msg);
  } catch (const YAML::Exception& error) {
    problems.Add(PositionOf(error.mark),
                 absl::StrCat("not valid YAML: ", error.msg, HintFor(error, text)));
  }
  return std::nullopt;
}

}  // namespace headgate::config
