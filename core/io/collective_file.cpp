// SPDX-License-Identifier: Apache-2.0
#include "io/collective_file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/schedule_json.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

using fabric::Rank;
using schedule::CollectiveTable;
using schedule::CustomShard;

constexpr std::string_view kBlanks = " \t";

/// The two kinds of rows: shards of any share, or numbered chunks, all of one share.
enum TableColumn { kSourceColumn, kDestinationColumn, kCombineColumn, kShareColumn, kChunkColumn, kTableColumns };
struct RowNames {
  std::array<std::string_view, kTableColumns> names;  ///< empty = has no such column
  std::string_view all;
};
constexpr RowNames kShardNames{{"sources", "destinations", "combines", "share", ""},
                               "share, sources, destinations and combines"};
constexpr RowNames kChunkNames{{"from", "to", "reduce", "", "chunk"}, "chunk, from, to and reduce"};

/// Null: neither kind of row has it.
const RowNames* rowsWith(std::string_view name) {
  for (const RowNames* rows : {&kShardNames, &kChunkNames}) {
    if (!name.empty() && std::find(rows->names.begin(), rows->names.end(), name) != rows->names.end()) {
      return rows;
    }
  }
  return nullptr;
}

std::string_view trimmedLine(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// What both formats share: ranks, checked rows, and places of faults.
class TableReader {
public:
  /// @param fabric whose ids are known; null = none
  TableReader(std::string_view text, const std::string& fileName, int rankCount, const fabric::Fabric* fabric)
      : m_text(text), m_fileName(fileName), m_rankCount(rankCount), m_fabric(fabric) {}

protected:
  [[noreturn]] void refuse(std::size_t offset, std::string message, std::string fix = {}) const {
    throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix),
                   TextPlaces(m_text, m_fileName).at(offset, m_element)}};
  }

  void beginShard() {
    if (m_shards.size() == kMaxCollectiveShards) {
      throw Failure{{ErrorCode::limit,
                     "more than " + std::to_string(kMaxCollectiveShards) + " shards",
                     "use fewer and larger shards",
                     {.file = m_fileName}}};
    }
    m_element = {RefKind::shard, m_shards.size()};
  }

  [[nodiscard]] std::vector<Rank> allRanks() const {
    std::vector<Rank> ranks(m_rankCount);
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  /// The GPU of an id.
  [[nodiscard]] std::optional<Rank> rankOf(std::string_view id) const {
    const auto node = m_fabric != nullptr ? m_fabric->find(id) : std::nullopt;
    return node && m_fabric->nodes()[*node].kind == fabric::NodeKind::gpu ? std::optional(m_fabric->nodes()[*node].rank)
                                                                          : std::nullopt;
  }

  [[nodiscard]] Rational share(std::string_view text, std::size_t offset) const {
    const auto share = Rational::parse(text);
    if (!share) {
      refuse(offset, inQuotes(text) + " is not a fraction within 64 bits", "write it like 1/4");
    }
    return *share;
  }

  /// As the table itself judges it, so that the fault has a line.
  void addShard(CustomShard shard, std::size_t offset) {
    CustomShard judged = shard;
    judged.share = shard.share.isZero() ? Rational(1) : shard.share;  // a table may have empty shards
    const auto table = CollectiveTable::custom(m_rankCount, {&judged, 1});
    if (!table) {
      refuse(offset, table.error().message, table.error().fix);
    }
    m_shards.push_back(std::move(shard));
  }

  /// No share in any shard: all are equal.
  void addShareless() { ++m_shareless; }

  void addChunk(std::string_view text, std::size_t offset) {
    const auto chunk = numberIn<Rank>(text);
    if (!chunk || *chunk < 0) {
      refuse(offset, inQuotes(text) + " is not the number of a chunk", "number the chunks from 0");
    }
    const auto [first, isNew] = m_chunkRows.try_emplace(*chunk, ChunkRow{m_chunkRows.size(), offset});
    if (!isNew) {
      refuse(offset, "chunk " + std::to_string(*chunk) + " appears twice", "give each chunk one row");
    }
  }

  /// Puts the shards into the order of their numbers, which must be 0, 1, 2 and so on.
  void sortByChunk() {
    std::vector<CustomShard> sorted;
    for (const auto& [chunk, row] : m_chunkRows) {
      if (chunk != static_cast<Rank>(sorted.size())) {
        m_element = {RefKind::shard, row.row};
        refuse(row.offset,
               "chunk " + std::to_string(sorted.size()) + " is missing before chunk " + std::to_string(chunk),
               "number the chunks 0, 1, 2 and so on, in any order");
      }
      sorted.push_back(std::move(m_shards[row.row]));
    }
    m_shards = std::move(sorted);
  }

  [[nodiscard]] Result<CollectiveTable> finish() {
    if (!m_chunkRows.empty()) {
      sortByChunk();
    }
    if (m_shareless != 0 && m_shareless != m_shards.size()) {
      return Error{ErrorCode::badInput,
                   counted(m_shareless, "shard") + " of " + std::to_string(m_shards.size()) + " state no share",
                   "give the share of every shard, or no shares if all are equal",
                   {.file = m_fileName}};
    }
    if (m_shareless != 0) {
      for (CustomShard& shard : m_shards) {
        shard.share = Rational(1, static_cast<std::int64_t>(m_shards.size()));
      }
    }
    auto table = CollectiveTable::custom(m_rankCount, m_shards);
    if (!table) {
      Error error = table.error();
      error.where.file = m_fileName;
      return error;
    }
    return table;
  }

  [[nodiscard]] std::string noRank() const {
    return m_fabric != nullptr ? " is neither a rank nor the id of a GPU" : " is not a rank";
  }
  [[nodiscard]] std::string ranksFix() const {
    return "use ranks from 0 to " + std::to_string(m_rankCount - 1) +
           (m_fabric != nullptr ? ", ids of GPUs, or all" : ", or all; ids of GPUs are not known without a fabric");
  }

  struct ChunkRow {
    std::size_t row = 0;
    std::size_t offset = 0;
  };

  std::string_view m_text;
  const std::string& m_fileName;
  int m_rankCount;
  const fabric::Fabric* m_fabric;
  ElementRef m_element;
  std::vector<CustomShard> m_shards;
  std::size_t m_shareless = 0;
  std::map<Rank, ChunkRow> m_chunkRows;  ///< by the number of the chunk
};

class JsonTable : TableReader {
public:
  using TableReader::TableReader;

  Result<CollectiveTable> run() {
    const auto parsed = parseExactJson(m_text, m_fileName);
    if (!parsed) {
      return parsed.error();
    }
    if (parsed->kind == JsonValue::Kind::array) {
      readRows(*parsed);
      return finish();
    }
    const JsonValue& format = need(*parsed, "format");
    if (format.text != "coppice-collective") {
      refuse(format.offset, "this is not a table of a collective", "state \"format\": \"coppice-collective\"");
    }
    const JsonValue& version = need(*parsed, "version");
    if (version.text != "1") {
      refuse(version.offset, "unknown version of the format", "use version 1");
    }
    const JsonValue& rows = need(*parsed, "shards");
    if (rows.kind != JsonValue::Kind::array) {
      refuse(rows.offset, "shards is not an array", "list the shards in brackets");
    }
    readRows(rows);
    return finish();
  }

private:
  void readRows(const JsonValue& rows) {
    for (const JsonValue& row : rows.items) {
      beginShard();
      read(row);
    }
  }

  /// Null where the kind of row has no such key, or this one lacks it.
  [[nodiscard]] const JsonValue* find(const JsonValue& row, TableColumn column) const {
    const std::string_view name = m_rows->names[column];
    return name.empty() ? nullptr : row.find(name);
  }

  /// All rows are of the kind of the first one.
  void checkKeys(const JsonValue& row) {
    for (const auto& [key, value] : row.members) {
      const RowNames* rows = rowsWith(key);
      m_rows = m_rows != nullptr ? m_rows : rows;
      if (rows == nullptr || rows != m_rows) {
        refuse(value.offset,
               "the key " + inQuotes(key) + (rows == nullptr ? " is not known" : " is of another kind of row"),
               "use " + std::string((m_rows != nullptr ? m_rows : &kShardNames)->all));
      }
    }
    m_rows = m_rows != nullptr ? m_rows : &kShardNames;
  }

  void read(const JsonValue& row) {
    if (row.kind != JsonValue::Kind::object) {
      refuse(row.offset, "the shard is not an object", "give " + std::string(kShardNames.all));
    }
    checkKeys(row);
    if (m_rows == &kChunkNames) {
      const JsonValue& chunk = need(row, m_rows->names[kChunkColumn].data());
      addChunk(chunk.text, chunk.offset);
    }
    CustomShard shard;
    if (const JsonValue* part = find(row, kShareColumn)) {
      if (part->kind != JsonValue::Kind::string && part->kind != JsonValue::Kind::number) {
        refuse(part->offset, "the share is neither a number nor a string", "write it like \"1/4\"");
      }
      shard.share = share(part->text, part->offset);
    } else {
      addShareless();
    }
    shard.sources = ranks(need(row, m_rows->names[kSourceColumn].data()));
    shard.destinations = ranks(need(row, m_rows->names[kDestinationColumn].data()));
    if (const JsonValue* combines = find(row, kCombineColumn)) {
      if (combines->kind != JsonValue::Kind::boolean) {
        refuse(combines->offset, std::string(m_rows->names[kCombineColumn]) + " is neither true nor false");
      }
      shard.combines = combines->text == "true";
    }
    addShard(std::move(shard), row.offset);
  }

  std::vector<Rank> ranks(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::string && value.text == "all") {
      return allRanks();
    }
    if (value.kind != JsonValue::Kind::array) {
      refuse(value.offset, "these are not ranks", "list them in brackets, or write \"all\"");
    }
    std::vector<Rank> ranks;
    for (const JsonValue& item : value.items) {
      const auto rank = item.kind == JsonValue::Kind::number   ? numberIn<Rank>(item.text)
                        : item.kind == JsonValue::Kind::string ? rankOf(item.text)
                                                               : std::nullopt;
      if (!rank) {
        refuse(item.offset, inQuotes(item.text) + noRank(), ranksFix());
      }
      ranks.push_back(*rank);
    }
    return ranks;
  }

  const JsonValue& need(const JsonValue& object, const char* key) {
    const JsonValue* value = object.find(key);
    if (value == nullptr) {
      refuse(object.offset, "the key " + inQuotes(key) + " is missing", "add it");
    }
    return *value;
  }

  const RowNames* m_rows = nullptr;  ///< null until the first row
};

/// A field of a row and where it begins.
struct LineField {
  std::string_view text;
  std::size_t offset = 0;
};

class CsvTable : TableReader {
public:
  using TableReader::TableReader;

  Result<CollectiveTable> run() {
    for (std::size_t begin = 0; begin < m_text.size();) {
      const std::size_t end = std::min(m_text.find('\n', begin), m_text.size());
      std::string_view line = m_text.substr(begin, end - begin);
      if (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
      }
      if (!trimmedLine(line).empty() && line.front() != '#') {
        readLine(line, begin);
      }
      begin = end + 1;
    }
    if (!m_hasHeader) {
      refuse(m_text.size(), "there is no header row",
             "begin with share,sources,destinations,combines or with chunk,from,to,reduce");
    }
    return finish();
  }

private:
  void readLine(std::string_view line, std::size_t offset) {
    if (m_hasHeader) {
      beginShard();
      readShard(fieldsOf(line, offset), offset);
      return;
    }
    m_hasHeader = true;
    for (const char candidate : {';', '\t'}) {
      if (line.find(candidate) != std::string_view::npos) {
        m_separator = candidate;
      }
    }
    readHeader(fieldsOf(line, offset), offset);
  }

  std::vector<LineField> fieldsOf(std::string_view line, std::size_t offset) const {
    std::vector<LineField> fields;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(m_separator, begin), line.size());
      std::string_view text = trimmedLine(line.substr(begin, end - begin));
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = trimmedLine(text.substr(1, text.size() - 2));
      }
      const auto at = text.empty() ? begin : static_cast<std::size_t>(text.data() - line.data());
      fields.push_back({text, offset + at});
      begin = end + 1;
    }
    return fields;
  }

  void readHeader(const std::vector<LineField>& fields, std::size_t offset) {
    for (const LineField& field : fields) {
      const RowNames* rows = rowsWith(field.text);
      m_rows = m_rows != nullptr ? m_rows : rows;
      if (rows == nullptr || rows != m_rows) {
        refuse(field.offset,
               inQuotes(field.text) + " is not a column" + (rows == nullptr ? "" : " of this kind of row"),
               "name " + std::string((m_rows != nullptr ? m_rows : &kShardNames)->all));
      }
      const auto name = std::find(rows->names.begin(), rows->names.end(), field.text);
      const auto column = static_cast<std::size_t>(name - rows->names.begin());
      if (m_place[column] >= 0) {
        refuse(field.offset, "the column " + inQuotes(field.text) + " appears twice", "remove one");
      }
      m_place[column] = static_cast<int>(&field - fields.data());
    }
    for (const TableColumn column : {kChunkColumn, kSourceColumn, kDestinationColumn}) {
      if (m_place[column] < 0 && !m_rows->names[column].empty()) {
        refuse(offset, "the column " + inQuotes(m_rows->names[column]) + " is missing", "add it to the header row");
      }
    }
    m_fieldCount = fields.size();
  }

  void readShard(const std::vector<LineField>& fields, std::size_t offset) {
    if (fields.size() != m_fieldCount) {
      refuse(offset, counted(fields.size(), "field") + ", the header row has " + std::to_string(m_fieldCount),
             "separate ranks by spaces");
    }
    const auto field = [&](TableColumn column) { return fields[m_place[column]]; };
    if (m_place[kChunkColumn] >= 0) {
      addChunk(field(kChunkColumn).text, field(kChunkColumn).offset);
    }
    CustomShard shard;
    if (m_place[kShareColumn] >= 0) {
      shard.share = share(field(kShareColumn).text, field(kShareColumn).offset);
    } else {
      addShareless();
    }
    shard.sources = ranks(field(kSourceColumn));
    shard.destinations = ranks(field(kDestinationColumn));
    shard.combines = m_place[kCombineColumn] >= 0 && flag(field(kCombineColumn));
    addShard(std::move(shard), offset);
  }

  [[nodiscard]] bool flag(const LineField& field) const {
    if (field.text == "true" || field.text == "yes" || field.text == "1") {
      return true;
    }
    if (field.text != "false" && field.text != "no" && field.text != "0" && !field.text.empty()) {
      refuse(field.offset, inQuotes(field.text) + " is neither yes nor no", "write yes or no");
    }
    return false;
  }

  [[nodiscard]] std::vector<Rank> ranks(const LineField& field) const {
    if (field.text == "all") {
      return allRanks();
    }
    std::vector<Rank> ranks;
    for (std::size_t begin = field.text.find_first_not_of(kBlanks); begin < field.text.size();) {
      const std::size_t end = std::min(field.text.find_first_of(kBlanks, begin), field.text.size());
      addRanks(field.text.substr(begin, end - begin), field.offset + begin, ranks);
      begin = field.text.find_first_not_of(kBlanks, end);
    }
    return ranks;
  }

  /// An id that looks like a number or a range is an id only where it is not a rank.
  void addRanks(std::string_view word, std::size_t offset, std::vector<Rank>& ranks) const {
    const std::size_t dash = word.find('-', 1);
    const auto first = numberIn<Rank>(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : numberIn<Rank>(word.substr(dash + 1));
    if (first && last) {
      if (*first < 0 || *last < *first || *last >= m_rankCount) {
        refuse(offset, inQuotes(word) + " is not within the ranks", ranksFix());
      }
      for (Rank rank = *first; rank <= *last; ++rank) {
        ranks.push_back(rank);
      }
      return;
    }
    const auto rank = rankOf(word);
    if (!rank) {
      refuse(offset, inQuotes(word) + noRank(), ranksFix());
    }
    ranks.push_back(*rank);
  }

  bool m_hasHeader = false;
  char m_separator = ',';
  const RowNames* m_rows = nullptr;                            ///< null until the header is read
  std::array<int, kTableColumns> m_place{-1, -1, -1, -1, -1};  ///< of each column among the fields
  std::size_t m_fieldCount = 0;
};

/// @param fabric as TableReader says
Result<CollectiveTable> readTable(std::string_view text, const std::string& fileName, int rankCount,
                                  const fabric::Fabric* fabric) {
  if (const auto broken = firstIllFormedByte(text)) {
    Error error{ErrorCode::badInput, "the text is not UTF-8", "save it as UTF-8"};
    error.where = TextPlaces(text, fileName).at(*broken);
    return error;
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) {
    text.remove_prefix(kMark.size());
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return guarded([&] {
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[')
               ? JsonTable(text, fileName, rankCount, fabric).run()
               : CsvTable(text, fileName, rankCount, fabric).run();
  });
}

/// "all", or "0-3 7".
void writeRanks(std::ostream& out, std::span<const Rank> ranks, int rankCount) {
  if (static_cast<int>(ranks.size()) == rankCount) {
    out << "all";
    return;
  }
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) {
      ++end;
    }
    out << (begin > 0 ? " " : "") << ranks[begin];
    if (end > begin + 1) {
      out << '-' << ranks[end - 1];
    }
    begin = end;
  }
}

}  // namespace

Result<CollectiveTable> readCollectiveTable(std::string_view text, const std::string& fileName,
                                            const fabric::Fabric& fabric) {
  return readTable(text, fileName, fabric.gpuCount(), &fabric);
}

Result<CollectiveTable> readGoal(std::string_view text, const std::string& fileName, int ranks,
                                 const fabric::Fabric* ids) {
  if (isScheduleJson(text)) {
    auto loaded = loadSchedule(text, fileName);
    return loaded ? Result<CollectiveTable>(std::move(loaded->schedule.goal)) : loaded.error();
  }
  return readTable(text, fileName, ranks, ids);
}

Outcome writeCollectiveTable(std::ostream& out, const CollectiveTable& table) {
  out << "share,sources,destinations,combines\n";
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    out << table.share(shard).toString() << ',';
    writeRanks(out, table.sources(shard), table.rankCount());
    out << ',';
    writeRanks(out, table.destinations(shard), table.rankCount());
    out << ',' << (table.combines(shard) ? "yes" : "no") << '\n';
  }
  if (!out) {
    return Error{ErrorCode::io, "the table cannot be written"};
  }
  return Done{};
}

}  // namespace coppice::io
