// A table that is printed for a person, aligned, or as CSV for a program.
//
// Cells are escaped when they come in, so nothing that a server named can act on a terminal.
// Columns are as wide as a terminal shows them; numbers go to the right.
//
// Thread-compatible.
//
//   Table table(Titles("BUDGET,>DEBT"));
//   table.Add({{budget.name()}, {ShortNumber(budget.debt())}});
//   console.out << table.Text(console.colours);

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headgate::cli {

enum class Colours { kOff, kOn };
enum class Paint { kPlain, kBold, kDim, kGood, kWarn, kBad };

// `text` in a colour, where colours are on. The text is escaped already.
std::string Painted(std::string_view text, Paint paint, Colours colours);

struct Cell {
  std::string text;
  Paint paint = Paint::kPlain;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

// Commas stand between titles; the columns whose titles follow a ">" go to the right.
std::vector<Column> Titles(std::string_view titles);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell for each column; fewer leave the last ones empty.
  void Add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }

  // Lines that each begin with `indent`. No line of titles where all titles are empty.
  std::string Text(Colours colours, std::string_view indent = "") const;
  // The same in lines of so many columns at most, as far as names can be shortened for it.
  std::string TextWithin(size_t columns, Colours colours, std::string_view indent = "") const;
  // As RFC 4180 has it, titles first, lines ended by CR LF.
  std::string Csv() const;

 private:
  std::vector<size_t> Widths() const;
  std::string Lines(const std::vector<size_t>& widths, Colours colours,
                    std::string_view indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace headgate::cli
