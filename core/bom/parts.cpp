// SPDX-License-Identifier: Apache-2.0
#include "bom/parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/csv.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::bom {
namespace {

enum Column { kKind, kName, kPorts, kRate, kReach, kWatts, kPrice, kPricePerMetre, kSplit, kNote, kColumns };
constexpr std::array<std::string_view, kColumns> kColumnNames = {"kind",  "name",  "ports",           "rate",  "reach",
                                                                 "watts", "price", "price_per_metre", "split", "note"};
constexpr std::array kMustHave = {kKind, kName, kRate, kWatts, kPrice};
constexpr std::array<std::pair<std::string_view, PartKind>, 5> kKinds = {{{"switch", PartKind::networkSwitch},
                                                                          {"nic", PartKind::nic},
                                                                          {"copper", PartKind::copper},
                                                                          {"aoc", PartKind::aoc},
                                                                          {"transceiver", PartKind::transceiver}}};
constexpr const char* kHeader = "kind,name,ports,rate,reach,watts,price,price_per_metre,split";
constexpr int kNoColumn = -1;

class PartReader {
public:
  explicit PartReader(const std::string& fileName) : m_fileName(fileName) {}

  Parts run(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    CsvRows rows(text, csvSeparator(text), m_fileName, "a table of parts");
    return read([&] { return orThrow(rows.next()); });
  }

  Parts run(const std::vector<CsvRow>& rows) {
    std::size_t at = 0;
    return read([&] { return at < rows.size() ? std::optional(rows[at++]) : std::nullopt; });
  }

private:
  /// @param next the next row, the header first; nullopt at the end
  template <typename Next>
  Parts read(Next next) {
    Parts parts{.rows = {}, .fileName = m_fileName};
    bool hasHeader = false;
    while (std::optional<CsvRow> row = next()) {
      if (!hasHeader) {
        readHeader(*row);
        hasHeader = true;
        continue;
      }
      m_row = *std::move(row);
      parts.rows.push_back(part(parts.rows));
    }
    if (parts.rows.empty()) {
      refuse(1, {}, hasHeader ? "the table has no part" : "the table is empty",
             "write the row " + std::string(kHeader) + ", then one row per part");
    }
    return parts;
  }

  [[noreturn]] void refuse(int line, std::optional<Column> column, std::string message, std::string fix) const {
    Place place{.file = m_fileName, .line = line};
    if (column) {
      place.element = {RefKind::field, std::string(kColumnNames[*column])};
    }
    throw Failure{Error{ErrorCode::badInput, std::move(message), std::move(fix), std::move(place)}};
  }

  void readHeader(const CsvRow& row) {
    m_places.fill(kNoColumn);
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), row.fields[i]);
      if (found == kColumnNames.end()) {
        refuse(row.line, {}, "there is no column " + inQuotes(row.fields[i]), "use " + std::string(kHeader));
      }
      int& place = m_places[static_cast<std::size_t>(found - kColumnNames.begin())];
      if (place != kNoColumn) {
        refuse(row.line, {}, "the column " + inQuotes(row.fields[i]) + " is there twice", "remove one of them");
      }
      place = static_cast<int>(i);
    }
    for (const Column column : kMustHave) {
      if (m_places[column] == kNoColumn) {
        refuse(row.line, column, "the column is missing", "use " + std::string(kHeader));
      }
    }
  }

  [[nodiscard]] std::string cell(Column column) const {
    const int place = m_places[column];
    const bool isThere = place != kNoColumn && static_cast<std::size_t>(place) < m_row.fields.size();
    return isThere ? m_row.fields[static_cast<std::size_t>(place)] : std::string();
  }

  [[noreturn]] void refuseCell(Column column, const std::string& what, std::string fix) const {
    const std::string text = cell(column);
    refuse(m_row.line, column, (text.empty() ? "the field is empty" : inQuotes(text) + " is not " + what),
           std::move(fix));
  }

  /// 0 or more; an empty field where that is allowed is 0.
  [[nodiscard]] Rational amount(Column column, const std::string& what, bool mayBeEmpty) const {
    const std::string text = cell(column);
    if (text.empty() && mayBeEmpty) {
      return {};
    }
    const auto value = Rational::parse(text);
    if (!value || *value < Rational(0)) {
      refuseCell(column, what, "write a number, 0 or more, without a unit");
    }
    return *value;
  }

  [[nodiscard]] PartKind kind() const {
    const std::string text = cell(kKind);
    for (const auto& [word, kind] : kKinds) {
      if (word == text) {
        return kind;
      }
    }
    refuseCell(kKind, "a kind of part", "use switch, nic, copper, aoc or transceiver");
  }

  static constexpr std::int64_t kMaxPorts = 1'000'000;
  static constexpr std::size_t kMaxGroups = 3;

  [[nodiscard]] int whole(Column column, std::string_view text, std::int64_t least, std::string_view what,
                          std::string_view fix) const {
    const auto value = Rational::parse(text);
    if (!value || !value->isInteger() || *value < Rational(least) || *value > Rational(kMaxPorts)) {
      refuseCell(column, std::string(what), std::string(fix));
    }
    return static_cast<int>(value->numerator());
  }

  [[nodiscard]] int ports(std::string_view text) const {
    return whole(kPorts, text, 1, "a number of ports", "write a whole number from 1");
  }

  [[nodiscard]] Bandwidth rate(const std::string& text) const {
    const auto rate = Bandwidth::parse(text);
    if (!rate || !rate->isPositive()) {
      refuseCell(kRate, "a rate above 0", "write GB/s of a port, such as 50, or 400Gb/s");
    }
    return *rate;
  }

  /// Ports of a switch: as many parts in each of the three columns, but that split may be empty.
  void readPorts(Part& part) const {
    const std::vector<std::string> counts = divided(cell(kPorts), '+');
    const std::vector<std::string> rates = divided(cell(kRate), '+');
    const std::vector<std::string> splits = divided(cell(kSplit), '+');
    if (counts.size() != rates.size()) {
      refuse(m_row.line, kRate,
             inQuotes(cell(kPorts)) + " ports and the rates " + inQuotes(cell(kRate)) + " are not as many",
             "give each kind of port its rate, such as 48+8 ports of 25+50");
    }
    if (counts.size() > kMaxGroups) {
      refuse(m_row.line, kPorts, "a switch has at most " + std::to_string(kMaxGroups) + " kinds of ports",
             "join those of one rate");
    }
    if (splits.size() > 1 && splits.size() != counts.size()) {
      refuse(m_row.line, kSplit,
             inQuotes(cell(kSplit)) + " and the ports " + inQuotes(cell(kPorts)) + " are not as many",
             "give each kind of port what it can be split into, such as 2/4+2, or nothing, as in +2");
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      PortGroup group{.count = ports(counts[i]), .rate = rate(rates[i])};
      if (i < splits.size() && !splits[i].empty()) {
        for (const std::string& into : divided(splits[i], '/')) {
          group.splits.push_back(
              whole(kSplit, into, 2, "what a port can be split into", "write whole numbers from 2, such as 2/4"));
        }
      }
      if (i == 0) {
        part.ports = group.count;
        part.rate = group.rate;
        part.splits = std::move(group.splits);
      } else {
        part.others.push_back(std::move(group));
      }
    }
  }

  /// Without the spaces around. An empty text is one empty part.
  [[nodiscard]] static std::vector<std::string> divided(const std::string& text, char separator) {
    std::vector<std::string> parts{""};
    for (const char letter : text) {
      if (letter == separator) {
        parts.emplace_back();
      } else if (letter != ' ' || !parts.back().empty()) {
        parts.back() += letter;
      }
    }
    for (std::string& part : parts) {
      part.erase(part.find_last_not_of(' ') + 1);
    }
    return parts;
  }

  [[nodiscard]] Part part(const std::vector<Part>& before) const {
    if (m_row.fields.size() > static_cast<std::size_t>(1 + *std::max_element(m_places.begin(), m_places.end()))) {
      refuse(m_row.line, {}, "the row has more fields than the table has columns", "put a name with a comma in quotes");
    }
    Part part;
    part.line = m_row.line;
    part.kind = kind();
    part.name = cell(kName);
    if (part.name.empty()) {
      refuseCell(kName, "a name", "give the part a name");
    }
    for (const Part& other : before) {
      if (other.name == part.name) {
        refuse(m_row.line, kName,
               inQuotes(part.name) + " is the name of the part on line " + std::to_string(other.line) + " too",
               "give each part a name of its own");
      }
    }
    if (part.kind == PartKind::networkSwitch) {
      readPorts(part);
    } else {
      part.rate = rate(cell(kRate));
      if (!cell(kSplit).empty()) {
        refuse(m_row.line, kSplit, "only the ports of a switch are split",
               "leave split empty; give a cable for split ports with the rate and price of one of its ends");
      }
    }
    part.watts = amount(kWatts, "a number of watts", false);
    part.price = amount(kPrice, "a price", false);
    part.pricePerMetre = amount(kPricePerMetre, "a price per metre", true);
    if (part.isCable()) {
      part.reach = amount(kReach, "a reach", false);
      if (!part.reach.isPositive()) {
        refuseCell(kReach, "a reach above 0", "write the metres that it spans");
      }
    } else {
      part.ports = part.ports > 0 ? part.ports : ports(cell(kPorts));
      if (!cell(kReach).empty() || !part.pricePerMetre.isZero()) {
        refuse(m_row.line, kReach, "a " + std::string(toString(part.kind)) + " has no length",
               "leave reach and price_per_metre empty");
      }
    }
    return part;
  }

  const std::string& m_fileName;
  std::array<int, kColumns> m_places{};
  CsvRow m_row;
};

}  // namespace

std::string_view toString(PartKind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& each) { return each.second == kind; })->first;
}

std::vector<PortGroup> Part::portGroups() const {
  std::vector<PortGroup> groups{{ports, rate, splits}};
  groups.insert(groups.end(), others.begin(), others.end());
  return groups;
}

bool Parts::has(PartKind kind) const {
  return std::any_of(rows.begin(), rows.end(), [&](const Part& part) { return part.kind == kind; });
}

namespace {

template <typename Table>
Result<Parts> readTable(const Table& table, const std::string& fileName) {
  return guarded([&] { return PartReader(fileName).run(table); }, {.overflowFix = "use numbers with fewer digits",
                                                                   .memory = "not enough memory to read the table",
                                                                   .memoryFix = "check that it is a table of parts",
                                                                   .where = {.file = fileName}});
}

}  // namespace

Result<Parts> readParts(std::string_view text, const std::string& fileName) {
  return readTable(text, fileName);
}

Result<Parts> readPartRows(const std::vector<CsvRow>& rows, const std::string& fileName) {
  return readTable(rows, fileName);
}

}  // namespace coppice::bom
