// SPDX-License-Identifier: Apache-2.0
#include "io/tree_xml.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <ostream>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/xml_text.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::io {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;
using schedule::Direction;
using schedule::Forest;

[[noreturn]] void refuseTree(std::string message, std::string fix, const ElementRef& element = {},
                             ErrorCode code = ErrorCode::badInput) {
  throw Failure{{code, std::move(message), std::move(fix), {.element = element}}};
}

bool isReducing(Collective collective) {
  return collective == Collective::reduceScatter || collective == Collective::reduce;
}

std::string_view trimmedText(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Splits at commas outside brackets; quotes inside brackets hide what they hold, as in the text of a Python tuple.
std::vector<std::string_view> splitRoute(std::string_view text) {
  std::vector<std::string_view> labels;
  std::size_t start = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quote != 0) {
      if (letter == '\\') {
        ++i;
      } else if (letter == quote) {
        quote = 0;
      }
    } else if (letter == '(' || letter == '[') {
      ++depth;
    } else if (letter == ')' || letter == ']') {
      depth = std::max(0, depth - 1);
    } else if (depth > 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else if (letter == ',' && depth == 0) {
      labels.push_back(trimmedText(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  labels.push_back(trimmedText(text.substr(start)));
  return labels;
}

/// (server, 'KIND', index), or a plain whole number as server 0.
std::optional<std::pair<std::int64_t, std::int64_t>> rankKey(std::string_view label) {
  if (const auto number = numberIn<std::int64_t>(label)) {
    return std::pair{std::int64_t{0}, *number};
  }
  if (label.size() < 2 || label.front() != '(' || label.back() != ')') {
    return std::nullopt;
  }
  const auto parts = splitRoute(label.substr(1, label.size() - 2));
  if (parts.size() != 3) {
    return std::nullopt;
  }
  const auto server = numberIn<std::int64_t>(parts[0]);
  const auto index = numberIn<std::int64_t>(parts[2]);
  return server && index ? std::optional(std::pair{*server, *index}) : std::nullopt;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

/// Runs `action` and turns what it throws into an Error.
template <typename Action>
auto guardedRead(const std::string& fileName, const Action& action) -> decltype(action()) {
  const auto placed = [&](Error error) {
    if (error.where.file.empty()) {
      error.where.file = fileName;
    }
    return error;
  };
  try {
    return action();
  } catch (const Failure& refusal) {
    return placed(refusal.error);
  } catch (const OverflowError& error) {
    return placed({ErrorCode::overflow, std::string("the trees cannot be counted exactly: ") + error.what()});
  } catch (const std::bad_alloc&) {
    return placed({ErrorCode::limit, "not enough memory for the trees"});
  } catch (const CancelledError&) {
    return placed({ErrorCode::cancelled, "cancelled"});
  } catch (const std::exception& error) {
    return placed({ErrorCode::badInput, std::string("cannot be read: ") + error.what()});
  }
}

// ---------------------------------------------------------------------------------------------------------- writing

/// The trees of `reducing` turned round are those of `forest`, in the same order; their edges may come in any.
bool areReversed(const Forest& reducing, const Forest& forest, const Progress& progress) {
  schedule::TreeReader reader(reducing);
  schedule::TreeReader other(forest);
  if (reader.size() != other.size()) {
    return false;
  }
  std::vector<const schedule::TreeEdge*> edgeInto(static_cast<std::size_t>(forest.gpuCount));
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    throwIfCancelled(progress);
    const auto a = reader.read(tree);
    const auto b = other.read(tree);
    if (a.root != b.root || a.multiplicity != b.multiplicity) {
      return false;
    }
    std::fill(edgeInto.begin(), edgeInto.end(), nullptr);
    for (const schedule::TreeEdge& edge : b.edges) {
      edgeInto[edge.child] = &edge;
    }
    for (const schedule::TreeEdge& edge : a.edges) {
      const schedule::TreeEdge* const same = edgeInto[edge.child];
      if (same == nullptr || same->parent != edge.parent || same->pruned != edge.pruned) {
        return false;
      }
      const auto pathA = reader.path(edge);
      const auto pathB = other.path(*same);
      if (!std::equal(pathA.rbegin(), pathA.rend(), pathB.begin(), pathB.end())) {
        return false;
      }
    }
  }
  return true;
}

void requireSound(const Forest& forest, const fabric::Fabric& fabric) {
  bool sound = forest.gpuCount == fabric.gpuCount();
  sound = sound && !schedule::rotationFault(forest, fabric.nodeCount());
  for (const schedule::Tree& tree : forest.trees) {
    sound =
        sound && tree.root >= 0 && tree.root < forest.gpuCount && tree.firstEdge >= 0 &&
        static_cast<std::size_t>(tree.firstEdge) <= forest.edges.size() &&
        forest.edges.size() - static_cast<std::size_t>(tree.firstEdge) >= static_cast<std::size_t>(forest.gpuCount - 1);
  }
  for (const schedule::TreeEdge& edge : forest.edges) {
    sound = sound && edge.parent >= 0 && edge.parent < forest.gpuCount && edge.child >= 0 &&
            edge.child < forest.gpuCount && edge.path >= 0 && edge.path < forest.paths.size();
  }
  for (schedule::PathId id = 0; sound && id < forest.paths.size(); ++id) {
    for (const NodeIndex node : forest.paths[id]) {
      sound = sound && node >= 0 && node < fabric.nodeCount();
    }
  }
  if (!sound) {
    refuseTree("the schedule is not one of this fabric", "verify it first", {}, ErrorCode::internal);
  }
}

/// Text of each node id, escaped. Refuses ids that a reader would split or trim.
std::vector<std::string> labelTexts(const fabric::Fabric& fabric) {
  std::vector<std::string> texts;
  for (const fabric::Node& node : fabric.nodes()) {
    const std::string route = node.id + ",x";
    const auto parts = splitRoute(route);
    bool isPlain = parts.size() == 2 && parts[0] == node.id && !node.id.empty();
    for (std::size_t i = 0; isPlain && i < node.id.size(); ++i) {
      isPlain = !isControlCharacter(node.id, i);
    }
    if (!isPlain) {
      refuseTree("the id " + inQuotes(node.id) +
                     " cannot be part of a path, where commas outside parentheses separate the nodes",
                 "rename the node", {RefKind::node, node.id});
    }
    texts.push_back(escaped(node.id));
  }
  return texts;
}

void writeTrees(std::ostream& out, const Forest& forest, std::int64_t chunksPerNode, Collective collective,
                const fabric::Fabric& fabric, const Progress& progress) {
  constexpr std::size_t kFlushAt = std::size_t{1} << 16;
  const std::vector<std::string> labels = labelTexts(fabric);
  const auto gpu = [&](fabric::Rank rank) -> const std::string& { return labels[fabric.gpus()[rank]]; };
  std::string text = "<Algo nchunkspernode=\"" + std::to_string(chunksPerNode) + "\" coll=\"" +
                     std::string(toString(collective)) + "\">\n";
  std::vector<int> depth(forest.gpuCount);
  std::vector<std::int64_t> nextIndex(forest.gpuCount, 0);
  schedule::TreeReader reader(forest);
  for (std::int64_t number = 0; number < reader.size(); ++number) {
    throwIfCancelled(progress);
    if ((number & 0xff) == 0) {
      progress.report("writing", static_cast<double>(number) / static_cast<double>(reader.size()));
    }
    const schedule::TreeReader::View tree = reader.read(number);
    int height = 0;
    depth[tree.root] = 0;
    for (const schedule::TreeEdge& edge : tree.edges) {
      depth[edge.child] = depth[edge.parent] + 1;
      height = std::max(height, depth[edge.child]);
    }
    text += "  <tree root=\"" + gpu(tree.root) + "\" index=\"" + std::to_string(nextIndex[tree.root]++) +
            "\" nchunks=\"" + std::to_string(tree.multiplicity) + "\" height=\"" + std::to_string(height) + "\">\n";
    for (const schedule::TreeEdge& edge : tree.edges) {
      text += "    <send src=\"" + gpu(edge.parent) + "\" dst=\"" + gpu(edge.child) + "\" path=\"";
      bool isFirst = true;
      for (const NodeIndex node : reader.path(edge)) {
        text += (isFirst ? "" : ",") + labels[node];
        isFirst = false;
      }
      text += edge.pruned == 0 ? "\"/>\n" : "\" pruned=\"" + std::to_string(edge.pruned) + "\"/>\n";
      if (text.size() > kFlushAt) {
        out << text;
        text.clear();
      }
    }
    text += "  </tree>\n";
  }
  out << text << "</Algo>\n" << std::flush;
}

// ---------------------------------------------------------------------------------------------------------- reading

class TreeReader {
public:
  TreeReader(std::string_view text, const std::string& fileName)
      : m_xmlText(text, fileName,
                  {kMaxTreeXmlBytes, "check that it is a tree file", "quote attributes and close every element"}) {}

  TreeXml read() {
    const pugi::xml_node algo = m_xmlText.parse();
    if (std::strcmp(algo.name(), "Algo") != 0) {
      m_xmlText.refuse(algo, "the root element is <" + std::string(algo.name()).substr(0, 32) + ">, not <Algo>",
                       std::strcmp(algo.name(), "algo") == 0
                           ? "this looks like an MSCCL program, which contains no trees"
                           : "check that it is a tree file");
    }
    m_xml.chunksPerNode = integer(algo, "nchunkspernode", 1);
    if (const pugi::xml_attribute coll = algo.attribute("coll")) {
      m_xml.collective = parseForestCollective(coll.value());
      if (!m_xml.collective) {
        m_xmlText.refuse(algo, inQuotes(coll.value()) + " is not a collective", "leave coll out or name one");
      }
    }
    for (const pugi::xml_node tree : algo.children()) {
      if (tree.type() != pugi::node_element) {
        continue;
      }
      if (std::strcmp(tree.name(), "tree") != 0) {
        passOver(tree);
        continue;
      }
      readTree(tree);
    }
    if (m_xml.trees.empty()) {
      m_xmlText.refuse(algo, "contains no trees", "check that the file is complete");
    }
    std::stable_sort(m_xml.trees.begin(), m_xml.trees.end(),
                     [](const TreeXml::Tree& a, const TreeXml::Tree& b) { return a.index < b.index; });
    checkShares();
    rankGpus();
    countHops();
    infer();
    return std::move(m_xml);
  }

private:
  void passOver(const pugi::xml_node& node) {
    if (m_xml.findings.size() < 16) {
      m_xml.findings.push_back({Severity::warning, ErrorCode::badInput,
                                "the element " + inQuotes(node.name()) + " is not part of the format and is ignored",
                                "", m_xmlText.placeOf(node)});
    }
  }

  std::string_view required(const pugi::xml_node& node, const char* name) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) {
      m_xmlText.refuse(node, "<" + std::string(node.name()) + "> has no attribute \"" + name + "\"",
                       "add it, or write the file again");
    }
    return attribute.value();
  }

  std::int64_t integer(const pugi::xml_node& node, const char* name, std::int64_t min) {
    const std::string_view text = trimmedText(required(node, name));
    const auto value = numberIn<std::int64_t>(text);
    if (!value || *value < min) {
      m_xmlText.refuse(
          node, std::string(name) + " is " + inQuotes(text) + "; it must be a whole number from " + std::to_string(min),
          "write the file again");
    }
    return *value;
  }

  int label(const pugi::xml_node& node, std::string_view text) {
    if (text.empty()) {
      m_xmlText.refuse(node, "a node has no name", "write the file again");
    }
    const auto [found, isNew] = m_numberOf.try_emplace(std::string(text), static_cast<int>(m_xml.labels.size()));
    if (isNew) {
      if (m_xml.labels.size() >= kMaxTreeLabels) {
        m_xmlText.refuse(node, "names more than " + std::to_string(kMaxTreeLabels) + " nodes",
                         "check that it is a tree file", ErrorCode::limit);
      }
      m_xml.labels.emplace_back(text);
      m_isGpu.push_back(false);
    }
    return found->second;
  }

  int gpuLabel(const pugi::xml_node& node, const char* attribute) {
    const int number = label(node, trimmedText(required(node, attribute)));
    m_isGpu[number] = true;
    return number;
  }

  void readTree(const pugi::xml_node& element) {
    TreeXml::Tree tree;
    tree.root = gpuLabel(element, "root");
    tree.index = integer(element, "index", 0);
    tree.chunks = integer(element, "nchunks", 1);
    tree.firstSend = static_cast<std::int64_t>(m_xml.sends.size());
    for (const pugi::xml_node child : element.children()) {
      if (child.type() != pugi::node_element) {
        continue;
      }
      if (std::strcmp(child.name(), "send") != 0) {
        passOver(child);
        continue;
      }
      readSend(child);
    }
    tree.sendCount = static_cast<std::int64_t>(m_xml.sends.size()) - tree.firstSend;
    m_xml.trees.push_back(tree);
  }

  void readSend(const pugi::xml_node& element) {
    TreeXml::Send send;
    send.parent = gpuLabel(element, "src");
    send.child = gpuLabel(element, "dst");
    send.firstHop = static_cast<std::int64_t>(m_xml.routes.size());
    for (const std::string_view part : splitRoute(required(element, "path"))) {
      m_xml.routes.push_back(label(element, part));
    }
    send.length = static_cast<std::int32_t>(static_cast<std::int64_t>(m_xml.routes.size()) - send.firstHop);
    if (send.length < 2 || m_xml.routes[send.firstHop] != send.parent || m_xml.routes.back() != send.child) {
      m_xmlText.refuse(element, "the path does not lead from src to dst", "a path begins with src and ends with dst");
    }
    if (element.attribute("pruned")) {
      const std::int64_t pruned = integer(element, "pruned", 0);
      if (pruned + 1 >= send.length) {
        m_xmlText.refuse(element,
                         "prunes " + std::to_string(pruned) + " of " + std::to_string(send.length - 1) + " hops",
                         "pruned hops end at a switch inside the path");
      }
      send.pruned = static_cast<std::int32_t>(pruned);
    }
    m_xml.sends.push_back(send);
  }

  void checkShares() {
    std::vector<std::int64_t> chunks(m_xml.labels.size(), 0);
    for (const TreeXml::Tree& tree : m_xml.trees) {
      chunks[tree.root] = checkedAdd(chunks[tree.root], tree.chunks);
    }
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (chunks[i] % m_xml.chunksPerNode != 0) {
        refuseTree("nchunks of the trees add up to " + std::to_string(chunks[i]) + ", nchunkspernode is " +
                       std::to_string(m_xml.chunksPerNode),
                   "check that the file is complete", {RefKind::root, m_xml.labels[i]});
      }
    }
  }

  void rankGpus() {
    std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, int>> keyed;
    bool hasKeys = true;
    for (std::size_t i = 0; i < m_xml.labels.size(); ++i) {
      if (m_isGpu[i]) {
        const auto key = rankKey(m_xml.labels[i]);
        hasKeys = hasKeys && key.has_value();
        keyed.emplace_back(key.value_or(std::pair<std::int64_t, std::int64_t>{}), static_cast<int>(i));
      }
    }
    if (hasKeys) {
      std::sort(keyed.begin(), keyed.end());
    } else {
      m_xml.findings.push_back({Severity::note, ErrorCode::badInput,
                                "the labels do not state ranks; GPUs are ranked by first appearance",
                                "name them (server, 'GPU', index) or as the fabric does"});
    }
    for (const auto& [key, number] : keyed) {
      m_xml.gpus.push_back(number);
    }
  }

  void countHops() {
    std::unordered_map<std::uint64_t, std::int64_t> loads;
    for (const TreeXml::Tree& tree : m_xml.trees) {
      for (std::int64_t s = 0; s < tree.sendCount; ++s) {
        const TreeXml::Send& send = m_xml.sends[tree.firstSend + s];
        for (std::int32_t hop = 0; hop + 1 < send.length; ++hop) {
          const auto from = static_cast<std::uint64_t>(m_xml.routes[send.firstHop + hop]);
          const auto to = static_cast<std::uint64_t>(m_xml.routes[send.firstHop + hop + 1]);
          std::int64_t& load = loads[from << 32 | to];
          load = checkedAdd(load, hop < send.pruned ? 0 : tree.chunks);
        }
      }
    }
    for (const auto& [ends, load] : loads) {
      m_xml.hops.push_back({static_cast<int>(ends >> 32), static_cast<int>(ends & 0xffffffffU), load});
    }
    std::sort(m_xml.hops.begin(), m_xml.hops.end(), [](const TreeXml::Hop& a, const TreeXml::Hop& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
  }

  void infer() {
    const bool reversed = m_xml.collective && isReducing(*m_xml.collective);
    const bool pruned =
        std::any_of(m_xml.sends.begin(), m_xml.sends.end(), [](const TreeXml::Send& send) { return send.pruned > 0; });
    m_xml.inferred.name = "from trees";
    for (const int gpu : m_xml.gpus) {
      m_xml.inferred.nodes.push_back({.id = m_xml.labels[gpu], .kind = "gpu"});
    }
    for (std::size_t i = 0; i < m_xml.labels.size(); ++i) {
      if (!m_isGpu[i]) {
        m_xml.inferred.nodes.push_back({.id = m_xml.labels[i],
                                        .kind = "switch",
                                        .multicast = pruned && !reversed,
                                        .aggregation = pruned && reversed});
      }
    }
    for (const TreeXml::Hop& hop : m_xml.hops) {
      if (hop.from != hop.to && hop.load > 0) {
        m_xml.inferred.links.push_back({.src = m_xml.labels[reversed ? hop.to : hop.from],
                                        .dst = m_xml.labels[reversed ? hop.from : hop.to],
                                        .bandwidth = std::to_string(hop.load),
                                        .duplex = false});
      }
    }
    m_xml.findings.push_back({Severity::note, ErrorCode::badInput,
                              "the file contains no bandwidths; without a fabric each link gets one GB/s for each tree "
                              "that crosses it",
                              "give the fabric to judge the trees by its bandwidths"});
  }

  XmlText m_xmlText;
  TreeXml m_xml;
  std::unordered_map<std::string, int> m_numberOf;
  std::vector<bool> m_isGpu;
};

// ---------------------------------------------------------------------------------------------------------- matching

class TreeMatcher {
public:
  TreeMatcher(const TreeXml& xml, const fabric::Fabric& fabric, Direction direction)
      : m_xml(xml), m_fabric(fabric), m_direction(direction), m_nodeOf(xml.labels.size(), -1) {}

  Forest match() {
    matchGpus();
    matchSwitches();
    Forest forest;
    forest.direction = m_direction;
    forest.gpuCount = m_fabric.gpuCount();
    forest.treesOfRoot.assign(forest.gpuCount, 0);
    std::vector<std::size_t> order(m_xml.trees.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rankOf(m_xml.trees[a].root) < rankOf(m_xml.trees[b].root);
    });
    for (const std::size_t index : order) {
      addTree(forest, m_xml.trees[index]);
    }
    setScale(forest);
    return forest;
  }

private:
  static constexpr std::size_t kMaxTrials = std::size_t{1} << 24;

  [[nodiscard]] fabric::Rank rankOf(int label) const { return m_fabric.nodes()[m_nodeOf[label]].rank; }
  [[nodiscard]] std::string name(int label) const { return inQuotes(m_xml.labels[label]); }

  void matchGpus() {
    if (m_xml.gpus.size() != static_cast<std::size_t>(m_fabric.gpuCount())) {
      refuseTree("the trees join " + std::to_string(m_xml.gpus.size()) + " GPUs, the fabric has " +
                     std::to_string(m_fabric.gpuCount()),
                 "give the fabric they were made for");
    }
    const bool byId = std::all_of(m_xml.gpus.begin(), m_xml.gpus.end(), [&](int gpu) {
      const auto node = m_fabric.find(m_xml.labels[gpu]);
      return node && m_fabric.nodes()[*node].kind == NodeKind::gpu;
    });
    for (std::size_t rank = 0; rank < m_xml.gpus.size(); ++rank) {
      const std::string& label = m_xml.labels[m_xml.gpus[rank]];
      if (!byId && !rankKey(label)) {
        refuseTree("the GPU " + inQuotes(label) + " is not in the fabric, and its label does not state a rank",
                   "name the fabric's GPUs as the file does, or label them (server, 'GPU', index)");
      }
      m_nodeOf[m_xml.gpus[rank]] = byId ? *m_fabric.find(label) : m_fabric.gpus()[rank];
    }
  }

  void matchSwitches() {
    for (std::size_t i = 0; i < m_nodeOf.size(); ++i) {
      if (m_nodeOf[i] < 0) {
        const auto node = m_fabric.find(m_xml.labels[i]);
        if (node && m_fabric.nodes()[*node].kind != NodeKind::gpu) {
          m_nodeOf[i] = *node;
        }
      }
    }
    for (const NodeIndex node : m_nodeOf) {
      if (node >= 0) {
        m_taken.insert_or_assign(node, true);
      }
    }
    // Every round settles the labels that only one free node fits, until all are settled or a round settles none.
    std::vector<std::vector<int>> hopsOf(m_nodeOf.size());
    for (std::size_t i = 0; i < m_xml.hops.size(); ++i) {
      hopsOf[m_xml.hops[i].from].push_back(static_cast<int>(i));
      hopsOf[m_xml.hops[i].to].push_back(static_cast<int>(i));
    }
    const auto open = static_cast<std::size_t>(std::count(m_nodeOf.begin(), m_nodeOf.end(), -1));
    if (open > kMaxTrials / static_cast<std::size_t>(m_fabric.nodeCount())) {
      refuseTree(std::to_string(open) +
                     " switches of the file are not in the fabric, too many to be identified by their links",
                 "name the fabric's switches as the file does", {}, ErrorCode::limit);
    }
    constexpr int kMaxRounds = 64;
    bool settled = true;
    for (int round = 0; settled && round < kMaxRounds; ++round) {
      settled = false;
      for (std::size_t i = 0; i < m_nodeOf.size(); ++i) {
        if (m_nodeOf[i] < 0) {
          const std::vector<NodeIndex> fitting = fittingNodes(static_cast<int>(i), hopsOf[i]);
          if (fitting.empty()) {
            refuseTree(
                "no switch of the fabric has the links that the routes through " + name(static_cast<int>(i)) + " need",
                "give the fabric the trees were made for, with the file's labels as ids");
          }
          if (fitting.size() == 1) {
            m_nodeOf[i] = fitting[0];
            m_taken.insert_or_assign(fitting[0], true);
            settled = true;
          }
        }
      }
    }
    for (std::size_t i = 0; i < m_nodeOf.size(); ++i) {
      if (m_nodeOf[i] < 0) {
        const std::vector<NodeIndex> fitting = fittingNodes(static_cast<int>(i), hopsOf[i]);
        refuseTree("several switches of the fabric fit " + name(static_cast<int>(i)) + ", among them " +
                       inQuotes(m_fabric.nodes()[fitting[0]].id) + " and " + inQuotes(m_fabric.nodes()[fitting[1]].id),
                   "name the fabric's switches as the file does");
      }
    }
  }

  /// Free nodes that have every link which the settled neighbours of the label ask for.
  std::vector<NodeIndex> fittingNodes(int label, const std::vector<int>& hops) const {
    std::vector<NodeIndex> fitting;
    for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
      if (m_fabric.nodes()[node].kind == NodeKind::gpu || m_taken.contains(node)) {
        continue;
      }
      const bool fits = std::all_of(hops.begin(), hops.end(), [&](int index) {
        const TreeXml::Hop& hop = m_xml.hops[index];
        const NodeIndex from = hop.from == label ? node : m_nodeOf[hop.from];
        const NodeIndex to = hop.to == label ? node : m_nodeOf[hop.to];
        return from < 0 || to < 0 || arcOf(from, to).has_value();
      });
      if (fits) {
        fitting.push_back(node);
      }
    }
    return fitting;
  }

  /// The arc that data takes between a node on the parent's side and one on the child's side.
  [[nodiscard]] std::optional<int> arcOf(NodeIndex from, NodeIndex to) const {
    return m_direction == Direction::out ? m_fabric.findArc(from, to) : m_fabric.findArc(to, from);
  }

  void addTree(Forest& forest, const TreeXml::Tree& tree) {
    const ElementRef element{RefKind::tree, m_xml.labels[tree.root], tree.index};
    const std::int64_t wanted = forest.gpuCount - 1;
    if (tree.sendCount != wanted) {
      refuseTree("has " + std::to_string(tree.sendCount) + " sends; a tree over " + std::to_string(forest.gpuCount) +
                     " GPUs has " + std::to_string(wanted),
                 "check that the file is complete", element);
    }
    const std::span sends(m_xml.sends.data() + tree.firstSend, static_cast<std::size_t>(tree.sendCount));
    forest.trees.push_back({rankOf(tree.root), tree.chunks, static_cast<std::int64_t>(forest.edges.size())});
    std::int64_t& ofRoot = forest.treesOfRoot[rankOf(tree.root)];
    ofRoot = checkedAdd(ofRoot, tree.chunks);

    // Breadth-first from the root; sends that hang on nothing follow, for the verifier to name.
    std::vector<std::vector<int>> sendsOf(forest.gpuCount);
    for (std::size_t i = 0; i < sends.size(); ++i) {
      sendsOf[rankOf(sends[i].parent)].push_back(static_cast<int>(i));
    }
    std::vector<bool> isDone(sends.size(), false);
    std::vector<fabric::Rank> queue{rankOf(tree.root)};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const int index : std::exchange(sendsOf[queue[head]], {})) {
        isDone[index] = true;
        addEdge(forest, sends[index]);
        queue.push_back(rankOf(sends[index].child));
      }
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      if (!isDone[i]) {
        addEdge(forest, sends[i]);
      }
    }
  }

  void addEdge(Forest& forest, const TreeXml::Send& send) {
    m_route.clear();
    for (std::int32_t hop = 0; hop < send.length; ++hop) {
      m_route.push_back(m_nodeOf[m_xml.routes[send.firstHop + hop]]);
    }
    if (m_direction == Direction::in) {
      std::reverse(m_route.begin(), m_route.end());
    }
    forest.edges.push_back({rankOf(send.parent), rankOf(send.child), forest.paths.add(m_route), send.pruned});
  }

  void setScale(Forest& forest) const {
    InverseBandwidth scale;
    for (const TreeXml::Hop& hop : m_xml.hops) {
      if (const auto arc = arcOf(m_nodeOf[hop.from], m_nodeOf[hop.to])) {
        scale = std::max(scale, Rational(hop.load) / m_fabric.arcs()[*arc].bandwidth);
      }
    }
    forest.scale = scale.isPositive() ? scale : InverseBandwidth(1);
  }

  const TreeXml& m_xml;
  const fabric::Fabric& m_fabric;
  Direction m_direction;
  std::vector<NodeIndex> m_nodeOf;  ///< by label; -1 = not settled
  std::unordered_map<NodeIndex, bool> m_taken;
  std::vector<NodeIndex> m_route;
};

}  // namespace

Outcome writeTreeXml(std::ostream& out, const schedule::Schedule& schedule, const fabric::Fabric& fabric,
                     const Progress& progress) {
  return guardedRead({}, [&]() -> Outcome {
    for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      if (*forest) {
        requireSound(**forest, fabric);
      }
    }
    if (!schedule.reduceForest && !schedule.broadcastForest) {
      refuseTree("the schedule has no trees", "generate it first", {}, ErrorCode::internal);
    }
    if (schedule.overlapped || schedule.ownCopies) {
      refuseTree(schedule.overlapped
                     ? "the halves of this allreduce run at the same time, and the format holds one forest that runs "
                       "forwards after it has run backwards"
                     : "GPUs get their own copies from switches here, which the format cannot say",
                 "save it as .forest.json, or export a reduce_scatter and an allgather", {}, ErrorCode::unavailable);
    }
    if (schedule.reduceForest && schedule.broadcastForest &&
        !areReversed(*schedule.reduceForest, *schedule.broadcastForest, progress)) {
      refuseTree("the two halves of this allreduce use different trees, and the format holds one forest",
                 "export a reduce_scatter and an allgather", {}, ErrorCode::unavailable);
    }
    const Forest turned = schedule.broadcastForest ? Forest{} : schedule::reversed(*schedule.reduceForest);
    const Forest& forest = schedule.broadcastForest ? *schedule.broadcastForest : turned;
    std::int64_t chunksPerNode = 0;
    for (const std::int64_t trees : forest.treesOfRoot) {
      chunksPerNode = std::gcd(chunksPerNode, trees);
    }
    writeTrees(out, forest, std::max<std::int64_t>(chunksPerNode, 1), schedule.collective, fabric, progress);
    if (!out) {
      return Error{ErrorCode::io, "the trees could not be written", "check the free space and the permissions"};
    }
    return Done{};
  });
}

Result<TreeXml> readTreeXml(std::string_view text, const std::string& fileName) {
  return guardedRead(fileName, [&]() -> Result<TreeXml> { return TreeReader(text, fileName).read(); });
}

Result<schedule::Schedule> scheduleFromTrees(const TreeXml& trees, const fabric::Fabric& fabric,
                                             Collective collective) {
  return guardedRead({}, [&]() -> Result<schedule::Schedule> {
    schedule::Schedule schedule;
    schedule.collective = collective;
    schedule.fabricName = fabric.name();
    schedule.fabricDigest = fabric.digest();
    const Direction direction = isReducing(collective) ? Direction::in : Direction::out;
    Forest forest = TreeMatcher(trees, fabric, direction).match();

    std::int64_t unit = 0;
    int roots = 0;
    fabric::Rank root = 0;
    for (std::size_t rank = 0; rank < forest.treesOfRoot.size(); ++rank) {
      if (forest.treesOfRoot[rank] > 0) {
        unit = std::gcd(unit, forest.treesOfRoot[rank]);
        root = static_cast<fabric::Rank>(rank);
        ++roots;
      }
    }
    const bool isRooted = collective == Collective::broadcast || collective == Collective::reduce;
    // One root is also an uneven collective in which only one GPU has data, but only a file that says so means that.
    if (isRooted ? roots != 1 : (roots == 1 && trees.collective != collective)) {
      return Error{ErrorCode::badUsage,
                   "the trees have " + std::to_string(roots) + (roots == 1 ? " root" : " roots") +
                       ", which does not fit " + std::string(toString(collective)),
                   isRooted ? "name a collective of many roots" : "name broadcast or reduce"};
    }
    if (isRooted) {
      schedule.root = root;
    } else if (std::any_of(forest.treesOfRoot.begin(), forest.treesOfRoot.end(),
                           [&](std::int64_t count) { return count != unit; })) {
      for (const std::int64_t count : forest.treesOfRoot) {
        schedule.amounts.push_back(count / unit);
      }
    }
    schedule.fixedK = unit;
    schedule.algbw = forest.algbw();
    if (collective == Collective::allreduce) {
      Forest reduceForest = TreeMatcher(trees, fabric, Direction::in).match();
      schedule.algbw = (reduceForest.algbw().inverse() + forest.algbw().inverse()).inverse();
      schedule.reduceForest = std::move(reduceForest);
    }
    (direction == Direction::in ? schedule.reduceForest : schedule.broadcastForest) = std::move(forest);
    return schedule;
  });
}

}  // namespace coppice::io
