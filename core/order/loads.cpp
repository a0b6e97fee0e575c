// SPDX-License-Identifier: Apache-2.0
#include "order/loads.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <tuple>

#include "base/failure.hpp"
#include "simulate/routes.hpp"

namespace coppice::order {
namespace {

constexpr std::size_t kMaxLoads = std::size_t{1} << 27U;

Int128 gcd(Int128 a, Int128 b) {
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a;
}

}  // namespace

bool operator<(const Score& a, const Score& b) {
  if (!a.isKnown || !b.isKnown) {
    return a.isKnown && !b.isKnown;
  }
  // One unit is a multiple of the other.
  const Int128 byA = std::max<std::int64_t>(1, b.unit / a.unit);
  const Int128 byB = std::max<std::int64_t>(1, a.unit / b.unit);
  return std::tuple(a.time * byA, a.busiest, a.total * byA) < std::tuple(b.time * byB, b.busiest, b.total * byB);
}

Loads::Loads(const fabric::Fabric& fabric, const Pattern& pattern)
    : m_fabric(fabric), m_routes(std::make_unique<simulate::ShortestRoutes>(fabric)) {
  if (pattern.steps.size() > kMaxLoads / fabric.arcs().size()) {
    throw Failure{Error{ErrorCode::limit, "the algorithm has too many steps for a fabric of this size",
                        "choose ring or multi-ring"}};
  }
  readPattern(pattern);
  weighLinks();
  checkRange(m_routeUnit);
  m_order.assign(static_cast<std::size_t>(pattern.places), kNobody);
  m_loads.assign(pattern.steps.size() * fabric.arcs().size(), 0);
  m_peaks.assign(pattern.steps.size(), {0, static_cast<std::int64_t>(fabric.arcs().size())});
  m_mark.assign(m_sent.size(), 0);
}

Loads::~Loads() = default;

void Loads::readPattern(const Pattern& pattern) {
  for (const Step& step : pattern.steps) {
    for (const Message& message : step.messages) {
      m_amountUnit = leastCommonMultiple(m_amountUnit, message.amount.denominator());
    }
  }
  for (std::size_t step = 0; step < pattern.steps.size(); ++step) {
    m_count.push_back(pattern.steps[step].count);
    for (const Message& message : pattern.steps[step].messages) {
      m_sent.push_back({static_cast<int>(step), message.from, message.to,
                        checkedMul(message.amount.numerator(), m_amountUnit / message.amount.denominator())});
    }
  }
  m_atPlace = Rows<std::int32_t>(static_cast<std::size_t>(pattern.places), [&](const auto& add) {
    for (std::size_t i = 0; i < m_sent.size(); ++i) {
      add(m_sent[i].from, static_cast<std::int32_t>(i));
      add(m_sent[i].to, static_cast<std::int32_t>(i));
    }
  });
}

void Loads::weighLinks() {
  for (const fabric::Arc& arc : m_fabric.arcs()) {
    m_weightUnit = leastCommonMultiple(m_weightUnit, arc.bandwidth.gigabytesPerSecond().numerator());
  }
  for (const fabric::Arc& arc : m_fabric.arcs()) {
    const Rational& rate = arc.bandwidth.gigabytesPerSecond();
    m_weight.push_back(checkedMul(m_weightUnit / rate.numerator(), rate.denominator()));
  }
}

/// All that is sent over the slowest link in turn, and all links together, stay in range.
void Loads::checkRange(std::int64_t routeUnit) const {
  std::int64_t sum = 0;
  for (const Sent& sent : m_sent) {
    sum = checkedAdd(sum, checkedMul(sent.amount, checkedMul(m_count[sent.step], routeUnit)));
  }
  Int128 weights = 0;
  for (const std::int64_t weight : m_weight) {
    weights += weight;
  }
  // The factor leaves what operator< multiplies by.
  constexpr Int128 kMax = Int128{1} << 100U;
  if (sum > 0 && weights > kMax / sum) {
    throw OverflowError("loads leave the exact integer range");
  }
}

std::pair<std::size_t, std::size_t> Loads::routeOf(fabric::Rank from, fabric::Rank to) {
  const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
  if (const auto found = m_routeAt.find(key); found != m_routeAt.end()) {
    return found->second;
  }
  const std::uint64_t before = m_routes->searched();
  const auto shares = m_routes->shares(from, to);
  m_work += m_routes->searched() - before + shares.size();
  std::int64_t unit = m_routeUnit;
  for (const auto& [arc, share] : shares) {
    unit = leastCommonMultiple(unit, share.denominator());
  }
  if (unit != m_routeUnit) {
    refine(unit / m_routeUnit);
  }
  const std::size_t first = m_parts.size();
  for (const auto& [arc, share] : shares) {
    m_parts.push_back({arc, share.numerator() * (m_routeUnit / share.denominator())});
  }
  return m_routeAt[key] = {first, m_parts.size()};
}

void Loads::refine(std::int64_t factor) {
  const std::int64_t unit = checkedMul(m_routeUnit, factor);
  checkRange(unit);
  m_routeUnit = unit;
  for (Part& part : m_parts) {
    part.units *= factor;
  }
  for (std::int64_t& load : m_loads) {
    load *= factor;
  }
  for (Peak& peak : m_peaks) {
    peak.time *= factor;
  }
  m_total *= factor;
}

void Loads::add(const Sent& sent, const std::pair<std::size_t, std::size_t>& route, int sign) {
  const auto [first, last] = route;
  std::int64_t* const loads = m_loads.data() + static_cast<std::size_t>(sent.step) * m_fabric.arcs().size();
  Int128 total = 0;
  Peak& peak = m_peaks[sent.step];
  for (std::size_t i = first; i < last; ++i) {
    const Part& part = m_parts[i];
    const Int128 weight = m_weight[part.arc];
    peak.links -= loads[part.arc] * weight == peak.time ? 1 : 0;
    loads[part.arc] += sign * sent.amount * part.units;
    const Int128 time = loads[part.arc] * weight;
    if (time > peak.time) {
      peak = {time, 0};
    }
    peak.links += time == peak.time ? 1 : 0;
    total += sent.amount * part.units * weight;
  }
  m_total += sign * total * m_count[sent.step];
  m_work += last - first;
}

void Loads::set(std::span<const fabric::Rank> order) {
  if (++m_change == 0) {
    std::fill(m_mark.begin(), m_mark.end(), 0);
    m_change = 1;
  }
  m_work += order.size() / 16;  // compared, not looked up
  std::vector<std::int32_t> changed;
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (order[place] != m_order[place]) {
      for (const std::int32_t message : m_atPlace[place]) {
        if (m_mark[message] != m_change) {
          m_mark[message] = m_change;
          changed.push_back(message);
        }
      }
    }
  }
  // A route that is new may leave the range: all of them before anything changes.
  std::vector<std::pair<std::size_t, std::size_t>> routes;
  routes.reserve(2 * changed.size());
  for (const std::span<const fabric::Rank> of : {std::span<const fabric::Rank>(m_order), order}) {
    for (const std::int32_t message : changed) {
      const fabric::Rank from = of[m_sent[message].from];
      const fabric::Rank to = of[m_sent[message].to];
      routes.push_back(from == kNobody || to == kNobody ? std::pair<std::size_t, std::size_t>() : routeOf(from, to));
    }
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    add(m_sent[changed[i % changed.size()]], routes[i], i < changed.size() ? -1 : 1);
  }
  m_order.assign(order.begin(), order.end());
}

Score Loads::score() {
  const std::size_t arcs = m_fabric.arcs().size();
  Score score;
  for (std::size_t step = 0; step < m_peaks.size(); ++step) {
    Peak& peak = m_peaks[step];
    if (peak.links == 0) {
      const std::int64_t* const loads = m_loads.data() + step * arcs;
      peak = {};
      for (std::size_t arc = 0; arc < arcs; ++arc) {
        const Int128 time = Int128{loads[arc]} * m_weight[arc];
        if (time > peak.time) {
          peak = {time, 0};
        }
        peak.links += time == peak.time ? 1 : 0;
      }
      m_work += arcs;
    }
    score.time += peak.time * m_count[step];
    score.busiest += peak.links * m_count[step];
  }
  score.total = m_total;
  score.unit = m_routeUnit;
  return score;
}

InverseBandwidth Loads::inTime(Int128 units) const {
  if (units == 0) {
    return {};
  }
  Rational denominator = 1;
  for (const std::int64_t divisor : {m_weightUnit, m_amountUnit, m_routeUnit}) {
    const Int128 common = gcd(units, divisor);
    units /= common;
    denominator *= Rational(narrow64(divisor / common));
  }
  return InverseBandwidth(Rational(narrow64(units)) / denominator);
}

InverseBandwidth Loads::time() {
  return inTime(score().time);
}

Int128 Loads::totalOf(int arc) const {
  Int128 total = 0;
  for (std::size_t step = 0; step < m_count.size(); ++step) {
    total += Int128{m_loads[step * m_fabric.arcs().size() + static_cast<std::size_t>(arc)]} * m_count[step];
  }
  return total * m_weight[arc];
}

InverseBandwidth Loads::timeOf(int arc) const {
  return inTime(totalOf(arc));
}

int Loads::busiestArc() const {
  int best = -1;
  Int128 most = 0;
  for (std::size_t arc = 0; arc < m_fabric.arcs().size(); ++arc) {
    const Int128 total = totalOf(static_cast<int>(arc));
    if (total > most) {
      most = total;
      best = static_cast<int>(arc);
    }
  }
  return best;
}

std::vector<int> Loads::busyPlaces() {
  constexpr std::size_t kMaxSteps = 4;
  const Score found = score();  // so that all peaks are known
  if (found.time == 0) {
    return {};
  }
  std::vector<std::size_t> steps(m_peaks.size());
  std::iota(steps.begin(), steps.end(), std::size_t{0});
  const auto last = steps.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxSteps, steps.size()));
  std::partial_sort(steps.begin(), last, steps.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(m_peaks[b].time * m_count[b], a) < std::pair(m_peaks[a].time * m_count[a], b);
  });
  std::vector<int> places;
  for (auto step = steps.begin(); step != last; ++step) {
    const std::int64_t* const loads = m_loads.data() + *step * m_fabric.arcs().size();
    std::int32_t fullest = 0;
    while (Int128{loads[fullest]} * m_weight[fullest] != m_peaks[*step].time) {
      ++fullest;
    }
    const auto first = std::lower_bound(m_sent.begin(), m_sent.end(), static_cast<int>(*step),
                                        [](const Sent& sent, int at) { return sent.step < at; });
    for (auto sent = first; sent != m_sent.end() && sent->step == static_cast<int>(*step); ++sent) {
      if (m_order[sent->from] == kNobody || m_order[sent->to] == kNobody) {
        continue;
      }
      const auto [begin, end] = routeOf(m_order[sent->from], m_order[sent->to]);
      m_work += end - begin;
      if (std::any_of(m_parts.begin() + static_cast<std::ptrdiff_t>(begin),
                      m_parts.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const Part& part) { return part.arc == fullest; })) {
        places.insert(places.end(), {sent->from, sent->to});
      }
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace coppice::order
