// SPDX-License-Identifier: Apache-2.0
#include "fabric/inspection.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/rows.hpp"
#include "base/text.hpp"
#include "fabric/balance.hpp"

namespace coppice::fabric::detail {
namespace {

/// Ids listed in one message before "and N more".
constexpr std::size_t kListed = 8;
/// Table cells that the search for similar ids may fill in one inspection; without it a file of nothing but dangling
/// links would cost links times nodes.
constexpr std::int64_t kSimilarityBudget = 2'000'000;

enum class IdFault { none, empty, control, encoding };

IdFault idFault(std::string_view id) {
  if (id.empty()) {
    return IdFault::empty;
  }
  for (std::size_t at = 0; at < id.size();) {
    const std::size_t length = utf8SequenceLength(id, at);
    if (length == 0) {
      return IdFault::encoding;
    }
    if (isControlCharacter(id, at)) {
      return IdFault::control;
    }
    at += length;
  }
  return IdFault::none;
}

ElementRef nodeElement(const std::string& id, std::size_t index) {
  return {RefKind::node, id, static_cast<std::int64_t>(index)};
}

ElementRef linkElement(const LinkDescription& link, std::size_t index) {
  return ElementPart{RefKind::link, static_cast<std::int64_t>(index), link.src, link.dst};
}

/// A finding about the fabric as a whole.
ElementRef wholeFabric() {
  return {RefKind::field, "nodes"};
}

/// Finds the known id that a misspelt one most likely meant.
class Speller {
public:
  explicit Speller(const std::vector<NodeDescription>& nodes) : m_nodes(nodes) {}

  /// nullptr: nothing near, or the budget is spent.
  const std::string* nearest(const std::string& id) {
    const auto [known, isNew] = m_known.try_emplace(id, nullptr);
    if (!isNew) {
      return known->second;
    }
    int best = static_cast<int>(std::min<std::size_t>(std::max<std::size_t>(id.size() / 3, 1), 3)) + 1;
    for (const NodeDescription& node : m_nodes) {
      if (--m_budget < 0) {
        break;
      }
      const auto gap = static_cast<std::int64_t>(node.id.size()) - static_cast<std::int64_t>(id.size());
      if (node.id.empty() || gap >= best || -gap >= best) {
        continue;
      }
      const int found = distance(id, node.id);
      if (found < best) {
        best = found;
        known->second = &node.id;
      }
    }
    return known->second;
  }

private:
  /// Levenshtein distance without regard to ASCII case; takes its cost from the budget.
  int distance(std::string_view a, std::string_view b) {
    m_budget -= static_cast<std::int64_t>(a.size() / 8 + 1);
    // Equal ends change nothing, and most ids of a fabric share theirs.
    while (!a.empty() && !b.empty() && lowered(a.front()) == lowered(b.front())) {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
    while (!a.empty() && !b.empty() && lowered(a.back()) == lowered(b.back())) {
      a.remove_suffix(1);
      b.remove_suffix(1);
    }
    m_budget -= static_cast<std::int64_t>((a.size() + 1) * (b.size() + 1));
    m_row.resize(b.size() + 1);
    std::iota(m_row.begin(), m_row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      int diagonal = m_row[0];
      m_row[0] = static_cast<int>(i) + 1;
      for (std::size_t j = 0; j < b.size(); ++j) {
        const int replaced = diagonal + (lowered(a[i]) == lowered(b[j]) ? 0 : 1);
        diagonal = m_row[j + 1];
        m_row[j + 1] = std::min({replaced, m_row[j] + 1, m_row[j + 1] + 1});
      }
    }
    return m_row[b.size()];
  }

  const std::vector<NodeDescription>& m_nodes;
  std::unordered_map<std::string, const std::string*> m_known;
  std::vector<int> m_row;
  std::int64_t m_budget = kSimilarityBudget;
};

class Inspector {
public:
  Inspector(const Description& description, bool withAdvice)
      : m_description(description), m_withAdvice(withAdvice), m_speller(description.nodes) {}

  Inspection run() {
    readNodes();
    readRanks();
    readLinks();
    mergeArcs();
    if (m_result.gpus.size() < 2) {
      add(Severity::error, ErrorCode::infeasible,
          m_result.gpus.empty() ? "the fabric has no GPU, so there is nothing to send"
                                : "the fabric has only one GPU, so there is nothing to send",
          "add GPUs until there are two or more", wholeFabric());
    }
    checkReach();
    checkBalance();
    noteIsolated();
    return std::move(m_result);
  }

private:
  void add(Severity severity, ErrorCode code, std::string text, std::string fix, ElementRef element) {
    m_result.findings.push_back({severity, code, std::move(text), std::move(fix), {.element = std::move(element)}});
  }
  void addError(std::string text, std::string fix, ElementRef element) {
    add(Severity::error, ErrorCode::invalidFabric, std::move(text), std::move(fix), std::move(element));
  }

  [[nodiscard]] const std::string& idOf(NodeIndex node) const { return m_result.nodes[node].id; }
  [[nodiscard]] ElementRef elementOf(NodeIndex node) const {
    return nodeElement(idOf(node), static_cast<std::size_t>(node));
  }
  [[nodiscard]] bool isGpu(NodeIndex node) const { return m_isGpu[node]; }

  void readNodes() {
    const auto& nodes = m_description.nodes;
    m_result.nodes.reserve(nodes.size());
    m_byId.reserve(nodes.size());
    std::map<std::size_t, std::vector<std::size_t>> repeats;  // first position -> all positions
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeDescription& node = nodes[i];
      const ElementRef element = nodeElement(node.id, i);
      switch (idFault(node.id)) {
        case IdFault::none:
          break;
        case IdFault::empty:
          addError("the id is empty", "give the node an id that no other node has", element);
          break;
        case IdFault::control:
          addError("the id contains a control character", "use printable characters only", element);
          break;
        case IdFault::encoding:
          addError("the id is not valid UTF-8", "save the id as UTF-8", element);
          break;
      }
      const auto [first, isNew] = m_byId.try_emplace(node.id, static_cast<NodeIndex>(i));
      m_isRepeat.push_back(!isNew);
      if (!isNew && !node.id.empty()) {
        auto& positions = repeats[first->second];
        if (positions.empty()) {
          positions.push_back(static_cast<std::size_t>(first->second));
        }
        positions.push_back(i);
      }
      const auto kind = parseNodeKind(node.kind);
      if (!kind) {
        addError("unknown kind " + inQuotes(node.kind), "use \"gpu\", \"nic\" or \"switch\"", element);
      }
      // A node of unknown kind relays, so that one misspelt kind does not also cut the fabric in two.
      m_result.nodes.push_back(
          {node.id, kind.value_or(NodeKind::switchNode), node.box, -1, node.multicast, node.aggregation});
      m_isGpu.push_back(kind == NodeKind::gpu);
      if (kind == NodeKind::gpu) {
        m_result.gpus.push_back(static_cast<NodeIndex>(i));
        if (m_withAdvice && (node.multicast || node.aggregation)) {
          const char* what =
              node.multicast ? (node.aggregation ? "multicast and aggregation" : "multicast") : "aggregation";
          add(Severity::warning, ErrorCode::invalidFabric,
              std::string(what) + " on a GPU has no effect: a GPU copies and reduces anyway",
              "mark the switch or nic that has the capability", element);
        }
      }
    }
    for (const auto& [first, positions] : repeats) {
      addError("the id is used by " + counted(positions.size(), "node") + ", at positions " +
                   commaListOfFirst(kListed, positions, [](std::size_t position) { return std::to_string(position); }) +
                   " (counted from 0)",
               "give each node a unique id", nodeElement(nodes[first].id, first));
    }
  }

  void readRanks() {
    const auto& nodes = m_description.nodes;
    std::vector<NodeIndex> ranked;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].rank && !m_isGpu[i]) {
        addError("rank " + std::to_string(*nodes[i].rank) + " is on a node of kind " + inQuotes(nodes[i].kind),
                 "remove the rank; only GPUs have one", nodeElement(nodes[i].id, i));
      } else if (nodes[i].rank) {
        ranked.push_back(static_cast<NodeIndex>(i));
      }
    }
    std::vector<NodeIndex>& gpus = m_result.gpus;
    bool isRight = true;
    if (!ranked.empty() && ranked.size() < gpus.size()) {
      isRight = false;
      std::vector<NodeIndex> without;
      for (const NodeIndex gpu : gpus) {
        if (!nodes[gpu].rank) {
          without.push_back(gpu);
        }
      }
      addError("rank given for " + std::to_string(ranked.size()) + " of " + counted(gpus.size(), "GPU") +
                   ", missing for " +
                   commaListOfFirst(kListed, without, [this](NodeIndex gpu) { return inQuotes(idOf(gpu)); }),
               "give a rank to every GPU or to none", elementOf(without.front()));
    }
    if (!ranked.empty()) {
      isRight = checkRanks(ranked) && isRight;
    }
    if (isRight && !ranked.empty()) {
      std::sort(gpus.begin(), gpus.end(), [&](NodeIndex a, NodeIndex b) { return *nodes[a].rank < *nodes[b].rank; });
    }
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      m_result.nodes[gpus[rank]].rank = static_cast<Rank>(rank);
    }
  }

  /// Duplicates, values outside 0 .. N-1, and gaps. N counts all GPUs, so GPUs without rank leave no false gaps.
  bool checkRanks(const std::vector<NodeIndex>& ranked) {
    const std::size_t gpuCount = m_result.gpus.size();
    const std::string range = "0 to " + std::to_string(gpuCount - 1);
    std::vector<std::vector<NodeIndex>> holders(gpuCount);
    bool isRight = true;
    for (const NodeIndex gpu : ranked) {
      const int rank = *m_description.nodes[gpu].rank;
      if (rank < 0 || static_cast<std::size_t>(rank) >= gpuCount) {
        isRight = false;
        addError("rank " + std::to_string(rank) + " is outside " + range,
                 "number the " + counted(gpuCount, "GPU") + " " + range, elementOf(gpu));
      } else {
        holders[rank].push_back(gpu);
      }
    }
    std::vector<std::size_t> missing;
    for (std::size_t rank = 0; rank < gpuCount; ++rank) {
      if (holders[rank].empty()) {
        missing.push_back(rank);
      } else if (holders[rank].size() > 1) {
        isRight = false;
        addError("rank " + std::to_string(rank) + " is given to " + counted(holders[rank].size(), "GPU") + ": " +
                     commaListOfFirst(kListed, holders[rank], [this](NodeIndex gpu) { return inQuotes(idOf(gpu)); }),
                 "give each GPU a unique rank, " + range, elementOf(holders[rank].front()));
      }
    }
    if (!missing.empty() && ranked.size() == gpuCount) {
      isRight = false;
      addError("no GPU has rank " +
                   commaListOfFirst(kListed, missing, [](std::size_t rank) { return std::to_string(rank); }),
               "number the " + counted(gpuCount, "GPU") + " " + range + " without gaps", wholeFabric());
    }
    return isRight;
  }

  template <typename MakeElement>
  std::optional<NodeIndex> readEnd(const std::string& id, const char* key, const MakeElement& element) {
    if (id.empty()) {
      addError(std::string(key) + " is empty", "write the id of a node", element());
      return std::nullopt;
    }
    if (const auto found = m_byId.find(id); found != m_byId.end()) {
      return found->second;
    }
    const std::string* nearest = m_speller.nearest(id);
    addError(
        std::string(key) + " " + inQuotes(id) + " is not a node",
        nearest != nullptr ? "did you mean " + inQuotes(*nearest) + "?" : "add a node with that id or correct the link",
        element());
    return std::nullopt;
  }

  void readLinks() {
    const auto& links = m_description.links;
    m_result.arcs.reserve(2 * links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      const LinkDescription& link = links[i];
      const std::size_t findingsBefore = m_result.findings.size();
      const auto element = [&] { return linkElement(link, i); };
      const auto tail = readEnd(link.src, "src", element);
      const auto head = readEnd(link.dst, "dst", element);
      if (link.src == link.dst && tail) {
        addError("the link joins the node to itself", "remove it or correct one end", element());
      }
      std::optional<Bandwidth> bandwidth;
      if (auto parsed = Bandwidth::parse(link.bandwidth); !parsed) {
        add(Severity::error,
            parsed.error().code == ErrorCode::overflow ? ErrorCode::overflow : ErrorCode::invalidFabric,
            parsed.error().message, parsed.error().fix, element());
      } else if (!parsed->isPositive()) {
        addError("bandwidth " + toExactText(*parsed) + " is not above 0",
                 "write the GB/s of one direction, or remove the link", element());
      } else {
        bandwidth = *parsed;
      }
      if (link.count < 1) {
        addError("count " + std::to_string(link.count) + " is below 1",
                 "write the number of parallel links, or remove the link", element());
      }
      std::optional<ExactMicroseconds> latency;
      if (link.latency) {
        if (auto parsed = Rational::parse(*link.latency); !parsed) {
          addError("latency " + inQuotes(*link.latency) + " is not a number", "write microseconds such as 1.5",
                   element());
        } else if (*parsed < Rational(0)) {
          addError("latency " + parsed->toString() + " is negative", "write microseconds such as 1.5", element());
        } else {
          latency = ExactMicroseconds(*parsed);
        }
      }
      if (m_result.findings.size() != findingsBefore) {
        m_skippedLinks = true;
        continue;
      }
      try {
        const Bandwidth total = *bandwidth * Rational(link.count);
        m_result.arcs.push_back({*tail, *head, total, latency});
        if (link.duplex) {
          m_result.arcs.push_back({*head, *tail, total, latency});
        }
      } catch (const OverflowError&) {
        addOverflow("bandwidth times count", element());
      }
    }
  }

  void addOverflow(const std::string& what, ElementRef element) {
    m_skippedLinks = true;
    add(Severity::error, ErrorCode::overflow, what + " leaves the exact 64-bit range",
        "use smaller numbers, or bandwidths with fewer digits and smaller denominators", std::move(element));
  }

  void mergeArcs() {
    std::vector<Arc>& arcs = m_result.arcs;
    std::stable_sort(arcs.begin(), arcs.end(),
                     [](const Arc& a, const Arc& b) { return std::pair(a.tail, a.head) < std::pair(b.tail, b.head); });
    std::size_t kept = 0;
    NodeIndex reportedTail = -1;
    NodeIndex reportedHead = -1;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (kept == 0 || arcs[kept - 1].tail != arcs[i].tail || arcs[kept - 1].head != arcs[i].head) {
        arcs[kept++] = arcs[i];
        continue;
      }
      Arc& merged = arcs[kept - 1];
      try {
        merged.bandwidth = merged.bandwidth + arcs[i].bandwidth;
      } catch (const OverflowError&) {
        if (reportedTail != merged.tail || reportedHead != merged.head) {
          reportedTail = merged.tail;
          reportedHead = merged.head;
          addOverflow("the sum of the parallel links",
                      ElementPart{RefKind::link, -1, idOf(merged.tail), idOf(merged.head)});
        }
      }
      if (arcs[i].latency && (!merged.latency || *merged.latency < *arcs[i].latency)) {
        merged.latency = arcs[i].latency;
      }
    }
    arcs.resize(kept);

    const std::size_t count = m_result.nodes.size();
    m_firstOut = rowStarts(count, arcs, &Arc::tail);
    m_tailsInto.assign(count, [&](const auto& add) {
      for (const Arc& arc : arcs) {
        add(arc.head, arc.tail);
      }
    });
  }

  enum Direction : unsigned { kForward = 1, kBackward = 2 };

  /// Marks all nodes that a walk from `start` along the given directions meets; returns them.
  std::vector<NodeIndex> reach(NodeIndex start, unsigned directions, std::vector<char>& seen) const {
    std::vector<NodeIndex> queue{start};
    seen[start] = 1;
    const auto visit = [&](NodeIndex node) {
      if (seen[node] == 0) {
        seen[node] = 1;
        queue.push_back(node);
      }
    };
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const auto v = static_cast<std::size_t>(queue[at]);
      if ((directions & kForward) != 0) {
        for (auto a = m_firstOut[v]; a < m_firstOut[v + 1]; ++a) {
          visit(m_result.arcs[a].head);
        }
      }
      if ((directions & kBackward) != 0) {
        for (const NodeIndex tail : m_tailsInto[v]) {
          visit(tail);
        }
      }
    }
    return queue;
  }

  void checkReach() {
    const std::size_t count = m_result.nodes.size();
    const std::string remark = m_skippedLinks ? " (links with errors left out)" : "";
    const auto listGpus = [this](const std::vector<NodeIndex>& gpus) {
      return commaListOfFirst(kListed, gpus, [this](NodeIndex gpu) { return inQuotes(idOf(gpu)); });
    };

    // Parts that no link joins in any direction, by their GPUs.
    std::vector<char> seen(count, 0);
    std::vector<std::vector<NodeIndex>> parts;
    for (const NodeIndex gpu : m_result.gpus) {
      if (seen[gpu] == 0 && !m_isRepeat[gpu]) {
        std::vector<NodeIndex> part = reach(gpu, kForward | kBackward, seen);
        std::erase_if(part, [this](NodeIndex node) { return !isGpu(node); });
        std::sort(part.begin(), part.end());
        parts.push_back(std::move(part));
      }
    }
    if (parts.size() > 1) {
      add(Severity::error, ErrorCode::infeasible,
          "GPUs " + inQuotes(idOf(parts[0].front())) + " and " + inQuotes(idOf(parts[1].front())) +
              " cannot reach each other: the GPUs fall into " + counted(parts.size(), "part") +
              " that no path of links joins" + remark + ": " +
              commaListOfFirst(kListed, parts,
                               [&](const std::vector<NodeIndex>& part) { return "{" + listGpus(part) + "}"; }),
          "add links between the parts", wholeFabric());
    }

    std::fill(seen.begin(), seen.end(), 0);
    // Inside a part: everything reaches everything exactly if the first GPU reaches all and all reach it.
    for (const std::vector<NodeIndex>& part : parts) {
      for (const Direction direction : {kForward, kBackward}) {
        if (part.size() < 2) {
          continue;
        }
        const std::vector<NodeIndex> reached = reach(part.front(), direction, seen);
        std::vector<NodeIndex> cutOff;
        for (const NodeIndex gpu : part) {
          if (seen[gpu] == 0) {
            cutOff.push_back(gpu);
          }
        }
        for (const NodeIndex node : reached) {
          seen[node] = 0;
        }
        if (cutOff.empty()) {
          continue;
        }
        const NodeIndex from = direction == kForward ? part.front() : cutOff.front();
        const NodeIndex to = direction == kForward ? cutOff.front() : part.front();
        std::string text = "GPU " + inQuotes(idOf(from)) + " cannot reach GPU " + inQuotes(idOf(to)) + remark;
        if (cutOff.size() > 1) {
          text += direction == kForward ? "; it reaches none of " : "; none of ";
          text += listGpus(cutOff) + (direction == kForward ? "" : " reaches " + inQuotes(idOf(to)));
        }
        add(Severity::error, ErrorCode::infeasible, std::move(text),
            "add a path from " + inQuotes(idOf(from)) + " to " + inQuotes(idOf(to)) +
                ", for example by making a one-way link duplex",
            elementOf(from));
      }
    }
  }

  /// Sums that leave 64 bits do not matter to methods that do without them.
  void warnOfSum(const std::string& which, ElementRef element) {
    add(Severity::warning, ErrorCode::overflow,
        "the sum of the " + which + " bandwidths leaves the exact 64-bit range, so its balance is not stated",
        "use smaller numbers, or bandwidths with fewer digits and smaller denominators, if a method refuses the fabric",
        std::move(element));
  }

  void checkBalance() {
    if (!m_withAdvice) {
      return;
    }
    const std::size_t count = m_result.nodes.size();
    std::vector<Bandwidth> ingress(count);
    std::vector<Bandwidth> egress(count);
    std::vector<Bandwidth> excess(count);
    bool isExact = true;
    for (const bool isIn : {false, true}) {
      std::vector<char> reported(count, 0);
      for (const Arc& arc : m_result.arcs) {
        const auto v = static_cast<std::size_t>(isIn ? arc.head : arc.tail);
        Bandwidth& sum = (isIn ? ingress : egress)[v];
        try {
          sum = reported[v] != 0 ? sum : sum + arc.bandwidth;
        } catch (const OverflowError&) {
          isExact = false;
          reported[v] = 1;
          warnOfSum(isIn ? "incoming" : "outgoing", elementOf(static_cast<NodeIndex>(v)));
        }
      }
    }
    if (!isExact || ingress == egress) {
      return;
    }
    std::vector<std::vector<std::string>> changes(count);
    try {
      for (std::size_t v = 0; v < count; ++v) {
        excess[v] = ingress[v] - egress[v];
      }
      for (const Raise& raise : balancingRaises(excess, m_result.arcs)) {
        const std::string text =
            describe(BalanceChange{idOf(raise.tail), idOf(raise.head), Bandwidth(raise.amount), raise.isNew});
        changes[raise.tail].push_back(text);
        changes[raise.head].push_back(text);
      }
    } catch (const OverflowError&) {
      // The amounts below are still exact; only the suggested change is missing.
      changes.assign(count, {});
    }
    for (std::size_t v = 0; v < count; ++v) {
      if (ingress[v] == egress[v]) {
        continue;
      }
      std::string text =
          "ingress " + toExactText(ingress[v]) + " GB/s and egress " + toExactText(egress[v]) + " GB/s differ";
      if (egress[v] == Bandwidth()) {
        text += ": nothing leaves this node";
      } else if (ingress[v] == Bandwidth()) {
        text += ": nothing arrives at this node";
      }
      add(Severity::warning, ErrorCode::unbalanced, std::move(text),
          changes[v].empty() ? "make both sums equal"
                             : commaListOfFirst(kListed, changes[v], [](const std::string& change) { return change; }),
          elementOf(static_cast<NodeIndex>(v)));
    }
  }

  void noteIsolated() {
    if (!m_withAdvice) {
      return;
    }
    std::vector<char> isLinked(m_result.nodes.size(), 0);
    for (const LinkDescription& link : m_description.links) {
      for (const std::string* id : {&link.src, &link.dst}) {
        if (const auto found = m_byId.find(*id); found != m_byId.end()) {
          isLinked[found->second] = 1;
        }
      }
    }
    for (std::size_t v = 0; v < isLinked.size(); ++v) {
      if (isLinked[v] == 0 && !m_isRepeat[v]) {
        add(Severity::note, ErrorCode::invalidFabric, "this node has no links", "link it or remove it",
            elementOf(static_cast<NodeIndex>(v)));
      }
    }
  }

  const Description& m_description;
  bool m_withAdvice;
  Speller m_speller;
  Inspection m_result;
  std::vector<bool> m_isGpu;
  std::vector<bool> m_isRepeat;  // an earlier node has the id, so that no link can name this one
  std::unordered_map<std::string_view, NodeIndex> m_byId;
  std::vector<std::int32_t> m_firstOut;
  Rows<NodeIndex> m_tailsInto;  // by node
  bool m_skippedLinks = false;
};

}  // namespace

bool isGoodId(std::string_view id) {
  return idFault(id) == IdFault::none;
}

std::optional<Bandwidth> totalBandwidth(const LinkDescription& link) {
  const auto bandwidth = Bandwidth::parse(link.bandwidth);
  if (!bandwidth || !bandwidth->isPositive() || link.count < 1) {
    return std::nullopt;
  }
  if (link.latency) {
    if (const auto latency = Rational::parse(*link.latency); !latency || *latency < Rational(0)) {
      return std::nullopt;
    }
  }
  try {
    return *bandwidth * Rational(link.count);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

Inspection inspect(const Description& description, bool withAdvice) {
  return Inspector(description, withAdvice).run();
}

}  // namespace coppice::fabric::detail
