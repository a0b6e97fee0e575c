// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/fabric_comparison.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/natural_order.hpp"
#include "base/units.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(FabricComparison)
};

using Pair = std::pair<NodeId, NodeId>;

/// From a node to another: the sum, how many cables, and one of them to show.
struct Bundle {
  Rational rate{0};
  int cables = 0;
  LinkId link = {};
  bool isReadable = true;
};

std::map<Pair, Bundle> bundlesOf(const Model& model, const std::set<NodeId>& nodes) {
  std::map<Pair, Bundle> bundles;
  for (const auto& [id, link] : model.links()) {
    if (!nodes.contains(link.tail.node) || !nodes.contains(link.head.node)) {
      continue;
    }
    const auto rate = Bandwidth::parse(link.bandwidth);
    const auto add = [&](const Pair& pair) {
      Bundle& bundle = bundles[pair];
      bundle.link = bundle.link.isValid() ? bundle.link : id;
      bundle.cables += link.count;
      if (rate) {
        bundle.rate = bundle.rate + rate->gigabytesPerSecond() * Rational(link.count);
      } else {
        bundle.isReadable = false;
      }
    };
    add({link.tail.node, link.head.node});
    if (link.duplex) {
      add({link.head.node, link.tail.node});
    }
  }
  return bundles;
}

std::set<NodeId> nodesOf(const Model& model, BoxId box) {
  std::set<NodeId> nodes;
  if (box.isValid()) {
    for (const NodeId id : model.allNodesIn(box)) {
      nodes.insert(id);
    }
  } else {
    for (const auto& [id, node] : model.nodes()) {
      nodes.insert(id);
    }
  }
  return nodes;
}

/// By kind, in the order in which people count: ranks where there are some, else names with their numbers as numbers.
std::vector<NodeId> inOrder(const Model& model, const std::set<NodeId>& nodes, const std::string& kind) {
  std::vector<NodeId> result;
  for (const NodeId id : nodes) {
    if (model.find(id)->facts.kind == kind) {
      result.push_back(id);
    }
  }
  std::stable_sort(result.begin(), result.end(), [&](NodeId a, NodeId b) {
    const NodeFacts& x = model.find(a)->facts;
    const NodeFacts& y = model.find(b)->facts;
    if (x.rank && y.rank && *x.rank != *y.rank) {
      return *x.rank < *y.rank;
    }
    return naturalLess(x.name, y.name);
  });
  return result;
}

std::string lastWord(const std::string& name) {
  const std::size_t slash = name.find_last_of("/.:");
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

/// Drawing to machine.
std::map<NodeId, NodeId> matched(const Model& drawing, const std::set<NodeId>& drawn, const Model& machine,
                                 const std::set<NodeId>& found) {
  std::map<NodeId, NodeId> result;
  std::set<NodeId> taken;
  const auto take = [&](NodeId a, NodeId b) {
    result[a] = b;
    taken.insert(b);
  };
  for (const bool isWhole : {true, false}) {
    // A name that several nodes have says nothing.
    std::multimap<std::string, NodeId> names;
    for (const NodeId id : found) {
      if (!taken.contains(id)) {
        const std::string& name = machine.find(id)->facts.name;
        names.emplace(isWhole ? name : lastWord(name), id);
      }
    }
    std::map<std::string, int> uses;
    for (const NodeId id : drawn) {
      const std::string& name = drawing.find(id)->facts.name;
      ++uses[isWhole ? name : lastWord(name)];
    }
    for (const NodeId id : drawn) {
      const NodeFacts& facts = drawing.find(id)->facts;
      const std::string name = isWhole ? facts.name : lastWord(facts.name);
      const auto at = names.find(name);
      if (!result.contains(id) && uses[name] == 1 && names.count(name) == 1 &&
          machine.find(at->second)->facts.kind == facts.kind) {
        take(id, at->second);
      }
    }
  }
  std::set<std::string> kinds;
  for (const NodeId id : drawn) {
    kinds.insert(drawing.find(id)->facts.kind);
  }
  for (const std::string& kind : kinds) {
    std::vector<NodeId> left = inOrder(drawing, drawn, kind);
    std::vector<NodeId> right = inOrder(machine, found, kind);
    std::erase_if(left, [&](NodeId id) { return result.contains(id); });
    std::erase_if(right, [&](NodeId id) { return taken.contains(id); });
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      take(left[i], right[i]);
    }
  }
  return result;
}

QString rateText(const Bundle& bundle) {
  return bundle.isReadable ? QString::fromStdString(toDecimal(bundle.rate)) + u" GB/s"_s : Texts::tr("not readable");
}

QString nameIn(const Model& model, NodeId id) {
  return QString::fromStdString(model.find(id)->facts.name);
}

/// The nodes and links of a drawing against those of a machine.
class FabricComparison {
public:
  FabricComparison(const Model& drawing, BoxId box, const Model& machine)
      : m_drawing(drawing), m_machine(machine), m_drawn(nodesOf(drawing, box)), m_found(nodesOf(machine, {})) {
    m_pairs = matched(drawing, m_drawn, machine, m_found);
    for (const auto& [a, b] : m_pairs) {
      m_back[b] = a;
    }
  }

  std::vector<FabricDifference> run() {
    compareNodes();
    try {
      m_left = bundlesOf(m_drawing, m_drawn);
      m_right = bundlesOf(m_machine, m_found);
      for (const auto& [pair, bundle] : m_left) {
        compareDrawn(pair, bundle);
      }
      for (const auto& [pair, bundle] : m_right) {
        compareFound(pair, bundle);
      }
    } catch (const OverflowError& error) {
      m_differences.push_back({Severity::error, {}, {}, {}, QString::fromUtf8(error.what()), {}});
    }
    std::stable_sort(m_differences.begin(), m_differences.end(),
                     [](const auto& a, const auto& b) { return a.severity > b.severity; });
    return std::move(m_differences);
  }

private:
  void compareNodes() {
    for (const NodeId id : m_drawn) {
      if (const QString name = nameIn(m_drawing, id); !m_pairs.contains(id)) {
        m_differences.push_back({Severity::error, name, Texts::tr("drawn"), Texts::tr("missing"),
                                 Texts::tr("%1 is drawn, but the machine does not have it").arg(name), id});
      }
    }
    for (const NodeId id : m_found) {
      if (const QString name = nameIn(m_machine, id); !m_back.contains(id)) {
        m_differences.push_back({Severity::warning,
                                 name,
                                 Texts::tr("not drawn"),
                                 Texts::tr("there"),
                                 Texts::tr("The machine has %1, which is not drawn").arg(name),
                                 {}});
      }
    }
  }

  [[nodiscard]] const Bundle* foundBetween(NodeId a, NodeId b) const {
    const auto found = m_right.find({a, b});
    return found != m_right.end() ? &found->second : nullptr;
  }

  /// Both directions differ alike, so that they are one line.
  [[nodiscard]] bool isAlikeReversed(const Pair& pair, const Bundle& bundle, const Bundle* other,
                                     const Bundle* otherReversed) const {
    const auto reversed = m_left.find({pair.second, pair.first});
    return reversed != m_left.end() && reversed->second.rate == bundle.rate &&
           (other == nullptr) == (otherReversed == nullptr) && (other == nullptr || other->rate == otherReversed->rate);
  }

  void compareDrawn(const Pair& pair, const Bundle& bundle) {
    const auto a = m_pairs.find(pair.first);
    const auto b = m_pairs.find(pair.second);
    if (a == m_pairs.end() || b == m_pairs.end()) {
      return;
    }
    const Bundle* other = foundBetween(a->second, b->second);
    const bool isAlike = isAlikeReversed(pair, bundle, other, foundBetween(b->second, a->second));
    if (isAlike && m_told.contains({pair.second, pair.first})) {
      return;
    }
    m_told.insert(pair);
    const QString place =
        nameIn(m_drawing, pair.first) + (isAlike ? u" – "_s : u" → "_s) + nameIn(m_drawing, pair.second);
    FabricDifference difference{Severity::warning, place, rateText(bundle), {}, {}, bundle.link};
    if (other == nullptr) {
      difference.severity = Severity::error;
      difference.found = Texts::tr("no link");
      difference.text = Texts::tr("%1 is drawn, but the machine has no link there").arg(rateText(bundle));
      m_differences.push_back(std::move(difference));
      return;
    }
    difference.found = rateText(*other);
    if (!bundle.isReadable || !other->isReadable || bundle.rate == other->rate) {
      return;
    }
    const bool isLess = other->rate < bundle.rate;
    difference.severity = isLess ? Severity::error : Severity::note;
    const double share = other->rate.toDouble() / bundle.rate.toDouble();
    difference.text = isLess ? Texts::tr("the machine has %1 % of what is drawn").arg(100 * share, 0, 'f', 0)
                             : Texts::tr("the machine has more than is drawn");
    if (isLess && other->cables < bundle.cables) {
      difference.text += Texts::tr(": %1 of %2 links").arg(other->cables).arg(bundle.cables);
    }
    m_differences.push_back(std::move(difference));
  }

  void compareFound(const Pair& pair, const Bundle& bundle) {
    const auto a = m_back.find(pair.first);
    const auto b = m_back.find(pair.second);
    if (a == m_back.end() || b == m_back.end() || m_left.contains({a->second, b->second}) ||
        m_told.contains({b->second, a->second})) {
      return;
    }
    m_told.insert({a->second, b->second});
    m_differences.push_back({Severity::note, nameIn(m_drawing, a->second) + u" – "_s + nameIn(m_drawing, b->second),
                             Texts::tr("no link"), rateText(bundle),
                             Texts::tr("a link of the machine that is not drawn"), a->second});
  }

  const Model& m_drawing;
  const Model& m_machine;
  std::set<NodeId> m_drawn;
  std::set<NodeId> m_found;
  std::map<NodeId, NodeId> m_pairs;  ///< of the drawing, to the machine
  std::map<NodeId, NodeId> m_back;
  std::map<Pair, Bundle> m_left;
  std::map<Pair, Bundle> m_right;
  std::set<Pair> m_told;  ///< by nodes of the drawing
  std::vector<FabricDifference> m_differences;
};

}  // namespace

std::vector<FabricDifference> compareFabrics(const Model& drawing, BoxId box, const Model& machine) {
  return FabricComparison(drawing, box, machine).run();
}

}  // namespace coppice::designer
