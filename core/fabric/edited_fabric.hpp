// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// A fabric that is being edited: changes come as deltas, and each costs what it touches.
namespace coppice::fabric {

/// Names a node or a link of an edited fabric: a number that its owner gives and never uses for another one; 0 = none.
/// A description lists nodes and links in ascending order of their keys.
using Key = std::uint32_t;

struct NodeChange {
  Key key = 0;
  std::optional<NodeDescription> after;  ///< absent = removed
};

struct LinkChange {
  Key key = 0;
  Key tail = 0;                          ///< 0 = the link names its end, `after->src`
  Key head = 0;                          ///< 0 = `after->dst`
  std::optional<LinkDescription> after;  ///< absent = removed
};

/// What an edit changes. @pre a removed node takes its links with it, in the same delta or before it
struct FabricDelta {
  std::vector<NodeChange> nodes;
  std::vector<LinkChange> links;

  [[nodiscard]] bool isEmpty() const { return nodes.empty() && links.empty(); }
};

/// The facts of a fabric by key, with the merged arcs of its links. It holds any faults that a Description can hold.
class EditedFabric {
public:
  using Ends = std::pair<Key, Key>;  ///< tail, head

  struct Node {
    NodeDescription facts;
    std::optional<NodeKind> kind;
    Bandwidth surplus;  ///< what enters minus what leaves
    int linkEnds = 0;   ///< of links without faults
    bool hasFault = false;
    bool hasAdvice = false;  ///< validate() has a warning about the node alone
  };
  /// All parallel links of one direction.
  struct Arc {
    Bandwidth bandwidth;
    std::vector<Key> links;
  };
  /// What has changed since the last takeChanges(): a superset.
  struct Changes {
    std::set<Key> nodes;
    std::set<Ends> arcs;
  };
  /// Numbered as Fabric::build() numbers the same description. Pointers stay valid until the next apply().
  struct Indexed {
    std::vector<Key> keys;           ///< by node
    std::vector<const Node*> nodes;  ///< by node
    std::vector<NodeIndex> gpus;     ///< by rank
    std::vector<Rank> ranks;         ///< by node; -1 for nic and switch
    std::vector<fabric::Arc> arcs;   ///< without latency
  };

  void apply(FabricDelta delta);

  /// Nodes and links have no fault by themselves, ids are unique and ranks fit. Then only GPUs that are missing or
  /// cannot reach each other can make Fabric::build() fail.
  [[nodiscard]] bool isSound() const;
  /// validate() has nothing to say, except perhaps that some GPUs cannot reach each other.
  [[nodiscard]] bool isClean() const;

  [[nodiscard]] const std::map<Key, Node>& nodes() const { return m_nodes; }
  [[nodiscard]] const std::map<Ends, Arc>& arcs() const { return m_arcs; }
  [[nodiscard]] const Node* find(Key node) const;
  /// GPUs by rank. @pre isSound()
  [[nodiscard]] const std::vector<Key>& gpus() const { return m_gpus; }
  [[nodiscard]] int gpuCount() const { return m_gpuCount; }

  [[nodiscard]] std::vector<Key> linkKeys() const;
  [[nodiscard]] Description description() const;
  /// @pre isSound()
  [[nodiscard]] Indexed indexed() const;
  [[nodiscard]] Changes takeChanges() { return std::exchange(m_changes, {}); }

private:
  struct Link {
    Key tail = 0;  ///< as stated
    Key head = 0;
    LinkDescription facts;
    // Of a link that is part of the arcs.
    Ends ends;
    Bandwidth total;  ///< per direction, parallel links together
    bool isAttached = false;
  };
  void setNode(NodeChange change);
  void count(Key key, const Node& node, int sign);
  void findGpus();
  [[nodiscard]] Key endOf(Key stated, const std::string& id) const;
  void attach(Key key, Link& link);
  void detach(Key key, Link& link);
  void removeLink(Key key);
  void changeArcs(Key key, const Link& link, int sign);
  void changeArc(const Ends& ends, Key link, int sign);
  [[nodiscard]] Bandwidth sumOf(const Arc& arc) const;
  void addSurplus(Key key, const Bandwidth& delta);
  void recount();

  std::map<Key, Node> m_nodes;
  std::map<Key, Link> m_links;
  std::map<Ends, Arc> m_arcs;
  std::unordered_map<std::string, std::set<Key>> m_byId;
  std::set<Key> m_loose;           ///< links with a fault: no part of the arcs
  std::set<Key> m_attachedByName;  ///< links that name an end, which another node may take over
  std::vector<Key> m_gpus;
  Changes m_changes;
  int m_gpuCount = 0;
  // How many there are of each.
  int m_faultyNodes = 0;
  int m_advisedNodes = 0;
  int m_repeatedIds = 0;
  int m_unbalanced = 0;
  int m_isolated = 0;
  bool m_hasRankFault = false;
  bool m_areGpusStale = false;
  bool m_isOverflown = false;  ///< some sum of bandwidths has left the exact range, so the arcs are not right
};

}  // namespace coppice::fabric
