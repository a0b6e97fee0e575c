// SPDX-License-Identifier: Apache-2.0
#include "bom/port_cover.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace coppice::bom {
namespace {

constexpr std::size_t kMaxRates = 2;

class Cover {
public:
  Cover(const Part& part, const PortNeeds& needs) : m_groups(part.portGroups()) {
    for (const auto& [rate, count] : needs) {
      m_rates.push_back(rate);
      m_left[m_rates.size() - 1] = count;
    }
    for (const PortGroup& group : m_groups) {
      auto& ofGroup = m_split.emplace_back();
      for (std::size_t i = 0; i < m_rates.size(); ++i) {
        ofGroup[i] = splitFor(group, m_rates[i]);
      }
    }
    m_ports.resize(m_groups.size());
    // For the second rate whole ports first, then those that are split into the most.
    m_order.resize(m_groups.size());
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    std::stable_sort(m_order.begin(), m_order.end(), [&](std::size_t a, std::size_t b) {
      const int splitA = m_split[a][1];
      const int splitB = m_split[b][1];
      return std::pair(splitA != 1, -splitA) < std::pair(splitB != 1, -splitB);
    });
  }

  PortCover run() {
    fill(0);
    PortCover cover{{}, std::get<0>(*m_least)};
    int firstPort = 0;
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      int next = firstPort;
      for (std::size_t i = 0; i < m_rates.size(); ++i) {
        if (m_best[g][i] > 0) {
          cover.uses.push_back({next, m_best[g][i], m_split[g][i], m_rates[i]});
          next += m_best[g][i];
        }
      }
      firstPort += m_groups[g].count;
    }
    std::stable_sort(cover.uses.begin(), cover.uses.end(),
                     [](const PortUse& a, const PortUse& b) { return a.split < b.split; });
    return cover;
  }

private:
  using PerRate = std::array<int, kMaxRates>;

  /// Into how many ports one is split for the rate; 0 = it cannot be.
  static int splitFor(const PortGroup& group, const Bandwidth& rate) {
    if (group.rate == rate) {
      return 1;
    }
    const auto found = std::find_if(group.splits.begin(), group.splits.end(),
                                    [&](int split) { return group.rate == rate * Rational(split); });
    return found == group.splits.end() ? 0 : *found;
  }

  /// Ports of this group for what is left of a rate.
  [[nodiscard]] int wanted(std::size_t group, std::size_t rate) const {
    const int split = m_split[group][rate];
    return split == 0 || m_left[rate] <= 0 ? 0 : (m_left[rate] + split - 1) / split;
  }

  void take(std::size_t group, std::size_t rate, int ports) {
    m_ports[group][rate] += ports;
    m_left[rate] -= ports * m_split[group][rate];
  }

  /// All numbers of ports for the first rate; of the rest, as many as it can use for the second.
  void fill(std::size_t place) {
    if (place == m_groups.size()) {
      consider();
      return;
    }
    const std::size_t group = m_order[place];
    const int most = std::min(wanted(group, 0), m_groups[group].count);
    for (int first = most; first >= 0; --first) {
      take(group, 0, first);
      const int second = m_rates.size() < kMaxRates ? 0 : std::min(wanted(group, 1), m_groups[group].count - first);
      take(group, 1, second);
      fill(place + 1);
      take(group, 1, -second);
      take(group, 0, -first);
    }
  }

  void consider() {
    int missing = 0;
    int split = 0;
    int all = 0;
    for (std::size_t i = 0; i < m_rates.size(); ++i) {
      missing += std::max(0, m_left[i]);
      for (std::size_t g = 0; g < m_groups.size(); ++g) {
        split += m_split[g][i] > 1 ? m_ports[g][i] : 0;
        all += m_ports[g][i];
      }
    }
    const std::tuple now(missing, split, all);
    if (!m_least || now < *m_least) {
      m_least = now;
      m_best = m_ports;
    }
  }

  std::vector<PortGroup> m_groups;
  std::vector<Bandwidth> m_rates;
  PerRate m_left{};
  std::vector<PerRate> m_split;  ///< by group: into how many ports, 0 = not for this rate
  std::vector<std::size_t> m_order;
  std::vector<PerRate> m_ports;  ///< by group
  std::vector<PerRate> m_best;
  std::optional<std::tuple<int, int, int>> m_least;
};

}  // namespace

PortCover coverPorts(const Part& part, const PortNeeds& needs) {
  return needs.empty() ? PortCover{} : Cover(part, needs).run();
}

std::vector<Bandwidth> ratesOf(const Part& part) {
  std::set<Bandwidth> rates;
  for (const PortGroup& group : part.portGroups()) {
    rates.insert(group.rate);
    for (const int split : group.splits) {
      rates.insert(group.rate / Rational(split));
    }
  }
  return {rates.begin(), rates.end()};
}

}  // namespace coppice::bom
