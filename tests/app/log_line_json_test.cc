#include "server/app/log_line_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gtest/gtest.h"

namespace headgate::app {
namespace {

TEST(JsonMembers, KeepsOrderAndEscapes) {
  EXPECT_EQ(JsonMembers("an event", {{"b", "x\"y\\z"}, {"a", "line\nbreak\t\x7f"}}),
            R"("event":"an event","b":"x\"y\\z","a":"line\u000abreak\u0009\u007f")");
}

TEST(JsonMembers, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(JsonMembers("\u009b2J", {{"a\u2028b", "c\u202ed\u2066\u200b"}}),
            R"("event":"\u009b2J","a\u2028b":"c\u202ed\u2066\u200b")");
  EXPECT_EQ(JsonMembers("\U000e0041", {}), R"("event":"\udb40\udc41")");  // an invisible tag
  EXPECT_EQ(JsonMembers("Übersicht 日本 \U0001f418", {}),
            "\"event\":\"Übersicht 日本 \U0001f418\"");
}

TEST(JsonMembers, MakesAnObjectOfAnyBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  for (const std::string& text : {all, all + "\xc3\xa9", std::string("\xf0\x9f\x90\x98"),
                                  std::string("\xed\xa0\x80"), std::string("\xc3")}) {
    const std::string line = "{" + JsonMembers(text, {{"key", text}}) + "}";
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object["event"], object["key"]);
  }
  EXPECT_EQ(JsonMembers("\xc3\xa9\xff", {}), "\"event\":\"\xc3\xa9\\ufffd\"");
}

}  // namespace
}  // namespace headgate::app
