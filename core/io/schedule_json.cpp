// SPDX-License-Identifier: Apache-2.0
#include "io/schedule_json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "fabric/facts.hpp"
#include "io/exact_json.hpp"
#include "io/fabric_json.hpp"
#include "io/text_place.hpp"
#include "schedule/step_routes.hpp"

namespace coppice::io {
namespace {

using fabric::NodeIndex;
using schedule::StepSchedule;
using schedule::Transfer;

/// Without routes and transfers, which are not kept as values.
constexpr JsonLimits kScheduleLimits{.bytes = kMaxScheduleBytes, .values = 16'000'000, .depth = 64};
constexpr std::size_t kColumns = 8;

template <typename Numbers>
void printNumbers(std::ostream& out, const Numbers& numbers) {
  out << '[';
  bool isFirst = true;
  for (const auto number : numbers) {
    out << (isFirst ? "" : ", ") << number;
    isFirst = false;
  }
  out << ']';
}

void writeGoal(std::ostream& out, const schedule::CollectiveTable& goal) {
  out << "  \"collective\": " << jsonQuoted(toString(goal.collective())) << ",\n";
  if (goal.root()) {
    out << "  \"root\": " << *goal.root() << ",\n";
  }
  if (!goal.amounts().empty()) {
    out << "  \"amounts\": ";
    printNumbers(out, goal.amounts());
    out << ",\n";
  }
  if (goal.collective() != Collective::custom) {
    return;
  }
  out << "  \"shards\": [";
  for (std::int64_t shard = 0; shard < goal.shardCount(); ++shard) {
    out << (shard > 0 ? ",\n    " : "\n    ") << R"({"share": ")" << goal.share(shard).toString()
        << R"(", "sources": )";
    printNumbers(out, goal.sources(shard));
    out << R"(, "destinations": )";
    printNumbers(out, goal.destinations(shard));
    out << R"(, "combines": )" << (goal.combines(shard) ? "true" : "false") << '}';
  }
  out << "\n  ],\n";
}

class ScheduleReader {
public:
  ScheduleReader(std::string_view text, const std::string& fileName) : m_text(text), m_fileName(fileName) {}

  Result<LoadedSchedule> run() {
    const std::array<JsonRows, 2> rows{
        JsonRows{"routes", kMaxScheduleTransfers,
                 [this](std::size_t, std::span<const std::int64_t> row) { return addRoute(row); }},
        JsonRows{"transfers", kMaxScheduleTransfers,
                 [this](std::size_t, std::span<const std::int64_t> row) { return addTransfer(row); }}};
    auto parsed = parseExactJson(m_text, m_fileName, kScheduleLimits, rows);
    if (!parsed) {
      return parsed.error();
    }
    m_top = std::move(*parsed);
    if (m_top.kind != JsonValue::Kind::object || string("format") != "coppice-schedule") {
      refuse(m_top, "format", "this is not a step schedule", "open a .schedule.json file");
    }
    if (integer(need("version"), "version") != 1) {
      refuse(need("version"), "version", "unknown version of the format", "use a newer version of Coppice");
    }
    const JsonValue& embedded = need("fabric");
    auto description = readFabricJson(toJsonText(embedded), m_fileName);
    if (!description) {
      refuse(embedded, "fabric", description.error().message, description.error().fix);
    }
    auto fabric = fabric::Fabric::build(*description);
    if (!fabric) {
      Error error = fabric.error();
      error.where.file = m_fileName;
      return error;
    }
    StepSchedule schedule = read(*fabric);
    const std::int64_t routesAdded = addRoutes(*fabric, schedule);
    if (schedule.fabricDigest != fabric->digest()) {
      return Error{ErrorCode::verification,
                   "the file states the digest " + inQuotes(schedule.fabricDigest) + "; its fabric has \"" +
                       fabric->digest() + "\"",
                   "generate the schedule again for this fabric",
                   {.file = m_fileName, .element = {RefKind::field, "digest"}}};
    }
    return LoadedSchedule{std::move(*description), std::move(*fabric), std::move(schedule), routesAdded, origin()};
  }

private:
  Origin origin() {
    const JsonValue* const value = m_top.find(kOriginKey);
    return value == nullptr
               ? Origin()
               : readOrigin(*value, [this](const JsonValue& at, const std::string& path, std::string message,
                                           std::string fix) { refuse(at, path, std::move(message), std::move(fix)); });
  }

  StepSchedule read(const fabric::Fabric& fabric) {
    StepSchedule schedule;
    schedule.goal = goal(fabric.gpuCount());
    schedule.method = m_top.find("method") ? string("method") : std::string();
    schedule.fabricName = string("fabric_name");
    schedule.fabricDigest = string("digest");
    schedule.algbw = Bandwidth(fraction(need("algbw"), "algbw"));
    schedule.denominator = integer(need("denominator"), "denominator");
    schedule.isSynchronous = boolean("synchronous");
    schedule.keepsOrder = m_top.find("ordered") && boolean("ordered");
    schedule.stepCount = narrow(need("steps"), "steps");
    if (schedule.stepCount > static_cast<std::int64_t>(kMaxScheduleTransfers)) {
      refuse(need("steps"), "steps", std::to_string(schedule.stepCount) + " steps are too many",
             "leave out steps in which nothing is sent");
    }
    if (const JsonValue* rounds = m_top.find("rounds")) {
      for (const std::int64_t count : integers(*rounds, "rounds")) {
        schedule.rounds.push_back(inRange(*rounds, "rounds", count));
      }
    }
    const auto nodes = nodeTable(fabric);
    placeRoutes(nodes, schedule);
    array(need("transfers"), "transfers");
    schedule.transfers = std::move(m_transfers);
    return schedule;
  }

  /// Shortest routes where none are given; what else is wrong with such a transfer is for the verifier.
  std::int64_t addRoutes(const fabric::Fabric& fabric, StepSchedule& schedule) const {
    const auto isRank = [&](fabric::Rank rank) { return rank >= 0 && rank < fabric.gpuCount(); };
    std::int64_t missing = 0;
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
      if (schedule.transfers.routes()[i] == schedule::kNoRoute) {
        ++missing;
        if (!isRank(schedule.transfers.senders()[i]) || !isRank(schedule.transfers.receivers()[i]) ||
            schedule.transfers.senders()[i] == schedule.transfers.receivers()[i]) {
          return 0;
        }
      }
    }
    if (missing > 0) {
      if (const Outcome routed = schedule::addRoutes(fabric, schedule); !routed) {
        Error error = routed.error();
        error.where.file = m_fileName;
        throw Failure{std::move(error)};
      }
    }
    return missing;
  }

  schedule::CollectiveTable goal(int ranks) {
    const JsonValue& name = need("collective");
    const auto collective = parseCollective(string("collective"));
    if (!collective) {
      refuse(name, "collective", inQuotes(name.text) + " is not a collective",
             "use allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather, scatter or custom");
    }
    Result<schedule::CollectiveTable> table = *collective == Collective::custom ? customGoal(ranks) : [&] {
      std::optional<fabric::Rank> root;
      std::vector<std::int64_t> amounts;
      if (const JsonValue* value = m_top.find("root")) {
        root = inRange(*value, "root", integer(*value, "root"));
      }
      if (const JsonValue* value = m_top.find("amounts")) {
        amounts = integers(*value, "amounts");
      }
      return schedule::CollectiveTable::make(*collective, ranks, root, amounts);
    }();
    if (!table && m_top.find("amounts") && table.error().where.element.empty()) {
      refuse(need("amounts"), "amounts", table.error().message, table.error().fix);
    }
    if (*collective != Collective::custom && m_top.find("shards")) {
      refuse(need("shards"), "shards", "only a custom collective has a table of shards",
             "leave it out, or state \"collective\": \"custom\"");
    }
    if (!table) {
      refuse(
          name,
          table.error().where.element.empty() ? ElementRef(RefKind::field, "collective") : table.error().where.element,
          table.error().message, table.error().fix);
    }
    return std::move(*table);
  }

  Result<schedule::CollectiveTable> customGoal(int ranks) {
    std::vector<schedule::CustomShard> shards;
    const JsonValue& rows = array(need("shards"), "shards");
    for (std::size_t i = 0; i < rows.items.size(); ++i) {
      const JsonValue& row = rows.items[i];
      const std::string element = "shards[" + std::to_string(i) + "]";
      const auto member = [&](const char* key) -> const JsonValue& {
        const JsonValue* value = row.kind == JsonValue::Kind::object ? row.find(key) : nullptr;
        if (!value) {
          refuse(row, element, std::string("the key \"") + key + "\" is missing", "add it");
        }
        return *value;
      };
      schedule::CustomShard shard;
      shard.share = fraction(member("share"), element + ".share");
      for (const std::int64_t rank : integers(member("sources"), element + ".sources")) {
        shard.sources.push_back(inRange(row, element, rank));
      }
      for (const std::int64_t rank : integers(member("destinations"), element + ".destinations")) {
        shard.destinations.push_back(inRange(row, element, rank));
      }
      shard.combines = member("combines").text == "true";
      shards.push_back(std::move(shard));
    }
    return schedule::CollectiveTable::custom(ranks, shards);
  }

  std::vector<NodeIndex> nodeTable(const fabric::Fabric& fabric) {
    std::vector<NodeIndex> nodes;
    const JsonValue& ids = array(need("nodes"), "nodes");
    for (const JsonValue& id : ids.items) {
      const auto node = fabric.find(id.text);
      if (id.kind != JsonValue::Kind::string || !node) {
        refuse(id, "nodes", inQuotes(id.text) + " is not a node of the fabric", "name nodes of the embedded fabric");
      }
      nodes.push_back(*node);
    }
    return nodes;
  }

  std::optional<Error> addRoute(std::span<const std::int64_t> places) {
    m_route.clear();
    for (const std::int64_t place : places) {
      if (place < 0 || place > std::numeric_limits<NodeIndex>::max()) {
        return Error{ErrorCode::badInput, std::to_string(place) + " is outside of the table of nodes",
                     "count nodes from 0"};
      }
      m_route.push_back(static_cast<NodeIndex>(place));
    }
    m_routes.add(m_route);
    return std::nullopt;
  }

  /// Routes as nodes of the fabric. They are read before their table is known to be there.
  void placeRoutes(const std::vector<NodeIndex>& nodes, StepSchedule& schedule) {
    const JsonValue& routes = array(need("routes"), "routes");
    for (schedule::PathId i = 0; i < m_routes.size(); ++i) {
      m_route.clear();
      for (const NodeIndex place : m_routes[i]) {
        if (place >= static_cast<NodeIndex>(nodes.size())) {
          refuse(routes, "routes[" + std::to_string(i) + "]",
                 std::to_string(place) + " is outside of the table of nodes", "count nodes from 0");
        }
        m_route.push_back(nodes[place]);
      }
      schedule.paths.add(m_route);
    }
    m_routes = {};
  }

  std::optional<Error> addTransfer(std::span<const std::int64_t> numbers) {
    if (numbers.size() != kColumns) {
      return Error{ErrorCode::badInput, "it has " + std::to_string(numbers.size()) + " numbers, 8 are needed",
                   "give step, shard, begin, end, from, to, route, reduces"};
    }
    if (numbers[7] != 0 && numbers[7] != 1) {
      return Error{ErrorCode::badInput, "reduces is " + std::to_string(numbers[7]), "give 0 or 1"};
    }
    for (const std::size_t column : {0, 4, 5, 6}) {
      if (numbers[column] != static_cast<std::int32_t>(numbers[column])) {
        return Error{ErrorCode::badInput, std::to_string(numbers[column]) + " is too large"};
      }
    }
    m_transfers.add({.shard = numbers[1],
                     .begin = numbers[2],
                     .end = numbers[3],
                     .from = static_cast<fabric::Rank>(numbers[4]),
                     .to = static_cast<fabric::Rank>(numbers[5]),
                     .route = static_cast<schedule::PathId>(numbers[6]),
                     .step = static_cast<std::int32_t>(numbers[0]),
                     .reduces = numbers[7] == 1});
    return std::nullopt;
  }

  [[noreturn]] void refuse(const JsonValue& at, const std::string& path, std::string message, std::string fix = {}) {
    refuse(at, ElementRef(RefKind::field, path), std::move(message), std::move(fix));
  }
  [[noreturn]] void refuse(const JsonValue& at, const ElementRef& element, std::string message, std::string fix = {}) {
    throw Failure{Error{ErrorCode::badInput, std::move(message), std::move(fix),
                        TextPlaces(m_text, m_fileName).at(at.offset, element)}};
  }

  const JsonValue& need(const std::string& key) {
    const JsonValue* value = m_top.find(key);
    if (!value) {
      refuse(m_top, key, "the key " + inQuotes(key) + " is missing", "add it");
    }
    return *value;
  }

  std::string string(const std::string& key) {
    const JsonValue& value = need(key);
    if (value.kind != JsonValue::Kind::string) {
      refuse(value, key, "it is not a string");
    }
    return value.text;
  }

  bool boolean(const std::string& key) {
    const JsonValue& value = need(key);
    if (value.kind != JsonValue::Kind::boolean) {
      refuse(value, key, "it is neither true nor false");
    }
    return value.text == "true";
  }

  const JsonValue& array(const JsonValue& value, const std::string& element) {
    if (value.kind != JsonValue::Kind::array) {
      refuse(value, element, "it is not an array");
    }
    return value;
  }

  Rational fraction(const JsonValue& value, const std::string& element) {
    const auto parsed = Rational::parse(value.text);
    if ((value.kind != JsonValue::Kind::string && value.kind != JsonValue::Kind::number) || !parsed) {
      refuse(value, element, inQuotes(value.text) + " is not a fraction within 64 bits", "write it like \"640/3\"");
    }
    return *parsed;
  }

  std::int64_t integer(const JsonValue& value, const std::string& element) {
    const auto parsed = Rational::parse(value.text);
    if (value.kind != JsonValue::Kind::number || !parsed || !parsed->isInteger()) {
      refuse(value, element, inQuotes(value.text) + " is not a whole number within 64 bits");
    }
    return parsed->numerator();
  }

  std::int32_t inRange(const JsonValue& at, const std::string& element, std::int64_t number) {
    if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max()) {
      refuse(at, element, std::to_string(number) + " is too large");
    }
    return static_cast<std::int32_t>(number);
  }

  std::int32_t narrow(const JsonValue& value, const std::string& element) {
    return inRange(value, element, integer(value, element));
  }

  std::vector<std::int64_t> integers(const JsonValue& value, const std::string& element) {
    std::vector<std::int64_t> numbers;
    for (const JsonValue& item : array(value, element).items) {
      numbers.push_back(integer(item, element));
    }
    return numbers;
  }

  std::string_view m_text;
  const std::string& m_fileName;
  JsonValue m_top;
  schedule::PathPool m_routes;  ///< by the file's table of nodes
  std::vector<NodeIndex> m_route;
  schedule::TransferList m_transfers;
};

}  // namespace

Outcome writeScheduleJson(std::ostream& out, const StepSchedule& schedule, const fabric::Fabric& fabric,
                          const fabric::Description* description, const Progress& progress, const Origin& origin) {
  if (schedule.transfers.size() > kMaxScheduleTransfers) {
    return Error{ErrorCode::limit,
                 "The schedule has " + std::to_string(schedule.transfers.size()) + " transfers; a file holds " +
                     std::to_string(kMaxScheduleTransfers),
                 "write a smaller schedule, or export it as a program"};
  }
  if (description) {
    const auto built = fabric::Fabric::build(*description);
    if (!built || built->digest() != fabric.digest()) {
      return Error{ErrorCode::badUsage, "The description is of another fabric"};
    }
  }
  out << "{\n  \"format\": \"coppice-schedule\",\n  \"version\": 1,\n";
  writeGoal(out, schedule.goal);
  if (!origin.method.empty()) {
    out << "  \"" << kOriginKey << "\": " << originJson(origin) << ",\n";
  }
  out << "  \"method\": " << jsonQuoted(schedule.method) << ",\n  \"fabric_name\": " << jsonQuoted(schedule.fabricName)
      << ",\n  \"digest\": " << jsonQuoted(schedule.fabricDigest) << ",\n  \"algbw\": \"" << toFraction(schedule.algbw)
      << "\",\n  \"denominator\": " << schedule.denominator
      << ",\n  \"synchronous\": " << (schedule.isSynchronous ? "true" : "false")
      << ",\n  \"ordered\": " << (schedule.keepsOrder ? "true" : "false") << ",\n  \"steps\": " << schedule.stepCount
      << ",\n";
  if (!schedule.rounds.empty()) {
    out << "  \"rounds\": ";
    printNumbers(out, schedule.rounds);
    out << ",\n";
  }
  out << "  \"nodes\": [";
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    out << (node > 0 ? ", " : "") << jsonQuoted(fabric.nodes()[node].id);
  }
  out << "],\n  \"routes\": [";
  for (schedule::PathId route = 0; route < schedule.paths.size(); ++route) {
    out << (route > 0 ? ",\n    " : "\n    ");
    printNumbers(out, schedule.paths[route]);
  }
  out << "\n  ],\n  \"transfers\": [";
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    if (progress.isCancelled()) {
      return Error{ErrorCode::cancelled, "cancelled"};
    }
    const Transfer t = schedule.transfers[i];
    out << (i > 0 ? ",\n    [" : "\n    [") << t.step << ", " << t.shard << ", " << t.begin << ", " << t.end << ", "
        << t.from << ", " << t.to << ", " << t.route << ", " << (t.reduces ? 1 : 0) << ']';
  }
  out << "\n  ],\n  \"fabric\": " << writeFabricJson(description ? *description : fabric::describeFacts(fabric))
      << "}\n";
  return out ? Outcome(Done{}) : Outcome(Error{ErrorCode::io, "The schedule could not be written"});
}

bool isScheduleJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"coppice-forest\"") == std::string_view::npos &&
         text.find("\"coppice-schedule\"") != std::string_view::npos;
}

Result<LoadedSchedule> loadSchedule(std::string_view text, const std::string& fileName) {
  return guarded([&] { return ScheduleReader(text, fileName).run(); },
                 {.overflow = "A number of the schedule leaves the 64-bit range",
                  .overflowFix = {},
                  .memory = "not enough memory to read the schedule",
                  .memoryFix = "read it on a larger machine",
                  .where = {.file = fileName}});
}

}  // namespace coppice::io
