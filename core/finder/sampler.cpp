// SPDX-License-Identifier: Apache-2.0
#include "finder/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace coppice::finder {
namespace {

using std::int64_t;
using std::size_t;
using std::uint64_t;
using topology::Element;
using topology::GroupTable;
using topology::Metacyclic;

constexpr int kTries = 40;

}  // namespace

/// SplitMix64.
class Sampler::Random {
public:
  explicit Random(uint64_t seed) : m_state(seed) {}

  /// In [0, below). @pre below >= 1
  int below(int below) { return static_cast<int>((next() >> 32) * static_cast<uint64_t>(below) >> 32); }
  bool coin() { return below(2) == 0; }

private:
  uint64_t next() {
    m_state += 0x9e3779b97f4a7c15U;
    uint64_t z = m_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  uint64_t m_state;
};

/// (a,b) -> (k a + c (1 + r + .. + r^(b-1)), j b)
struct Sampler::Map {
  Metacyclic group;
  int k = 1;
  int c = 0;
  int j = 1;
  std::vector<int> sums;  ///< 1 + r + .. + r^(b-1) mod m

  [[nodiscard]] Element of(Element x) const {
    return {static_cast<int>((int64_t{k} * x.a + int64_t{c} * sums[static_cast<size_t>(x.b)]) % group.m),
            static_cast<int>(int64_t{j} * x.b % group.n)};
  }
};

Sampler::Sampler(int nodes) : m_nodes(nodes) {
  for (int divisor = 2; divisor <= nodes; ++divisor) {
    if (nodes % divisor == 0) {
      m_divisors.push_back(divisor);
    }
  }
}

const std::vector<int>& Sampler::rootsOfUnity(int modulus, int order) {
  const auto [it, isNew] = m_rootsOf.try_emplace({modulus, order});
  if (isNew) {
    for (int x = 1; x < modulus || x == 1; ++x) {
      if (topology::powerMod(x, order, modulus) == 1 % modulus) {
        it->second.push_back(x % modulus);
      }
    }
  }
  return it->second;
}

Metacyclic Sampler::drawGroup(Random& random) {
  Metacyclic group;
  group.m = m_divisors[static_cast<size_t>(random.below(static_cast<int>(m_divisors.size())))];
  group.n = m_nodes / group.m;
  const std::vector<int>& roots = rootsOfUnity(group.m, group.n);
  group.r = roots[static_cast<size_t>(random.below(static_cast<int>(roots.size())))];
  return group;
}

/// j with j^order = 1 mod n and r^j = r mod m.
std::vector<int> Sampler::compatibleFactors(const Metacyclic& group, int order) {
  std::vector<int> factors;
  for (const int j : rootsOfUnity(group.n, order)) {
    if (topology::powerMod(group.r, j, group.m) == group.r % group.m) {
      factors.push_back(j);
    }
  }
  return factors.empty() ? std::vector<int>{1 % group.n} : factors;
}

Sampler::Map Sampler::drawMap(const Metacyclic& group, int degree, Random& random) {
  Map map;
  map.group = group;
  int64_t sum = 0;
  int64_t power = 1 % group.m;
  for (int b = 0; b < group.n; ++b) {
    map.sums.push_back(static_cast<int>(sum));
    sum = (sum + power) % group.m;
    power = power * group.r % group.m;
  }
  const int order = 2 + random.below(std::max(1, degree - 1));
  const std::vector<int>& factors = rootsOfUnity(group.m, order);
  map.k = factors[static_cast<size_t>(random.below(static_cast<int>(factors.size())))];
  if (random.coin()) {
    const auto common = static_cast<int>(std::gcd(sum, int64_t{group.m}));
    map.c = static_cast<int>(int64_t{group.m / common} * random.below(common) % group.m);
  }
  const std::vector<int> turns = compatibleFactors(group, order);
  map.j = turns[static_cast<size_t>(random.below(static_cast<int>(turns.size())))];
  return map;
}

std::optional<CayleyDraw> Sampler::draw(int degree, bool isDuplex, std::uint32_t seed) {
  Random random((uint64_t{seed} << 32) ^ (static_cast<uint64_t>(degree) << 24) ^ (isDuplex ? uint64_t{1} << 23 : 0) ^
                static_cast<uint64_t>(m_nodes) * 0x2545f4914f6cdd1dU);
  CayleyDraw draw;
  draw.group = drawGroup(random);
  const bool usesOrbits = random.below(4) != 0;
  const Map map = drawMap(draw.group, degree, random);
  const GroupTable table(draw.group);
  const auto drawElement = [&] { return table.element(1 + random.below(m_nodes - 1)); };
  std::set<Element> chosen;
  const auto wanted = static_cast<size_t>(degree);
  for (int attempt = 0; attempt < kTries && chosen.size() < wanted; ++attempt) {
    const bool isSingle = !usesOrbits || attempt > kTries / 2;
    const Element first = drawElement();
    std::set<Element> added;
    Element x = first;
    do {
      added.insert(x);
      if (isDuplex) {
        added.insert(table.inverse(x));
      }
      x = map.of(x);
    } while (!isSingle && x != first && chosen.size() + added.size() <= wanted);
    const bool closes = isSingle || x == first;
    const bool isNew = std::none_of(added.begin(), added.end(), [&](Element e) { return chosen.count(e) != 0; });
    if (closes && isNew && added.count(Element{}) == 0 && chosen.size() + added.size() <= wanted) {
      chosen.merge(added);
    }
  }
  if (chosen.size() != wanted) {
    return std::nullopt;
  }
  draw.generators.assign(chosen.begin(), chosen.end());
  return draw;
}

bool CayleySearch::run(const CayleyDraw& draw) {
  const GroupTable table(draw.group);
  const int m = draw.group.m;
  const int n = draw.group.n;
  const int nodes = draw.group.order();
  const size_t degree = draw.generators.size();
  m_shift.resize(degree * static_cast<size_t>(n));
  for (size_t s = 0; s < degree; ++s) {
    for (int b = 0; b < n; ++b) {
      m_shift[s * static_cast<size_t>(n) + static_cast<size_t>(b)] =
          static_cast<int>(int64_t{table.power(b)} * draw.generators[s].a % m);
    }
  }
  m_distance.assign(static_cast<size_t>(nodes), -1);
  m_masks.assign(static_cast<size_t>(nodes), 0);
  m_distance[0] = 0;
  m_queue.assign(1, 0);
  if (degree <= 16 && m_table.size() < size_t{1} << degree) {
    m_table.assign(size_t{1} << degree, 0);
  }
  m_profile.links = static_cast<int>(degree);
  m_profile.steps.clear();
  for (size_t at = 0; at < m_queue.size();) {
    const size_t end = m_queue.size();
    const int next = m_distance[static_cast<size_t>(m_queue[at])] + 1;
    for (; at < end; ++at) {
      const int x = m_queue[at];
      const int a = x % m;
      const int b = x / m;
      for (size_t s = 0; s < degree; ++s) {
        int sumA = a + m_shift[s * static_cast<size_t>(n) + static_cast<size_t>(b)];
        sumA -= sumA >= m ? m : 0;
        int sumB = b + draw.generators[s].b;
        sumB -= sumB >= n ? n : 0;
        const int y = sumA + m * sumB;
        int& distance = m_distance[static_cast<size_t>(y)];
        if (distance < 0) {
          distance = next;
          m_queue.push_back(y);
        }
        if (distance == next) {
          m_masks[static_cast<size_t>(y)] |= uint64_t{1} << s;
        }
      }
    }
    if (m_queue.size() > end) {
      StepJobs& jobs = m_profile.steps.emplace_back();
      if (degree <= 16) {
        for (size_t i = end; i < m_queue.size(); ++i) {
          const uint64_t mask = m_masks[static_cast<size_t>(m_queue[i])];
          if (m_table[mask]++ == 0) {
            jobs.push_back({mask, 0});
          }
        }
        for (JobClass& job : jobs) {
          job.count = std::exchange(m_table[job.mask], 0);
        }
      } else {
        std::map<uint64_t, int64_t> counts;
        for (size_t i = end; i < m_queue.size(); ++i) {
          ++counts[m_masks[static_cast<size_t>(m_queue[i])]];
        }
        for (const auto& [mask, count] : counts) {
          jobs.push_back({mask, count});
        }
      }
    }
  }
  return m_queue.size() == static_cast<size_t>(nodes);
}

CayleyDraw reversed(const CayleyDraw& draw) {
  CayleyDraw result = draw;
  const GroupTable table(draw.group);
  for (Element& s : result.generators) {
    s = table.inverse(s);
  }
  return result;
}

}  // namespace coppice::finder
