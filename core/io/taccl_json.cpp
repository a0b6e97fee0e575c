// SPDX-License-Identifier: Apache-2.0
#include "io/taccl_json.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/comma_list.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

using sketch::Connections;
using sketch::LocalStrategy;
using sketch::Matrix;
using sketch::RemoteSketch;
using sketch::Sketch;
using sketch::Topology;
using sketch::UnknownMembers;

/// The text with comments blanked out, so that places stay.
std::string withoutComments(std::string_view text) {
  std::string result(text);
  bool isString = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (isString) {
      if (result[i] == '\\') {
        ++i;
      } else if (result[i] == '"') {
        isString = false;
      }
    } else if (result[i] == '"') {
      isString = true;
    } else if (result[i] == '/' && i + 1 < result.size() && result[i + 1] == '/') {
      for (; i < result.size() && result[i] != '\n'; ++i) {
        result[i] = ' ';
      }
    }
  }
  return result;
}

/// What both readers share.
class TacclReader {
public:
  TacclReader(std::string_view text, const std::string& fileName)
      : m_text(withoutComments(text)), m_fileName(fileName), m_places(m_text, fileName) {}

  std::vector<Finding> findings;

protected:
  JsonValue parse() {
    auto value = orThrow(parseExactJson(m_text, m_fileName));
    if (value.kind != JsonValue::Kind::object) {
      throw Failure{
          {ErrorCode::badInput, "the file contains no JSON object", "begin with {", m_places.at(value.offset)}};
    }
    return value;
  }

  [[noreturn]] void refuse(const JsonValue& value, const std::string& key, std::string message, std::string fix) const {
    throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix),
                   m_places.at(value.offset, {RefKind::key, std::string(key)})}};
  }

  void require(const JsonValue& value, JsonValue::Kind kind, const std::string& key, const char* what) const {
    if (value.kind != kind) {
      refuse(value, key, std::string("this is not ") + what, std::string("give ") + what);
    }
  }

  const JsonValue& member(const JsonValue& object, const std::string& key) const {
    const JsonValue* value = object.find(key);
    if (value == nullptr) {
      refuse(object, key, "the key is missing", "add it");
    }
    return *value;
  }

  Rational number(const JsonValue& value, const std::string& key) const {
    if (value.kind != JsonValue::Kind::number && value.kind != JsonValue::Kind::string) {
      refuse(value, key, "this is not a number", "give a number");
    }
    const auto read = Rational::parse(value.text);
    if (!read) {
      if (read.error().code == ErrorCode::overflow) {
        throw Failure{{ErrorCode::overflow, "the number " + inQuotes(value.text) + " is beyond 64 bits",
                       "use fewer digits", m_places.at(value.offset, {RefKind::key, std::string(key)})}};
      }
      refuse(value, key, inQuotes(value.text) + " is not a number", "give a number such as 2.6 or \"13/5\"");
    }
    return *read;
  }

  int integer(const JsonValue& value, const std::string& key) const {
    const Rational read = number(value, key);
    constexpr std::int64_t kMax = 1 << 20;
    if (!read.isInteger() || read.numerator() > kMax || read.numerator() < -kMax) {
      refuse(value, key, read.toString() + " is not a whole number in the valid range", "give a whole number");
    }
    return static_cast<int>(read.numerator());
  }

  /// The key of an object as the number of a GPU.
  int gpuKey(const JsonValue& object, const std::string& text, const std::string& key) const {
    JsonValue value;
    value.kind = JsonValue::Kind::string;
    value.text = text;
    value.offset = object.offset;
    return integer(value, key);
  }

  std::vector<int> integers(const JsonValue& value, const std::string& key) const {
    require(value, JsonValue::Kind::array, key, "a list");
    std::vector<int> list;
    for (const JsonValue& item : value.items) {
      list.push_back(integer(item, key));
    }
    return list;
  }

  std::vector<Rational> numbers(const JsonValue& value, const std::string& key) const {
    require(value, JsonValue::Kind::array, key, "a list");
    std::vector<Rational> list;
    for (const JsonValue& item : value.items) {
      list.push_back(number(item, key));
    }
    return list;
  }

  /// Members not among the known ones, with a warning for each.
  UnknownMembers unknownOf(const JsonValue& object, std::initializer_list<std::string_view> known) {
    UnknownMembers unknown;
    for (const auto& [key, value] : object.members) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        unknown.emplace_back(key, toJsonText(value));
        if (key == "coppice_time_unit_us" || key == "coppice_chunk_bytes") {
          continue;  // sketch::guessScale reads them
        }
        findings.push_back({Severity::warning, ErrorCode::badInput, "the key " + inQuotes(key) + " is not known",
                            "it is kept as it is", m_places.at(value.offset)});
      }
    }
    return unknown;
  }

private:
  std::string m_text;
  std::string m_fileName;
  TextPlaces m_places;
};

class SketchReader : public TacclReader {
public:
  using TacclReader::TacclReader;

  Sketch read() {
    const JsonValue root = parse();
    Sketch sketch;
    sketch.unknown =
        unknownOf(root, {"nnodes", "intranode_sketch", "internode_sketch", "symmetry_offsets", "hyperparameters"});
    if (const JsonValue* nodes = root.find("nnodes")) {
      sketch.nodes = integer(*nodes, "nnodes");
    }
    readLocal(member(root, "intranode_sketch"), sketch);
    if (const JsonValue* remote = root.find("internode_sketch")) {
      readRemote(*remote, sketch.remote.emplace());
    }
    if (const JsonValue* offsets = root.find("symmetry_offsets")) {
      readOffsets(*offsets, sketch);
    }
    if (const JsonValue* parameters = root.find("hyperparameters")) {
      readParameters(*parameters, sketch);
    }
    return sketch;
  }

private:
  void readLocal(const JsonValue& value, Sketch& sketch) {
    require(value, JsonValue::Kind::object, "intranode_sketch", "an object");
    sketch.unknownLocal = unknownOf(value, {"strategy", "switches", "switch_hyperedge_strategy"});
    const JsonValue& strategy = member(value, "strategy");
    bool isKnown = false;
    for (const LocalStrategy each :
         {LocalStrategy::none, LocalStrategy::switchPorts, LocalStrategy::minmax, LocalStrategy::maxmin}) {
      if (strategy.kind == JsonValue::Kind::string && strategy.text == toString(each)) {
        sketch.local = each;
        isKnown = true;
      }
    }
    if (!isKnown) {
      refuse(strategy, "strategy", "this is not a strategy within a node", "use switch, minmax, maxmin or none");
    }
    if (const JsonValue* switches = value.find("switches")) {
      require(*switches, JsonValue::Kind::array, "switches", "a list of lists of GPUs");
      for (const JsonValue& each : switches->items) {
        sketch.switches.push_back(integers(each, "switches"));
      }
    } else if (sketch.local == LocalStrategy::switchPorts) {
      refuse(value, "switches", "the key is missing", "list the GPUs of each switch");
    }
    if (const JsonValue* policies = value.find("switch_hyperedge_strategy")) {
      require(*policies, JsonValue::Kind::array, "switch_hyperedge_strategy", "a list");
      for (const JsonValue& each : policies->items) {
        require(each, JsonValue::Kind::string, "switch_hyperedge_strategy", "a policy such as \"uc-min\"");
        sketch.policies.push_back(each.text);
      }
    }
  }

  void readRemote(const JsonValue& value, RemoteSketch& remote) {
    require(value, JsonValue::Kind::object, "internode_sketch", "an object");
    remote.unknown = unknownOf(value, {"strategy", "internode_conn", "gpus_to_sender_rev_map", "chunk_to_relay_map",
                                       "beta_split", "enforce_ordering", "coppice_share"});
    const JsonValue& strategy = member(value, "strategy");
    if (strategy.kind != JsonValue::Kind::string || strategy.text != "relay") {
      refuse(strategy, "strategy", "this is not a strategy between nodes", "use relay");
    }
    readConnections(member(value, "internode_conn"), remote);
    if (const JsonValue* map = value.find("gpus_to_sender_rev_map")) {
      require(*map, JsonValue::Kind::object, "gpus_to_sender_rev_map", "an object of senders");
      for (const auto& [key, gpus] : map->members) {
        remote.relayedBy[gpuKey(*map, key, "gpus_to_sender_rev_map")] = integers(gpus, "gpus_to_sender_rev_map");
      }
    }
    if (const JsonValue* rule = value.find("chunk_to_relay_map")) {
      const std::vector<int> pair = integers(*rule, "chunk_to_relay_map");
      if (pair.size() != 2) {
        refuse(*rule, "chunk_to_relay_map", "the list has " + std::to_string(pair.size()) + " numbers",
               "give two: [r1, r2]");
      }
      remote.chunkToRelay = std::pair(pair[0], pair[1]);
    }
    if (const JsonValue* split = value.find("beta_split")) {
      require(*split, JsonValue::Kind::object, "beta_split", "an object of senders");
      for (const auto& [key, share] : split->members) {
        remote.betaSplit[gpuKey(*split, key, "beta_split")] = number(share, "beta_split");
      }
    }
    if (const JsonValue* ordering = value.find("enforce_ordering")) {
      require(*ordering, JsonValue::Kind::boolean, "enforce_ordering", "true or false");
      remote.enforceOrdering = ordering->text == "true";
    }
    if (const JsonValue* share = value.find("coppice_share")) {
      if (share->kind != JsonValue::Kind::string || (share->text != "nic" && share->text != "link")) {
        refuse(*share, "coppice_share", "this is not a way to share NICs", "use nic, or link for the paper's model");
      }
      remote.sharesNics = share->text == "nic";
    }
  }

  void readConnections(const JsonValue& value, RemoteSketch& remote) {
    if (value.kind == JsonValue::Kind::string) {
      if (value.text != "fully-connected" && value.text != "direct-map") {
        refuse(value, "internode_conn", inQuotes(value.text) + " is not a way to connect nodes",
               "use fully-connected, direct-map or an object of senders with their receivers");
      }
      remote.connections = value.text == "direct-map" ? Connections::directMap : Connections::fullyConnected;
      return;
    }
    require(value, JsonValue::Kind::object, "internode_conn", "an object of senders with their receivers");
    for (const auto& [key, gpus] : value.members) {
      remote.receivers[gpuKey(value, key, "internode_conn")] = integers(gpus, "internode_conn");
    }
  }

  void readOffsets(const JsonValue& value, Sketch& sketch) {
    require(value, JsonValue::Kind::array, "symmetry_offsets", "a list of [offset, group size]");
    for (const JsonValue& each : value.items) {
      const std::vector<int> pair = integers(each, "symmetry_offsets");
      if (pair.size() != 2) {
        refuse(each, "symmetry_offsets", "an offset has " + std::to_string(pair.size()) + " numbers",
               "give two: [offset, group size]");
      }
      sketch.symmetryOffsets.emplace_back(pair[0], pair[1]);
    }
  }

  void readParameters(const JsonValue& value, Sketch& sketch) {
    require(value, JsonValue::Kind::object, "hyperparameters", "an object");
    sketch.unknownParameters = unknownOf(value, {"input_chunkup", "input_size"});
    if (const JsonValue* chunks = value.find("input_chunkup")) {
      sketch.chunksPerGpu = integer(*chunks, "input_chunkup");
    }
    if (const JsonValue* size = value.find("input_size")) {
      require(*size, JsonValue::Kind::string, "input_size", "a size such as \"1M\"");
      sketch.inputSize = size->text;
    }
  }
};

class TopologyReader : public TacclReader {
public:
  using TacclReader::TacclReader;

  Topology read() {
    const JsonValue root = parse();
    Topology topology;
    topology.unknown =
        unknownOf(root, {"name", "gpus_per_node", "nics_per_node", "alpha", "node_betas_list", "node_invbws_list",
                         "links", "betas", "invbws", "remote_alpha", "remote_beta", "remote_invbw"});
    const JsonValue& name = member(root, "name");
    require(name, JsonValue::Kind::string, "name", "a name");
    topology.name = name.text;
    topology.gpusPerNode = integer(member(root, "gpus_per_node"), "gpus_per_node");
    topology.alpha = number(member(root, "alpha"), "alpha");
    if (const JsonValue* nics = root.find("nics_per_node")) {
      topology.nicsPerNode = integer(*nics, "nics_per_node");
    }
    topology.remoteAlpha = optional(root, "remote_alpha");
    topology.remoteBeta = optional(root, "remote_beta");
    topology.remoteCost = optional(root, "remote_invbw");
    readLinks(root, topology);
    return topology;
  }

private:
  std::optional<Rational> optional(const JsonValue& root, const std::string& key) const {
    const JsonValue* value = root.find(key);
    return value != nullptr ? std::optional(number(*value, key)) : std::nullopt;
  }

  void readLinks(const JsonValue& root, Topology& topology) {
    const bool isCustom =
        root.find("links") != nullptr || root.find("betas") != nullptr || root.find("invbws") != nullptr;
    if (!isCustom) {
      topology.betas = numbers(member(root, "node_betas_list"), "node_betas_list");
      topology.costs = numbers(member(root, "node_invbws_list"), "node_invbws_list");
      return;
    }
    for (const char* key : {"node_betas_list", "node_invbws_list"}) {
      if (const JsonValue* list = root.find(key)) {
        refuse(*list, key, "the file has its own links as well", "leave out one of the two");
      }
    }
    topology.links = matrix<int>(root, "links", [&](const JsonValue& row) { return integers(row, "links"); });
    topology.linkBetas = matrix<Rational>(root, "betas", [&](const JsonValue& row) { return numbers(row, "betas"); });
    topology.linkCosts = matrix<Rational>(root, "invbws", [&](const JsonValue& row) { return numbers(row, "invbws"); });
    if (topology.links.empty()) {
      refuse(member(root, "links"), "links", "the matrix is empty", "give a row for each GPU");
    }
  }

  template <typename T>
  Matrix<T> matrix(const JsonValue& root, const std::string& key,
                   const std::function<std::vector<T>(const JsonValue&)>& readRow) const {
    const JsonValue& value = member(root, key);
    require(value, JsonValue::Kind::array, key, "a matrix: a list of rows");
    Matrix<T> rows;
    for (const JsonValue& row : value.items) {
      rows.push_back(readRow(row));
    }
    return rows;
  }
};

template <typename T, typename FileReader>
Result<TacclFile<T>> readFile(std::string_view text, const std::string& fileName) {
  return guarded([&]() -> Result<TacclFile<T>> {
    FileReader reader(text, fileName);
    T value = reader.read();
    return TacclFile<T>{std::move(value), std::move(reader.findings)};
  });
}

/// A decimal where one is exact and short, else a string with a fraction.
std::string numberText(const Rational& value) {
  std::int64_t scale = 1;
  int digits = 0;
  while (digits < 9 && !(value * Rational(scale)).isInteger()) {
    scale *= 10;
    ++digits;
  }
  const Rational scaled = value * Rational(scale);
  if (!scaled.isInteger()) {
    return jsonQuoted(value.toString());
  }
  if (digits == 0) {
    return value.toString();
  }
  const bool isNegative = scaled.numerator() < 0;
  std::string text = std::to_string(isNegative ? -scaled.numerator() : scaled.numerator());
  while (static_cast<int>(text.size()) <= digits) {
    text.insert(text.begin(), '0');
  }
  text.insert(text.size() - static_cast<std::size_t>(digits), ".");
  return (isNegative ? "-" : "") + text;
}

std::string listText(const std::vector<int>& values) {
  const std::string text = commaList(values, [](const int value) { return std::to_string(value); });
  return "[" + text + "]";
}

std::string listText(const std::vector<Rational>& values) {
  const std::string text = commaList(values, [](const Rational& value) { return numberText(value); });
  return "[" + text + "]";
}

template <typename T>
std::string rowsText(const Matrix<T>& rows) {
  const std::string text = commaList(rows, [](const auto& row) { return listText(row); });
  return "[" + text + "]";
}

using Members = std::vector<std::pair<std::string, std::string>>;

std::string objectText(const Members& members, const std::string& indent) {
  if (members.empty()) {
    return "{}";
  }
  std::string text = "{\n";
  for (std::size_t i = 0; i < members.size(); ++i) {
    text += indent + "  " + jsonQuoted(members[i].first) + ": " + members[i].second +
            (i + 1 < members.size() ? ",\n" : "\n");
  }
  return text + indent + "}";
}

void appendMembers(Members& members, const UnknownMembers& unknown) {
  members.insert(members.end(), unknown.begin(), unknown.end());
}

std::string remoteText(const RemoteSketch& remote) {
  Members members = {{"strategy", "\"relay\""}};
  if (remote.connections == Connections::listed) {
    Members receivers;
    for (const auto& [sender, gpus] : remote.receivers) {
      receivers.emplace_back(std::to_string(sender), listText(gpus));
    }
    members.emplace_back("internode_conn", objectText(receivers, "    "));
  } else {
    members.emplace_back("internode_conn",
                         remote.connections == Connections::directMap ? "\"direct-map\"" : "\"fully-connected\"");
  }
  if (!remote.betaSplit.empty()) {
    Members split;
    for (const auto& [sender, share] : remote.betaSplit) {
      split.emplace_back(std::to_string(sender), numberText(share));
    }
    members.emplace_back("beta_split", objectText(split, "    "));
  }
  if (remote.chunkToRelay) {
    members.emplace_back("chunk_to_relay_map",
                         listText(std::vector<int>{remote.chunkToRelay->first, remote.chunkToRelay->second}));
  }
  if (!remote.relayedBy.empty()) {
    Members relays;
    for (const auto& [sender, gpus] : remote.relayedBy) {
      relays.emplace_back(std::to_string(sender), listText(gpus));
    }
    members.emplace_back("gpus_to_sender_rev_map", objectText(relays, "    "));
  }
  if (remote.enforceOrdering) {
    members.emplace_back("enforce_ordering", "true");
  }
  if (remote.sharesNics) {
    members.emplace_back("coppice_share", "\"nic\"");
  }
  appendMembers(members, remote.unknown);
  return objectText(members, "  ");
}

}  // namespace

Result<TacclFile<Sketch>> readTacclSketch(std::string_view text, const std::string& fileName) {
  return readFile<Sketch, SketchReader>(text, fileName);
}

Result<TacclFile<Topology>> readTacclTopology(std::string_view text, const std::string& fileName) {
  return readFile<Topology, TopologyReader>(text, fileName);
}

std::string writeTacclSketch(const Sketch& sketch) {
  Members root;
  if (sketch.nodes) {
    root.emplace_back("nnodes", std::to_string(*sketch.nodes));
  }
  Members local = {{"strategy", jsonQuoted(toString(sketch.local))}};
  if (!sketch.switches.empty() || sketch.local == LocalStrategy::switchPorts) {
    local.emplace_back("switches", rowsText(sketch.switches));
    const std::string policies =
        commaList(sketch.policies, [](const std::string& policy) { return jsonQuoted(policy); });
    local.emplace_back("switch_hyperedge_strategy", "[" + policies + "]");
  }
  appendMembers(local, sketch.unknownLocal);
  root.emplace_back("intranode_sketch", objectText(local, "  "));
  if (sketch.remote) {
    root.emplace_back("internode_sketch", remoteText(*sketch.remote));
  }
  std::string offsets;
  for (const auto& [offset, size] : sketch.symmetryOffsets) {
    offsets += (offsets.empty() ? "" : ", ") + listText(std::vector<int>{offset, size});
  }
  root.emplace_back("symmetry_offsets", "[" + offsets + "]");
  Members parameters = {{"input_chunkup", std::to_string(sketch.chunksPerGpu)}};
  if (sketch.inputSize) {
    parameters.emplace_back("input_size", jsonQuoted(*sketch.inputSize));
  }
  appendMembers(parameters, sketch.unknownParameters);
  root.emplace_back("hyperparameters", objectText(parameters, "  "));
  appendMembers(root, sketch.unknown);
  return objectText(root, "") + "\n";
}

std::string writeTacclTopology(const Topology& topology) {
  Members root = {{"name", jsonQuoted(topology.name)}, {"gpus_per_node", std::to_string(topology.gpusPerNode)}};
  if (topology.nicsPerNode) {
    root.emplace_back("nics_per_node", std::to_string(*topology.nicsPerNode));
  }
  root.emplace_back("alpha", numberText(topology.alpha));
  if (topology.isCustom()) {
    root.emplace_back("links", rowsText(topology.links));
    root.emplace_back("betas", rowsText(topology.linkBetas));
    root.emplace_back("invbws", rowsText(topology.linkCosts));
  } else {
    root.emplace_back("node_betas_list", listText(topology.betas));
    root.emplace_back("node_invbws_list", listText(topology.costs));
  }
  const auto add = [&](const char* key, const std::optional<Rational>& value) {
    if (value) {
      root.emplace_back(key, numberText(*value));
    }
  };
  add("remote_alpha", topology.remoteAlpha);
  add("remote_beta", topology.remoteBeta);
  add("remote_invbw", topology.remoteCost);
  appendMembers(root, topology.unknown);
  return objectText(root, "") + "\n";
}

std::string writeTacclPlan(const sketch::Model& model, const sketch::Plan& plan) {
  std::string text =
      "{\"format\": \"coppice-plan\", \"version\": 1, \"collective\": " + jsonQuoted(toString(plan.collective)) +
      ", \"makespan\": " + jsonQuoted(plan.makespan.toString()) + ", \"bound\": " + jsonQuoted(plan.bound.toString()) +
      ",\n \"messages\": [\n";
  for (std::size_t i = 0; i < plan.messages.size(); ++i) {
    const sketch::Message& message = plan.messages[i];
    const sketch::Link& link = model.links[message.link];
    text += "  {\"from\": " + std::to_string(link.from) + ", \"to\": " + std::to_string(link.to) +
            ", \"lane\": " + std::to_string(link.lane) + ", \"chunks\": " + listText(message.chunks) +
            ", \"start\": " + jsonQuoted(message.start.toString()) +
            ", \"end\": " + jsonQuoted(message.end.toString()) + (message.reduces ? ", \"reduces\": true}" : "}") +
            (i + 1 < plan.messages.size() ? ",\n" : "\n");
  }
  return text + "]}\n";
}

}  // namespace coppice::io
