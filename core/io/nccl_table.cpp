// SPDX-License-Identifier: Apache-2.0
#include "io/nccl_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/line_tags.hpp"
#include "io/table_collective.hpp"
#include "io/words.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxRows = 100'000;
constexpr std::size_t kMaxTags = 64;

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

constexpr int kFirstText = 3;  ///< behind size, count and type

struct Columns {
  int count = 0;
  std::vector<std::string> texts = {};  ///< between the type and the first time: "redop", "root"
  std::vector<Half> halves = {};
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
  Columns columns{.count = static_cast<int>(words.size())};
  for (int at = 0; at < columns.count; ++at) {
    const std::string_view word = words[at];
    if (word == "time") {
      columns.halves.push_back({.time = at});
    } else if (columns.halves.empty()) {
      if (at >= kFirstText) {
        columns.texts.emplace_back(word);
      }
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

bool hasRedop(const Columns& columns) {
  return std::find(columns.texts.begin(), columns.texts.end(), "redop") != columns.texts.end();
}

/// Where the half is in a row that has fewer columns before it.
Half shifted(Half half, int by) {
  for (int* column : {&half.time, &half.algbw, &half.busbw, &half.wrong}) {
    *column -= *column < 0 ? 0 : by;
  }
  return half;
}

/// Without that line: size and count, words and the root, then time, algbw, busbw and #wrong for each half.
Columns columnsGuessed(const std::vector<std::string_view>& words) {
  constexpr int kHalf = 4;
  Columns columns{.count = static_cast<int>(words.size())};
  // A time has a point, or stands two columns before another number with one.
  int first = 2;
  while (first < columns.count && words[first].find('.') == std::string_view::npos) {
    ++first;
  }
  // Times from 10,000 us on are printed without a point; the algbw behind them has one.
  const int left = columns.count - first;
  first -= left % kHalf == kHalf - 1 && first > 2 ? 1 : 0;
  for (int at = kFirstText; at < first; ++at) {
    columns.texts.emplace_back(numberIn<int>(words[at]) ? "root" : "redop");
  }
  for (int at = first; at + kHalf <= columns.count && columns.halves.size() < 2; at += kHalf) {
    columns.halves.push_back({.time = at, .algbw = at + 1, .busbw = at + 2, .wrong = at + 3});
  }
  return columns;
}

bool isThreadLine(std::string_view comment) {
  return comment.starts_with("# nThread");
}

bool beginsRun(std::string_view comment) {
  return isThreadLine(comment) || columnsNamed(wordsOf(comment));
}

/// What stands before the comments that every table has is put before all lines. Numbers and blanks alone may be of
/// the table itself.
std::vector<std::string> tagsIn(std::string_view text) {
  std::vector<std::string> shapes;
  const std::string_view open("\x01 \t", 3);
  for (const std::string_view line : linesIn(text)) {
    const std::size_t mark = line.find('#');
    if (mark == 0 || mark == std::string_view::npos || !beginsRun(line.substr(mark))) {
      continue;
    }
    std::string shape = tagShape(line.substr(0, mark));
    const bool isTag = shape.find_first_not_of(open) != std::string::npos;
    if (isTag && std::find(shapes.begin(), shapes.end(), shape) == shapes.end() && shapes.size() < kMaxTags) {
      shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

/// The collective of "$ mpirun -np 8 ./build/all_gather_perf -g 1": a program, then its options or nothing.
std::optional<Collective> collectiveOfCommand(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view program = words[i].substr(words[i].rfind('/') + 1);
    const bool isProgram = program.ends_with("_perf") || program.ends_with("_perf_mpi");
    if (isProgram && (i + 1 == words.size() || words[i + 1].starts_with('-') || words[i + 1] == "\\")) {
      return collectiveOfProgram(program);
    }
  }
  return std::nullopt;
}

/// The collective of "# ring: allgather on 8 ranks, …", as coppice-exec writes it.
std::optional<Collective> collectiveOfPlan(const std::vector<std::string_view>& words) {
  for (std::size_t i = 1; i + 3 < words.size(); ++i) {
    if (words[i + 1] == "on" && words[i + 3].starts_with("rank") && words[i - 1].ends_with(':')) {
      return parseCollective(words[i]);
    }
  }
  return std::nullopt;
}

class NcclTableReader {
public:
  explicit NcclTableReader(std::string fileName) : m_fileName(std::move(fileName)) {}

  Outcome take(std::string_view line, int number) {
    const std::vector<std::string_view> words = wordsOf(line);
    // A line of NCCL may have been printed into a row.
    if (words.empty() || line.find(" NCCL ") != std::string_view::npos) {
      return Done{};
    }
    if (words.front().starts_with('#')) {
      takeComment(line, words, number);
      return Done{};
    }
    const auto size = numberIn<std::int64_t>(words.front());
    // A line of mpirun or a shell, or a row of something else.
    if (!size || words.size() < 3 || !numberIn<std::int64_t>(words[1]) || numberIn<double>(words[2])) {
      if (const auto collective = collectiveOfCommand(words)) {
        setCollective(*collective, number);
      }
      return Done{};
    }
    return takeRow(*size, words, number);
  }

  Result<std::vector<NcclTable>> finish() {
    endRun();
    if (m_tables.empty()) {
      return Error{ErrorCode::badInput,
                   "there is no row of an nccl-tests table",
                   "give the output of a program such as all_gather_perf, with the lines of the sizes",
                   {.file = m_fileName}};
    }
    return std::move(m_tables);
  }

private:
  void endRun() {
    if (m_rows.empty()) {
      return;
    }
    for (auto& [size, row] : m_rows) {
      m_table.rows.push_back(std::move(row));
    }
    m_table.fits = fittingCollectives(m_evidence, m_table.ranks);
    if (m_table.collective.empty() && m_table.fits.size() == 1) {
      m_table.collective = m_table.fits.front();
    }
    m_tables.push_back(std::move(m_table));
    m_rows.clear();
    startRun();
  }

  void startRun() {
    m_table = {};
    m_evidence = {};
    m_hasThreads = false;
  }

  void beginAt(int line) {
    endRun();
    m_table.line = m_table.line == 0 ? line : m_table.line;
  }

  void setCollective(Collective collective, int line) {
    beginAt(line);
    // The run before printed no row.
    if (!m_table.collective.empty() && m_table.collective != toString(collective)) {
      startRun();
      beginAt(line);
    }
    m_table.collective = toString(collective);
  }

  void takeThreads(int line) {
    endRun();
    if (m_hasThreads) {
      startRun();
    }
    m_hasThreads = true;
    beginAt(line);
  }

  /// What a comment says about the run as a whole.
  void takeComment(std::string_view line, const std::vector<std::string_view>& words, int number) {
    if (auto named = columnsNamed(words)) {
      beginAt(number);
      m_columns = std::move(named);
      return;
    }
    if (isThreadLine(line)) {
      takeThreads(number);
      return;
    }
    // "# Collective test starting: all_gather_perf"
    const auto program = collectiveOfProgram(line);
    if (const auto collective = program ? program : collectiveOfPlan(words)) {
      setCollective(*collective, number);
    }
    // "# simulated allgather, not measured"
    if (words.size() > 2 && words[1] == "simulated") {
      beginAt(number);
      m_table.isSimulated = true;
      m_table.collective = words[2].substr(0, words[2].find(','));
    }
    // "#  Rank  0 Group  0 Pid  1234 on host device  0 [0x07] NVIDIA A100"
    if (words.size() > 2 && words[0] == "#" && words[1] == "Rank") {
      beginAt(number);
      m_table.ranks = std::max(m_table.ranks, numberIn<int>(words[2]).value_or(-1) + 1);
    }
  }

  [[nodiscard]] Error fault(int line, const std::string& message) const {
    return {ErrorCode::badInput,
            message,
            "give the whole table, with the line that names the columns",
            {.file = m_fileName, .line = line}};
  }

  /// Takes the words between the type and the first time, and returns how many of them are not there: old versions
  /// print blanks for alltoall.
  static int takeTexts(const Columns& columns, const std::vector<std::string_view>& words, RowEvidence& row) {
    std::size_t at = kFirstText;
    int blanks = 0;
    for (const std::string& name : columns.texts) {
      const std::string_view word = at < words.size() ? words[at] : std::string_view();
      if (name == "redop" ? numberIn<double>(word) || hasNoValue(word) : name == "root" && !numberIn<int>(word)) {
        ++blanks;
        continue;
      }
      ++at;
      row.redop = name == "redop" ? word : row.redop;
      row.root = name == "root" ? numberIn<int>(word) : row.root;
    }
    return blanks;
  }

  /// The row with the highest throughput says most.
  void takeEvidence(RowEvidence evidence, const NcclRow& row) {
    const auto& time = row.outOfPlace ? row.outOfPlace : row.inPlace;
    evidence.algbw = time->algbw.gigabytesPerSecond();
    evidence.busbw = time->busbw.gigabytesPerSecond();
    evidence.isChecked = row.outOfPlace && row.inPlace && row.outOfPlace->wrong;
    evidence.isCheckedInPlace = row.inPlace && row.inPlace->wrong;
    if (m_evidence.size == 0 || evidence.algbw > m_evidence.algbw) {
      m_evidence = std::move(evidence);
    }
  }

  Outcome takeRow(std::int64_t size, const std::vector<std::string_view>& words, int line) {
    Columns columns = m_columns ? *m_columns : columnsGuessed(words);
    RowEvidence evidence{.size = size,
                         .count = numberIn<std::int64_t>(words[1]).value_or(0),
                         .type = std::string(words[2]),
                         .redop = m_columns ? "" : "none",
                         .lacksRedop = m_columns && !hasRedop(columns)};
    const int blanks = takeTexts(columns, words, evidence);
    for (Half& half : columns.halves) {
      half = shifted(half, blanks);
    }
    if (size < 0 || columns.halves.empty() || static_cast<int>(words.size()) < columns.halves.back().busbw + 1) {
      return fault(line, "a row of the table has " + std::to_string(words.size()) + " columns, not " +
                             std::to_string(m_columns ? m_columns->count : 13));
    }
    if (m_table.line == 0) {
      m_table.line = line;
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
      takeEvidence(std::move(evidence), row);
      m_rows[size] = std::move(row);
      ++m_taken;
    }
    if (m_taken > kMaxRows) {
      return Error{ErrorCode::limit,
                   "the tables have more than " + std::to_string(kMaxRows) + " rows",
                   "shorten them",
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
  std::map<std::int64_t, NcclRow> m_rows;  ///< of the run
  NcclTable m_table;                       ///< of the run
  RowEvidence m_evidence;                  ///< of the run
  bool m_hasThreads = false;               ///< the run has its line "# nThread"
  std::size_t m_taken = 0;
  std::vector<NcclTable> m_tables;
};

}  // namespace

Result<std::vector<NcclTable>> readNcclTables(std::string_view text, const std::string& fileName) {
  const std::string plain = text.find('\x1b') == std::string_view::npos ? std::string() : withoutColours(text);
  const std::string_view shown = plain.empty() ? text : plain;
  const std::vector<std::string> tags = tagsIn(shown);
  NcclTableReader reader(fileName);
  int number = 0;
  for (const std::string_view line : linesIn(shown)) {
    if (const Outcome taken = reader.take(withoutLeadingTag(line, tags), ++number); !taken) {
      return taken.error();
    }
  }
  return reader.finish();
}

}  // namespace coppice::io
