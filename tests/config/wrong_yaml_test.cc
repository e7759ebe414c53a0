// Text that is YAML, but nothing that a configuration needs, and text that is no YAML.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongYaml[] = {
    {"Anchor", R"y(
budgets: &all
  - name: b
)y",
     R"e(
f.yaml:1:10: anchors such as &all are not supported; write the value out where it is used
)e"},
    {"Alias", R"y(
budgets: *all
)y",
     R"e(
f.yaml:1:10: not valid YAML: the referenced anchor is not defined
)e"},
    {"MergeKey", R"y(
server:
  <<: {threads: 1}
)y",
     R"e(
f.yaml:2:3: unknown key '<<'; known: 'grpc_address', 'reflection', 'max_message_bytes', 'threads', 'state_dir', 'max_connections', 'max_connection_age', 'line'
)e"},
    {"Tagged", R"y(
server:
  threads: !!int 1
)y",
     R"e(
f.yaml:2:12: type tags (here 'tag:yaml.org,2002:int') are not supported; leave it out
)e"},
    {"SecondDocument", R"y(
server: {}
---
server: {}
)y",
     R"e(
f.yaml:2:1: a second YAML document starts here; a configuration is a single one
)e"},
    {"SecondDocumentThatIsEmpty", R"y(
server: {}
---
)y",
     R"e(
f.yaml:2:1: a second YAML document starts here; a configuration is a single one
)e"},
    {"UnclosedList", R"y(
budgets: [a, b
)y",
     R"e(
f.yaml:1:1: not valid YAML: end of sequence flow not found
)e"},
    {"UnclosedQuote", R"y(
server:
  grpc_address: "localhost
)y",
     R"e(
f.yaml:2:27: not valid YAML: illegal EOF in scalar
)e"},
    {"TabIndentation", R"y(
server:
	threads: 1
)y",
     R"e(
f.yaml:2:9: not valid YAML: illegal map value; indent with spaces, not tabs
)e"},
    {"BadIndentation", R"y(
server:
  threads: 1
   reflection: true
)y",
     R"e(
f.yaml:3:14: not valid YAML: illegal map value; is the line indented as it should be, or a text with a colon without quotes?
)e"},
    {"BadEscape", R"y(
server:
  grpc_address: "\q"
)y",
     R"e(
f.yaml:2:20: not valid YAML: unknown escape character: q
)e"},
    {"ColonInPlainText", R"y(
server:
  grpc_address: a: b
)y",
     R"e(
f.yaml:2:18: not valid YAML: illegal map value; is the line indented as it should be, or a text with a colon without quotes?
)e"},
    {"ReservedCharacter", R"y(
server:
  grpc_address: @host
)y",
     R"e(
f.yaml:2:17: not valid YAML: unknown token; text that begins with such a character needs quotes
)e"},
};

class WrongYaml : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongYaml, IsRefusedWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongYaml, testing::ValuesIn(kWrongYaml), NameOfCase);

}  // namespace
}  // namespace headgate::config
