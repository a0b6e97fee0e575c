// SPDX-License-Identifier: Apache-2.0
#include "io/link_csv.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/csv.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "io/fabric_json.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

enum Column { kTail, kHead, kBandwidth, kCount, kDirection, kLatency, kColumns };
constexpr int kNoColumn = -1;
constexpr const char* kLinkTable = "a table of links";

Error faultAt(const std::string& fileName, int line, std::string message, std::string fix) {
  return Error{ErrorCode::badInput, std::move(message), std::move(fix), {.file = fileName, .line = line}};
}

std::optional<Column> columnNamed(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Column>, 22> kNames = {{
      {"tail", kTail},          {"from", kTail},
      {"src", kTail},           {"source", kTail},
      {"head", kHead},          {"to", kHead},
      {"dst", kHead},           {"target", kHead},
      {"destination", kHead},   {"bandwidth", kBandwidth},
      {"bw", kBandwidth},       {"gbps", kBandwidth},
      {"gb/s", kBandwidth},     {"capacity", kBandwidth},
      {"count", kCount},        {"parallel", kCount},
      {"links", kCount},        {"direction", kDirection},
      {"duplex", kDirection},   {"latency", kLatency},
      {"latency_us", kLatency}, {"speed", kBandwidth},
  }};
  const std::string wanted = lowered(name);
  for (const auto& [text, column] : kNames) {
    if (text == wanted) {
      return column;
    }
  }
  return std::nullopt;
}

/// Where each column is; absent where no header names tail and head.
std::optional<std::array<int, kColumns>> headerOf(const CsvRow& row) {
  std::array<int, kColumns> places{};
  places.fill(kNoColumn);
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    if (const auto column = columnNamed(row.fields[i])) {
      places[*column] = static_cast<int>(i);
    }
  }
  if (places[kTail] == kNoColumn || places[kHead] == kNoColumn) {
    return std::nullopt;
  }
  return places;
}

std::string guessedKind(const std::string& name) {
  const std::string text = lowered(name);
  for (const char* part : {"gpu", "rank", "accel"}) {
    if (text.find(part) != std::string::npos) {
      return "gpu";
    }
  }
  for (const char* part : {"nic", "hca", "mlx", "eth"}) {
    if (text.find(part) != std::string::npos) {
      return "nic";
    }
  }
  for (const char* part : {"sw", "leaf", "spine", "tor", "core", "nvs", "router", "ib", "pod"}) {
    if (text.find(part) != std::string::npos) {
      return "switch";
    }
  }
  return "gpu";
}

std::optional<bool> parseDirection(const std::string& text) {
  const std::string word = lowered(text);
  for (const char* both : {"", "both", "duplex", "true", "yes", "1", "<->", "<>", "bidirectional"}) {
    if (word == both) {
      return true;
    }
  }
  for (const char* one : {"one", "forward", "false", "no", "0", "->", ">", "oneway", "one-way", "unidirectional"}) {
    if (word == one) {
      return false;
    }
  }
  return std::nullopt;
}

Result<fabric::LinkDescription> linkOf(const CsvRow& row, const std::array<int, kColumns>& places,
                                       const std::string& fileName) {
  const auto at = [&](Column column) -> std::string {
    const int place = places[column];
    return place >= 0 && static_cast<std::size_t>(place) < row.fields.size() ? row.fields[place] : std::string();
  };
  fabric::LinkDescription link;
  link.src = at(kTail);
  link.dst = at(kHead);
  if (link.src.empty() || link.dst.empty()) {
    return faultAt(fileName, row.line, "a link needs a name at each end", "write tail,head,bandwidth");
  }
  link.bandwidth = at(kBandwidth);
  if (const auto bandwidth = Bandwidth::parse(link.bandwidth); !bandwidth) {
    Error error = bandwidth.error();
    error.where = {.file = fileName, .line = row.line, .element = {RefKind::field, "bandwidth"}};
    return error;
  }
  if (const std::string count = at(kCount); !count.empty()) {
    link.count = numberIn<decltype(link.count)>(count).value_or(0);
    if (link.count < 1) {
      return faultAt(fileName, row.line, inQuotes(count) + " is not a number of parallel links",
                     "write a whole number from 1");
    }
  }
  const auto direction = parseDirection(at(kDirection));
  if (!direction) {
    return faultAt(fileName, row.line, inQuotes(at(kDirection)) + " is not a direction", "write both or one");
  }
  link.duplex = *direction;
  if (std::string latency = at(kLatency); !latency.empty()) {
    if (!Rational::parse(latency)) {
      return faultAt(fileName, row.line, inQuotes(latency) + " is not a latency", "write microseconds");
    }
    link.latency = std::move(latency);
  }
  return link;
}

Result<ImportResult> read(std::string_view text, const std::string& fileName) {
  if (text.size() > kMaxJsonBytes) {
    return Error{ErrorCode::limit, "the text is too long", "check that it is the right file", {.file = fileName}};
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (const auto ill = firstIllFormedByte(text)) {
    const Place place = TextPlaces(text, fileName).at(*ill);
    return Error{ErrorCode::badInput, "not UTF-8 text", "save the table as UTF-8", place};
  }
  CsvRows rows(text, csvSeparator(text), fileName, kLinkTable);
  auto first = rows.next();
  if (!first) {
    return first.error();
  }
  if (!*first) {
    return faultAt(fileName, 1, "the table is empty", "write one link per row: tail,head,bandwidth");
  }
  std::array<int, kColumns> places = {0, 1, 2, 3, 4, kNoColumn};
  const auto header = headerOf(**first);
  std::optional<CsvRow> row = std::move(**first);
  if (header) {
    places = *header;
    auto second = rows.next();
    if (!second) {
      return second.error();
    }
    row = std::move(*second);
  }

  ImportResult result;
  fabric::Description& description = result.description;
  std::unordered_map<std::string, int> known;
  while (row) {
    auto link = linkOf(*row, places, fileName);
    if (!link) {
      return link.error();
    }
    for (const std::string& name : {link->src, link->dst}) {
      if (known.try_emplace(name, 0).second) {
        description.nodes.push_back({.id = name, .kind = guessedKind(name)});
      }
    }
    description.links.push_back(*std::move(link));
    if (description.links.size() > kMaxFabricLinks || description.nodes.size() > kMaxFabricNodes) {
      return Error{ErrorCode::limit, "too many links", "split the table", {.file = fileName, .line = row->line}};
    }
    auto next = rows.next();
    if (!next) {
      return next.error();
    }
    row = std::move(*next);
  }
  if (description.links.empty()) {
    return faultAt(fileName, 1, "the table names columns and has no links", "write one link per row");
  }
  result.findings.push_back({Severity::note,
                             ErrorCode::badInput,
                             "the kinds of the nodes were guessed by their names",
                             "correct them in the table of nodes",
                             {.file = fileName}});
  return result;
}

}  // namespace

Result<ImportResult> readLinkCsv(std::string_view text, const std::string& fileName) {
  return guarded(
      [&] { return read(text, fileName); },
      {.memory = "not enough memory to read the table", .memoryFix = "split it", .where = {.file = fileName}});
}

std::string writeLinkCsv(const fabric::Description& description) {
  const bool hasLatency = std::any_of(description.links.begin(), description.links.end(),
                                      [](const fabric::LinkDescription& link) { return link.latency.has_value(); });
  std::string text = std::string("tail,head,bandwidth,count,direction") + (hasLatency ? ",latency" : "") + "\n";
  for (const fabric::LinkDescription& link : description.links) {
    text += csvField(link.src) + "," + csvField(link.dst) + "," + csvField(link.bandwidth) + "," +
            std::to_string(link.count) + "," + (link.duplex ? "both" : "one");
    if (hasLatency) {
      text += "," + (link.latency ? csvField(*link.latency) : std::string());
    }
    text += "\n";
  }
  return text;
}

bool looksLikeLinkCsv(std::string_view text) {
  CsvRows rows(text, csvSeparator(text), {}, kLinkTable);
  const auto first = rows.next();
  if (!first || !*first || (*first)->fields.size() < 2) {
    return false;
  }
  const std::vector<std::string>& fields = (*first)->fields;
  return headerOf(**first).has_value() ||
         (fields.size() >= 3 && !Bandwidth::parse(fields[0]) && static_cast<bool>(Bandwidth::parse(fields[2])));
}

}  // namespace coppice::io
