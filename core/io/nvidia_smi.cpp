// SPDX-License-Identifier: Apache-2.0
#include "io/nvidia_smi.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/gpu_names.hpp"
#include "base/text.hpp"
#include "io/nvlink_domains.hpp"
#include "io/nvlink_status.hpp"
#include "io/pasted_text.hpp"
#include "io/text_place.hpp"
#include "io/words.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxMatrixBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxDevices = 1024;
constexpr int kMaxNvlinks = 18;  // of any GPU so far

/// Nearness classes, nearest first.
enum class Near { self, pix, pxb, phb, node, sys };

struct Cell {
  int nvlinks = 0;  ///< NV#; nearness over PCIe is then unknown
  Near near = Near::sys;

  friend bool operator==(const Cell&, const Cell&) = default;
};

struct Token {
  std::string_view text;
  int line = 0;
  int column = 0;
};

std::optional<Cell> parseCell(std::string_view text) {
  struct Code {
    std::string_view name;
    Near near;
  };
  constexpr Code kCodes[] = {{"X", Near::self},    {"PIX", Near::pix}, {"PXB", Near::pxb}, {"PHB", Near::phb},
                             {"NODE", Near::node}, {"SYS", Near::sys}, {"SOC", Near::sys}};
  for (const Code& code : kCodes) {
    if (code.name == text) {
      return Cell{0, code.near};
    }
  }
  if (text.starts_with("NV")) {
    int count = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), count);
    if (error == std::errc{} && end == text.data() + text.size() && count >= 1 && count <= 1024) {
      return Cell{count, Near::sys};
    }
  }
  return std::nullopt;
}

/// The cells of a token; several where a page ran them together ("NODENODE"). Empty: it is no cell.
std::vector<Cell> parseCells(std::string_view text) {
  if (const auto cell = parseCell(text)) {
    return {*cell};
  }
  std::vector<Cell> cells;
  while (!text.empty()) {
    std::size_t size = 0;
    for (const std::string_view code : {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "NV"}) {
      if (text.starts_with(code)) {
        size = code.size();
      }
    }
    if (text.starts_with("NV")) {
      while (size < text.size() && text[size] >= '0' && text[size] <= '9') {
        ++size;
      }
    }
    const auto cell = parseCell(text.substr(0, size));
    if (!cell) {
      return {};
    }
    cells.push_back(*cell);
    text.remove_prefix(size);
  }
  return cells;
}

/// A matrix that a spreadsheet saved: commas between the cells become blanks. Elsewhere they are in the affinity
/// columns.
std::string withoutCommas(std::string text) {
  const std::size_t first = text.find("GPU0");
  const std::size_t next = first == std::string::npos ? first : text.find_first_not_of(" \t", first + 4);
  if (next != std::string::npos && text[next] == ',') {
    std::replace(text.begin(), text.end(), ',', '\t');
  }
  return text;
}

bool isGpuName(std::string_view name) {
  return name.size() > 3 && name.starts_with("GPU") &&
         std::all_of(name.begin() + 3, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A row of the matrix: a GPU, and a cell of NVLink or nearness.
bool isMatrixRow(const std::vector<std::string_view>& words) {
  return words.size() > 1 && isGpuName(words[0]) && std::any_of(words.begin() + 1, words.end(), [](auto word) {
           const std::vector<Cell> cells = parseCells(word);
           return !cells.empty() && cells.front().near != Near::self;
         });
}

class Matrix {
public:
  Matrix(std::string_view text, std::string fileName)
      : m_clean(withoutPeerAccess(withoutCommas(terminalText(text, "GPU")))),
        m_fileName(std::move(fileName)),
        m_hasPeerAccess(looksLikePeerAccess(text)) {
    parse();
  }

  [[nodiscard]] int size() const { return static_cast<int>(m_names.size()); }
  [[nodiscard]] const std::string& name(int device) const { return m_names[device]; }
  [[nodiscard]] bool isGpu(int device) const { return isGpuName(name(device)); }
  [[nodiscard]] const Cell& cell(int a, int b) const {
    return *m_cells[static_cast<std::size_t>(a) * m_names.size() + static_cast<std::size_t>(b)];
  }
  /// What the affinity columns say of a GPU's place: its NUMA node, or its CPUs; empty = unknown.
  [[nodiscard]] const std::string& place(int device) const { return m_places[device]; }
  /// The text is of `topo -mp`, which shows PCIe alone: its legend lacks NV#, or the command line is there.
  [[nodiscard]] bool hidesNvlink() const { return m_hasCommandMp || (m_hasLegend && !m_hasNvlinkLegend); }
  /// The lines that say what the GPUs are, such as "GPU 0: NVIDIA B200".
  [[nodiscard]] std::string gpuLines() const {
    std::string lines;
    for (const std::string_view line : linesIn(m_clean)) {
      if (trimmed(line).starts_with("GPU") || line.find("NVIDIA ") != line.npos || line.find("Tesla ") != line.npos) {
        lines.append(line).append("\n");
      }
    }
    return lines;
  }
  /// A table of `topo -p2p` is beside the matrix.
  [[nodiscard]] bool hasPeerAccess() const { return m_hasPeerAccess; }
  /// "mlx5_0" for NIC0 if the legend says so.
  [[nodiscard]] std::string legend(int device) const {
    const auto found = m_legend.find(name(device));
    return found == m_legend.end() ? name(device) : found->second;
  }

private:
  [[noreturn]] void refuse(int line, int column, std::string message, std::string fix,
                           ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, line, column, {}}}};
  }

  static std::vector<Token> tokens(std::string_view line, int number) {
    std::vector<Token> out;
    for (const std::string_view word : wordsOf(line)) {
      out.push_back({word, number, static_cast<int>(word.data() - line.data()) + 1});
    }
    return out;
  }

  void parse() {
    enum class Section { before, rows, after };
    Section section = Section::before;
    bool isAfterBlank = false;
    int number = 0;
    std::string_view rest = m_clean;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view text = rest.substr(0, end);
      const std::vector<Token> line = tokens(text, ++number);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      if (section == Section::before) {
        m_hasCommandMp = m_hasCommandMp || (text.find("topo") != std::string_view::npos && text.ends_with("-mp"));
        if (!line.empty() && isGpuName(line.front().text)) {
          readHeads(line);
          section = Section::rows;
        }
      } else if (section == Section::rows) {
        const bool isRow = !line.empty() && m_index.contains(line.front().text);
        if (line.empty()) {
          isAfterBlank = true;
        } else if (line.front().text == "Legend:" || line.front().text == "NIC" ||
                   (!isRow && (isAfterBlank || isAfterRows(line)) && m_rowCount > 0)) {
          section = Section::after;
        } else if (!isRow || line.size() < 2 || !m_index.contains(line[1].text)) {  // else the heads once more
          readRow(line);
        }
      }
      if (section == Section::after) {
        const bool isNvlink = !line.empty() && line.front().text.starts_with("NV");
        m_hasNvlinkLegend = m_hasNvlinkLegend || (isNvlink && text.find('=') != std::string_view::npos);
        m_hasLegend = m_hasLegend || (text.find("PIX") != std::string_view::npos && text.find('=') != text.npos);
        if (line.size() == 2 && line[0].text.size() > 1 && line[0].text.back() == ':') {
          m_legend.emplace(line[0].text.substr(0, line[0].text.size() - 1), std::string(line[1].text.substr(0, 64)));
        }
      }
    }
    if (section == Section::before) {
      refuse(0, 0, "no line of column heads (GPU0 GPU1 ...) is in the text", "give the output of: nvidia-smi topo -m");
    }
    complete(number);
  }

  /// Every GPU has its row, and the line has no cell: a shell's prompt.
  [[nodiscard]] bool isAfterRows(const std::vector<Token>& line) const {
    const auto gpus = static_cast<int>(std::count_if(m_names.begin(), m_names.end(), isGpuName));
    return m_rowCount >= gpus &&
           std::none_of(line.begin(), line.end(), [](const Token& token) { return parseCell(token.text).has_value(); });
  }

  void readHeads(const std::vector<Token>& line) {
    if (line.size() > 1 && parseCell(line[1].text)) {
      refuse(line[0].line, line[0].column, "the matrix begins with a row; the line of column heads is missing",
             "give the whole output of: nvidia-smi topo -m");
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      const Token& token = line[i];
      if (token.text == "CPU" || token.text == "NUMA" || token.text == "GPU") {
        for (; i + 1 < line.size(); ++i) {  // the affinity columns
          if (line[i].text == "CPU" && line[i + 1].text == "Affinity") {
            m_affinities.push_back(Affinity::cpus);
          } else if (line[i].text == "NUMA" && line[i + 1].text == "Affinity") {
            m_affinities.push_back(Affinity::numa);
          }
        }
        break;
      }
      if (token.text.size() > 64) {
        refuse(token.line, token.column, "a column head is longer than 64 characters",
               "give it as nvidia-smi wrote it");
      }
      if (m_names.size() >= kMaxDevices) {
        refuse(token.line, token.column, "more than " + std::to_string(kMaxDevices) + " devices",
               "give the matrix of one server", ErrorCode::limit);
      }
      if (!m_index.emplace(token.text, size()).second) {
        refuse(token.line, token.column, "column head " + inQuotes(token.text) + " appears twice", "remove one");
      }
      m_names.emplace_back(token.text);
    }
    m_cells.resize(m_names.size() * m_names.size());
    m_places.resize(m_names.size());
  }

  void readRow(const std::vector<Token>& line) {
    const auto found = m_index.find(line.front().text);
    if (found == m_index.end()) {
      refuse(line.front().line, line.front().column, "row " + inQuotes(line.front().text) + " has no column",
             "give the whole output of: nvidia-smi topo -m");
    }
    const auto row = static_cast<std::size_t>(found->second);
    std::vector<Cell> cells;
    std::size_t at = 1;
    for (; at < line.size() && cells.size() < m_names.size(); ++at) {
      const Token& token = line[at];
      const std::vector<Cell> some = parseCells(token.text);
      if (some.empty() && cells.size() + (line.size() - at) < m_names.size()) {
        break;  // too few: say that
      }
      if (some.empty()) {
        refuse(token.line, token.column,
               "cell " + inQuotes(token.text) + " of row " + inQuotes(line.front().text) + " is unknown",
               "cells are X, NV1, NV2 ..., PIX, PXB, PHB, NODE, SYS or SOC");
      }
      for (const Cell& cell : some) {
        if ((cell.near == Near::self) != (cells.size() == row)) {
          refuse(token.line, token.column,
                 cells.size() == row ? "the diagonal cell of row " + inQuotes(line.front().text) + " is not X"
                                     : "an X outside the diagonal in row " + inQuotes(line.front().text),
                 "give the matrix as nvidia-smi wrote it");
        }
        cells.push_back(cell);
      }
    }
    if (cells.size() < m_names.size()) {
      refuse(line.back().line, line.back().column,
             "row " + inQuotes(line.front().text) + " has " + std::to_string(cells.size()) + " cells for " +
                 std::to_string(m_names.size()) + " columns",
             "give the whole output of: nvidia-smi topo -m");
    }
    cells.resize(m_names.size());
    const auto first = m_cells.begin() + static_cast<std::ptrdiff_t>(row * m_names.size());
    if (first->has_value()) {
      // Ranks of a job on one server print the same matrix.
      if (!std::equal(cells.begin(), cells.end(), first)) {
        refuse(line.front().line, line.front().column,
               "row " + inQuotes(line.front().text) + " appears twice, with different cells",
               "give the matrix of one server");
      }
      return;
    }
    std::copy(cells.begin(), cells.end(), first);
    ++m_rowCount;
    for (const Affinity column : m_affinities) {
      if (at >= line.size()) {
        break;
      }
      const std::string_view text = line[at++].text;
      if (text.front() >= '0' && text.front() <= '9' && (column == Affinity::numa || m_places[row].empty())) {
        m_places[row] = std::string(column == Affinity::numa ? "numa " : "cpus ") + std::string(text);
      }
    }
  }

  /// Every GPU has its row; a NIC without one takes the GPUs' columns, and NICs among themselves count as far.
  void complete(int lastLine) {
    const std::size_t n = m_names.size();
    for (std::size_t a = 0; a < n; ++a) {
      if (!m_cells[a * n]) {
        if (isGpuName(m_names[a])) {
          refuse(lastLine, 0, "the row of " + m_names[a] + " is missing",
                 "give the whole output of: nvidia-smi topo -m");
        }
        for (std::size_t b = 0; b < n; ++b) {
          const bool isKnown = isGpuName(m_names[b]) && m_cells[b * n + a].has_value();
          m_cells[a * n + b] = isKnown ? *m_cells[b * n + a] : Cell{0, a == b ? Near::self : Near::sys};
        }
      }
    }
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        if (*m_cells[a * n + b] != *m_cells[b * n + a]) {
          refuse(0, 0, "the cells of " + m_names[a] + " and " + m_names[b] + " disagree in the two directions",
                 "give the matrix as nvidia-smi wrote it");
        }
      }
    }
  }

  std::string m_clean;
  std::string m_fileName;
  bool m_hasPeerAccess = false;
  std::vector<std::string> m_names;
  enum class Affinity { cpus, numa };

  std::map<std::string, int, std::less<>> m_index;
  std::vector<std::optional<Cell>> m_cells;
  std::vector<Affinity> m_affinities;  // the columns that follow the cells
  std::vector<std::string> m_places;
  std::map<std::string, std::string> m_legend;
  int m_rowCount = 0;
  bool m_hasCommandMp = false;
  bool m_hasLegend = false;
  bool m_hasNvlinkLegend = false;
};

class Builder {
public:
  Builder(const Matrix& matrix, const std::string& fileName, const NvidiaSmiOptions& options)
      : m_matrix(matrix), m_fileName(fileName), m_options(options) {}

  Result<ImportResult> run() {
    if (m_matrix.hasPeerAccess()) {
      tell(Severity::note, "the table of nvidia-smi topo -p2p beside the matrix is left out",
           "give it in a file of its own as well: coppice-cli import topo-m.txt topo-p2p.txt");
    }
    addDevices();
    addNvlinks();
    addTree();
    m_box.name = "server";
    return assembleServer(m_box, m_options.box, std::move(m_findings), std::move(m_taken), m_fileName);
  }

private:
  [[nodiscard]] int gpuCount() const { return static_cast<int>(m_gpus.size()); }

  void tell(Severity severity, std::string text, std::string fix) {
    m_findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix)});
  }

  /// Box nodes: the GPUs in the matrix's order, then the NICs.
  void addDevices() {
    for (int device = 0; device < m_matrix.size(); ++device) {
      (m_matrix.isGpu(device) ? m_gpus : m_nics).push_back(device);
    }
    m_nodeOf.resize(m_matrix.size());
    for (const int device : m_gpus) {
      m_nodeOf[device] = static_cast<int>(m_box.nodes.size());
      m_box.nodes.push_back({BoxRole::gpu, "gpu" + m_matrix.name(device).substr(3), {}, -1, {}, {}});
    }
    std::size_t number = 0;
    for (const int device : m_nics) {
      m_nodeOf[device] = static_cast<int>(m_box.nodes.size());
      m_box.nodes.push_back({BoxRole::nic, "nic" + std::to_string(number++), m_matrix.legend(device), -1, {}, {}});
    }
  }

  void addNvlinks() {
    int maxInRow = 0;
    int maxInCell = 0;
    bool isUniform = gpuCount() >= 3;
    for (const int a : m_gpus) {
      int row = 0;
      for (const int b : m_gpus) {
        if (a != b) {
          const int count = m_matrix.cell(a, b).nvlinks;
          row += count;
          maxInCell = std::max(maxInCell, count);
          isUniform = isUniform && count == m_matrix.cell(m_gpus[0], m_gpus[1]).nvlinks;
        }
      }
      maxInRow = std::max(maxInRow, row);
    }
    if (maxInCell == 0) {
      m_linksPerGpu = 0;
      if (m_matrix.hidesNvlink()) {
        tell(Severity::warning, "this is the output of nvidia-smi topo -mp, which hides NVLink; PCIe alone counts",
             "give the output of: nvidia-smi topo -m");
      } else if (gpuCount() > 1) {
        tell(Severity::note, "no cell shows NVLink (NV#): PCIe alone joins the GPUs",
             "if they have NVLink, give the output of: nvidia-smi topo -m");
      }
      return;
    }
    const int max = m_options.linksPerGpu > 0 ? m_options.linksPerGpu : kMaxNvlinks;
    bool isSwitch = m_options.reading == NvlinkReading::nvSwitch;
    if (m_options.reading == NvlinkReading::guess) {
      isSwitch = maxInRow > max;
      if (!isSwitch && m_options.linksPerGpu == 0 && isUniform && maxInCell > 1 && maxInRow > 6) {
        tell(Severity::warning,
             "every pair of GPUs shows NV" + std::to_string(maxInCell) + ", read as direct links of each pair, " +
                 std::to_string(maxInRow) + " per GPU; through an NVSwitch the matrix would look the same",
             "state whether it is a switch or a mesh, or how many NVLinks a GPU has");
      } else {
        tell(Severity::note,
             isSwitch ? "a GPU's NV# cells add up to " + std::to_string(maxInRow) +
                            " links, more than a GPU has: they are read as links to an NVSwitch"
                      : "NV# cells are read as direct links between the two GPUs",
             "choose switch or mesh if this is wrong");
      }
    }
    m_linksPerGpu = isSwitch ? maxInCell : maxInRow;
    m_isPairs = !isSwitch && std::all_of(m_gpus.begin(), m_gpus.end(), [&](int a) {
      return std::count_if(m_gpus.begin(), m_gpus.end(),
                           [&](int b) { return a != b && m_matrix.cell(a, b).nvlinks > 0; }) <= 1;
    });
    m_maxInCell = maxInCell;
    const Bandwidth rate = linkRate();
    m_taken.hasNvSwitch = isSwitch;
    m_taken.nvlinkBandwidth = rate;
    if (isSwitch) {
      addSwitchLinks(rate);
    } else {
      for (std::size_t i = 0; i < m_gpus.size(); ++i) {
        for (std::size_t j = i + 1; j < m_gpus.size(); ++j) {
          if (const int count = m_matrix.cell(m_gpus[i], m_gpus[j]).nvlinks; count > 0) {
            m_box.gpuLinks.push_back({static_cast<int>(i), static_cast<int>(j), rate, count});
            // Of a mesh whose cells were all alike; DGX-1 mixes one and two by design.
            if (maxInCell >= 3 && count < maxInCell) {
              tell(Severity::warning,
                   m_matrix.name(m_gpus[i]) + " and " + m_matrix.name(m_gpus[j]) + " have " + std::to_string(count) +
                       " NVLinks where others have " + std::to_string(maxInCell) + ": some may be down",
                   "look at: nvidia-smi nvlink -s");
            }
          }
        }
      }
    }
  }

  void addSwitchLinks(const Bandwidth& rate) {
    const int hub = static_cast<int>(m_box.nodes.size());
    m_box.nodes.push_back({BoxRole::nvSwitch, "nvswitch", {}, -1, {}, {}});
    // A cell is the lesser number of its two GPUs' links, so a GPU has as many as its greatest cell.
    std::vector<int> links(m_gpus.size(), 0);
    for (std::size_t i = 0; i < m_gpus.size(); ++i) {
      for (const int other : m_gpus) {
        links[i] = std::max(links[i], m_matrix.cell(m_gpus[i], other).nvlinks);
      }
    }
    const int most = *std::max_element(links.begin(), links.end());
    for (std::size_t i = 0; i < m_gpus.size(); ++i) {
      if (links[i] > 0 && links[i] < most) {
        tell(Severity::warning,
             m_matrix.name(m_gpus[i]) + " has " + std::to_string(links[i]) +
                 " NVLinks to the NVSwitch where others have " + std::to_string(most) + ": " +
                 std::to_string(most - links[i]) + " may be down",
             "look at: nvidia-smi nvlink -s; choose mesh if the links are direct");
      }
      if (links[i] > 0) {
        m_box.gpuLinks.push_back({static_cast<int>(i), hub, rate, links[i]});
      }
      for (std::size_t j = 0; j < i; ++j) {
        const int cell = m_matrix.cell(m_gpus[i], m_gpus[j]).nvlinks;
        if (cell != std::min(links[i], links[j])) {
          tell(Severity::warning,
               m_matrix.name(m_gpus[j]) + " and " + m_matrix.name(m_gpus[i]) + " show " + std::to_string(cell) +
                   " NVLinks, but have " + std::to_string(std::min(links[i], links[j])) + " to others",
               "choose mesh if the links are direct");
        }
      }
    }
  }

  Bandwidth linkRate() {
    if (const auto named = namedLinkRate(m_matrix.gpuLines()); named && !m_options.linkBandwidth) {
      const Bandwidth rate(named->gigabytes);
      m_taken.linkSource = NumberSource::table;
      m_taken.linkDetail = "NVIDIA's data sheet of " + named->gpu + ", which is named";
      tell(Severity::note,
           "an NVLink of " + named->gpu + ", which the text names, has " + toExactText(rate) +
               " GB/s per direction by its data sheet",
           "give the link bandwidth if this is wrong");
      return rate;
    }
    m_taken.linkSource = NumberSource::guess;
    m_taken.linkDetail = "by " + std::to_string(m_linksPerGpu) + " NVLinks per GPU";
    if (m_options.linkBandwidth) {
      return *m_options.linkBandwidth;
    }
    // Pairs of cards with a bridge of 4 links: GA102 (RTX 3090, A40, A5000, A6000). P100 has 4 links to several peers.
    const bool isAmpereBridge = m_isPairs && m_maxInCell == 4;
    const bool isPascal = !m_isPairs && m_linksPerGpu == 4 && m_maxInCell <= 2;
    const Bandwidth rate = isAmpereBridge ? Bandwidth(225, 16) : Bandwidth(isPascal ? 20 : 25);
    const char* looks = isAmpereBridge       ? "a bridge between two cards such as RTX 3090, A40 or A6000"
                        : m_linksPerGpu > 12 ? "H100 (B200 would be 50)"
                        : m_linksPerGpu > 6  ? "A100"
                        : isPascal           ? "P100"
                        : m_isPairs          ? "a bridge between two cards"
                                             : "V100";
    tell(Severity::note,
         std::to_string(m_linksPerGpu) + " NVLinks per GPU look like " + looks + ": " + toExactText(rate) +
             " GB/s per NVLink and direction is assumed",
         "give the link bandwidth if this is wrong");
    return rate;
  }

  /// A stated bandwidth, or the guess for the generation, told once.
  Bandwidth orGuess(const std::optional<Bandwidth>& stated, const Bandwidth& guess, const std::string& what) {
    if (stated) {
      return *stated;
    }
    tell(Severity::note,
         "the matrix gives no speeds: " + what + " is assumed to be " + toExactText(guess) + " GB/s per direction",
         "give it if this is wrong");
    return guess;
  }

  /// Every GPU reaches every other over NVLink.
  [[nodiscard]] bool areGpusJoined() const {
    std::vector<int> reached{m_gpus.front()};
    std::vector<bool> isReached(m_matrix.size(), false);
    isReached[m_gpus.front()] = true;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const int other : m_gpus) {
        if (!isReached[other] && m_matrix.cell(reached[i], other).nvlinks > 0) {
          isReached[other] = true;
          reached.push_back(other);
        }
      }
    }
    return reached.size() == m_gpus.size();
  }

  /// Clusters the devices by nearness, nearest first. Cells with NV# say nothing about PCIe.
  void addTree() {
    const bool needsNics = !m_nics.empty() && m_options.box.scaleOut != ScaleOut::none;
    if (!m_options.box.keepPcie && !needsNics && areGpusJoined()) {
      tell(Severity::note, "PCIe and CPU links left out: NVLink joins the GPUs", "keep PCIe to see them");
      return;
    }
    const bool isNew = m_linksPerGpu > 12;
    const bool isMiddle = m_linksPerGpu > 6;
    const Bandwidth pcie =
        orGuess(m_options.pcieBandwidth, Bandwidth(isNew ? 64 : (isMiddle ? 32 : 16)), "a PCIe link");
    const Bandwidth socket = orGuess(m_options.socketBandwidth, Bandwidth(16), "the link between CPU sockets");
    m_taken.pcieBandwidth = pcie;
    m_taken.socketBandwidth = socket;
    if (!m_nics.empty()) {
      const Bandwidth net = orGuess(m_options.nicBandwidth,
                                    isNew ? Bandwidth(50) : (isMiddle ? Bandwidth(25) : Bandwidth(25, 2)), "a NIC");
      m_taken.nicBandwidth = net;
      for (const int device : m_nics) {
        m_box.nodes[m_nodeOf[device]].netBandwidth = net;
      }
    }
    const int devices = m_matrix.size();
    std::vector<int> cluster(devices);  // smallest device of each device's cluster so far
    std::vector<int> top(devices);      // root box node of the cluster, by its smallest device
    for (int device = 0; device < devices; ++device) {
      cluster[device] = device;
      top[device] = m_nodeOf[device];
    }
    std::map<std::string, int> made;
    for (const Near level : {Near::pix, Near::pxb, Near::phb, Near::node, Near::sys}) {
      const std::vector<int> before = cluster;
      joinNear(level, cluster);
      std::map<int, std::set<int>> parts;  // new cluster -> old clusters
      for (int device = 0; device < devices; ++device) {
        parts[cluster[device]].insert(before[device]);
      }
      for (const auto& [whole, old] : parts) {
        if (old.size() < 2) {
          continue;
        }
        const bool isBridge = level == Near::pix || level == Near::pxb;
        const std::string kind = isBridge              ? "pcie"
                                 : level == Near::phb  ? "hostbridge"
                                 : level == Near::node ? "numa"
                                                       : "sockets";
        const int node = static_cast<int>(m_box.nodes.size());
        m_box.nodes.push_back(
            {isBridge ? BoxRole::bridge : BoxRole::cpu, kind + std::to_string(made[kind]++), {}, -1, {}, {}});
        for (const int part : old) {
          BoxNode& below = m_box.nodes[top[part]];
          const bool isDevice = below.role == BoxRole::gpu || below.role == BoxRole::nic;
          below.parent = node;
          below.uplink = level == Near::sys ? (isDevice ? std::min(pcie, socket) : socket) : pcie;
        }
        top[whole] = node;
      }
    }
  }

  /// In one NUMA node by the affinity columns, whatever the cell says: SYS there is not a way between sockets.
  [[nodiscard]] bool isSameNode(int a, int b) const {
    return !m_matrix.place(a).empty() && m_matrix.place(a) == m_matrix.place(b);
  }

  /// Merges the clusters of devices that are at most this far apart, at last all whose NUMA node is known; numbers each
  /// by its smallest device.
  void joinNear(Near level, std::vector<int>& cluster) const {
    const int devices = m_matrix.size();
    for (int a = 0; a < devices; ++a) {
      for (int b = a + 1; b < devices; ++b) {
        const Cell& cell = m_matrix.cell(a, b);
        const int low = std::min(cluster[a], cluster[b]);
        const int high = std::max(cluster[a], cluster[b]);
        if (low != high && ((cell.nvlinks == 0 && cell.near <= level) || (level >= Near::node && isSameNode(a, b)) ||
                            (level == Near::sys && !m_matrix.place(a).empty() && !m_matrix.place(b).empty()))) {
          std::replace(cluster.begin(), cluster.end(), high, low);
        }
      }
    }
  }

  const Matrix& m_matrix;
  const std::string& m_fileName;
  const NvidiaSmiOptions& m_options;
  Box m_box;
  std::vector<int> m_gpus;    // devices
  std::vector<int> m_nics;    // devices
  std::vector<int> m_nodeOf;  // box node of each device
  int m_linksPerGpu = 0;
  int m_maxInCell = 0;
  bool m_isPairs = false;  // no GPU has NVLinks to more than one other
  ImportedServer m_taken;
  std::vector<Finding> m_findings;
};

Outcome checkOptions(const NvidiaSmiOptions& options) {
  for (const auto* stated :
       {&options.linkBandwidth, &options.nicBandwidth, &options.pcieBandwidth, &options.socketBandwidth}) {
    if (*stated && !(*stated)->isPositive()) {
      return Error{ErrorCode::badUsage, "a bandwidth of " + toExactText(**stated) + " GB/s cannot carry anything",
                   "give one above 0"};
    }
  }
  if (options.linksPerGpu < 0 || options.linksPerGpu > 1024) {
    return Error{ErrorCode::badUsage, "a GPU cannot have " + std::to_string(options.linksPerGpu) + " NVLinks",
                 "give 1 to 1024, or 0 for unknown"};
  }
  return Done{};
}

}  // namespace

bool looksLikeGpuMatrix(std::string_view text) {
  const std::string plain = terminalText(text.substr(0, std::size_t{1} << 20), "GPU");
  const std::vector<std::string_view> lines = linesIn(plain);
  return std::any_of(lines.begin(), lines.end(), [](auto line) { return isMatrixRow(wordsOf(line)); });
}

Result<ImportResult> readNvidiaSmi(std::string_view text, const std::string& fileName,
                                   const NvidiaSmiOptions& options) {
  return guarded(
      [&]() -> Result<ImportResult> {
        if (auto outcome = checkOptions(options); !outcome) {
          return outcome.error();
        }
        if (text.size() > kMaxMatrixBytes) {
          return Error{ErrorCode::limit, "the text is larger than 4 MiB", "give the output of: nvidia-smi topo -m",
                       Place{fileName, 0, 0, {}}};
        }
        const auto status = looksLikeNvlinkStatus(text) ? readNvlinkStatus(text) : std::nullopt;
        if (!status) {
          const Matrix matrix(text, fileName);
          return Builder(matrix, fileName, options).run();
        }
        NvidiaSmiOptions known = options;
        known.linkBandwidth = known.linkBandwidth ? known.linkBandwidth : status->rate;
        if (known.reading == NvlinkReading::guess && status->isSwitched) {
          known.reading = *status->isSwitched ? NvlinkReading::nvSwitch : NvlinkReading::mesh;
        }
        // A matrix beside the status says more: NICs, and what joins whom.
        const bool hasMatrix = status->rest.find("GPU0") != std::string::npos;
        const Matrix matrix(hasMatrix ? status->rest : status->matrix, fileName);
        auto built = Builder(matrix, fileName, known).run();
        if (!built) {
          return built;
        }
        for (Finding finding : status->findings) {
          finding.where.file = fileName;
          built->findings.push_back(std::move(finding));
        }
        if (!options.linkBandwidth && status->rate && built->server) {
          built->server->linkSource = NumberSource::file;
          built->server->linkDetail = "nvidia-smi nvlink -s";
        }
        if (!hasMatrix && !status->isSwitched) {
          built->findings.push_back({Severity::warning, ErrorCode::badInput,
                                     "the status says how many NVLinks are up and not what they join: an NVSwitch is "
                                     "assumed where GPUs have more than they could have to all others",
                                     "add the output of: nvidia-smi nvlink -R, or nvidia-smi topo -m",
                                     Place{fileName}});
        }
        return built;
      },
      {.overflowFix = "use smaller numbers",
       .memory = "the matrix does not fit into memory",
       .memoryFix = "import a smaller one",
       .where = Place{fileName, 0, 0, {}}});
}

}  // namespace coppice::io
