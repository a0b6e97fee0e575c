// SPDX-License-Identifier: Apache-2.0
#include "io/transfer_csv.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>
#include <ostream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/text_place.hpp"
#include "schedule/route_index.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"

namespace coppice::io {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::StepSchedule;
using schedule::Transfer;

enum Column { kStep, kShard, kBegin, kEnd, kFrom, kTo, kReduces, kRounds, kRoute, kColumnCount };
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {"step", "shard",   "begin",  "end",  "from",
                                                                     "to",   "reduces", "rounds", "route"};
constexpr std::size_t kAbsent = ~std::size_t{0};
constexpr std::size_t kMaxFields = 1024;

struct Field {
  std::string text;
  int column = 1;
};

class TransferReader {
public:
  TransferReader(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric,
                 const schedule::CollectiveTable& goal, const Progress& progress)
      : m_text(text), m_fileName(fileName), m_fabric(fabric), m_progress(progress) {
    m_schedule.goal = goal;
    m_schedule.fabricName = fabric.name();
    m_schedule.fabricDigest = fabric.digest();
    m_schedule.stepCount = 0;
  }

  StepSchedule run() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (m_text.starts_with(kByteOrderMark)) {
      m_text.remove_prefix(kByteOrderMark.size());
    }
    bool hasHeader = false;
    while (nextLine()) {
      if (m_fields.empty()) {
        continue;
      }
      if (!hasHeader) {
        readHeader();
        hasHeader = true;
      } else {
        readRow();
      }
    }
    if (m_schedule.transfers.empty()) {
      refuse(1, "the table has no transfer",
             "write a row of column names (step,shard,begin,end,from,to,reduces,route), then one row per transfer");
    }
    finish();
    m_schedule.paths = m_routes.takePaths();
    return std::move(m_schedule);
  }

private:
  /// False at the end. No fields for lines that say nothing.
  bool nextLine() {
    if (m_at >= m_text.size()) {
      return false;
    }
    const std::size_t end = std::min(m_text.find('\n', m_at), m_text.size());
    const std::string_view line = m_text.substr(m_at, end - m_at);
    m_at = end + 1;
    ++m_line;
    constexpr int kLinesPerCheck = 65536;
    if (m_line % kLinesPerCheck == 0) {
      throwIfCancelled(m_progress);
      m_progress.report("reading", static_cast<double>(m_at) / static_cast<double>(m_text.size()));
    }
    m_fields.clear();
    const std::string_view content = trimmed(line);
    if (!content.empty() && content.front() != '#') {
      split(line);
    }
    return true;
  }

  void split(std::string_view line) {
    std::size_t at = 0;
    for (bool more = true; more;) {
      Field field{.text = {}, .column = static_cast<int>(std::min<std::size_t>(at, 1U << 30U)) + 1};
      const std::size_t begin = line.find_first_not_of(" \t", at);
      if (begin != std::string_view::npos && line[begin] == '"') {
        at = readQuoted(line, begin, field);
      } else {
        const std::size_t end = std::min(line.find(',', at), line.size());
        field.text = trimmed(line.substr(at, end - at));
        at = end;
      }
      more = at < line.size();
      ++at;
      m_fields.push_back(std::move(field));
      if (m_fields.size() > kMaxFields) {
        refuse(m_fields.back().column, "more than " + std::to_string(kMaxFields) + " fields in one row",
               "check that it is a table of transfers");
      }
    }
  }

  /// Returns where the comma or the end of the line is.
  std::size_t readQuoted(std::string_view line, std::size_t begin, Field& field) {
    for (std::size_t at = begin + 1; at < line.size(); ++at) {
      if (line[at] != '"') {
        field.text += line[at];
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        field.text += line[++at];
      } else {
        const std::size_t next = line.find_first_not_of(" \t\r", at + 1);
        if (next != std::string_view::npos && line[next] != ',') {
          refuse(static_cast<int>(next) + 1, "text follows a closing quote", "put the whole field in quotes");
        }
        return std::min(next, line.size());
      }
    }
    refuse(field.column, "a csvQuoted field is not closed", "add the missing quote");
  }

  void readHeader() {
    m_places.fill(kAbsent);
    for (std::size_t i = 0; i < m_fields.size(); ++i) {
      std::string_view name = m_fields[i].text;
      if (name == "phase" || name == "ordered_phase") {
        m_schedule.isSynchronous = false;
        m_schedule.keepsOrder = name == "ordered_phase";
        name = kColumnNames[kStep];
      }
      const auto known = std::find(kColumnNames.begin(), kColumnNames.end(), name);
      if (known == kColumnNames.end()) {
        refuse(m_fields[i].column, inQuotes(m_fields[i].text) + " is not a column",
               "name the columns in the first row, for example step,shard,begin,end,from,to,reduces,route");
      }
      std::size_t& place = m_places[known - kColumnNames.begin()];
      if (place != kAbsent) {
        refuse(m_fields[i].column, "the column " + inQuotes(m_fields[i].text) + " appears twice", "remove one");
      }
      place = i;
    }
    for (const Column column : {kStep, kShard, kBegin, kEnd, kFrom, kTo, kReduces}) {
      if (m_places[column] == kAbsent) {
        refuse(1, "the column " + inQuotes(std::string(kColumnNames[column])) + " is missing", "add it");
      }
    }
    if (m_places[kRoute] != kAbsent && m_places[kRoute] + 1 != m_fields.size()) {
      refuse(m_fields[m_places[kRoute]].column, "route is not the last column", "move it to the end");
    }
    m_minimum = m_fields.size() - (m_places[kRoute] == kAbsent ? 0 : 1);
  }

  void readRow() {
    if (m_fields.size() < m_minimum || (m_places[kRoute] == kAbsent && m_fields.size() > m_minimum)) {
      refuse(m_fields.back().column,
             "the row has " + counted(m_fields.size(), "field") + ", the first row has " + counted(m_minimum, "column"),
             "give one field for each column");
    }
    if (m_schedule.transfers.size() == kMaxCsvTransfers) {
      throw Failure{Error{ErrorCode::limit, "more than " + std::to_string(kMaxCsvTransfers) + " transfers",
                          "split the table", Place{m_fileName, m_line, 1, {}}}};
    }
    constexpr std::int64_t kMaxStep = kMaxCsvTransfers - 1;
    Transfer transfer;
    transfer.step = static_cast<std::int32_t>(integer(kStep, kMaxStep));
    transfer.shard = integer(kShard, m_schedule.goal.shardCount() - 1);
    const Rational begin = fraction(kBegin);
    const Rational end = fraction(kEnd);
    if (end <= begin) {
      refuse(m_fields[m_places[kEnd]].column,
             "the piece from " + begin.toString() + " to " + end.toString() + " is empty",
             "let end be larger than begin");
    }
    transfer.from = gpu(kFrom);
    transfer.to = gpu(kTo);
    transfer.reduces = integer(kReduces, 1) == 1;
    transfer.route = route();
    addRounds(transfer.step);
    m_schedule.stepCount = std::max(m_schedule.stepCount, transfer.step + 1);
    // In units of the denominator so far; finish() brings all to the last one.
    widen(begin.denominator());
    widen(end.denominator());
    transfer.begin = checkedMul(begin.numerator(), m_schedule.denominator / begin.denominator());
    transfer.end = checkedMul(end.numerator(), m_schedule.denominator / end.denominator());
    m_schedule.transfers.add(transfer);
  }

  /// A new denominator is rare, so the transfers read before are rewritten only once, at the end.
  void widen(std::int64_t denominator) {
    if (m_schedule.denominator % denominator != 0) {
      m_scales.push_back({m_schedule.transfers.size(), m_schedule.denominator});
      m_schedule.denominator = leastCommonMultiple(m_schedule.denominator, denominator);
    }
  }

  void addRounds(std::int32_t step) {
    if (m_places[kRounds] == kAbsent) {
      return;
    }
    const auto rounds = static_cast<std::int32_t>(integer(kRounds, std::numeric_limits<std::int32_t>::max()));
    const auto [known, isNew] = m_rounds.try_emplace(step, rounds);
    if (!isNew && known->second != rounds) {
      refuse(m_fields[m_places[kRounds]].column,
             "step " + std::to_string(step) + " has " + std::to_string(known->second) + " rounds in an earlier row",
             "give all rows of a step the same rounds");
    }
  }

  std::int64_t integer(Column column, std::int64_t max) {
    const Field& field = m_fields[m_places[column]];
    const auto number = numberIn<std::int64_t>(field.text);
    if (!number || *number < 0 || *number > max) {
      refuse(
          field.column,
          inQuotes(field.text) + " is not a " + std::string(kColumnNames[column]) + " from 0 to " + std::to_string(max),
          "write a whole number in this range");
    }
    return *number;
  }

  Rational fraction(Column column) {
    const Field& field = m_fields[m_places[column]];
    const auto parsed = Rational::parse(field.text);
    if (!parsed || *parsed < Rational(0) || *parsed > Rational(1)) {
      refuse(field.column, inQuotes(field.text) + " is not a fraction from 0 to 1", "write it like 3/8");
    }
    return *parsed;
  }

  Rank gpu(Column column) {
    const Field& field = m_fields[m_places[column]];
    if (const auto node = m_fabric.find(field.text)) {
      if (m_fabric.nodes()[*node].kind != fabric::NodeKind::gpu) {
        refuse(field.column, inQuotes(field.text) + " is not a GPU", "name a GPU by its id or rank");
      }
      return m_fabric.nodes()[*node].rank;
    }
    const auto rank = numberIn<Rank>(field.text);
    if (!rank || *rank < 0 || *rank >= m_fabric.gpuCount()) {
      refuse(field.column, "there is no GPU " + inQuotes(field.text),
             "name a GPU by its id, or by its rank from 0 to " + std::to_string(m_fabric.gpuCount() - 1));
    }
    return *rank;
  }

  schedule::PathId route() {
    const std::size_t first = m_places[kRoute];
    if (first == kAbsent || first >= m_fields.size() ||
        (m_fields.size() == first + 1 && m_fields[first].text.empty())) {
      return schedule::kNoRoute;
    }
    m_nodes.clear();
    for (std::size_t i = first; i < m_fields.size(); ++i) {
      const auto node = m_fabric.find(m_fields[i].text);
      if (!node) {
        refuse(m_fields[i].column, inQuotes(m_fields[i].text) + " is not a node of the fabric",
               "name the nodes of the route, from sender to receiver");
      }
      if (!m_nodes.empty() && !m_fabric.findArc(m_nodes.back(), *node)) {
        refuse(m_fields[i].column,
               "the fabric has no link from " + inQuotes(m_fabric.nodes()[m_nodes.back()].id) + " to " +
                   inQuotes(m_fields[i].text),
               "route along links of the fabric");
      }
      m_nodes.push_back(*node);
    }
    return m_routes.idOf(m_nodes);
  }

  void finish() {
    schedule::TransferList whole;
    whole.reserve(m_schedule.transfers.size());
    m_scales.push_back({m_schedule.transfers.size(), m_schedule.denominator});
    std::size_t part = 0;
    for (std::size_t i = 0; i < m_schedule.transfers.size(); ++i) {
      while (i >= m_scales[part].end) {
        ++part;
      }
      Transfer transfer = m_schedule.transfers[i];
      const std::int64_t scale = m_schedule.denominator / m_scales[part].denominator;
      transfer.begin = checkedMul(transfer.begin, scale);
      transfer.end = checkedMul(transfer.end, scale);
      whole.add(transfer);
    }
    m_schedule.transfers = std::move(whole);
    m_schedule.transfers.sortBySteps();
    if (m_places[kRounds] != kAbsent) {
      m_schedule.rounds.assign(m_schedule.stepCount, 1);
      for (const auto& [step, rounds] : m_rounds) {
        m_schedule.rounds[step] = rounds;
      }
    }
  }

  [[noreturn]] void refuse(int column, std::string message, std::string fix) {
    throw Failure{Error{ErrorCode::badInput, std::move(message), std::move(fix),
                        Place{m_fileName, std::max(m_line, 1), column, {}}}};
  }

  /// Transfers before `end` (and not in an earlier part) count pieces by this denominator.
  struct Scale {
    std::size_t end = 0;
    std::int64_t denominator = 1;
  };

  std::string_view m_text;
  const std::string& m_fileName;
  const fabric::Fabric& m_fabric;
  const Progress& m_progress;
  std::size_t m_at = 0;
  int m_line = 0;
  std::vector<Field> m_fields;
  std::array<std::size_t, kColumnCount> m_places{};
  std::size_t m_minimum = 0;  ///< fields of a row
  StepSchedule m_schedule;
  std::vector<Scale> m_scales;
  std::unordered_map<std::int32_t, std::int32_t> m_rounds;
  std::vector<NodeIndex> m_nodes;
  schedule::RouteIndex m_routes;
};

Result<StepSchedule> readChecked(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric,
                                 const schedule::CollectiveTable& goal, const Progress& progress) {
  if (text.size() > kMaxTransferCsvBytes) {
    return Error{ErrorCode::limit, "the table is longer than " + std::to_string(kMaxTransferCsvBytes >> 20) + " MiB",
                 "split it", Place{.file = fileName}};
  }
  if (goal.rankCount() != fabric.gpuCount()) {
    return Error{ErrorCode::badUsage, "the collective and the fabric have different numbers of ranks"};
  }
  if (const auto ill = firstIllFormedByte(text)) {
    return Error{ErrorCode::badInput, "not UTF-8 text", "save the table as UTF-8", TextPlaces(text, fileName).at(*ill)};
  }
  StepSchedule schedule = TransferReader(text, fileName, fabric, goal, progress).run();
  if (const Outcome routed = schedule::addRoutes(fabric, schedule); !routed) {
    Error error = routed.error();
    error.where.file = fileName;
    return error;
  }
  const auto cost = schedule::stepCost(fabric, schedule, progress);
  if (!cost) {
    Error error = cost.error();
    error.where.file = fileName;
    return error;
  }
  schedule.algbw = cost->algbw;
  return schedule;
}

std::string csvQuoted(const std::string& text) {
  if (!text.empty() && text.find_first_of(",\"") == std::string::npos && text == trimmed(text) && text.front() != '#') {
    return text;
  }
  std::string result = "\"";
  for (const char c : text) {
    result += c == '"' ? "\"\"" : std::string(1, c);
  }
  return result + "\"";
}

}  // namespace

Result<StepSchedule> readTransferCsv(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric,
                                     const schedule::CollectiveTable& goal, const Progress& progress) {
  return guarded([&] { return readChecked(text, fileName, fabric, goal, progress); },
                 {.overflow = "the pieces have no common denominator within 64 bits",
                  .overflowFix = "use fractions with a smaller common denominator",
                  .memory = "not enough memory to read the table",
                  .memoryFix = "split it",
                  .where = {.file = fileName}});
}

Outcome writeTransferCsv(std::ostream& out, const StepSchedule& schedule, const fabric::Fabric& fabric,
                         const Progress& progress) {
  if (schedule.transfers.size() > kMaxCsvTransfers) {
    return Error{ErrorCode::limit,
                 std::to_string(schedule.transfers.size()) + " transfers, a table holds " +
                     std::to_string(kMaxCsvTransfers) + " at most",
                 "use fewer pieces"};
  }
  std::vector<std::string> names;
  for (const fabric::Node& node : fabric.nodes()) {
    if (node.id.find_first_of("\r\n") != std::string::npos) {
      return Error{ErrorCode::badUsage, "the id " + inQuotes(node.id) + " has a line end, which the table cannot hold",
                   "rename the node"};
    }
    names.push_back(csvQuoted(node.id));
  }
  const bool hasRounds = !schedule.rounds.empty();
  out << (schedule.isSynchronous ? "step"
          : schedule.keepsOrder  ? "ordered_phase"
                                 : "phase")
      << ",shard,begin,end,from,to,reduces" << (hasRounds ? ",rounds" : "") << ",route\n";
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    if (progress.isCancelled()) {
      return Error{ErrorCode::cancelled, "cancelled"};
    }
    const Transfer t = schedule.transfers[i];
    out << t.step << ',' << t.shard << ',' << Rational(t.begin, schedule.denominator).toString() << ','
        << Rational(t.end, schedule.denominator).toString() << ',' << names[fabric.gpus()[t.from]] << ','
        << names[fabric.gpus()[t.to]] << ',' << (t.reduces ? 1 : 0);
    if (hasRounds) {
      out << ',' << schedule.rounds[t.step];
    }
    if (t.route == schedule::kNoRoute) {
      out << ',';
    } else {
      for (const NodeIndex node : schedule.paths[t.route]) {
        out << ',' << names[node];
      }
    }
    out << '\n';
  }
  return out ? Outcome(Done{}) : Outcome(Error{ErrorCode::io, "The table could not be written"});
}

}  // namespace coppice::io
