// SPDX-License-Identifier: Apache-2.0
#include "io/collective_csv.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "base/text.hpp"

namespace coppice::io {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> cellsOf(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t begin = 0;
  for (;;) {
    const auto end = line.find(',', begin);
    cells.push_back(trimmed(line.substr(begin, end == std::string::npos ? end : end - begin)));
    if (end == std::string::npos) {
      return cells;
    }
    begin = end + 1;
  }
}

std::optional<fabric::Rank> rankOf(const fabric::Fabric& fabric, const std::string& text) {
  if (const auto node = fabric.find(text)) {
    const fabric::Rank rank = fabric.nodes()[*node].rank;
    return rank >= 0 ? std::optional(rank) : std::nullopt;
  }
  int rank = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool isWhole = code == std::errc() && end == text.data() + text.size();
  return isWhole && rank >= 0 && rank < fabric.gpuCount() ? std::optional(rank) : std::nullopt;
}

}  // namespace

Result<schedule::CollectiveTable> readCollectiveCsv(std::string_view text, const std::string& fileName,
                                                    const fabric::Fabric& fabric) {
  std::vector<schedule::CustomShard> shards;
  std::set<std::string> names;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string row = trimmed(line);
    const auto cells = cellsOf(row);
    if (row.empty() || row.front() == '#' || (cells.size() == 3 && cells[0] == "chunk" && cells[1] == "from")) {
      continue;
    }
    const auto fault = [&](std::string message, std::string fix) {
      return Error{ErrorCode::badInput, std::move(message), std::move(fix), {.file = fileName, .line = number}};
    };
    if (cells.size() != 3) {
      return fault("The row has " + std::to_string(cells.size()) + " cells", "give chunk,from,to");
    }
    if (!names.insert(cells[0]).second) {
      return fault("Chunk " + inQuotes(cells[0]) + " has a row already", "name each chunk once");
    }
    schedule::CustomShard shard;
    for (const bool isFrom : {true, false}) {
      auto& ranks = isFrom ? shard.sources : shard.destinations;
      std::istringstream words(cells[isFrom ? 1 : 2]);
      for (std::string name; words >> name;) {
        const auto rank = rankOf(fabric, name);
        if (!rank) {
          return fault("There is no GPU " + inQuotes(name),
                       "name a GPU by its id, or by its rank from 0 to " + std::to_string(fabric.gpuCount() - 1));
        }
        if (std::find(ranks.begin(), ranks.end(), *rank) != ranks.end()) {
          return fault("GPU " + inQuotes(name) + " is named twice", "name each GPU once");
        }
        ranks.push_back(*rank);
      }
      if (ranks.empty()) {
        return fault(isFrom ? "No GPU has the chunk" : "No GPU needs the chunk", "name at least one GPU");
      }
    }
    shards.push_back(std::move(shard));
  }
  const auto count = static_cast<std::int64_t>(shards.size());
  for (auto& shard : shards) {
    shard.share = Rational(1, count);
  }
  auto table = schedule::CollectiveTable::custom(fabric.gpuCount(), shards);
  if (!table) {
    Error error = table.error();
    error.where.file = fileName;
    return error;
  }
  return table;
}

}  // namespace coppice::io
