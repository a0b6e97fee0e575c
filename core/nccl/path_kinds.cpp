// SPDX-License-Identifier: Apache-2.0
#include "nccl/path_kinds.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/rows.hpp"

namespace coppice::nccl {
namespace {

using fabric::Arc;
using fabric::Fabric;
using fabric::Node;
using fabric::NodeIndex;
using fabric::NodeKind;

constexpr std::int64_t kFastestPcie = 128;  ///< GB/s of PCIe 6.0 x16

/// Whether the name says so: "node0/cpu1", "b2numa0".
bool isCpu(const Node& node) {
  return node.id.find("cpu") != std::string::npos || node.id.find("numa") != std::string::npos;
}

/// Switches of one box that are connected without GPUs between them, and what is connected to them.
struct Part {
  std::vector<NodeIndex> switches;
  bool hasNic = false;
  bool isFast = false;           ///< some GPU has a faster link to it than PCIe has
  bool areGpusElsewhere = true;  ///< each of its GPUs has other links too
};

class Parts {
public:
  explicit Parts(const Fabric& fabric) : m_fabric(fabric), m_isSeen(static_cast<std::size_t>(fabric.nodeCount())) {
    m_arcs.assign(m_isSeen.size(), [&](const auto& add) {
      for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
        add(fabric.arcs()[arc].tail, static_cast<int>(arc));
        add(fabric.arcs()[arc].head, static_cast<int>(arc));
      }
    });
  }

  [[nodiscard]] bool isSeen(NodeIndex node) const { return m_isSeen[node]; }

  Part from(NodeIndex first) {
    Part part;
    part.switches = {first};
    m_isSeen[first] = true;
    for (std::size_t i = 0; i < part.switches.size(); ++i) {
      for (const int arc : m_arcs[part.switches[i]]) {
        const NodeIndex other = otherEnd(arc, part.switches[i]);
        const Node& node = m_fabric.nodes()[other];
        const bool isInBox = node.box == m_fabric.nodes()[first].box;
        if (node.kind == NodeKind::gpu) {
          part.isFast = part.isFast || m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond() > Rational(kFastestPcie);
        } else if (node.kind == NodeKind::nic) {
          part.hasNic = part.hasNic || isInBox;
        } else if (isInBox && !m_isSeen[other]) {
          m_isSeen[other] = true;
          part.switches.push_back(other);
        }
      }
    }
    for (const NodeIndex each : part.switches) {
      for (const int arc : m_arcs[each]) {
        const NodeIndex gpu = otherEnd(arc, each);
        if (m_fabric.nodes()[gpu].kind == NodeKind::gpu && !hasOtherLinks(gpu, part.switches)) {
          part.areGpusElsewhere = false;
        }
      }
    }
    return part;
  }

private:
  [[nodiscard]] NodeIndex otherEnd(int arc, NodeIndex node) const {
    const Arc& each = m_fabric.arcs()[arc];
    return each.tail == node ? each.head : each.tail;
  }
  [[nodiscard]] bool hasOtherLinks(NodeIndex gpu, const std::vector<NodeIndex>& switches) const {
    const auto& arcs = m_arcs[gpu];
    return std::any_of(arcs.begin(), arcs.end(), [&](int arc) {
      return std::find(switches.begin(), switches.end(), otherEnd(arc, gpu)) == switches.end();
    });
  }

  const Fabric& m_fabric;
  Rows<int> m_arcs;  ///< by node
  std::vector<bool> m_isSeen;
};

}  // namespace

std::string_view toString(PathKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"NVL", "NVB", "PIX", "PXN", "PHB", "SYS"};
  return kNames[static_cast<std::size_t>(kind)];
}

PathKinds::PathKinds(const Fabric& fabric)
    : m_fabric(fabric), m_isNvlink(static_cast<std::size_t>(fabric.nodeCount()), false) {
  Parts parts(fabric);
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    if (fabric.nodes()[node].kind != NodeKind::switchNode || parts.isSeen(node)) {
      continue;
    }
    const Part part = parts.from(node);
    for (const NodeIndex each : part.switches) {
      m_isNvlink[each] = part.isFast || (!part.hasNic && part.areGpusElsewhere);
    }
  }
}

PathKind PathKinds::kindOf(const std::vector<int>& arcs) const {
  std::vector<NodeIndex> nodes;
  for (const int arc : arcs) {
    const auto& [tail, head, bandwidth, latency] = m_fabric.arcs()[arc];
    if (m_fabric.nodes()[tail].box == m_fabric.nodes()[head].box) {
      if (nodes.empty()) {
        nodes.push_back(tail);
      }
      nodes.push_back(head);
    }
  }
  const auto isOfNvlink = [&](NodeIndex node) {
    return m_fabric.nodes()[node].kind == NodeKind::gpu || m_isNvlink[node];
  };
  int switches = 0;
  int cpus = 0;
  bool passesGpu = false;
  for (std::size_t i = 1; i + 1 < nodes.size(); ++i) {
    const Node& node = m_fabric.nodes()[nodes[i]];
    passesGpu = passesGpu || node.kind == NodeKind::gpu;
    if (node.kind == NodeKind::switchNode && !m_isNvlink[nodes[i]]) {
      ++switches;
      cpus += isCpu(node) ? 1 : 0;
    }
  }
  if (std::all_of(nodes.begin(), nodes.end(), isOfNvlink)) {
    return passesGpu ? PathKind::nvb : PathKind::nvl;
  }
  if (cpus > 1) {
    return PathKind::sys;
  }
  if (cpus == 1 || switches > 1) {
    return PathKind::phb;
  }
  return passesGpu ? PathKind::pxn : PathKind::pix;
}

}  // namespace coppice::nccl
