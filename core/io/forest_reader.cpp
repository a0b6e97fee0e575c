// SPDX-License-Identifier: Apache-2.0
#include "io/forest_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/collective.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/execution_plan.hpp"
#include "io/fabric_json.hpp"
#include "io/forest_json.hpp"
#include "io/text_place.hpp"
#include "schedule/rotation.hpp"

namespace coppice::io {
namespace {

using fabric::NodeIndex;
using schedule::Forest;
using schedule::Schedule;

constexpr JsonLimits kForestLimits{.bytes = kMaxForestBytes, .values = 16'000'000, .depth = kMaxJsonDepth};
constexpr std::size_t kMaxForestRows = std::numeric_limits<std::int32_t>::max();
constexpr std::array kForestKeys = {"reduce_forest", "broadcast_forest"};

std::string at(const std::string& path, std::size_t place) {
  return path + "[" + std::to_string(place) + "]";
}

std::string under(const std::string& path, std::string_view key) {
  return (path.empty() ? "" : path + ".") + std::string(key);
}

const char* nameOf(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "true or false";
    case JsonValue::Kind::number:
      return "a number";
    case JsonValue::Kind::string:
      return "a string";
    case JsonValue::Kind::array:
      return "an array";
    case JsonValue::Kind::object:
      return "an object";
  }
  return "";
}

/// Whether it is a number that the schedule's types hold.
bool isSmall(std::int64_t number) {
  return number >= 0 && number <= std::numeric_limits<std::int32_t>::max();
}

Error outOfRange(std::int64_t number) {
  return {ErrorCode::badInput, "the number " + std::to_string(number) + " is out of range", "generate the file again"};
}

}  // namespace

ForestReader::ForestReader(std::string_view text, const std::string& fileName) : m_text(text), m_fileName(fileName) {}

void ForestReader::read() {
  if (m_text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Failure{{ErrorCode::badInput, "the file is empty", "generate it again", {.file = m_fileName}}};
  }
  std::vector<JsonRows> rows;
  for (std::size_t i = 0; i < kForestKeys.size(); ++i) {
    Rows& into = m_rows[i];
    rows.push_back({std::string(kForestKeys[i]) + ".paths", kMaxForestRows,
                    [this, &into](std::size_t, std::span<const std::int64_t> row) { return addPath(into, row); }});
    rows.push_back({std::string(kForestKeys[i]) + ".trees.edges", kMaxForestRows,
                    [&into](std::size_t, std::span<const std::int64_t> row) { return addEdge(into, row); }});
  }
  auto parsed = parseExactJson(m_text, m_fileName, kForestLimits, rows, m_fabric);
  if (!parsed) {
    throw Failure{refusedExecutionPlan(m_text, m_fileName).value_or(parsed.error())};
  }
  m_top = *std::move(parsed);
  if (m_top.kind != JsonValue::Kind::object || m_top.find("format") == nullptr) {
    throw Failure{refusedExecutionPlan(m_text, m_fileName)
                      .value_or(Error{ErrorCode::badInput,
                                      "it has no \"format\", so this is not a forest file",
                                      "give a .forest.json, as coppice-cli generate writes it",
                                      {.file = m_fileName}})};
  }
  const JsonValue& format = need(m_top, "", "format");
  if (string(format, "format") != kForestFormat) {
    refuse(format, "format", "the format is " + inQuotes(format.text) + ", not \"" + std::string(kForestFormat) + "\"",
           "check that it is a forest file");
  }
  const JsonValue& version = need(m_top, "", "version");
  if (integer(version, "version") != kForestVersion) {
    refuse(version, "version",
           "the file has version " + version.text + " of the format; this program reads version " +
               std::to_string(kForestVersion),
           "generate the file again, or use a newer program");
  }
  checkKeys(m_top, "",
            {"format",   "version", "collective",  "fabric_name",   "digest",           "root",       "amounts",
             kOriginKey, "algbw",   "bound",       "fixed_k",       "allreduce_bound",  "overlapped", "own_copies",
             "nodes",    "gpus",    "bottlenecks", "reduce_forest", "broadcast_forest", "fabric"});
}

const JsonSlice& ForestReader::fabric() const {
  const JsonValue& value = need(m_top, "", "fabric");
  if (value.kind != JsonValue::Kind::object) {
    refuse(value, "fabric", std::string("cannot be ") + nameOf(value.kind));
  }
  return m_fabric.front();
}

Origin ForestReader::origin() const {
  const JsonValue* const value = m_top.find(kOriginKey);
  return value == nullptr
             ? Origin()
             : readOrigin(*value, [this](const JsonValue& at, const std::string& path, std::string message,
                                         std::string fix) { refuse(at, path, std::move(message), std::move(fix)); });
}

Schedule ForestReader::scheduleOf(const fabric::Fabric& fabric) {
  Schedule schedule;
  const auto top = [&](std::string_view key) -> const JsonValue& { return need(m_top, "", key); };
  const std::string collective = string(top("collective"), "collective");
  const auto known = parseForestCollective(collective);
  if (!known) {
    refuse(top("collective"), "collective", inQuotes(collective) + " is not a collective");
  }
  schedule.collective = *known;
  schedule.fabricName = string(top("fabric_name"), "fabric_name");
  schedule.fabricDigest = string(top("digest"), "digest");
  if (schedule.fabricDigest != fabric.digest()) {
    throw Failure{{ErrorCode::verification,
                   "made for the fabric " + inQuotes(schedule.fabricName) + " with digest " +
                       inQuotes(schedule.fabricDigest) + "; this is " + inQuotes(fabric.name()) + " with digest \"" +
                       fabric.digest() + "\"",
                   "use the fabric it was made for, or generate it again",
                   {.file = m_fileName}}};
  }
  matchNodes(fabric);
  if (const JsonValue* root = m_top.find("root")) {
    schedule.root = index(*root, "root", fabric.gpuCount(), "rank");
  }
  if (const JsonValue* amounts = m_top.find("amounts")) {
    schedule.amounts = integers(*amounts, "amounts");
    if (!schedule.amounts.empty() && schedule.amounts.size() != static_cast<std::size_t>(fabric.gpuCount())) {
      refuse(*amounts, "amounts",
             "has " + std::to_string(schedule.amounts.size()) + " entries for " + std::to_string(fabric.gpuCount()) +
                 " GPUs");
    }
  }
  schedule.algbw = Bandwidth(fraction(top("algbw"), "algbw"));
  schedule.bound = Bandwidth(fraction(top("bound"), "bound"));
  if (const JsonValue* k = m_top.find("fixed_k")) {
    schedule.fixedK = integer(*k, "fixed_k");
  }
  const auto flag = [&](std::string_view key) {
    const JsonValue* value = m_top.find(key);
    if (value != nullptr && value->kind != JsonValue::Kind::boolean) {
      refuse(*value, std::string(key), std::string("cannot be ") + nameOf(value->kind), "write true or false");
    }
    return value != nullptr && value->text == "true";
  };
  schedule.overlapped = flag("overlapped");
  schedule.ownCopies = flag("own_copies");
  if (const JsonValue* bound = m_top.find("allreduce_bound")) {
    schedule.allreduceBound = Bandwidth(fraction(*bound, "allreduce_bound"));
  }
  const JsonValue& cuts = array(top("bottlenecks"), "bottlenecks");
  for (std::size_t i = 0; i < cuts.items.size(); ++i) {
    schedule.bottlenecks.push_back(cut(cuts.items[i], at("bottlenecks", i)));
  }
  for (std::size_t i = 0; i < kForestKeys.size(); ++i) {
    if (const JsonValue* value = m_top.find(kForestKeys[i])) {
      Forest read = forest(*value, kForestKeys[i], fabric, m_rows[i]);
      read.direction = i == 0 ? schedule::Direction::in : schedule::Direction::out;
      (i == 0 ? schedule.reduceForest : schedule.broadcastForest) = std::move(read);
    }
  }
  return schedule;
}

std::optional<Error> ForestReader::addPath(Rows& rows, std::span<const std::int64_t> numbers) {
  m_route.clear();
  for (const std::int64_t number : numbers) {
    if (!isSmall(number)) {
      return outOfRange(number);
    }
    m_route.push_back(static_cast<NodeIndex>(number));
  }
  if (m_route.size() < 2) {
    return Error{ErrorCode::badInput, "has fewer than two nodes", "generate the file again"};
  }
  rows.paths.add(m_route);
  return std::nullopt;
}

std::optional<Error> ForestReader::addEdge(Rows& rows, std::span<const std::int64_t> numbers) {
  if (numbers.size() != 3 && numbers.size() != 4) {
    return Error{ErrorCode::badInput, "an edge has " + std::to_string(numbers.size()) + " numbers",
                 "write [parent, child, path] or [parent, child, path, pruned]"};
  }
  for (const std::int64_t number : numbers) {
    if (!isSmall(number)) {
      return outOfRange(number);
    }
  }
  const auto number = [&](std::size_t i) { return static_cast<std::int32_t>(numbers[i]); };
  rows.edges.push_back({number(0), number(1), number(2), numbers.size() == 4 ? number(3) : 0});
  return std::nullopt;
}

void ForestReader::matchNodes(const fabric::Fabric& fabric) {
  const JsonValue& ids = array(need(m_top, "", "nodes"), "nodes");
  if (ids.items.size() != static_cast<std::size_t>(fabric.nodeCount())) {
    refuse(
        ids, "nodes",
        "names " + std::to_string(ids.items.size()) + " nodes, the fabric has " + std::to_string(fabric.nodeCount()));
  }
  std::vector<bool> isTaken(ids.items.size(), false);
  m_nodes.clear();
  for (std::size_t i = 0; i < ids.items.size(); ++i) {
    const std::string id = string(ids.items[i], at("nodes", i));
    const auto node = fabric.find(id);
    if (!node || isTaken[*node]) {
      refuse(ids.items[i], at("nodes", i), inQuotes(id) + (node ? " appears twice" : " is not in the fabric"));
    }
    isTaken[*node] = true;
    m_nodes.push_back(*node);
    m_isSameOrder = m_isSameOrder && static_cast<std::size_t>(*node) == i;
  }
  const JsonValue& gpus = array(need(m_top, "", "gpus"), "gpus");
  if (gpus.items.size() != static_cast<std::size_t>(fabric.gpuCount())) {
    refuse(gpus, "gpus",
           "names " + std::to_string(gpus.items.size()) + " GPUs, the fabric has " + std::to_string(fabric.gpuCount()));
  }
  for (std::size_t rank = 0; rank < gpus.items.size(); ++rank) {
    const int node = index(gpus.items[rank], at("gpus", rank), std::ssize(m_nodes), "node");
    if (m_nodes[node] != fabric.gpus()[rank]) {
      refuse(gpus.items[rank], at("gpus", rank), "is not the GPU of this rank in the fabric");
    }
  }
}

schedule::Cut ForestReader::cut(const JsonValue& value, const std::string& path) {
  checkKeys(value, path, {"nodes", "demand", "exit_bandwidth"});
  schedule::Cut cut;
  const JsonValue& nodes = array(need(value, path, "nodes"), under(path, "nodes"));
  for (std::size_t i = 0; i < nodes.items.size(); ++i) {
    cut.nodes.push_back(m_nodes[index(nodes.items[i], at(under(path, "nodes"), i), std::ssize(m_nodes), "node")]);
  }
  if (!m_isSameOrder) {
    std::sort(cut.nodes.begin(), cut.nodes.end());
  }
  cut.demand = integer(need(value, path, "demand"), under(path, "demand"));
  cut.exitBandwidth = Bandwidth(fraction(need(value, path, "exit_bandwidth"), under(path, "exit_bandwidth")));
  return cut;
}

Forest ForestReader::forest(const JsonValue& value, const std::string& path, const fabric::Fabric& fabric, Rows& rows) {
  checkKeys(value, path, {"trees_of_root", "scale", "rotations", "paths", "trees"});
  Forest forest;
  forest.gpuCount = fabric.gpuCount();
  forest.scale = InverseBandwidth(fraction(need(value, path, "scale"), under(path, "scale")));
  const JsonValue& treesOfRoot = need(value, path, "trees_of_root");
  forest.treesOfRoot = integers(treesOfRoot, under(path, "trees_of_root"));
  if (forest.treesOfRoot.size() != static_cast<std::size_t>(forest.gpuCount)) {
    refuse(treesOfRoot, under(path, "trees_of_root"),
           "has " + std::to_string(forest.treesOfRoot.size()) + " entries for " + std::to_string(forest.gpuCount) +
               " GPUs");
  }
  forest.paths = std::move(rows.paths);
  forest.edges = std::move(rows.edges);
  placePaths(array(need(value, path, "paths"), under(path, "paths")), under(path, "paths"), forest.paths);
  addTrees(array(need(value, path, "trees"), under(path, "trees")), under(path, "trees"), forest);
  const JsonValue* rotations = value.find("rotations");
  if (rotations == nullptr) {
    return forest;
  }
  const std::string name = under(path, "rotations");
  for (std::size_t i = 0; i < array(*rotations, name).items.size(); ++i) {
    const JsonValue& named = rotations->items[i];
    const std::vector<std::int64_t> numbers = integers(named, at(name, i));
    if (numbers.size() != 2 || !isSmall(numbers[0]) || !isSmall(numbers[1])) {
      refuse(named, at(name, i), "is not a rotation", "write [step, count]");
    }
    auto rotation = schedule::rotationOf(fabric, static_cast<int>(numbers[0]), static_cast<int>(numbers[1]));
    if (!rotation) {
      refuse(named, at(name, i),
             "the fabric has no symmetry with step " + std::to_string(numbers[0]) + " and count " +
                 std::to_string(numbers[1]));
    }
    forest.rotations.push_back(*std::move(rotation));
  }
  if (const auto fault = schedule::rotationFault(forest, fabric.nodeCount())) {
    refuse(*rotations, name, *fault);
  }
  return forest;
}

void ForestReader::addTrees(const JsonValue& value, const std::string& path, Forest& forest) {
  const std::int64_t edgesEach = forest.gpuCount - 1;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const JsonValue& row = value.items[i];
    const std::string name = at(path, i);
    checkKeys(row, name, {"root", "multiplicity", "edges"});
    const JsonValue& edges = array(need(row, name, "edges"), under(name, "edges"));
    if (edges.text != std::to_string(edgesEach)) {
      refuse(row, name,
             "has " + edges.text + " edges; a tree over " + std::to_string(forest.gpuCount) + " GPUs has " +
                 std::to_string(edgesEach));
    }
    const auto first = static_cast<std::int64_t>(i) * edgesEach;
    forest.trees.push_back({index(need(row, name, "root"), under(name, "root"), forest.gpuCount, "rank"),
                            integer(need(row, name, "multiplicity"), under(name, "multiplicity")), first});
    for (std::int64_t e = 0; e < edgesEach; ++e) {
      const schedule::TreeEdge& edge = forest.edges[first + e];
      const auto fail = [&](std::string message) { refuse(edges, at(under(name, "edges"), e), std::move(message)); };
      if (std::max(edge.parent, edge.child) >= forest.gpuCount) {
        fail("rank " + std::to_string(std::max(edge.parent, edge.child)) + " is not in the fabric");
      }
      if (edge.path >= forest.paths.size()) {
        fail("path " + std::to_string(edge.path) + " is not among the " + std::to_string(forest.paths.size()) +
             " paths");
      }
      if (edge.pruned != 0 && static_cast<std::size_t>(edge.pruned) + 1 >= forest.paths[edge.path].size()) {
        fail("prunes " + std::to_string(edge.pruned) + " hops of a path with fewer to spare");
      }
    }
  }
}

void ForestReader::placePaths(const JsonValue& value, const std::string& path, schedule::PathPool& paths) {
  schedule::PathPool placed;
  for (schedule::PathId id = 0; id < paths.size(); ++id) {
    m_route.clear();
    for (const NodeIndex number : paths[id]) {
      if (number >= static_cast<NodeIndex>(m_nodes.size())) {
        refuse(
            value, at(path, id),
            "node " + std::to_string(number) + " is not in the table of " + std::to_string(m_nodes.size()) + " nodes");
      }
      m_route.push_back(m_nodes[number]);
    }
    if (!m_isSameOrder) {
      placed.add(m_route);
    }
  }
  if (!m_isSameOrder) {
    paths = std::move(placed);
  }
}

void ForestReader::refuse(const JsonValue& at, const std::string& path, std::string message, std::string fix,
                          ErrorCode code) const {
  throw Failure{Error{
      code, std::move(message), std::move(fix),
      TextPlaces(m_text, m_fileName).at(at.offset, path.empty() ? ElementRef() : ElementRef(RefKind::field, path))}};
}

void ForestReader::checkKeys(const JsonValue& object, const std::string& path,
                             std::initializer_list<std::string_view> keys) const {
  if (object.kind != JsonValue::Kind::object) {
    refuse(object, path, std::string("cannot be ") + nameOf(object.kind), "see the description of the format");
  }
  for (const auto& [key, value] : object.members) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      refuse(value, path, "the key " + inQuotes(key) + " is not part of the format", "remove it");
    }
  }
}

const JsonValue& ForestReader::need(const JsonValue& object, const std::string& path, std::string_view key) const {
  const JsonValue* const value = object.find(key);
  if (value == nullptr) {
    refuse(object, path, "the key \"" + std::string(key) + "\" is missing", "add it, or generate the file again");
  }
  return *value;
}

std::string ForestReader::string(const JsonValue& value, const std::string& path) const {
  if (value.kind != JsonValue::Kind::string) {
    refuse(value, path, std::string("cannot be ") + nameOf(value.kind), "see the description of the format");
  }
  return value.text;
}

Rational ForestReader::fraction(const JsonValue& value, const std::string& path) const {
  const auto parsed = Rational::parse(string(value, path));
  if (!parsed) {
    refuse(value, path, parsed.error().message, parsed.error().fix, parsed.error().code);
  }
  return *parsed;
}

std::int64_t ForestReader::integer(const JsonValue& value, const std::string& path) const {
  if (value.kind != JsonValue::Kind::number) {
    refuse(value, path, std::string("cannot be ") + nameOf(value.kind), "see the description of the format");
  }
  const auto number = Rational::parse(value.text);
  if (!number || !number->isInteger()) {
    refuse(value, path, inQuotes(value.text) + " is not a 64-bit integer");
  }
  return number->numerator();
}

int ForestReader::index(const JsonValue& value, const std::string& path, std::int64_t end,
                        std::string_view what) const {
  const std::int64_t number = integer(value, path);
  if (number < 0 || number >= end) {
    refuse(
        value, path,
        std::string(what) + " " + std::to_string(number) +
            (what == "node" ? " is not in the table of " + std::to_string(end) + " nodes" : " is not in the fabric"));
  }
  return static_cast<int>(number);
}

const JsonValue& ForestReader::array(const JsonValue& value, const std::string& path) const {
  if (value.kind != JsonValue::Kind::array) {
    refuse(value, path, std::string("cannot be ") + nameOf(value.kind), "see the description of the format");
  }
  return value;
}

std::vector<std::int64_t> ForestReader::integers(const JsonValue& value, const std::string& path) const {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < array(value, path).items.size(); ++i) {
    numbers.push_back(integer(value.items[i], at(path, i)));
  }
  return numbers;
}

}  // namespace coppice::io
