// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/parts/part_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;

/// Finds disjoint tight sets of the network with at least two GPUs each.
class PartSearch {
public:
  PartSearch(const Network& network, const std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply)
      : m_network(network),
        m_capacities(capacities),
        m_oracle(network.nodeCount, capacities, supply, network.gpus),
        m_into(static_cast<std::size_t>(network.nodeCount)),
        m_outOf(static_cast<std::size_t>(network.nodeCount)),
        m_isUsed(static_cast<std::size_t>(network.nodeCount), 0),
        m_stamp(static_cast<std::size_t>(network.nodeCount), -1) {
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      if (capacities[i].capacity > 0) {
        m_into[capacities[i].head].push_back(static_cast<int>(i));
        m_outOf[capacities[i].tail].push_back(static_cast<int>(i));
      }
    }
    // The outside and the parts should both be small: between a box and the square root of the whole.
    constexpr double kBox = 64;
    const auto gpus = static_cast<double>(network.gpus.size());
    m_maxGpus = static_cast<std::ptrdiff_t>(std::min(gpus / 2, std::max(kBox, 2 * std::sqrt(gpus))));
  }

  std::vector<std::vector<int>> run(const Progress& progress) {
    std::vector<std::vector<int>> family;
    for (const int sink : m_oracle.sinkOrder()) {
      throwIfCancelled(progress);
      if (m_oracle.flowInto(sink, m_oracle.target()) < m_oracle.target()) {
        throw Failure{{ErrorCode::internal, "decomposition was given capacities that are not feasible"}};
      }
      if (m_isUsed[sink] == 0) {
        std::vector<std::vector<int>> chain = chainAround(sink);
        while (!chain.empty()) {
          if (isUsable(chain.back())) {
            widen(chain.back());
            for (const int node : chain.back()) {
              m_isUsed[node] = 1;
            }
            family.push_back(std::move(chain.back()));
            break;
          }
          chain.pop_back();
        }
      }
      m_oracle.undo();
      m_oracle.absorb(sink);
    }
    return family;
  }

private:
  [[nodiscard]] std::ptrdiff_t gpusIn(const std::vector<int>& set) const {
    return std::count_if(set.begin(), set.end(), [&](int node) { return m_network.isGpu[node] != 0; });
  }
  [[nodiscard]] bool isUsable(const std::vector<int>& set) const {
    const std::ptrdiff_t gpus = gpusIn(set);
    return gpus >= 2 && gpus <= m_maxGpus &&
           std::all_of(set.begin(), set.end(), [&](int node) { return m_isUsed[node] == 0; });
  }

  /// With the flow into the sink in place: the smallest tight set around it, and larger ones that also hold GPUs close
  /// by.
  std::vector<std::vector<int>> chainAround(int sink) {
    constexpr int kMaxTries = 12;         // in vain, at each level
    constexpr int kMaxTriesAtSwitch = 2;  // of them: GPUs of one switch mostly fail together
    constexpr std::size_t kMaxVisits = 512;
    std::vector<std::vector<int>> chain;
    std::vector<int> seeds{sink};
    bool isClosed = false;
    std::vector<int> set = m_oracle.reaching(seeds, isClosed);
    if (!isClosed) {
      return chain;
    }
    chain.push_back(set);
    int tries = 0;
    m_queue.assign(1, sink);
    m_stamp[sink] = sink;
    for (std::size_t i = 0; i < m_queue.size() && i < kMaxVisits && tries < kMaxTries; ++i) {
      const bool isCrossbar = m_network.isGpu[m_queue[i]] == 0;
      int triesHere = 0;
      for (const int arc : m_into[m_queue[i]]) {
        const int next = m_capacities[arc].tail;
        if (m_stamp[next] == sink) {
          continue;
        }
        m_stamp[next] = sink;
        m_queue.push_back(next);
        if (m_network.isGpu[next] == 0 || (isCrossbar && triesHere >= kMaxTriesAtSwitch) ||
            std::binary_search(set.begin(), set.end(), next)) {
          continue;
        }
        seeds = set;
        seeds.push_back(next);
        std::vector<int> larger = m_oracle.reaching(seeds, isClosed);
        if (isClosed && gpusIn(larger) <= m_maxGpus) {
          set = larger;
          chain.push_back(std::move(larger));
          tries = 0;
        } else {
          ++triesHere;
          if (++tries >= kMaxTries) {
            break;
          }
        }
      }
    }
    return chain;
  }

  /// Takes in switches and nics through which nothing more enters than the set gets from them.
  void widen(std::vector<int>& set) {
    std::vector<char> inSet(m_network.nodeCount, 0);
    for (const int node : set) {
      inSet[node] = 1;
    }
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (const int arc : m_into[set[i]]) {
        const int node = m_capacities[arc].tail;
        if (inSet[node] != 0 || m_network.isGpu[node] != 0 || m_isUsed[node] != 0) {
          continue;
        }
        int64_t fromOutside = 0;
        int64_t intoSet = 0;
        for (const int in : m_into[node]) {
          fromOutside += inSet[m_capacities[in].tail] == 0 ? m_capacities[in].capacity : 0;
        }
        for (const int out : m_outOf[node]) {
          intoSet += inSet[m_capacities[out].head] != 0 ? m_capacities[out].capacity : 0;
        }
        if (fromOutside == intoSet) {
          inSet[node] = 1;
          set.push_back(node);
        }
      }
    }
    std::sort(set.begin(), set.end());
  }

  const Network& m_network;
  const std::vector<TreeArc>& m_capacities;
  Oracle m_oracle;
  std::vector<std::vector<int>> m_into;
  std::vector<std::vector<int>> m_outOf;
  std::vector<char> m_isUsed;
  std::vector<int> m_stamp;
  std::vector<int> m_queue;
  std::ptrdiff_t m_maxGpus = 0;
};

}  // namespace

std::vector<std::vector<int>> tightParts(const Network& network, const std::vector<TreeArc>& capacities,
                                         const std::vector<int64_t>& supply, const Progress& progress) {
  return PartSearch(network, capacities, supply).run(progress);
}

}  // namespace coppice::forestcoll
