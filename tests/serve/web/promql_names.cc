#include "tests/serve/web/promql_names.h"

#include <cctype>

namespace headgate::web {
namespace {

const std::set<std::string, std::less<>> kOperators = {"and", "or", "unless", "bool", "offset"};
const std::set<std::string, std::less<>> kGroupings = {"by",       "without",    "on",
                                                       "ignoring", "group_left", "group_right"};

const std::set<std::string, std::less<>> kAggregations = {"sum",   "min",  "max",     "avg",
                                                          "count", "topk", "bottomk", "quantile"};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  PromqlNames Read() {
    while (at_ < text_.size()) Step();
    return std::move(names_);
  }

 private:
  static bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
  static bool IsWord(char c) { return IsLetter(c) || std::isdigit(static_cast<unsigned char>(c)); }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    while (std::isspace(static_cast<unsigned char>(Peek()))) ++at_;
  }
  std::string Word() {
    const size_t from = at_;
    while (IsWord(Peek())) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  std::string Quoted() {
    const char quote = text_[at_++];
    std::string text;
    for (; Peek() != quote && Peek() != '\0'; ++at_) {
      if (Peek() == '\\') ++at_;
      text.push_back(Peek());
    }
    ++at_;
    return text;
  }

  void Step() {
    const char c = Peek();
    if (c == '"' || c == '\'') {
      Quoted();
    } else if (c == '[') {  // a range
      at_ = std::min(text_.find(']', at_), text_.size());
    } else if (IsLetter(c)) {
      Name(Word());
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      Word();  // a number, or a duration
    } else {
      ++at_;
    }
  }

  void Name(const std::string& word) {
    SkipSpace();
    if (kOperators.contains(word) || kAggregations.contains(word)) return;
    if (kGroupings.contains(word)) return Labels();
    if (Peek() == '(') return;  // a function
    names_.metrics.insert(word);
    if (Peek() == '{') Matchers(word);
  }

  // (a, b)
  void Labels() {
    if (Peek() != '(') return;
    for (++at_; Peek() != ')' && Peek() != '\0';) {
      if (IsLetter(Peek())) {
        names_.labels.insert(Word());
      } else {
        ++at_;
      }
    }
  }

  // {a="b", c=~"d"}
  void Matchers(const std::string& metric) {
    for (++at_; Peek() != '}' && Peek() != '\0';) {
      if (!IsLetter(Peek())) {
        ++at_;
        continue;
      }
      PromqlNames::Matcher matcher{.metric = metric, .label = Word(), .op = {}, .value = {}};
      SkipSpace();
      while (Peek() == '=' || Peek() == '!' || Peek() == '~') matcher.op.push_back(text_[at_++]);
      SkipSpace();
      matcher.value = Quoted();
      names_.matchers.push_back(std::move(matcher));
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
  PromqlNames names_;
};

}  // namespace

PromqlNames NamesOf(std::string_view expression) { return Reader(expression).Read(); }

}  // namespace headgate::web
