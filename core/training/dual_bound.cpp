// SPDX-License-Identifier: Apache-2.0
#include "training/dual_bound.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

namespace coppice::training {
namespace {

using std::int64_t;

/// What a conversion that is not possible counts: more than a whole plan (weightsOf), and little enough to add up.
constexpr int64_t kBlocked = int64_t{1} << 52;
constexpr int64_t kLargestMoved = int64_t{1} << 57;

void requireSmall(const std::vector<int64_t>& values) {
  for (const int64_t value : values) {
    if (value > kLargestMoved || value < -kLargestMoved) {
      throw OverflowError("bounds of weighted costs leave the exact integer range");
    }
  }
}

int64_t weightedBy(const Weights& weights, const Point& point) {
  return narrow64(weights.sum(point) >> weights.shift);
}

}  // namespace

DualBound::DualBound(const Costs& costs, const Weights& weights) : m_costs(costs), m_linksOf(costs.edgesOf) {
  for (const Variable& variable : costs.variables) {
    std::vector<int64_t>& own = m_own.emplace_back();
    for (const int strategy : variable.alive) {
      own.push_back(weightedBy(weights, variable.own[strategy]));
    }
  }
  for (std::size_t e = 0; e < costs.edges.size(); ++e) {
    std::vector<int> producerStrategies;
    std::vector<int> consumerStrategies;
    Link& link = m_links.emplace_back();
    link.producer = endOf(costs, static_cast<int>(e), true, producerStrategies);
    link.consumer = endOf(costs, static_cast<int>(e), false, consumerStrategies);
    for (const int producer : producerStrategies) {
      for (const int consumer : consumerStrategies) {
        const int64_t time = costs.timeOf(static_cast<int>(e), producer, consumer);
        link.time.push_back(time == kNever ? kBlocked : weightedBy(weights, {0, time, 0}));
      }
    }
  }
  total();
}

DualBound::End DualBound::endOf(const Costs& costs, int edge, bool isProducer, std::vector<int>& examples) {
  const Edge& at = costs.edges[edge];
  End end{isProducer ? at.producer : at.consumer, {}, {}};
  const Variable& variable = costs.variables[end.variable];
  std::map<std::pair<int, bool>, int> keys;
  for (const int strategy : variable.alive) {
    const auto key =
        isProducer ? std::pair(variable.output[strategy], false)
                   : std::pair(variable.takes[strategy][at.input], static_cast<bool>(variable.isDropped[strategy]));
    const auto [found, isNew] = keys.try_emplace(key, static_cast<int>(keys.size()));
    if (isNew) {
      examples.push_back(strategy);
    }
    end.keyOf.push_back(found->second);
  }
  end.moved.assign(keys.size(), 0);
  return end;
}

/// Moves all that the edge costs at least with a strategy of an end to that end.
void DualBound::pull(Link& link, bool isProducer) {
  End& end = isProducer ? link.producer : link.consumer;
  const End& other = isProducer ? link.consumer : link.producer;
  m_scratch.assign(end.moved.size(), std::numeric_limits<int64_t>::max());
  std::size_t at = 0;
  for (std::size_t p = 0; p < link.producer.moved.size(); ++p) {
    for (std::size_t c = 0; c < link.consumer.moved.size(); ++c, ++at) {
      int64_t& least = m_scratch[isProducer ? p : c];
      least = std::min(least, link.time[at] - other.moved[isProducer ? c : p]);
    }
  }
  std::vector<int64_t>& own = m_own[end.variable];
  for (std::size_t key = 0; key < end.moved.size(); ++key) {
    std::swap(m_scratch[key], end.moved[key]);
    m_scratch[key] = end.moved[key] - m_scratch[key];
  }
  for (std::size_t strategy = 0; strategy < own.size(); ++strategy) {
    own[strategy] += m_scratch[static_cast<std::size_t>(end.keyOf[strategy])];
  }
  requireSmall(end.moved);
}

/// Moves a part of what an end costs at least with a key to the edge.
void DualBound::push(Link& link, bool isProducer, int share) {
  End& end = isProducer ? link.producer : link.consumer;
  std::vector<int64_t>& own = m_own[end.variable];
  m_scratch.assign(end.moved.size(), std::numeric_limits<int64_t>::max());
  for (std::size_t strategy = 0; strategy < own.size(); ++strategy) {
    int64_t& least = m_scratch[static_cast<std::size_t>(end.keyOf[strategy])];
    least = std::min(least, own[strategy]);
  }
  for (std::size_t key = 0; key < end.moved.size(); ++key) {
    m_scratch[key] /= share;
    end.moved[key] -= m_scratch[key];
  }
  for (std::size_t strategy = 0; strategy < own.size(); ++strategy) {
    own[strategy] -= m_scratch[static_cast<std::size_t>(end.keyOf[strategy])];
  }
  requireSmall(end.moved);
}

void DualBound::pass(bool isForward) {
  const int count = static_cast<int>(m_own.size());
  for (int step = 0; step < count; ++step) {
    const int variable = isForward ? step : count - 1 - step;
    int ahead = 0;
    int behind = 0;
    for (const int e : m_linksOf[variable]) {
      Link& link = m_links[static_cast<std::size_t>(e)];
      const bool isProducer = link.producer.variable == variable;
      // Producers come first.
      ++(isProducer == isForward ? ahead : behind);
      pull(link, isProducer);
    }
    requireSmall(m_own[variable]);
    int shares = std::max(ahead, behind);
    for (const int e : m_linksOf[variable]) {
      Link& link = m_links[static_cast<std::size_t>(e)];
      const bool isProducer = link.producer.variable == variable;
      if (isProducer == isForward) {
        push(link, isProducer, shares--);
      }
    }
  }
}

/// Sums the least of all variables and edges.
void DualBound::total() {
  m_least = 0;
  for (const std::vector<int64_t>& own : m_own) {
    m_least += *std::min_element(own.begin(), own.end());
  }
  for (const Link& link : m_links) {
    int64_t least = std::numeric_limits<int64_t>::max();
    std::size_t at = 0;
    for (const int64_t producer : link.producer.moved) {
      for (const int64_t consumer : link.consumer.moved) {
        least = std::min(least, link.time[at++] - producer - consumer);
      }
    }
    m_least += least;
  }
}

void DualBound::improve(int passes) {
  for (int i = 0; i < passes; ++i) {
    const int64_t before = m_least;
    // Back last: what lies ahead is then at each variable, as suggested() needs it.
    pass(true);
    pass(false);
    total();
    constexpr int64_t kLittle = 1 << 20;
    constexpr int kFewest = 3;
    if (i >= kFewest && m_least - before <= std::abs(m_least) / kLittle) {
      break;
    }
  }
}

std::vector<int> DualBound::suggested() const {
  std::vector<int> places;
  std::vector<int> strategies;
  for (std::size_t variable = 0; variable < m_own.size(); ++variable) {
    std::vector<int64_t> costs = m_own[variable];
    for (const int e : m_linksOf[variable]) {
      const Link& link = m_links[static_cast<std::size_t>(e)];
      if (link.producer.variable == static_cast<int>(variable)) {
        continue;
      }
      const int producer = places[static_cast<std::size_t>(link.producer.variable)];
      const auto made = static_cast<std::size_t>(link.producer.keyOf[static_cast<std::size_t>(producer)]);
      for (std::size_t strategy = 0; strategy < costs.size(); ++strategy) {
        const auto key = static_cast<std::size_t>(link.consumer.keyOf[strategy]);
        costs[strategy] +=
            link.time[made * link.consumer.moved.size() + key] - link.producer.moved[made] - link.consumer.moved[key];
      }
    }
    places.push_back(static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
    strategies.push_back(m_costs.variables[variable].alive[static_cast<std::size_t>(places.back())]);
  }
  return strategies;
}

}  // namespace coppice::training
