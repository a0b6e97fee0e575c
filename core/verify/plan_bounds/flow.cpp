// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/proof.hpp"

#include <bit>
#include <numeric>

namespace coppice::verify::plan_bounds {

namespace {

constexpr Int128 kPriceless = Int128{1} << 120;
constexpr std::int64_t kMaxWeight = std::int64_t{1} << 32;  ///< so that prices stay far below

}  // namespace

bool BoundProof::takesOneAtATime(const std::vector<int>& links) const {
  const auto share = [&](bool isIn) {
    const int port = portOf(links.front(), isIn);
    return port >= 0 && std::all_of(links.begin(), links.end(), [&](int index) { return portOf(index, isIn) == port; });
  };
  return links.size() == 1 || (!links.empty() && (share(false) || share(true)));
}

std::vector<Int128> BoundProof::prices() const {
  std::vector<Int128> prices(m_model.links.size());
  for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
    const std::vector<int>& links = m_model.machines[i].links;
    if (m_weights[i] < 0 || m_weights[i] > kMaxWeight || (m_weights[i] > 0 && !takesOneAtATime(links))) {
      return {};
    }
    for (const int index : links) {
      prices[index] += m_weights[i];
    }
  }
  for (std::size_t i = 0; i < prices.size(); ++i) {
    // For as many chunks as go together, which pay alpha once.
    const Int128 max = m_model.maxTogether;
    const Int128 alphas = m_model.links[i].isRemote ? 1 : max;
    prices[i] *= alphas * m_alpha[i] + max * m_beta[i];
  }
  return prices;
}

std::vector<std::vector<Int128>> BoundProof::distancesBy(const std::vector<Int128>& prices) const {
  const int m = m_model.gpusPerNode;
  const auto gpus = static_cast<std::size_t>(m_model.gpus());
  std::vector<std::vector<Int128>> distance(gpus, std::vector<Int128>(static_cast<std::size_t>(m), kPriceless));
  for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
    distance[gpu][gpu % m] = 0;
  }
  for (std::size_t i = 0; i < prices.size(); ++i) {
    if (!m_model.links[i].isRemote) {
      Int128& known = distance[m_model.links[i].from][m_model.links[i].to % m];
      known = std::min(known, prices[i]);
    }
  }
  for (int through = 0; through < m_model.gpus(); ++through) {
    const int first = through - through % m;
    for (int from = first; from < first + m; ++from) {
      for (int to = 0; to < m; ++to) {
        distance[from][to] = std::min(distance[from][to], distance[from][through % m] + distance[through][to]);
      }
    }
  }
  return distance;
}

Int128 BoundProof::treePrice(int root, std::vector<Int128> prices) const {
  const int m = m_model.gpusPerNode;
  const auto bit = [m](int gpu) { return std::uint32_t{1} << static_cast<unsigned>(gpu % m); };
  std::vector<int> links;
  for (int gpu = root - root % m; gpu < root - root % m + m; ++gpu) {
    for (const int index : linksFrom(gpu)) {
      if (!link(index).isRemote) {
        links.push_back(index);
      }
    }
  }
  for (Int128 sum = 0;;) {
    std::vector<std::uint32_t> before(static_cast<std::size_t>(m));  // from which free links lead there
    for (int gpu = 0; gpu < m; ++gpu) {
      before[gpu] = bit(gpu);
    }
    for (const int index : links) {
      before[link(index).to % m] |= prices[index] == 0 ? bit(link(index).from) : 0;
    }
    for (int through = 0; through < m; ++through) {
      for (std::uint32_t& set : before) {
        set |= (set & bit(through)) != 0 ? before[through] : 0;
      }
    }
    std::uint32_t min = 0;
    for (const std::uint32_t set : before) {
      if ((set & bit(root)) == 0 && (min == 0 || std::popcount(set) < std::popcount(min))) {
        min = set;
      }
    }
    if (min == 0) {
      return sum;
    }
    Int128 entry = kPriceless;
    const auto enters = [&](int index) {
      return (min & bit(link(index).to)) != 0 && (min & bit(link(index).from)) == 0;
    };
    for (const int index : links) {
      entry = enters(index) ? std::min(entry, prices[index]) : entry;
    }
    if (entry == kPriceless) {
      return kPriceless;
    }
    for (const int index : links) {
      prices[index] -= enters(index) ? entry : 0;
    }
    sum += entry;
  }
}

Time BoundProof::flow() {
  const bool hasTrees =
      std::any_of(m_chunks.begin(), m_chunks.end(), [](const Chunk& chunk) { return chunk.targets.size() > 1; });
  if (m_weights.size() != m_model.machines.size() || (hasTrees && m_model.gpusPerNode > 32)) {
    return 0;
  }
  const Int128 sum = std::accumulate(m_weights.begin(), m_weights.end(), Int128{0});
  const std::vector<Int128> price = prices();
  if (price.empty() || sum <= 0) {
    return 0;
  }
  const std::vector<std::vector<Int128>> distance = distancesBy(price);
  std::map<int, Int128> trees;
  const auto spreadPrice = [&](int from, const std::vector<int>& targets) {
    Int128 farthest = 0;
    std::size_t others = 0;
    for (const int target : targets) {
      farthest = std::max(farthest, distance[from][target % m_model.gpusPerNode]);
      others += target != from ? 1 : 0;
    }
    if (others + 1 < static_cast<std::size_t>(m_model.gpusPerNode) || others < 2) {
      return farthest;
    }
    const auto [known, isNew] = trees.try_emplace(from, 0);
    if (isNew) {
      known->second = treePrice(from, price);
    }
    return known->second;
  };
  Int128 total = 0;
  const auto add = [&](Int128 cost) { total = std::min(kPriceless, total + cost); };
  for (const Chunk& chunk : m_chunks) {
    add(spreadPrice(chunk.origin, targetsIn(chunk, nodeOf(chunk.origin))));
  }
  for (const Passage& passage : m_passages) {
    throwIfCancelled(m_progress);
    const Chunk& chunk = m_chunks[passage.chunk];
    const std::vector<int> targets = targetsIn(chunk, passage.node);
    Int128 min = kPriceless;
    for (const int index : passage.links) {
      const Int128 head = chunk.targets.size() > 1 ? 0 : distance[chunk.origin][link(index).from % m_model.gpusPerNode];
      min = std::min(min, head + price[index] + spreadPrice(link(index).to, targets));
    }
    add(min);
  }
  const Int128 whole = sum * m_model.maxTogether;
  return total >= kPriceless ? 0 : narrow64((total + whole - 1) / whole);
}

}  // namespace coppice::verify::plan_bounds
