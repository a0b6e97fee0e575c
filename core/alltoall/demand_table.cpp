// SPDX-License-Identifier: Apache-2.0
#include "alltoall/demand_table.hpp"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::alltoall {
namespace {

using std::int64_t;

struct TableRow {
  int line = 0;
  std::vector<std::string> cells;
};

/// Lines without comments, cut at separators. A line with a comma or semicolon is cut there alone.
std::vector<TableRow> rowsOf(std::string_view text) {
  std::vector<TableRow> rows;
  int number = 0;
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') {
      continue;
    }
    const bool hasMarks = line.find_first_of(",;") != std::string_view::npos;
    TableRow row{number, {}};
    std::string cell;
    const auto push = [&] {
      const std::size_t from = cell.find_first_not_of(" \t\"");
      const std::size_t to = cell.find_last_not_of(" \t\"");
      row.cells.push_back(from == std::string::npos ? std::string() : cell.substr(from, to - from + 1));
      cell.clear();
    };
    for (const char c : line) {
      if (hasMarks ? c == ',' || c == ';' : c == ' ' || c == '\t') {
        if (hasMarks || !cell.empty()) {
          push();
        }
      } else {
        cell += c;
      }
    }
    if (hasMarks || !cell.empty()) {
      push();
    }
    if (hasMarks && row.cells.size() > 1 && row.cells.back().empty()) {
      row.cells.pop_back();  // a comma at the end of a line
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

[[noreturn]] void refuse(const std::string& name, int line, std::size_t column, const std::string& message,
                         const std::string& fix) {
  throw Failure({ErrorCode::badInput,
                 name + ", line " + std::to_string(line) +
                     (column > 0 ? ", column " + std::to_string(column) : std::string()) + ": " + message,
                 fix});
}

std::optional<fabric::Rank> rankOf(const fabric::Fabric& fabric, const std::string& cell) {
  const auto node = fabric.find(cell);
  return node && fabric.nodes()[*node].kind == fabric::NodeKind::gpu ? std::optional(fabric.nodes()[*node].rank)
                                                                     : std::nullopt;
}

Rational numberOf(const std::string& name, int line, std::size_t column, const std::string& cell) {
  const auto number = Rational::parse(cell);
  if (!number) {
    refuse(name, line, column, inQuotes(cell) + " is not a number", "give a number of 0 or more");
  }
  if (*number < Rational(0)) {
    refuse(name, line, column, cell + " is negative", "give a number of 0 or more");
  }
  return *number;
}

/// Rows in the order of ranks, with what the first column and the first row name taken off.
struct NumberTable {
  std::vector<std::string> columns;         ///< as a first row names them; empty where there is none
  int headLine = 0;                         ///< of that row
  std::size_t firstColumn = 0;              ///< of the numbers
  std::vector<std::vector<Rational>> rows;  ///< by rank
  std::vector<int> lines;                   ///< by rank
};

NumberTable numbersOf(const fabric::Fabric& fabric, std::string_view text, const std::string& name) {
  std::vector<TableRow> rows = rowsOf(text);
  const auto gpus = static_cast<std::size_t>(fabric.gpuCount());
  NumberTable table;
  if (rows.empty()) {
    refuse(name, 1, 0, "the table is empty", "give a row for each of the " + std::to_string(gpus) + " GPUs");
  }
  const auto isNumber = [](const std::string& cell) { return Rational::parse(cell).hasValue(); };
  const TableRow& head = rows.front();
  if (std::none_of(head.cells.begin() + (head.cells.size() > 1 ? 1 : 0), head.cells.end(), isNumber)) {
    table.columns = head.cells;
    table.headLine = head.line;
    rows.erase(rows.begin());
  }
  if (rows.size() != gpus) {
    refuse(name, rows.empty() ? 1 : rows.back().line, 0,
           "the table has " + std::to_string(rows.size()) + " rows for " + std::to_string(gpus) + " GPUs",
           "give a row for each GPU, in the order of ranks");
  }
  table.rows.resize(gpus);
  table.lines.resize(gpus, 0);
  const bool hasNames = !isNumber(rows.front().cells.front());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TableRow& row = rows[i];
    std::size_t rank = i;
    if (hasNames) {
      const auto named = rankOf(fabric, row.cells.front());
      if (!named) {
        refuse(name, row.line, 1, inQuotes(row.cells.front()) + " is not a GPU of the fabric",
               "start each row with the id of a GPU, or none");
      }
      rank = static_cast<std::size_t>(*named);
      if (table.lines[rank] != 0) {
        refuse(name, row.line, 1,
               inQuotes(row.cells.front()) + " has a row already, in line " + std::to_string(table.lines[rank]),
               "give one row for each GPU");
      }
    }
    table.lines[rank] = row.line;
    for (std::size_t c = hasNames ? 1 : 0; c < row.cells.size(); ++c) {
      table.rows[rank].push_back(numberOf(name, row.line, c + 1, row.cells[c]));
    }
    if (table.rows[rank].size() != rows.front().cells.size() - (hasNames ? 1 : 0)) {
      refuse(name, row.line, 0,
             "the row has " + std::to_string(table.rows[rank].size()) + " numbers, the first one " +
                 std::to_string(rows.front().cells.size() - (hasNames ? 1 : 0)),
             "give rows of the same length");
    }
  }
  table.firstColumn = hasNames ? 1 : 0;
  if (hasNames && !table.columns.empty()) {
    table.columns.erase(table.columns.begin());  // above the names
  }
  return table;
}

DemandTable demandOf(const fabric::Fabric& fabric, std::string_view text, const std::string& name) {
  const NumberTable numbers = numbersOf(fabric, text, name);
  const auto gpus = static_cast<std::size_t>(fabric.gpuCount());
  const std::size_t columns = numbers.rows.front().size();
  if (columns != gpus) {
    refuse(name, numbers.lines.front(), 0,
           "a row has " + std::to_string(columns) + " numbers for " + std::to_string(gpus) + " GPUs",
           "give a number for each receiver");
  }
  std::vector<std::size_t> rankOfColumn(gpus);
  std::iota(rankOfColumn.begin(), rankOfColumn.end(), std::size_t{0});
  if (!numbers.columns.empty()) {
    const std::string fix = "name each GPU once above its column, or leave the row out";
    if (numbers.columns.size() != gpus) {
      refuse(name, numbers.headLine, 0,
             "the first row names " + std::to_string(numbers.columns.size()) + " columns of " + std::to_string(gpus),
             fix);
    }
    std::vector<bool> isNamed(gpus, false);
    for (std::size_t c = 0; c < gpus; ++c) {
      const auto rank = rankOf(fabric, numbers.columns[c]);
      if (!rank || isNamed[static_cast<std::size_t>(*rank)]) {
        refuse(name, numbers.headLine, numbers.firstColumn + c + 1,
               inQuotes(numbers.columns[c]) + (rank ? " has a column already" : " is not a GPU of the fabric"), fix);
      }
      isNamed[static_cast<std::size_t>(*rank)] = true;
      rankOfColumn[c] = static_cast<std::size_t>(*rank);
    }
  }
  int64_t denominator = 1;
  for (const auto& row : numbers.rows) {
    for (const Rational& each : row) {
      denominator = leastCommonMultiple(denominator, each.denominator());
    }
  }
  DemandTable table;
  table.demand.amounts.assign(gpus * gpus, 0);
  int64_t divisor = 0;
  for (std::size_t from = 0; from < gpus; ++from) {
    for (std::size_t c = 0; c < gpus; ++c) {
      const Rational& each = numbers.rows[from][c];
      int64_t& amount = table.demand.amounts[from * gpus + rankOfColumn[c]];
      amount = checkedMul(each.numerator(), denominator / each.denominator());
      divisor = std::gcd(divisor, amount);
    }
  }
  if (divisor == 0) {
    refuse(name, numbers.lines.front(), 0, "all numbers are 0", "give what at least one GPU sends to another");
  }
  for (int64_t& amount : table.demand.amounts) {
    amount /= divisor;
  }
  table.unit = Rational(divisor, denominator);
  return table;
}

}  // namespace

Rational nanosecondsOf(const Rational& bytes, const Bandwidth& rate, bool roundsUp) {
  const Rational& perNanosecond = rate.gigabytesPerSecond();
  try {
    return bytes / perNanosecond;
  } catch (const OverflowError&) {
    constexpr std::int64_t kParts = 1000;
    const Int128 whole = checkedMul<Int128>(checkedMul<Int128>(bytes.numerator(), perNanosecond.denominator()), kParts);
    const Int128 by = checkedMul<Int128>(bytes.denominator(), perNanosecond.numerator());
    return {narrow64(whole / by + (roundsUp && whole % by != 0 ? 1 : 0)), kParts};
  }
}

Result<DemandTable> readDemandTable(const fabric::Fabric& fabric, std::string_view text, const std::string& name) {
  return guarded([&]() -> Result<DemandTable> { return demandOf(fabric, text, name); },
                 {.overflow = name + ": the numbers leave the 64-bit range", .overflowFix = "use fewer digits"});
}

std::string writeDemandTable(const fabric::Fabric& fabric, const DemandTable& table) {
  std::string text = "from \\ to";
  const auto idOf = [&](fabric::Rank rank) { return fabric.nodes()[fabric.gpus()[rank]].id; };
  for (fabric::Rank to = 0; to < fabric.gpuCount(); ++to) {
    text += "," + idOf(to);
  }
  text += "\n";
  for (fabric::Rank from = 0; from < fabric.gpuCount(); ++from) {
    text += idOf(from);
    for (fabric::Rank to = 0; to < fabric.gpuCount(); ++to) {
      const std::size_t at = static_cast<std::size_t>(from) * fabric.gpuCount() + to;
      // What stays at a GPU is part of its buffer.
      const std::int64_t amount =
          table.demand.isEven() ? table.demand.amount(from, to, fabric.gpuCount()) : table.demand.amounts[at];
      text += "," + toExactText(table.unit * Rational(amount));
    }
    text += "\n";
  }
  return text;
}

Result<CountTable> readCountTable(const fabric::Fabric& fabric, std::string_view text, const std::string& name) {
  return guarded(
      [&]() -> Result<CountTable> {
        const NumberTable numbers = numbersOf(fabric, text, name);
        CountTable table{static_cast<int>(numbers.rows.front().size()), {}};
        for (std::size_t rank = 0; rank < numbers.rows.size(); ++rank) {
          for (std::size_t c = 0; c < numbers.rows[rank].size(); ++c) {
            if (numbers.rows[rank][c].denominator() != 1) {
              refuse(name, numbers.lines[rank], c + 1, "a count is not a whole number", "give whole numbers");
            }
            table.counts.push_back(numbers.rows[rank][c].numerator());
          }
        }
        return table;
      },
      {.overflow = name + ": the numbers leave the 64-bit range", .overflowFix = "use fewer digits"});
}

}  // namespace coppice::alltoall
