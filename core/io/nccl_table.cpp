// SPDX-License-Identifier: Apache-2.0
#include "io/nccl_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/words.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxRows = 100'000;

bool hasNoValue(std::string_view word) {
  return word == "N/A" || word == "-";
}

/// Where the columns of one half are; -1 = there is no such column.
struct Half {
  int time = -1;
  int algbw = -1;
  int busbw = -1;
  int wrong = -1;
};

struct Columns {
  int count = 0;
  std::vector<Half> halves;
};

/// From the line that names them: "#  size  count  type  redop  root  time  algbw  busbw #wrong  time …".
std::optional<Columns> columnsNamed(std::vector<std::string_view> words) {
  if (!words.empty() && words.front() == "#") {
    words.erase(words.begin());
  } else if (!words.empty() && words.front().starts_with('#')) {
    words.front().remove_prefix(1);
  }
  if (words.size() < 4 || words.front() != "size") {
    return std::nullopt;
  }
  Columns columns{.count = static_cast<int>(words.size()), .halves = {}};
  for (int at = 0; at < columns.count; ++at) {
    const std::string_view word = words[at];
    if (word == "time") {
      columns.halves.push_back({.time = at});
    } else if (columns.halves.empty()) {
      continue;
    } else if (word == "algbw") {
      columns.halves.back().algbw = at;
    } else if (word == "busbw") {
      columns.halves.back().busbw = at;
    } else if (word == "#wrong" || word == "error") {
      columns.halves.back().wrong = at;
    }
  }
  const bool isWhole = !columns.halves.empty() && columns.halves.size() <= 2 &&
                       std::all_of(columns.halves.begin(), columns.halves.end(),
                                   [](const Half& half) { return half.algbw >= 0 && half.busbw >= 0; });
  return isWhole ? std::optional(columns) : std::nullopt;
}

/// Without that line: size and count, words and the root, then time, algbw, busbw and #wrong for each half.
Columns columnsGuessed(const std::vector<std::string_view>& words) {
  constexpr int kHalf = 4;
  Columns columns{.count = static_cast<int>(words.size()), .halves = {}};
  // A time has a point, or stands two columns before another number with one.
  int first = 2;
  while (first < columns.count && words[first].find('.') == std::string_view::npos) {
    ++first;
  }
  // Times from 10,000 us on are printed without a point; the algbw behind them has one.
  const int left = columns.count - first;
  first -= left % kHalf == kHalf - 1 && first > 2 ? 1 : 0;
  for (int at = first; at + kHalf <= columns.count && columns.halves.size() < 2; at += kHalf) {
    columns.halves.push_back({.time = at, .algbw = at + 1, .busbw = at + 2, .wrong = at + 3});
  }
  return columns;
}

/// What a comment says about the run as a whole.
void takeComment(std::string_view line, NcclTable& table) {
  // "# Collective test starting: all_gather_perf", "# allgather, 8 ranks, schedule …", "# simulated allgather, …"
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPrograms{
      {{"all_gather_perf", "allgather"},
       {"reduce_scatter_perf", "reduce_scatter"},
       {"all_reduce_perf", "allreduce"},
       {"broadcast_perf", "broadcast"},
       {"alltoall_perf", "alltoall"},
       {"gather_perf", "gather"},
       {"scatter_perf", "scatter"},
       {"reduce_perf", "reduce"}}};
  for (const auto& [program, collective] : kPrograms) {
    if (table.collective.empty() && line.find(program) != std::string_view::npos) {
      table.collective = collective;
    }
  }
  const std::vector<std::string_view> words = wordsOf(line);
  if (words.size() > 2 && words[1] == "simulated") {
    table.isSimulated = true;
    table.collective = words[2].substr(0, words[2].find(','));
  }
  // "#  Rank  0 Group  0 Pid  1234 on host device  0 [0x07] NVIDIA A100"
  if (words.size() > 2 && words[0] == "#" && words[1] == "Rank") {
    table.ranks = std::max(table.ranks, numberIn<int>(words[2]).value_or(-1) + 1);
  }
}

class NcclTableReader {
public:
  explicit NcclTableReader(std::string fileName) : m_fileName(std::move(fileName)) {}

  Outcome take(std::string_view line, int number) {
    const std::vector<std::string_view> words = wordsOf(line);
    if (words.empty()) {
      return Done{};
    }
    if (words.front().starts_with('#')) {
      if (auto named = columnsNamed(words)) {
        m_columns = std::move(named);
      } else {
        takeComment(line, m_table);
      }
      return Done{};
    }
    const auto size = numberIn<std::int64_t>(words.front());
    // A line of NCCL, of mpirun, or a row of something else.
    if (!size || words.size() < 2 || !numberIn<std::int64_t>(words[1])) {
      return Done{};
    }
    return takeRow(*size, words, number);
  }

  Result<NcclTable> finish() {
    if (m_rows.empty()) {
      return Error{ErrorCode::badInput,
                   "there is no row of an nccl-tests table",
                   "give the output of a program such as all_gather_perf, with the lines of the sizes",
                   {.file = m_fileName}};
    }
    for (auto& [size, row] : m_rows) {
      m_table.rows.push_back(std::move(row));
    }
    return std::move(m_table);
  }

private:
  [[nodiscard]] Error fault(int line, const std::string& message) const {
    return {ErrorCode::badInput,
            message,
            "give the whole table, with the line that names the columns",
            {.file = m_fileName, .line = line}};
  }

  Outcome takeRow(std::int64_t size, const std::vector<std::string_view>& words, int line) {
    const Columns columns = m_columns ? *m_columns : columnsGuessed(words);
    if (size < 0 || columns.halves.empty() || static_cast<int>(words.size()) < columns.halves.back().busbw + 1) {
      return fault(line, "a row of the table has " + std::to_string(words.size()) + " columns, not " +
                             std::to_string(m_columns ? m_columns->count : 13));
    }
    NcclRow row{.size = size, .line = line};
    for (std::size_t at = 0; at < columns.halves.size(); ++at) {
      auto half = halfOf(columns.halves[at], words, line);
      if (!half) {
        return half.error();
      }
      (at == 0 ? row.outOfPlace : row.inPlace) = *half;
    }
    if (size > 0 && (row.outOfPlace || row.inPlace)) {
      m_rows[size] = std::move(row);
    }
    if (m_rows.size() > kMaxRows) {
      return Error{ErrorCode::limit,
                   "the table has more than " + std::to_string(kMaxRows) + " sizes",
                   "shorten it",
                   {.file = m_fileName, .line = line}};
    }
    return Done{};
  }

  /// nullopt: it was not run.
  Result<std::optional<NcclTime>> halfOf(const Half& half, const std::vector<std::string_view>& words, int line) const {
    const auto word = [&](int column) { return words[column]; };
    if (hasNoValue(word(half.time))) {
      return std::optional<NcclTime>();
    }
    double microseconds = 0;
    double algbw = 0;
    double busbw = 0;
    const std::array<std::pair<int, double*>, 3> fields{
        {{half.time, &microseconds}, {half.algbw, &algbw}, {half.busbw, &busbw}}};
    for (const auto& [column, value] : fields) {
      const auto number = numberIn<double>(word(column));
      if (!number || !std::isfinite(*number) || *number < 0) {
        return fault(line, inQuotes(word(column)) + " in column " + std::to_string(column + 1) + " is not a number");
      }
      *value = *number;
    }
    NcclTime time{Microseconds(microseconds), Throughput(algbw), Throughput(busbw)};
    if (half.wrong >= 0 && half.wrong < static_cast<int>(words.size()) && !hasNoValue(word(half.wrong))) {
      // Older versions print an error as a fraction.
      const auto wrong = numberIn<double>(word(half.wrong));
      if (!wrong) {
        return fault(line,
                     inQuotes(word(half.wrong)) + " in column " + std::to_string(half.wrong + 1) + " is not a number");
      }
      time.wrong = numberIn<std::int64_t>(word(half.wrong));
    }
    return std::optional(time);
  }

  std::string m_fileName;
  std::optional<Columns> m_columns;
  std::map<std::int64_t, NcclRow> m_rows;
  NcclTable m_table;
};

/// Calls `take(line, number)` for each line until it gives an error.
template <typename Take>
Outcome eachLine(std::string_view text, const Take& take) {
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (Outcome taken = take(text.substr(at, end - at), ++number); !taken) {
      return taken;
    }
    at = end + 1;
  }
  return Done{};
}

}  // namespace

Result<NcclTable> readNcclTable(std::string_view text, const std::string& fileName) {
  NcclTableReader reader(fileName);
  const Outcome read = eachLine(text, [&](std::string_view line, int number) { return reader.take(line, number); });
  return read ? reader.finish() : Result<NcclTable>(read.error());
}

}  // namespace coppice::io
