// SPDX-License-Identifier: Apache-2.0
#include "order/search.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/failure.hpp"
#include "order/grid.hpp"
#include "order/loads.hpp"
#include "symmetry/fabric_parts.hpp"

namespace coppice::order {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

/// Thrown where the allowed work is done.
struct WorkDone {};

/// Numbers that are the same everywhere (splitmix64).
class Random {
public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}
  /// 0 .. n - 1. @pre n > 0
  std::size_t below(std::size_t n) {
    m_state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = m_state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % n);
  }

private:
  std::uint64_t m_state;
};

/// Hosts one after the other, each with its GPUs: what the search changes.
struct Arrangement {
  std::vector<int> hosts;
  std::vector<std::vector<Rank>> gpus;  ///< by host, as numbered in the order as it is

  [[nodiscard]] std::vector<Rank> order() const {
    std::vector<Rank> order;
    for (const int host : hosts) {
      order.insert(order.end(), gpus[host].begin(), gpus[host].end());
    }
    return order;
  }
};

enum class Move { exchange, turn, shift };

template <typename T>
void apply(Move move, std::vector<T>& list, std::size_t i, std::size_t j) {
  const auto first = list.begin() + static_cast<std::ptrdiff_t>(i);
  const auto last = list.begin() + static_cast<std::ptrdiff_t>(j);
  switch (move) {
    case Move::exchange:
      std::iter_swap(first, last);
      break;
    case Move::turn:
      std::reverse(first, last + 1);
      break;
    case Move::shift:
      std::rotate(first, first + 1, last + 1);
      break;
  }
}

/// Hosts whose first GPUs hang together closely are neighbours; sets come in the order of their first hosts.
Arrangement byParts(const fabric::Fabric& fabric, const Arrangement& given) {
  std::vector<std::vector<int>> keys(given.gpus.size());
  const auto candidates = symmetry::candidateParts(symmetry::graphOf(fabric), fabric);
  for (auto parts = candidates.rbegin(); parts != candidates.rend(); ++parts) {
    std::map<int, int> numbers;
    for (const int host : given.hosts) {
      const int part = (*parts)[fabric.gpus()[given.gpus[host].front()]];
      keys[host].push_back(numbers.try_emplace(part, static_cast<int>(numbers.size())).first->second);
    }
  }
  // Single nodes, the last and the first list, say nothing.
  for (auto& key : keys) {
    key.erase(key.begin());
  }
  Arrangement sorted = given;
  std::stable_sort(sorted.hosts.begin(), sorted.hosts.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  return sorted;
}

/// Regular ways to go through `count` things: bits reversed, by columns of a grid, and along its rows there and back.
std::vector<std::vector<std::size_t>> regularOrders(std::size_t count) {
  constexpr std::size_t kMaxGrids = 16;
  std::vector<std::vector<std::size_t>> orders;
  if (count >= 4 && std::has_single_bit(count)) {
    std::vector<std::size_t>& reversed = orders.emplace_back(count, 0);
    for (std::size_t i = 1; i < count; ++i) {
      reversed[i] = reversed[i / 2] / 2 + (i % 2) * (count / 2);
    }
  }
  std::size_t grids = 0;
  for (std::size_t rows = 2; rows <= count / 2 && grids < kMaxGrids; ++rows) {
    if (count % rows != 0) {
      continue;
    }
    ++grids;
    const std::size_t columns = count / rows;
    std::vector<std::size_t> across(count);
    std::vector<std::size_t> snake(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = i / columns;
      const std::size_t column = i % columns;
      across[column * rows + row] = i;
      snake[i] = row * columns + (row % 2 == 0 ? column : columns - 1 - column);
    }
    orders.push_back(std::move(across));
    orders.push_back(std::move(snake));
  }
  return orders;
}

template <typename T>
std::vector<T> inOrder(const std::vector<T>& list, const std::vector<std::size_t>& order) {
  std::vector<T> sorted;
  for (const std::size_t i : order) {
    sorted.push_back(list[i]);
  }
  return sorted;
}

/// The pattern stays the same where all places move on by `places`.
bool isCyclic(const Pattern& pattern, int places) {
  return std::all_of(pattern.steps.begin(), pattern.steps.end(), [&](const Step& step) {
    std::map<std::pair<int, int>, Rational> amounts;
    for (const Message& message : step.messages) {
      amounts[{message.from, message.to}] = message.amount;
    }
    return std::all_of(step.messages.begin(), step.messages.end(), [&](const Message& message) {
      const auto found =
          amounts.find({(message.from + places) % pattern.places, (message.to + places) % pattern.places});
      return found != amounts.end() && found->second == message.amount;
    });
  });
}

class Search {
public:
  Search(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts, const Request& request,
         const Progress& progress)
      : m_fabric(fabric),
        m_pattern(pattern),
        m_request(request),
        m_progress(progress),
        m_loads(fabric, pattern),
        m_random(request.seed) {
    m_present = request.present.empty() ? orderOf(hosts) : request.present;
    if (request.isFree) {
      m_given = {{0}, {m_present}};
    } else {
      for (const Host& host : hosts) {
        m_given.hosts.push_back(static_cast<int>(m_given.hosts.size()));
        m_given.gpus.push_back(host.gpus);
      }
    }
  }

  Answer run(const Hosts& hosts) {
    Answer answer;
    m_loads.set(m_present);
    answer.given = worth();
    m_best = m_given;
    m_loads.set(m_given.order());
    m_bestScore = m_loads.score();
    if (isUniform(m_pattern)) {
      answer.hasTriedAll = true;
    } else {
      answer.bound = orderBound(m_fabric, m_pattern, hosts, !m_request.isFree, m_progress);
      m_bound = answer.bound;
      findGrid();
      improve();
      answer.hasTriedAll = !isAtBound() && tryAll();
    }
    m_limit = UINT64_MAX;
    scoreOf(m_best);
    answer.best = worth();
    answer.order = m_best.order();
    answer.work = m_loads.work();
    return answer;
  }

private:
  static constexpr std::size_t kMaxDescents = 6;  ///< the best starts, which are followed
  static constexpr int kMaxTried = 32;            ///< places of which all orders may be tried
  static constexpr int kMaxTurns = 64;            ///< changes of an optimum in a row that lead to nothing better

  Worth worth() {
    const int arc = m_loads.busiestArc();
    return {m_loads.time(), arc, arc < 0 ? InverseBandwidth() : m_loads.timeOf(arc)};
  }

  Score scoreOf(const std::vector<Rank>& order) {
    throwIfCancelled(m_progress);
    if (m_loads.work() > m_limit) {
      throw WorkDone{};
    }
    try {
      m_loads.set(order);
    } catch (const OverflowError&) {
      return {.isKnown = false};  // routes that divide over many parts
    }
    return m_loads.score();
  }
  Score scoreOf(const Arrangement& arrangement) { return scoreOf(arrangement.order()); }

  void keep(const Arrangement& arrangement, const Score& score) {
    if (score < m_bestScore) {
      m_bestScore = score;
      m_best = arrangement;
    }
  }

  bool isAtBound() {
    m_loads.set(m_best.order());
    return m_bound && m_loads.time() == m_bound->time;
  }

  /// GPUs change their places in the host only where the algorithm does not know of hosts: NCCL finds its own order
  /// inside, whatever the ranks.
  [[nodiscard]] bool changesInside() const { return !m_pattern.usesHosts; }

  void improve() {
    // The rest is for trying all orders, which ends for few places alone.
    const std::uint64_t work = m_request.work / 8 * (m_pattern.places > kMaxTried ? 7 : 4);
    if (m_grid) {
      m_limit = work / 2;
      improveRules();
    }
    m_limit = work;
    try {
      std::vector<std::pair<Score, Arrangement>> starts;
      if (m_grid) {
        starts.emplace_back(m_bestScore, m_best);
      }
      for (Arrangement& start : startArrangements()) {
        const Score score = scoreOf(start);
        keep(start, score);
        starts.emplace_back(score, std::move(start));
      }
      std::stable_sort(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < std::min(starts.size(), kMaxDescents) && !isAtBound(); ++i) {
        descend(starts[i].second, starts[i].first);
      }
      for (int turns = 0; turns < kMaxTurns && !isAtBound(); ++turns) {
        m_progress.report("searching", static_cast<double>(m_loads.work()) / static_cast<double>(m_request.work));
        const Score before = m_bestScore;
        const Arrangement changed = shaken();
        descend(changed, scoreOf(changed));
        turns = m_bestScore < before ? 0 : turns;
      }
    } catch (const WorkDone&) {
      // The best one so far stands.
    }
  }

  // ---- orders by the rule of a grid

  /// The grid of the GPUs where these change their places one by one, else of the hosts.
  void findGrid() {
    std::vector<int> thingOf(static_cast<std::size_t>(m_fabric.nodeCount()), -1);
    if (changesInside()) {
      for (Rank gpu = 0; gpu < m_fabric.gpuCount(); ++gpu) {
        thingOf[m_fabric.gpus()[gpu]] = gpu;
      }
      m_grid = gridOf(m_fabric, thingOf, m_fabric.gpuCount(), m_progress);
      m_areGpusThings = m_grid.has_value();
    }
    if (!m_grid && !m_request.isFree && m_given.gpus.size() > 1) {
      std::map<std::string_view, int> ofBox;
      for (std::size_t host = 0; host < m_given.gpus.size(); ++host) {
        for (const Rank gpu : m_given.gpus[host]) {
          const NodeIndex node = m_fabric.gpus()[gpu];
          thingOf[node] = static_cast<int>(host);
          ofBox.try_emplace(m_fabric.nodes()[node].box, static_cast<int>(host));
        }
      }
      for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
        const fabric::Node& at = m_fabric.nodes()[node];
        if (at.rank < 0 && !at.box.empty() && ofBox.contains(at.box)) {
          thingOf[node] = ofBox.at(at.box);
        }
      }
      m_grid = gridOf(m_fabric, thingOf, static_cast<int>(m_given.gpus.size()), m_progress);
    }
  }

  /// nullopt where it divides hosts.
  [[nodiscard]] std::optional<Arrangement> fromThings(const std::vector<int>& things) const {
    Arrangement made = m_given;
    if (!m_areGpusThings) {
      made.hosts = things;
      return made;
    }
    if (m_request.isFree) {
      made.gpus.front().assign(things.begin(), things.end());
      return made;
    }
    std::vector<int> hostOf(things.size());
    for (std::size_t host = 0; host < m_given.gpus.size(); ++host) {
      for (const Rank gpu : m_given.gpus[host]) {
        hostOf[gpu] = static_cast<int>(host);
      }
    }
    made.hosts.clear();
    for (std::size_t place = 0; place < things.size();) {
      const int host = hostOf[things[place]];
      made.hosts.push_back(host);
      for (Rank& gpu : made.gpus[host]) {
        if (place == things.size() || hostOf[things[place]] != host) {
          return std::nullopt;
        }
        gpu = things[place++];
      }
    }
    return made;
  }

  /// Curves, and rules of digits with the changes that help.
  void improveRules() {
    try {
      for (const std::vector<int>& curve : curves(*m_grid)) {
        if (const auto made = fromThings(curve)) {
          keep(*made, scoreOf(*made));
        }
      }
      std::vector<std::pair<Score, DigitRule>> rules;
      for (const bool arePrime : {true, false}) {
        for (DigitRule& rule : digitRules(*m_grid, arePrime)) {
          if (const auto score = scoreOf(rule)) {
            rules.emplace_back(*score, std::move(rule));
          }
        }
      }
      if (rules.empty()) {
        return;
      }
      std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < std::min(rules.size(), kMaxDescents) && !isAtBound(); ++i) {
        descend(rules[i].second, rules[i].first);
      }
      std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      auto& [bestScore, best] = rules.front();
      for (int turns = 0; turns < kMaxTurns && !isAtBound(); ++turns) {
        m_progress.report("searching", static_cast<double>(m_loads.work()) / static_cast<double>(m_request.work));
        DigitRule rule = best;
        for (int i = 0; i < 3; ++i) {
          rule = changed(*m_grid, rule, m_random.below(changesOf(*m_grid, rule)));
        }
        if (auto score = scoreOf(rule)) {
          descend(rule, *score);
          if (*score < bestScore) {
            bestScore = *score;
            best = std::move(rule);
            turns = 0;
          }
        }
      }
    } catch (const WorkDone&) {
      // The best one so far stands.
    }
  }

  /// nullopt where it divides hosts, or is not known.
  std::optional<Score> scoreOf(const DigitRule& rule) {
    const auto made = fromThings(orderBy(*m_grid, rule));
    if (!made) {
      return std::nullopt;
    }
    const Score score = scoreOf(*made);
    keep(*made, score);
    return score.isKnown ? std::optional(score) : std::nullopt;
  }

  /// Changes that are better are made until none is.
  void descend(DigitRule& rule, Score& score) {
    std::size_t tried = 0;
    for (std::size_t change = 0; tried < changesOf(*m_grid, rule); ++change, ++tried) {
      const DigitRule other = changed(*m_grid, rule, change % changesOf(*m_grid, rule));
      if (const auto changedScore = scoreOf(other); changedScore && *changedScore < score) {
        rule = other;
        score = *changedScore;
        tried = 0;
      }
    }
  }

  // ---- orders one exchange apart

  /// As it is and by parts; both also with every other host turned round, so that a ring leaves and enters neighbours
  /// on one rail, and in regular orders of the hosts, or of the GPUs where these are free.
  [[nodiscard]] std::vector<Arrangement> startArrangements() const {
    std::vector<Arrangement> starts{m_given};
    if (!m_request.isFree) {
      starts.push_back(byParts(m_fabric, m_given));
    }
    const std::size_t plain = starts.size();
    for (std::size_t i = 0; changesInside() && !m_request.isFree && i < plain; ++i) {
      Arrangement turned = starts[i];
      for (std::size_t host = 1; host < turned.hosts.size(); host += 2) {
        auto& gpus = turned.gpus[turned.hosts[host]];
        std::reverse(gpus.begin(), gpus.end());
      }
      starts.push_back(std::move(turned));
    }
    const std::size_t count = m_request.isFree ? m_given.gpus.front().size() : m_given.hosts.size();
    for (const std::vector<std::size_t>& order : regularOrders(count)) {
      for (std::size_t i = 0; i < plain; ++i) {
        Arrangement regular = starts[i];
        if (m_request.isFree) {
          regular.gpus.front() = inOrder(regular.gpus.front(), order);
        } else {
          regular.hosts = inOrder(regular.hosts, order);
        }
        starts.push_back(std::move(regular));
      }
    }
    return starts;
  }

  Arrangement shaken() {
    Arrangement changed = m_best;
    for (int i = 0; i < 3; ++i) {
      const bool isInside = changed.hosts.size() < 3 || (changesInside() && m_random.below(4) == 0);
      if (isInside) {
        auto& list = changed.gpus[m_random.below(changed.gpus.size())];
        std::swap(list[m_random.below(list.size())], list[m_random.below(list.size())]);
      } else {
        auto& list = changed.hosts;
        std::swap(list[m_random.below(list.size())], list[m_random.below(list.size())]);
      }
    }
    return changed;
  }

  /// Moves that are better are made until none is.
  void descend(Arrangement now, Score score) {
    keep(now, score);
    for (bool isBetter = true; isBetter;) {
      isBetter = relieve(now, score);
      for (std::size_t host = 0; changesInside() && host < now.gpus.size(); ++host) {
        isBetter = improveList(now, now.gpus[host], score) || isBetter;
      }
      if (changesInside() && now.gpus.size() > 1) {
        isBetter = improveAllHosts(now, score) || isBetter;
      }
      isBetter = improveList(now, now.hosts, score) || isBetter;
    }
  }

  /// Exchanges with those that load the fullest links, until none helps.
  bool relieve(Arrangement& now, Score& score) {
    const bool isOneHost = now.gpus.size() == 1;
    const bool isOneGpu =
        std::all_of(now.gpus.begin(), now.gpus.end(), [](const auto& gpus) { return gpus.size() == 1; });
    if (!(isOneGpu || (isOneHost && changesInside()))) {
      return false;
    }
    std::vector<int>& list = isOneHost ? now.gpus.front() : now.hosts;
    bool isAnyBetter = false;
    for (bool isBetter = true; isBetter;) {
      isBetter = false;
      scoreOf(now);
      for (const int place : m_loads.busyPlaces()) {
        for (std::size_t other = 0; other < list.size() && !isBetter; ++other) {
          std::swap(list[place], list[other]);
          isBetter = accept(now, score);
          if (!isBetter) {
            std::swap(list[place], list[other]);
          }
        }
      }
      isAnyBetter = isAnyBetter || isBetter;
    }
    return isAnyBetter;
  }

  template <typename T>
  bool improveList(Arrangement& now, std::vector<T>& list, Score& score) {
    bool isBetter = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t j = i + 1; j < list.size(); ++j) {
        for (const Move move : {Move::exchange, Move::turn, Move::shift}) {
          if (move != Move::exchange && j < i + 2) {
            continue;  // the same as an exchange
          }
          const std::vector<T> before = list;
          apply(move, list, i, j);
          isBetter = accept(now, score) || (list = before, isBetter);
        }
      }
    }
    return isBetter;
  }

  /// The same exchange in all hosts at once: one alone leaves the rails.
  bool improveAllHosts(Arrangement& now, Score& score) {
    std::size_t size = now.gpus.front().size();
    for (const auto& gpus : now.gpus) {
      size = std::min(size, gpus.size());
    }
    bool isBetter = false;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = i + 1; j < size; ++j) {
        const auto exchange = [&] {
          for (auto& gpus : now.gpus) {
            std::swap(gpus[i], gpus[j]);
          }
        };
        exchange();
        if (accept(now, score)) {
          isBetter = true;
        } else {
          exchange();
        }
      }
    }
    return isBetter;
  }

  bool accept(const Arrangement& now, Score& score) {
    const Score changed = scoreOf(now);
    if (!(changed < score)) {
      return false;
    }
    score = changed;
    keep(now, score);
    return true;
  }

  // ---- all orders

  /// Place by place; what is sent between the places filled so far is a bound. False where the work did not suffice.
  bool tryAll() {
    m_limit = m_request.work;
    m_order.assign(static_cast<std::size_t>(m_pattern.places), kNobody);
    m_isUsed.assign(m_given.gpus.size(), 0);
    const auto size = static_cast<int>(m_given.gpus.front().size());
    const bool areAlike = std::all_of(m_given.gpus.begin(), m_given.gpus.end(),
                                      [&](const auto& gpus) { return static_cast<int>(gpus.size()) == size; });
    m_isFirstFixed = m_given.gpus.size() > 1 ? areAlike && isCyclic(m_pattern, size) : isCyclic(m_pattern, 1);
    try {
      fillHost(0, 0);
      return true;
    } catch (const WorkDone&) {
      return false;
    }
  }

  /// Whether an order that begins like this may be better than the best one.
  bool mayBeBetter() {
    const Score score = scoreOf(m_order);
    if (!score.isKnown) {
      throw WorkDone{};
    }
    const Int128 known = score.time * std::max<std::int64_t>(1, m_bestScore.unit / score.unit);
    return known < m_bestScore.time * std::max<std::int64_t>(1, score.unit / m_bestScore.unit);
  }

  void fillHost(std::size_t count, std::size_t place) {
    if (count == m_given.gpus.size()) {
      m_best = m_tried;
      m_bestScore = scoreOf(m_order);
      return;
    }
    if (count == 0) {
      m_tried = {{}, m_given.gpus};
    }
    for (std::size_t host = 0; host < m_given.gpus.size(); ++host) {
      if (m_isUsed[host] != 0 || (count == 0 && m_isFirstFixed && host > 0)) {
        continue;
      }
      m_isUsed[host] = 1;
      m_tried.hosts.push_back(static_cast<int>(host));
      fillPlace(count, host, 0, place);
      m_tried.hosts.pop_back();
      m_isUsed[host] = 0;
    }
  }

  void fillPlace(std::size_t count, std::size_t host, std::size_t at, std::size_t place) {
    auto& gpus = m_tried.gpus[host];
    if (at == gpus.size()) {
      fillHost(count + 1, place);
      return;
    }
    const bool isFirstOfAll = place == 0 && m_isFirstFixed && m_given.gpus.size() == 1;
    const std::size_t choices = changesInside() && !isFirstOfAll ? gpus.size() : at + 1;
    for (std::size_t i = at; i < choices; ++i) {
      std::swap(gpus[at], gpus[i]);
      m_order[place] = gpus[at];
      if (mayBeBetter()) {
        fillPlace(count, host, at + 1, place + 1);
      }
      m_order[place] = kNobody;
      std::swap(gpus[at], gpus[i]);
    }
  }

  const fabric::Fabric& m_fabric;
  const Pattern& m_pattern;
  const Request& m_request;
  const Progress& m_progress;
  Loads m_loads;
  Random m_random;
  std::vector<Rank> m_present;
  Arrangement m_given;
  Arrangement m_best;
  Score m_bestScore;
  std::optional<Bound> m_bound;
  std::optional<Grid> m_grid;
  bool m_areGpusThings = false;  ///< of the grid; else hosts are
  std::uint64_t m_limit = UINT64_MAX;
  Arrangement m_tried;
  std::vector<Rank> m_order;
  std::vector<char> m_isUsed;  ///< by host
  bool m_isFirstFixed = false;
};

}  // namespace

Result<Answer> bestOrder(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                         const Request& request, const Progress& progress) {
  return guarded([&]() -> Result<Answer> { return Search(fabric, pattern, hosts, request, progress).run(hosts); },
                 {.overflow = "the loads of links leave the exact range",
                  .overflowFix = "use bandwidths with a smaller common denominator"});
}

}  // namespace coppice::order
