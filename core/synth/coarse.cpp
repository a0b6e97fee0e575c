// SPDX-License-Identifier: Apache-2.0
#include "synth/coarse.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace coppice::synth {
namespace {

/// Parts of the fabric by height: GPUs have height 0, switches one more than the lowest node beside them.
class Parts {
public:
  explicit Parts(const Topology& topology)
      : m_topology(topology), m_rankOf(topology.fabricNodes, -1), m_height(topology.fabricNodes, -1) {
    m_out.resize(topology.fabricNodes);
    m_in.resize(topology.fabricNodes);
    for (int link = 0; link < static_cast<int>(topology.links.size()); ++link) {
      m_out[topology.links[link].tail].push_back(link);
      m_in[topology.links[link].head].push_back(link);
    }
    std::vector<int> queue;
    for (int rank = 0; rank < topology.nodes; ++rank) {
      m_rankOf[topology.gpus[rank]] = rank;
      m_height[topology.gpus[rank]] = 0;
      queue.push_back(topology.gpus[rank]);
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const int next : beside(queue[head])) {
        if (m_height[next] < 0) {
          m_height[next] = m_height[queue[head]] + 1;
          queue.push_back(next);
        }
      }
    }
    m_top = queue.empty() ? 0 : *std::max_element(m_height.begin(), m_height.end());
  }

  [[nodiscard]] int top() const { return m_top; }
  [[nodiscard]] int rankOf(int node) const { return m_rankOf[node]; }

  /// By node: the number of its part, joined by nodes up to this height; -1 above it. At height -1 each GPU is alone.
  [[nodiscard]] std::vector<int> partsUpTo(int height) const {
    std::vector<int> part(m_topology.fabricNodes, -1);
    int count = 0;
    for (int start = 0; start < m_topology.fabricNodes; ++start) {
      if (m_height[start] < 0 || m_height[start] > std::max(height, 0) || part[start] >= 0) {
        continue;
      }
      std::vector<int> queue{start};
      part[start] = count;
      for (std::size_t head = 0; height >= 0 && head < queue.size(); ++head) {
        for (const int next : beside(queue[head])) {
          if (m_height[next] >= 0 && m_height[next] <= height && part[next] < 0) {
            part[next] = count;
            queue.push_back(next);
          }
        }
      }
      ++count;
    }
    return part;
  }

  /// Rate of the links out of the rank's part, or into it, that the rank reaches without passing another GPU. Links are
  /// added to `links` once each.
  [[nodiscard]] Rational rateAcross(int rank, bool isOut, const std::vector<int>& part, std::vector<bool>& isCounted,
                                    Rational& ofPart) const {
    Rational rate = 0;
    const int start = m_topology.gpus[rank];
    std::vector<int> queue{start};
    std::vector<bool> isSeen(m_topology.fabricNodes, false);
    isSeen[start] = true;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const int node = queue[head];
      for (const int link : isOut ? m_out[node] : m_in[node]) {
        const int next = isOut ? m_topology.links[link].head : m_topology.links[link].tail;
        if (part[next] != part[start]) {
          rate += m_topology.links[link].perRound;
          if (!isCounted[link]) {
            isCounted[link] = true;
            ofPart += m_topology.links[link].perRound;
          }
        } else if (!isSeen[next] && m_rankOf[next] < 0) {
          isSeen[next] = true;
          queue.push_back(next);
        }
      }
    }
    return rate;
  }

  /// By other rank: rate of the rank's own links that lead there without passing another GPU.
  [[nodiscard]] std::vector<Rational> rateTo(int rank, bool isOut) const {
    std::vector<Rational> rates(m_topology.nodes, 0);
    for (const int link : isOut ? m_out[m_topology.gpus[rank]] : m_in[m_topology.gpus[rank]]) {
      std::vector<int> queue{isOut ? m_topology.links[link].head : m_topology.links[link].tail};
      std::vector<bool> isSeen(m_topology.fabricNodes, false);
      isSeen[m_topology.gpus[rank]] = isSeen[queue.front()] = true;
      for (std::size_t head = 0; head < queue.size(); ++head) {
        if (m_rankOf[queue[head]] >= 0) {
          rates[m_rankOf[queue[head]]] += m_topology.links[link].perRound;
          continue;
        }
        for (const int next : isOut ? m_out[queue[head]] : m_in[queue[head]]) {
          const int node = isOut ? m_topology.links[next].head : m_topology.links[next].tail;
          if (!isSeen[node]) {
            isSeen[node] = true;
            queue.push_back(node);
          }
        }
      }
    }
    return rates;
  }

private:
  [[nodiscard]] std::vector<int> beside(int node) const {
    std::vector<int> nodes;
    for (const int link : m_out[node]) {
      nodes.push_back(m_topology.links[link].head);
    }
    for (const int link : m_in[node]) {
      nodes.push_back(m_topology.links[link].tail);
    }
    return nodes;
  }

  const Topology& m_topology;
  std::vector<int> m_rankOf;
  std::vector<int> m_height;
  std::vector<std::vector<int>> m_out;
  std::vector<std::vector<int>> m_in;
  int m_top = 0;
};

}  // namespace

Problem coarse(const Problem& problem) {
  const Topology& fine = problem.topology;
  Problem result = problem;
  Topology& topology = result.topology;
  topology.arcs.clear();
  topology.limits.clear();
  topology.isPartial = false;
  std::map<std::pair<int, int>, int> pairs;
  for (const LogicalArc& arc : fine.arcs) {
    pairs.try_emplace({arc.from, arc.to}, 0);
  }
  for (auto& [ends, number] : pairs) {
    number = static_cast<int>(topology.arcs.size());
    topology.arcs.push_back({ends.first, ends.second, {}});
  }
  indexArcs(topology);
  const Parts parts(fine);
  std::map<std::vector<int>, Rational> limits;
  const auto limit = [&](std::vector<int> arcs, const Rational& rate) {
    if (!arcs.empty()) {
      const auto [found, isNew] = limits.try_emplace(std::move(arcs), rate);
      found->second = std::min(found->second, rate);
    }
  };
  for (const bool isOut : {true, false}) {
    for (int rank = 0; rank < fine.nodes; ++rank) {
      const auto rates = parts.rateTo(rank, isOut);
      for (const int arc : isOut ? topology.out[rank] : topology.in[rank]) {
        limit({arc}, rates[isOut ? topology.arcs[arc].to : topology.arcs[arc].from]);
      }
    }
  }
  for (int height = -1; height < parts.top(); ++height) {
    const std::vector<int> part = parts.partsUpTo(height);
    for (const bool isOut : {true, false}) {
      std::map<int, std::vector<int>> arcsOf;
      std::map<int, Rational> rateOf;
      std::vector<bool> isCounted(fine.links.size(), false);
      for (int rank = 0; rank < fine.nodes; ++rank) {
        std::vector<int> own;
        const int here = part[fine.gpus[rank]];
        for (const int arc : isOut ? topology.out[rank] : topology.in[rank]) {
          const LogicalArc& each = topology.arcs[arc];
          if (part[fine.gpus[isOut ? each.to : each.from]] != here) {
            own.push_back(arc);
          }
        }
        auto& all = arcsOf[here];
        all.insert(all.end(), own.begin(), own.end());
        Rational& ofPart = rateOf.try_emplace(here, 0).first->second;
        limit(std::move(own), parts.rateAcross(rank, isOut, part, isCounted, ofPart));
      }
      for (auto& [here, arcs] : arcsOf) {
        std::sort(arcs.begin(), arcs.end());
        limit(std::move(arcs), rateOf.at(here));
      }
    }
  }
  std::vector<Rational> min(topology.arcs.size(), 0);  // of the limits that hold several arcs
  for (const auto& [arcs, rate] : limits) {
    for (const int arc : arcs) {
      min[arc] = arcs.size() > 1 && (min[arc].isZero() || rate < min[arc]) ? rate : min[arc];
    }
  }
  for (const auto& [arcs, rate] : limits) {
    if (arcs.size() > 1 || min[arcs.front()].isZero() || rate < min[arcs.front()]) {
      topology.limits.push_back({arcs, rate});
    }
  }
  indexArcs(topology);
  return result;
}

}  // namespace coppice::synth
