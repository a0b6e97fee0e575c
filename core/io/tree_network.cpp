// SPDX-License-Identifier: Apache-2.0
#include "io/tree_network.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/limits.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxNames = 100000;

Error badList(std::string_view text, const std::string& why) {
  return Error{ErrorCode::badInput, "host list " + inQuotes(text) + ": " + why, "write for example node[0-3,7]"};
}

/// The items of a list at commas outside brackets.
std::vector<std::string_view> listItems(std::string_view text) {
  std::vector<std::string_view> items;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (i > start) {
        items.push_back(text.substr(start, i - start));
      }
      start = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return items;
}

/// The numbers of "0-3,07", with their leading zeros. An error is what is wrong.
std::optional<std::string> expandRanges(std::string_view text, std::vector<std::string>& out) {
  for (const std::string_view item : listItems(text)) {
    const std::size_t dash = item.find('-');
    const std::string_view from = item.substr(0, dash);
    const std::string_view to = dash == std::string_view::npos ? from : item.substr(dash + 1);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    const auto a = std::from_chars(from.data(), from.data() + from.size(), low);
    const auto b = std::from_chars(to.data(), to.data() + to.size(), high);
    if (a.ec != std::errc{} || a.ptr != from.data() + from.size() || b.ec != std::errc{} ||
        b.ptr != to.data() + to.size() || low > high) {
      return inQuotes(item) + " is not a range of numbers";
    }
    if (high - low >= kMaxNames) {
      return inQuotes(item) + " is too long a range";
    }
    for (std::uint64_t i = low; i <= high; ++i) {
      std::string number = std::to_string(i);
      if (number.size() < from.size()) {
        number.insert(0, from.size() - number.size(), '0');
      }
      out.push_back(std::move(number));
    }
  }
  return std::nullopt;
}

/// A tree of switches while it is read.
class TreeBuilder {
public:
  TreeBuilder(std::string fileName, std::string source) : m_fileName(std::move(fileName)) {
    m_result.network.source = std::move(source);
    m_result.network.name = m_result.network.source + " topology";
  }

  [[noreturn]] void refuse(int line, std::string message, std::string fix, ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, line, line > 0 ? 1 : 0, {}}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_result.findings.push_back(
        {severity, ErrorCode::badInput, std::move(text), std::move(fix), Place{m_fileName, 0, 0, {}}});
  }

  std::vector<std::string> names(std::string_view text, int line) const {
    auto names = hostNames(text);
    if (!names) {
      refuse(line, names.error().message, names.error().fix, names.error().code);
    }
    return *std::move(names);
  }

  int switchOf(const std::string& name, int line) {
    const auto [entry, isNew] = m_switches.try_emplace(name, static_cast<int>(m_result.network.switches.size()));
    if (isNew) {
      if (m_switches.size() > kMaxNames) {
        refuse(line, "more than " + std::to_string(kMaxNames) + " switches", "give a smaller file", ErrorCode::limit);
      }
      m_result.network.switches.push_back({name, false});
      m_parents.emplace_back();
    }
    return entry->second;
  }

  /// A switch with an entry of its own.
  int define(const std::string& name, int line) {
    const int at = switchOf(name, line);
    m_defined.insert(at);
    return at;
  }

  void addNode(int switchIndex, const std::string& name, int line) {
    const auto [entry, isNew] = m_hosts.try_emplace(name, static_cast<int>(m_result.network.hosts.size()));
    if (isNew) {
      if (m_hosts.size() > kMaxNames) {
        refuse(line, "more than " + std::to_string(kMaxNames) + " hosts", "give a smaller file", ErrorCode::limit);
      }
      m_result.network.hosts.push_back({name});
    }
    if (m_ports.insert({entry->second, switchIndex}).second) {
      m_result.network.ports.push_back({entry->second, {}, 1, switchIndex, {}});
    }
  }

  void addChild(int parent, int child, int line) {
    if (parent == child) {
      refuse(line,
             "a switch below itself: " + inQuotes(m_result.network.switches[static_cast<std::size_t>(child)].name),
             "remove it from its own list");
    }
    m_childLines.try_emplace(child, line);
    if (m_parents[static_cast<std::size_t>(child)].insert(parent).second) {
      m_result.network.trunks.push_back({child, parent, {}, 1});
    }
  }

  ReadNetwork finish() {
    if (m_result.network.hosts.empty()) {
      refuse(0, "the file names no nodes", "give the file that lists the nodes of the switches (Nodes=...)");
    }
    requireNoCycle();
    tellUndefined();
    joinRoots();
    return std::move(m_result);
  }

private:
  void requireNoCycle() const {
    std::vector<int> open(m_parents.size(), 0);  // children that were not visited yet
    std::vector<int> work;
    for (const auto& parents : m_parents) {
      for (const int parent : parents) {
        ++open[static_cast<std::size_t>(parent)];
      }
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) {
        work.push_back(static_cast<int>(i));
      }
    }
    std::size_t visited = 0;
    while (!work.empty()) {
      const auto at = static_cast<std::size_t>(work.back());
      work.pop_back();
      ++visited;
      for (const int parent : m_parents[at]) {
        if (--open[static_cast<std::size_t>(parent)] == 0) {
          work.push_back(parent);
        }
      }
    }
    if (visited < m_parents.size()) {
      refuse(0, "the switches form a cycle", "each switch is above its children only");
    }
  }

  /// A file that was cut names children whose entries, and with them their hosts, are missing.
  void tellUndefined() {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> names;
    int line = 0;
    for (const auto& [child, place] : m_childLines) {
      if (!m_defined.contains(child)) {
        names.push_back(m_result.network.switches[static_cast<std::size_t>(child)].name);
        line = names.size() == 1 ? place : line;
      }
    }
    if (names.empty()) {
      return;
    }
    std::string list = counted(static_cast<std::int64_t>(names.size()), "child switch", "child switches") +
                       (names.size() == 1 ? " has" : " have") + " no entry: ";
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
      list += (i == 0 ? "" : ", ") + inQuotes(names[i]);
    }
    list += names.size() > kShown ? " ..." : "";
    m_result.findings.push_back({Severity::warning, ErrorCode::badInput, list + "; hosts below are missing",
                                 "add the entries, or see whether the file was cut",
                                 Place{m_fileName, line, line > 0 ? 1 : 0, {}}});
  }

  /// Several trees without a common switch: hosts that cannot reach each other are no fabric.
  void joinRoots() {
    std::vector<int> roots;
    for (std::size_t i = 0; i < m_parents.size(); ++i) {
      if (m_parents[i].empty()) {
        roots.push_back(static_cast<int>(i));
      }
    }
    if (roots.size() > 1) {
      const int top = switchOf(m_switches.contains("network") ? "network above the trees" : "network", 0);
      for (const int root : roots) {
        addChild(top, root, 0);
      }
      tell(Severity::warning,
           "nothing in the file joins " + counted(static_cast<std::int64_t>(roots.size()), "switch", "switches") +
               " at the top; one network above them is assumed",
           "add the switch that joins them");
    }
  }

  std::string m_fileName;
  std::map<std::string, int> m_switches;
  std::map<std::string, int> m_hosts;
  std::set<std::pair<int, int>> m_ports;
  std::vector<std::set<int>> m_parents;
  std::set<int> m_defined;
  std::map<int, int> m_childLines;  // where each switch is first named as a child
  ReadNetwork m_result;
};

constexpr const char* kUnreadFix =
    "draw the links in the window or write a table of them, or give the output of ibnetdiscover";

ReadNetwork readConf(std::string_view text, const std::string& fileName) {
  TreeBuilder tree(fileName, "Slurm");
  int number = 0;
  bool hasSpeeds = false;
  bool hasBlocks = false;
  std::string joined;  // lines that end in a backslash go on
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
      line.remove_suffix(1);
    }
    if (line.ends_with("\\")) {
      joined += line.substr(0, line.size() - 1);
      continue;
    }
    joined += line;
    std::map<std::string, std::string> values;
    std::string_view rest = joined;
    while (!rest.empty()) {
      const std::size_t start = rest.find_first_not_of(" \t");
      if (start == std::string_view::npos) {
        break;
      }
      rest.remove_prefix(start);
      const std::size_t stop = std::min(rest.find_first_of(" \t"), rest.size());
      const std::string_view word = rest.substr(0, stop);
      rest.remove_prefix(stop);
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        tree.refuse(number, "a word without \"=\": " + inQuotes(word), "write SwitchName=s0 Nodes=node[0-3]");
      }
      values[lowered(word.substr(0, equals))] = std::string(word.substr(equals + 1));
    }
    joined.clear();
    if (values.empty()) {
      continue;
    }
    hasSpeeds = hasSpeeds || values.contains("linkspeed");
    const bool isSwitch = values.contains("switchname");
    const bool isBlock = values.contains("blockname");
    if (values.contains("ringname")) {
      tree.refuse(number, "Slurm's ring topology is not read, only trees and blocks", kUnreadFix);
    }
    if (!isSwitch && !isBlock) {
      if (!values.contains("blocksizes")) {
        tree.refuse(number, "a line without SwitchName and BlockName", "write SwitchName=s0 Nodes=node[0-3]");
      }
      continue;
    }
    hasBlocks = hasBlocks || isBlock;
    for (const std::string& name : tree.names(values[isSwitch ? "switchname" : "blockname"], number)) {
      const int at = tree.define(name, number);
      for (const std::string& node : tree.names(values["nodes"], number)) {
        tree.addNode(at, node, number);
      }
      for (const std::string& child : tree.names(values["switches"], number)) {
        tree.addChild(at, tree.switchOf(child, number), number);
      }
    }
  }
  if (hasSpeeds) {
    tree.tell(Severity::note, "LinkSpeed has arbitrary units in Slurm and was ignored",
              "give the bandwidths of NICs and uplinks");
  }
  if (hasBlocks) {
    tree.tell(Severity::note, "a block counts as a switch between its nodes");
  }
  return tree.finish();
}

int lineOf(const YAML::Node& node) {
  return node.Mark().line + 1;
}

std::string scalar(const TreeBuilder& tree, const YAML::Node& node, const char* what) {
  if (!node || !node.IsScalar()) {
    tree.refuse(node ? lineOf(node) : 0, std::string(what) + " is missing or not a text", "write it as a name");
  }
  return node.Scalar();
}

void requireMap(const TreeBuilder& tree, const YAML::Node& node, const std::string& what, const std::string& fix) {
  if (!node.IsMap()) {
    tree.refuse(lineOf(node), what + " must be a mapping", fix);
  }
}

/// The names of a host list, or of a list of them.
std::vector<std::string> namesIn(const TreeBuilder& tree, const YAML::Node& node) {
  if (!node || node.IsNull()) {
    return {};
  }
  if (node.IsScalar()) {
    return tree.names(node.Scalar(), lineOf(node));
  }
  std::vector<std::string> all;
  if (!node.IsSequence()) {
    tree.refuse(lineOf(node), "a list of names is expected", "write for example [node0, node1] or node[0-1]");
  }
  for (const YAML::Node& item : node) {
    for (std::string& name : tree.names(scalar(tree, item, "a name"), lineOf(node))) {
      all.push_back(std::move(name));
    }
    if (all.size() > kMaxNames) {
      tree.refuse(lineOf(node), "more than " + std::to_string(kMaxNames) + " names", "give a smaller file",
                  ErrorCode::limit);
    }
  }
  return all;
}

constexpr const char* kTreeForm = "write tree: switches: - switch: s0 ...";
constexpr const char* kBlockForm = "write block: blocks: - block: b0, nodes: ...";

/// What "switches" of a tree or "blocks" of a block has.
YAML::Node listIn(const TreeBuilder& tree, const YAML::Node& topology, const std::string& kind, const std::string& key,
                  const char* form) {
  requireMap(tree, topology, inQuotes(kind), form);
  const YAML::Node list = topology[key];
  if (!list || !list.IsSequence()) {
    tree.refuse(lineOf(list ? list : topology), kind + " has no list of " + key, form);
  }
  return list;
}

void readSwitchList(TreeBuilder& tree, const YAML::Node& list) {
  for (const YAML::Node& entry : list) {
    requireMap(tree, entry, "an entry of switches", "write - switch: s0, then children or nodes");
    for (const std::string& name : tree.names(scalar(tree, entry["switch"], "switch"), lineOf(entry))) {
      const int at = tree.define(name, lineOf(entry));
      for (const std::string& child : namesIn(tree, entry["children"])) {
        tree.addChild(at, tree.switchOf(child, lineOf(entry)), lineOf(entry));
      }
      for (const std::string& node : namesIn(tree, entry["nodes"])) {
        tree.addNode(at, node, lineOf(entry));
      }
    }
  }
}

/// The file has topologies, but neither a tree nor blocks.
[[noreturn]] void refuseKinds(const TreeBuilder& tree, const std::vector<YAML::Node>& topologies) {
  for (const YAML::Node& entry : topologies) {
    for (const char* kind : {"torus3d", "ring"}) {
      if (entry.IsMap() && entry[kind]) {
        tree.refuse(lineOf(entry), std::string("Slurm's ") + kind + " topology is not read, only trees and blocks",
                    kUnreadFix);
      }
    }
  }
  tree.refuse(0, "the file has neither a tree nor blocks", "a flat topology says nothing of the network");
}

/// Slurm takes a list of topologies, or one without a list.
std::vector<YAML::Node> topologiesOf(const YAML::Node& root) {
  return root.IsSequence() ? std::vector<YAML::Node>(root.begin(), root.end()) : std::vector<YAML::Node>{root};
}

ReadNetwork readSlurmYaml(const YAML::Node& root, const std::string& fileName) {
  TreeBuilder tree(fileName, "Slurm");
  const std::vector<YAML::Node> topologies = topologiesOf(root);
  YAML::Node chosen;
  std::string name;
  for (const YAML::Node& entry : topologies) {
    const bool isDefault = entry.IsMap() && entry["cluster_default"] && entry["cluster_default"].IsScalar() &&
                           equalWords(entry["cluster_default"].Scalar(), "true");
    const bool hasTree = entry.IsMap() && (entry["tree"] || entry["block"]);
    if (hasTree && (!chosen.IsDefined() || chosen.IsNull() || isDefault)) {
      chosen.reset(entry);
      name = entry["topology"] && entry["topology"].IsScalar() ? entry["topology"].Scalar() : "";
    }
  }
  if (!chosen.IsDefined() || chosen.IsNull()) {
    refuseKinds(tree, topologies);
  }
  if (topologies.size() > 1) {
    tree.tell(Severity::note, "of " + counted(static_cast<std::int64_t>(topologies.size()), "topology", "topologies") +
                                  " the file has, " + inQuotes(name) + " is read");
  }
  if (chosen["tree"]) {
    readSwitchList(tree, listIn(tree, chosen["tree"], "tree", "switches", kTreeForm));
  } else {
    const YAML::Node blocks = listIn(tree, chosen["block"], "block", "blocks", kBlockForm);
    for (const YAML::Node& entry : blocks) {
      requireMap(tree, entry, "an entry of blocks", "write - block: b0, then nodes");
      const int at = tree.define(scalar(tree, entry["block"], "block"), lineOf(entry));
      for (const std::string& node : namesIn(tree, entry["nodes"])) {
        tree.addNode(at, node, lineOf(entry));
      }
    }
    tree.tell(Severity::note, "a block counts as a switch between its nodes");
  }
  return tree.finish();
}

ReadNetwork readTopographModel(const YAML::Node& root, const std::string& fileName) {
  TreeBuilder tree(fileName, "Topograph");
  const YAML::Node switches = root["switches"];
  if (switches && switches.IsMap()) {
    for (const auto& entry : switches) {
      const int at = tree.define(scalar(tree, entry.first, "switch"), lineOf(entry.first));
      if (entry.second.IsMap()) {
        for (const std::string& child : namesIn(tree, entry.second["switches"])) {
          tree.addChild(at, tree.switchOf(child, lineOf(entry.first)), lineOf(entry.first));
        }
        for (const std::string& node : namesIn(tree, entry.second["nodes"])) {
          tree.addNode(at, node, lineOf(entry.first));
        }
      }
    }
  }
  for (const char* key : {"blocks", "capacity_blocks"}) {
    for (const YAML::Node& block : root[key]) {
      if (!block.IsMap()) {
        tree.refuse(lineOf(block), "a block is not a map", "write - switch: leaf, nodes: [...]");
      }
      const YAML::Node of = block["switch"] ? block["switch"] : block["name"];
      const int at = tree.define(scalar(tree, of, "switch"), lineOf(block));
      for (const std::string& node : namesIn(tree, block["nodes"])) {
        tree.addNode(at, node, lineOf(block));
      }
    }
  }
  return tree.finish();
}

ReadNetwork readTopographInstances(std::string_view text, const std::string& fileName) {
  const JsonValue root = orThrow(parseExactJson(text, fileName));
  TreeBuilder tree(fileName, "Topograph");
  const TextPlaces places(text, fileName);
  const JsonValue* list = root.find("instances");
  const auto lineAt = [&](const JsonValue& value) { return places.at(value.offset).line; };
  if (list == nullptr || list->kind != JsonValue::Kind::array) {
    tree.refuse(1, "\"instances\" is not a list", "give the topology graph that Topograph writes");
  }
  for (const JsonValue& instance : list->items) {
    const JsonValue* id = instance.find("id");
    const JsonValue* layers = instance.find("network_layers");
    if (id == nullptr || id->kind != JsonValue::Kind::string || layers == nullptr ||
        layers->kind != JsonValue::Kind::array || layers->items.empty()) {
      tree.refuse(lineAt(instance), "an instance needs an id and network_layers",
                  "list its switches, the closest first");
    }
    int below = -1;
    for (const JsonValue& layer : layers->items) {
      if (layer.kind != JsonValue::Kind::string || layer.text.empty()) {
        tree.refuse(lineAt(layer), "a network layer is not a name", "write the switch's name");
      }
      const int at = tree.define(layer.text, lineAt(layer));
      if (below < 0) {
        tree.addNode(at, id->text, lineAt(instance));
      } else {
        tree.addChild(at, below, lineAt(layer));
      }
      below = at;
    }
  }
  return tree.finish();
}

/// The first line of text that is neither blank nor a comment, without its indentation.
std::string_view firstLine(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r\xEF\xBB\xBF"), line.size()));
    if (!line.empty() && line.front() != '#' && !line.starts_with("---")) {
      return line;
    }
  }
  return {};
}

bool hasTopKey(std::string_view text, std::string_view key) {
  return text.starts_with(std::string(key) + ":") || text.find("\n" + std::string(key) + ":") != std::string_view::npos;
}

}  // namespace

bool looksLikeTopologyConf(std::string_view text) {
  const std::string_view line = firstLine(text);
  for (const std::string_view word : {"SwitchName=", "BlockName=", "BlockSizes=", "RingName="}) {
    if (line.size() > word.size() && equalWords(line.substr(0, word.size()), word)) {
      return true;
    }
  }
  return false;
}

bool looksLikeTopologyYaml(std::string_view text) {
  const auto has = [&](std::string_view key) { return hasTopKey(text, key); };
  if (has("topology") && (has("tree") || has("block") || has("torus3d") || has("ring") || has("flat"))) {
    return true;
  }
  return firstLine(text).starts_with("- topology:") ||
         (firstLine(text).starts_with("-") && text.find("cluster_default:") != std::string_view::npos);
}

bool looksLikeTopograph(std::string_view text) {
  if (firstLine(text).starts_with("{")) {
    return text.find("\"instances\"") != std::string_view::npos &&
           text.find("\"network_layers\"") != std::string_view::npos;
  }
  return hasTopKey(text, "switches") && (hasTopKey(text, "blocks") || hasTopKey(text, "capacity_blocks") ||
                                         text.find("nodes:") != std::string_view::npos);
}

Result<std::vector<std::string>> hostNames(std::string_view text) {
  std::vector<std::string> all;
  for (const std::string_view item : listItems(text)) {
    std::vector<std::string> some{""};
    std::string_view rest = item;
    while (!rest.empty()) {
      const std::size_t open = std::min(rest.find('['), rest.size());
      const std::string_view plain = rest.substr(0, open);
      if (plain.find(']') != std::string_view::npos) {
        return badList(text, "a bracket closes that was not opened");
      }
      for (std::string& name : some) {
        name += plain;
      }
      rest.remove_prefix(open);
      if (rest.empty()) {
        break;
      }
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) {
        return badList(text, "a bracket is not closed");
      }
      std::vector<std::string> numbers;
      if (const auto fault = expandRanges(rest.substr(1, close - 1), numbers)) {
        return badList(text, *fault);
      }
      if (numbers.empty() || some.size() * numbers.size() > kMaxNames) {
        return numbers.empty()
                   ? badList(text, "empty brackets")
                   : Error{ErrorCode::limit, "host list " + inQuotes(text) + " has too many names", "name fewer hosts"};
      }
      std::vector<std::string> longer;
      for (const std::string& name : some) {
        for (const std::string& number : numbers) {
          longer.push_back(name + number);
        }
      }
      some = std::move(longer);
      rest.remove_prefix(close + 1);
    }
    if (all.size() + some.size() > kMaxNames) {
      return Error{ErrorCode::limit, "host list " + inQuotes(text) + " has too many names", "name fewer hosts"};
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Result<ReadNetwork> readTreeNetwork(std::string_view text, const std::string& fileName) {
  const EntryErrors errors{.overflowFix = "use smaller numbers",
                           .memory = "the file does not fit into memory",
                           .memoryFix = "give a smaller file",
                           .where = Place{fileName, 0, 0, {}}};
  if (text.size() > kMaxNetworkBytes) {
    return Error{ErrorCode::limit, "the file is larger than 64 MiB", "give a smaller file", errors.where};
  }
  if (const auto byte = firstIllFormedByte(text)) {
    return Error{ErrorCode::badInput, "the file is not UTF-8 here", "convert it to UTF-8",
                 TextPlaces(text, fileName).at(*byte)};
  }
  return guarded(
      [&]() -> Result<ReadNetwork> {
        if (firstLine(text).starts_with("{")) {
          return readTopographInstances(text, fileName);
        }
        if (looksLikeTopologyConf(text) || !(looksLikeTopologyYaml(text) || looksLikeTopograph(text))) {
          return readConf(text, fileName);
        }
        try {
          const YAML::Node root = YAML::Load(std::string(text));
          return looksLikeTopologyYaml(text) || root.IsSequence() ? readSlurmYaml(root, fileName)
                                                                  : readTopographModel(root, fileName);
        } catch (const YAML::Exception& exception) {
          const int line = exception.mark.is_null() ? 0 : exception.mark.line + 1;
          const bool isYaml = dynamic_cast<const YAML::ParserException*>(&exception) == nullptr;
          return Error{ErrorCode::badInput,
                       (isYaml ? "a value is not of the kind that is expected: " : "not valid YAML: ") + exception.msg,
                       "correct the file",
                       Place{fileName, line, exception.mark.is_null() ? 0 : exception.mark.column + 1, {}}};
        }
      },
      errors);
}

}  // namespace coppice::io
