#include "client/cli/output/table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/output/terminal_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr std::string_view kGap = "  ";

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// There are no blanks after the last cell.
void AppendAligned(const Cell& cell, Align align, size_t width, bool last, Colours colours,
                   std::string& line) {
  const size_t used = DisplayWidth(cell.text);
  const std::string blanks(width - std::min(width, used), ' ');
  if (align == Align::kRight) line += blanks;
  line += Painted(cell.text, cell.paint, colours);
  if (align == Align::kLeft && !last) line += blanks;
}

}  // namespace

std::string Painted(std::string_view text, Paint paint, Colours colours) {
  if (colours == Colours::kOff || paint == Paint::kPlain || text.empty()) return std::string(text);
  const char* code = "1";
  switch (paint) {
    case Paint::kPlain:
    case Paint::kBold:
      break;
    case Paint::kDim:
      code = "2";
      break;
    case Paint::kGood:
      code = "32";
      break;
    case Paint::kWarn:
      code = "33";
      break;
    case Paint::kBad:
      code = "31";
      break;
  }
  return absl::StrCat("\x1b[", code, "m", Sv(text), "\x1b[0m");
}

std::vector<Column> Titles(std::string_view titles) {
  std::vector<Column> columns;
  for (absl::string_view title : absl::StrSplit(Sv(titles), ',')) {
    const Align align = absl::ConsumePrefix(&title, ">") ? Align::kRight : Align::kLeft;
    columns.push_back({std::string(title), align});
  }
  return columns;
}

void Table::Add(std::vector<Cell> row) {
  for (Cell& cell : row) cell.text = Escaped(cell.text);
  row.resize(columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(DisplayWidth(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
  }
  return widths;
}

std::string Table::Text(Colours colours, std::string_view indent) const {
  return Lines(Widths(), colours, indent);
}

std::string Table::TextWithin(size_t columns, Colours colours, std::string_view indent) const {
  constexpr size_t kLeast = 10;  // of a name, before the line's end is cut off instead
  std::vector<size_t> widths = Widths();
  const size_t taken = indent.size() + kGap.size() * (widths.size() - 1);
  size_t all = std::accumulate(widths.begin(), widths.end(), taken);
  while (all > columns) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i].align == Align::kRight || widths[i] <= kLeast) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --all;
  }
  return Lines(widths, colours, indent);
}

std::string Table::Lines(const std::vector<size_t>& widths, Colours colours,
                         std::string_view indent) const {
  std::vector<Cell> titles;
  bool titled = false;
  for (const Column& column : columns_) {
    titled = titled || !column.title.empty();
    titles.push_back({column.title, Paint::kBold});
  }
  std::string text;
  const auto append = [&](const std::vector<Cell>& row) {
    // A row ends with its last cell that says something.
    size_t cells = row.size();
    while (cells > 0 && row[cells - 1].text.empty()) --cells;
    text += indent;
    for (size_t i = 0; i < cells; ++i) {
      if (i > 0) text += kGap;
      const Cell cell = {Shortened(row[i].text, widths[i]), row[i].paint};
      AppendAligned(cell, columns_[i].align, widths[i], i + 1 == cells, colours, text);
    }
    text += '\n';
  };
  if (titled) append(titles);
  for (const auto& row : rows_) append(row);
  return text;
}

std::string Table::Csv() const {
  std::string text;
  for (size_t i = 0; i < columns_.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", CsvField(columns_[i].title));
  }
  text += "\r\n";
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&text, i > 0 ? "," : "", CsvField(row[i].text));
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace headgate::cli
