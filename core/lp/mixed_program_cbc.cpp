// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/child.hpp"
#include "base/temporary_folder.hpp"
#include "lp/mixed_program.hpp"

namespace coppice::lp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPoll = std::chrono::milliseconds(20);
/// The solver looks at its clock between steps only.
constexpr double kGraceSeconds = 3;

std::string numberText(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

/// Free MPS: columns C0, C1, … and rows R0, R1, …
void writeMps(const MixedProgram& program, std::ostream& out) {
  std::vector<std::vector<std::pair<std::size_t, double>>> byColumn(program.columns.size());
  out << "NAME coppice FREE\nROWS\n N  OBJ\n";
  for (std::size_t i = 0; i < program.rows.size(); ++i) {
    const MixedRow& row = program.rows[i];
    const bool isEqual = row.lower == row.upper;
    out << (isEqual ? " E  R" : row.upper < kInfinite ? " L  R" : " G  R") << i << '\n';
    for (const MixedTerm& term : row.terms) {
      byColumn[term.column].emplace_back(i, term.coefficient);
    }
  }
  out << "COLUMNS\n";
  bool isMarked = false;
  int markers = 0;
  const auto mark = [&](bool isInteger) {
    if (isInteger != isMarked) {
      out << "    M" << markers++ << " 'MARKER' " << (isInteger ? "'INTORG'\n" : "'INTEND'\n");
      isMarked = isInteger;
    }
  };
  for (std::size_t j = 0; j < program.columns.size(); ++j) {
    mark(program.columns[j].isInteger);
    out << "    C" << j << " OBJ " << numberText(program.columns[j].cost) << '\n';
    for (const auto& [row, coefficient] : byColumn[j]) {
      out << "    C" << j << " R" << row << ' ' << numberText(coefficient) << '\n';
    }
  }
  mark(false);
  out << "RHS\n";
  for (std::size_t i = 0; i < program.rows.size(); ++i) {
    const MixedRow& row = program.rows[i];
    const double side = row.upper < kInfinite ? row.upper : row.lower;
    if (side != 0 && std::isfinite(side)) {
      out << "    RHS R" << i << ' ' << numberText(side) << '\n';
    }
  }
  out << "RANGES\n";
  for (std::size_t i = 0; i < program.rows.size(); ++i) {
    const MixedRow& row = program.rows[i];
    if (row.upper < kInfinite && row.lower > -kInfinite && row.lower != row.upper) {
      out << "    RANGES R" << i << ' ' << numberText(row.upper - row.lower) << '\n';
    }
  }
  out << "BOUNDS\n";
  for (std::size_t j = 0; j < program.columns.size(); ++j) {
    const MixedColumn& column = program.columns[j];
    if (column.lower == -kInfinite) {
      out << " MI BND C" << j << '\n';
    } else {
      out << " LO BND C" << j << ' ' << numberText(column.lower) << '\n';
    }
    if (column.upper == kInfinite) {
      out << " PL BND C" << j << '\n';
    } else {
      out << " UP BND C" << j << ' ' << numberText(column.upper) << '\n';
    }
  }
  out << "ENDATA\n";
}

/// In the form in which the solver writes its own.
void writeStart(const std::vector<double>& values, std::ostream& out) {
  out << "Stopped on time - objective value 0\n";
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (values[j] != 0) {
      out << j << " C" << j << ' ' << numberText(values[j]) << " 0\n";
    }
  }
}

std::string textOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<double> numberAfter(std::string_view text, std::string_view key) {
  const std::size_t at = text.rfind(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Values by column; nothing where a line is not as the solver writes them.
std::vector<double> readValues(std::istream& in, std::size_t columns) {
  std::vector<double> values(columns);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string first;
    std::string name;
    double value = 0;
    fields >> first;
    if (first == "**") {  // before a column that is out of its bounds
      fields >> first;
    }
    if (!(fields >> name >> value) || name.size() < 2 || name[0] != 'C') {
      return {};
    }
    std::size_t column = 0;
    const auto read = std::from_chars(name.data() + 1, name.data() + name.size(), column);
    if (read.ec != std::errc() || column >= columns || !std::isfinite(value)) {
      return {};
    }
    values[column] = value;
  }
  return values;
}

bool isSatisfied(const MixedProgram& program, const std::vector<double>& values) {
  constexpr double kTolerance = 1e-4;
  for (const MixedRow& row : program.rows) {
    double sum = 0;
    double size = 1;
    for (const MixedTerm& term : row.terms) {
      sum += term.coefficient * values[term.column];
      size = std::max(size, std::abs(term.coefficient));
    }
    if (sum < row.lower - kTolerance * size || sum > row.upper + kTolerance * size) {
      return false;
    }
  }
  for (std::size_t j = 0; j < values.size(); ++j) {
    const MixedColumn& column = program.columns[j];
    const bool isWhole = !column.isInteger || std::abs(values[j] - std::round(values[j])) < kTolerance;
    if (!isWhole || values[j] < column.lower - kTolerance || values[j] > column.upper + kTolerance) {
      return false;
    }
  }
  return true;
}

MixedAnswer readAnswer(const MixedProgram& program, const TemporaryFolder& folder) {
  MixedAnswer answer;
  const std::string log = textOf(folder.file("log.txt"));
  std::ifstream in(folder.file("solution.txt"));
  std::string title;
  if (!in || !std::getline(in, title)) {
    answer.reason = "CBC gave no answer";
    return answer;
  }
  answer.bound = numberAfter(log, "best possible ");
  if (const auto last = numberAfter(log, "Lower bound:")) {
    answer.bound = last;
  }
  const std::string_view head = title;
  // "Integer infeasible", "Infeasible", "Linear relaxation infeasible", or one in which the start was kept.
  if (head.find("nfeasible") != std::string_view::npos) {
    answer.status = MixedStatus::impossible;
    return answer;
  }
  if (head.find("no integer solution") != std::string_view::npos) {
    answer.reason = "CBC found no solution in the time";
    return answer;
  }
  std::vector<double> values = readValues(in, program.columns.size());
  if (values.empty() || !isSatisfied(program, values)) {
    answer.reason = "CBC's answer does not satisfy the program";
    return answer;
  }
  answer.status = head.starts_with("Optimal") ? MixedStatus::optimal : MixedStatus::feasible;
  answer.values = std::move(values);
  if (answer.status == MixedStatus::optimal) {
    answer.bound.reset();
    if (const auto objective = numberAfter(head, "objective value ")) {
      answer.bound = objective;
    }
  }
  return answer;
}

Result<Child> startSolver(const std::string& program, const TemporaryFolder& folder, const MixedOptions& options) {
  std::vector<std::string> words = {program,     folder.file("program.mps"),
                                    "-timeMode", "elapsed",
                                    "-seconds",  numberText(std::max(0.1, options.seconds))};
  if (options.threads > 1) {
    words.insert(words.end(), {"-threads", std::to_string(options.threads)});
  }
  if (!options.start.empty()) {
    words.insert(words.end(), {"-mips", folder.file("start.txt")});
  }
  words.insert(words.end(), {"-solve", "-solution", folder.file("solution.txt"), "-quit"});
  ChildOptions files;
  files.inputFile = "/dev/null";
  files.outputFile = files.errorsFile = folder.file("log.txt").string();
  return Child::start(words, files);
}

}  // namespace

std::string_view toString(MixedStatus status) {
  constexpr std::array<std::string_view, 4> kNames = {"optimal", "feasible", "impossible", "undecided"};
  return kNames[static_cast<std::size_t>(status)];
}

Result<std::filesystem::path> findMixedSolver() {
  const std::filesystem::path program = findProgram("cbc");
  if (program.is_absolute()) {
    return program;
  }
  return Error{ErrorCode::unavailable, "the solver CBC is not installed: there is no program cbc in PATH",
               "install it (Debian: coinor-cbc), or choose another engine"};
}

Result<MixedAnswer> solveMixed(const MixedProgram& program, const MixedOptions& options, const Progress& progress) {
  throwIfCancelled(progress);
  std::filesystem::path solver = options.program;
  if (solver.empty()) {
    auto found = findMixedSolver();
    if (!found) {
      return found.error();
    }
    solver = *std::move(found);
  }
  const auto folder = TemporaryFolder::make();
  if (!folder) {
    return folder.error();
  }
  std::ofstream text(folder->file("program.mps"));
  writeMps(program, text);
  text.close();
  std::ofstream start(folder->file("start.txt"));
  writeStart(options.start, start);
  start.close();
  if (!text || !start) {
    return Error{ErrorCode::io, "the solver's files cannot be written", "free space in the folder for temporary files"};
  }
  throwIfCancelled(progress);
  const auto begin = Clock::now();
  auto child = startSolver(solver.string(), *folder, options);
  if (!child) {
    return child.error();
  }
  while (!child->waitFor(kPoll)) {
    throwIfCancelled(progress);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds > options.seconds * 1.1 + kGraceSeconds) {
      MixedAnswer answer;
      answer.reason = "CBC did not end in the time";
      return answer;
    }
    progress.report(options.stage, std::min(1.0, seconds / std::max(options.seconds, 1e-3)));
  }
  constexpr int kSignalled = 128;
  if (const int status = child->wait(); status > kSignalled) {
    MixedAnswer answer;
    answer.reason = "CBC was ended by signal " + std::to_string(status - kSignalled);
    return answer;
  }
  return readAnswer(program, *folder);
}

}  // namespace coppice::lp
