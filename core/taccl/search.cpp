// SPDX-License-Identifier: Apache-2.0
#include "taccl/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "taccl/few_links.hpp"
#include "taccl/moves.hpp"
#include "taccl/routes.hpp"

namespace coppice::taccl {
namespace {

using Instant = std::chrono::steady_clock::time_point;

/// What the streams know of one another. With an effort they only hear that a stream before them cannot be beaten.
struct Shared {
  std::mutex mutex;
  Instant begin = std::chrono::steady_clock::now();
  Ticks makespan = std::numeric_limits<Ticks>::max();
  double secondsToMakespan = 0;
  std::atomic<int> finished = std::numeric_limits<int>::max();  ///< smallest stream that reached all there is to reach
  std::atomic<bool> isOver = false;

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

/// Decodes without a better one after which a stream that has reached the bound stops looking at connections.
constexpr std::int64_t kMorePatience = 60'000;
constexpr std::int64_t kFewerPatience = 400'000;

/// With more items, a schedule takes longer than a look at the clock by far.
constexpr std::size_t kManyItems = 2'000;

/// Of 100 changes: at an item of the chain that the makespan hangs on; one that changes the order on that chain.
constexpr int kCriticalShare = 30;
constexpr int kOvertakeShare = 20;

/// Something that a machine does once it is ready, with a time that passes afterwards without the machine.
struct Job {
  Ticks ready = 0;
  Ticks length = 0;
  Ticks tail = 0;
};

/// No order of the jobs ends before: the one that may be interrupted, longest tail first (Jackson's rule).
Ticks minTime(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.ready < b.ready; });
  std::priority_queue<std::pair<Ticks, Ticks>> open;  // tail, what is left
  Ticks now = 0;
  Ticks end = 0;
  for (std::size_t i = 0; i < jobs.size() || !open.empty();) {
    if (open.empty()) {
      now = std::max(now, jobs[i].ready);
    }
    for (; i < jobs.size() && jobs[i].ready <= now; ++i) {
      open.emplace(jobs[i].tail, jobs[i].length);
    }
    const auto [tail, left] = open.top();
    open.pop();
    const Ticks step = i < jobs.size() ? std::min(left, jobs[i].ready - now) : left;
    now += step;
    if (step < left) {
      open.emplace(tail, left - step);
    } else {
      end = std::max(end, now + tail);
    }
  }
  return end;
}

class Stream {
public:
  Stream(const Problem& problem, const SearchOptions& options, const Progress& progress, Shared& shared, int number,
         std::int64_t effort)
      : m_problem(problem),
        m_options(options),
        m_progress(progress),
        m_shared(shared),
        m_number(number),
        m_effort(effort),
        m_random(options.seed * 1000003ULL + static_cast<std::uint64_t>(number) * 7919ULL + 1),
        m_decoder(problem),
        m_maker(problem, m_random),
        m_moves(problem, m_random, m_maker),
        m_fewLinks(problem, m_decoder.connectionWeight()) {
    for (const int weight : m_decoder.connectionWeight()) {
      m_maxConnections += weight;
    }
  }

  Found run() {
    makeStarts();
    for (int round = 0; m_hasBest && !isDone(); ++round) {
      if (m_best.score.makespan <= m_options.bound) {
        improveConnections();
      } else {
        annealRound(round);
      }
    }
    m_best.decodes = m_decodes;
    return std::move(m_best);
  }

private:
  struct Start {
    Solution solution;
    Score score;
    MessageStyle style;
    Ticks min = 0;  ///< nothing with these messages is shorter
  };

  /// Small enough to be settled by the makespan, large enough to order equal ones.
  [[nodiscard]] double costOf(const Score& score) const {
    double cost = static_cast<double>(score.makespan) + 0.02 * score.meanArrival;
    const double unit = 0.01 * static_cast<double>(m_problem.ticksPerUnit);
    if (m_options.goal == ConnectionGoal::fewer) {
      cost += unit * score.connections;
    } else if (m_options.goal == ConnectionGoal::more) {
      cost -= unit * score.connections;
    }
    return cost;
  }

  [[nodiscard]] bool isBetter(const Score& a, const Score& b) const {
    if (a.makespan != b.makespan) {
      return a.makespan < b.makespan;
    }
    switch (m_options.goal) {
      case ConnectionGoal::fewer:
        return a.connections < b.connections;
      case ConnectionGoal::more:
        return a.connections > b.connections;
      default:
        return false;
    }
  }

  [[nodiscard]] bool isReached() const {
    if (m_best.score.makespan > m_options.bound || m_options.goal == ConnectionGoal::free) {
      return m_best.score.makespan <= m_options.bound;
    }
    const bool isMore = m_options.goal == ConnectionGoal::more;
    return m_decodes - m_lastBetter > (isMore ? kMorePatience : kFewerPatience) ||
           (isMore ? m_best.score.connections == m_maxConnections : m_fewLinks.isEmpty());
  }

  [[nodiscard]] bool isDone() {
    // Even a stream that must stop at once makes one schedule.
    if (m_isDone) {
      return m_hasBest;
    }
    if (m_progress.isCancelled() || m_shared.isOver) {
      m_isDone = true;
    } else if (m_hasBest && isReached()) {
      m_isDone = true;
      int finished = m_shared.finished;
      while (m_number < finished && !m_shared.finished.compare_exchange_weak(finished, m_number)) {
      }
      if (!m_options.effort) {
        m_shared.isOver = true;
      }
    } else if (m_options.effort) {
      m_isDone = m_decodes >= m_effort || m_shared.finished < m_number;
    } else if (m_problem.items.size() > kManyItems || (m_decodes & 31) == 0) {
      m_isDone = m_shared.seconds() >= m_options.seconds;
    }
    return m_isDone && m_hasBest;
  }

  Score decode(const Solution& solution) {
    ++m_decodes;
    const Score score = m_decoder.decode(solution);
    if (!m_hasBest || isBetter(score, m_best.score)) {
      const bool isShorter = !m_hasBest || score.makespan < m_best.score.makespan;
      m_hasBest = true;
      m_best.solution = solution;
      m_best.score = score;
      m_lastBetter = m_decodes;
      if (isShorter) {
        tell(score.makespan);
      }
    }
    return score;
  }

  void tell(Ticks makespan) {
    const std::lock_guard lock(m_shared.mutex);
    if (makespan < m_shared.makespan) {
      m_shared.makespan = makespan;
      m_shared.secondsToMakespan = m_shared.seconds();
      if (m_options.onBetter) {
        m_options.onBetter(makespan, m_shared.secondsToMakespan);
      }
    }
  }

  [[nodiscard]] bool hasMessages() const { return !m_problem.blocks.empty() && m_problem.model->maxTogether > 1; }

  /// Ways to form messages on the given trees: all of them, or a few.
  void tryMessages(Solution solution, const StartStyle& style, bool isThorough) {
    // First in the order in which a greedy start sent.
    decode(solution);
    m_maker.setPriorities(style, m_decoder, solution);
    static constexpr std::array<int, 4> kRest = {1, 2, 3, 6};
    for (const bool byTail : {false, true}) {
      for (int first = 1; first <= (hasMessages() ? 6 : 1); ++first) {
        for (const int rest : kRest) {
          const bool isLeftOut = isThorough ? false : m_random.below(8) != 0 && first + rest > 2;
          if ((!hasMessages() && (rest > 1 || byTail)) || isLeftOut || isDone()) {
            continue;
          }
          const int taper = m_problem.model->nodes > 2 ? m_random.below(m_problem.model->nodes) : 0;
          const int last = hasMessages() && m_random.below(2) == 0 ? 1 + m_random.below(3) : 0;
          const MessageStyle messages{first, rest, last, byTail, taper};
          Solution tapered = solution;
          m_maker.setMessages(messages, m_decoder, tapered);
          const Score score = decode(tapered);
          addStart({std::move(tapered), score, messages, 0});
        }
      }
    }
  }

  /// Jackson's preemptive rule on each machine between nodes: its messages cannot leave before their chunks are at the
  /// sender, and what is left after them takes its time in any case.
  Ticks minOf(const Start& start) {
    struct Message {
      int link = 0;
      Ticks ready = 0;
      Ticks tail = 0;
      Ticks chunks = 0;
    };
    std::map<int, Message> messages;  // by label
    for (const Block& block : m_problem.blocks) {
      for (const int item : block.items) {
        const int link = start.solution.link[item];
        if (link < 0 || !m_problem.model->links[link].isRemote) {
          continue;
        }
        Message& message = messages[start.solution.label[item]];
        message.link = link;
        ++message.chunks;
        const int origin = m_problem.items[m_problem.firstItem[block.chunk]].gpu;
        const Ticks head = m_problem.localDistance[origin][m_problem.items[start.solution.parent[item]].gpu];
        message.ready = std::max(message.ready, head);
        for (const int other : block.items) {
          if (m_problem.items[other].isTarget) {
            const Ticks way = m_problem.localDistance[m_problem.items[item].gpu][m_problem.items[other].gpu];
            message.tail = std::max(message.tail, way);
          }
        }
      }
    }
    std::map<int, std::vector<Job>> jobs;  // by machine
    for (const auto& [label, message] : messages) {
      const Ticks length = m_problem.alpha[message.link] + m_problem.beta[message.link] * message.chunks;
      for (const int machine : m_problem.linkMachines[message.link]) {
        jobs[machine].push_back({message.ready, length, message.tail});
      }
    }
    Ticks min = 0;
    for (auto& [machine, each] : jobs) {
      min = std::max(min, minTime(std::move(each)));
    }
    return min;
  }

  /// One of each way to form messages is kept, so that the pool stays varied.
  void addStart(Start start) {
    for (Start& known : m_pool) {
      if (known.style.first == start.style.first && known.style.rest == start.style.rest &&
          known.style.last == start.style.last) {
        if (costOf(start.score) < costOf(known.score)) {
          start.min = minOf(start);
          known = std::move(start);
        }
        return;
      }
    }
    start.min = minOf(start);
    m_pool.push_back(std::move(start));
  }

  /// A start whose messages may still lead to a better schedule; nullptr where there is none.
  const Start* pickStart() {
    std::vector<const Start*> hopeful;
    for (const Start& start : m_pool) {
      if (start.min < m_best.score.makespan) {
        hopeful.push_back(&start);
      }
    }
    return hopeful.empty() ? nullptr : hopeful[m_random.below(static_cast<int>(hopeful.size()))];
  }

  StartStyle randomStyle(int number) {
    StartStyle style;
    const bool isFirst = number < 2 && m_number == 0;
    static constexpr std::array<double, 4> kNoise = {0.02, 0.1, 0.4, 1};
    static constexpr std::array<double, 4> kLoad = {0, 0.05, 0.2, 1};
    static constexpr std::array<double, 3> kLead = {0.1, 0.3, 1};
    static constexpr std::array<double, 3> kDepth = {0.05, 0.3, 1};
    style.noise = isFirst ? 0 : kNoise[m_random.below(4)];
    style.loadWeight = isFirst ? 0.2 : kLoad[m_random.below(4)];
    style.remoteLead = isFirst ? 0.3 : kLead[m_random.below(3)];
    style.depthWeight = isFirst ? 0.05 : kDepth[m_random.below(3)];
    return style;
  }

  /// Trees for a start; false where the allowed links do not join all.
  bool makeTrees(const StartStyle& style, int number, Solution& solution) {
    const bool isGreedy = m_maker.canBeGreedy() && number % 4 != 3;
    return isGreedy ? m_maker.greedy(style, solution) : m_maker.routed(style, solution);
  }

  void makeStarts() {
    const double begin = m_shared.seconds();
    const bool isFirst = m_pool.empty();
    const std::int64_t items = std::max<std::int64_t>(1, static_cast<std::int64_t>(m_problem.items.size()));
    const int count = static_cast<int>(std::clamp<std::int64_t>(50'000 / items, 2, isFirst ? 100 : 200));
    for (int i = 0; i < count && !isDone(); ++i) {
      const StartStyle style = randomStyle(m_startCount++);
      Solution solution;
      if (makeTrees(style, m_startCount, solution)) {
        if (isFirst) {
          tryMessages(std::move(solution), style, i < 8);
        } else {
          tryOneMessageStyle(std::move(solution), style);
        }
      }
      const bool isLate = !m_options.effort && m_shared.seconds() - begin > 0.2 * m_options.seconds;
      if (m_hasBest && (isLate || m_best.score.makespan <= m_options.bound)) {
        break;
      }
    }
    if (!m_hasBest) {
      // Greedy starts may enter a node where not all is reached; these do not.
      Solution solution;
      if (m_maker.routed({}, solution)) {
        m_maker.setPriorities({}, m_decoder, solution);
        decode(solution);
      }
    }
  }

  /// New trees with a hopeful way to form messages.
  void tryOneMessageStyle(Solution solution, const StartStyle& style) {
    const Start* start = pickStart();
    if (start == nullptr) {
      return;
    }
    const MessageStyle messages = start->style;
    m_maker.setPriorities(style, m_decoder, solution);
    m_maker.setMessages(messages, m_decoder, solution);
    const Score score = decode(solution);
    addStart({std::move(solution), score, messages, 0});
  }

  [[nodiscard]] std::int64_t roundLength() const {
    const auto items = static_cast<std::int64_t>(m_problem.items.size());
    return std::clamp<std::int64_t>(5'000'000 / std::max<std::int64_t>(items, 1), 1'000, 60'000);
  }

  /// One that the makespan hangs on; the latest of a few, or one above it in its tree; or any.
  int pick() {
    const int count = static_cast<int>(m_problem.items.size());
    if (!m_critical.empty() && m_random.below(100) < kCriticalShare) {
      return m_critical[m_random.below(static_cast<int>(m_critical.size()))];
    }
    int item = m_random.below(count);
    if (m_random.below(2) == 0) {
      return item;
    }
    for (int i = 0; i < 3; ++i) {
      const int other = m_random.below(count);
      if (m_decoder.used()[other] != 0 &&
          (m_decoder.used()[item] == 0 || m_decoder.arrivals()[other] > m_decoder.arrivals()[item])) {
        item = other;
      }
    }
    while (m_current.parent[item] >= 0 && m_random.below(3) == 0) {
      item = m_current.parent[item];
    }
    return item;
  }

  /// What the makespan of the last schedule hangs on: one item that arrives last, and all that this waited for.
  void findCritical() {
    m_critical.clear();
    const std::vector<int>& latest = m_decoder.latest();
    if (latest.empty()) {
      return;
    }
    for (int item = latest[m_random.below(static_cast<int>(latest.size()))]; item >= 0 && m_current.parent[item] >= 0;
         item = m_decoder.causes()[item]) {
      m_critical.push_back(item);
    }
    m_starts = m_decoder.starts();
    m_arrivals = m_decoder.arrivals();
  }

  /// Somewhere on that chain, an item goes before the one that it waited for.
  bool overtake() {
    if (m_critical.size() < 2) {
      return false;
    }
    const int at = m_random.below(static_cast<int>(m_critical.size()) - 1);
    const int item = m_critical[at];
    const int before = m_critical[at + 1];
    return m_current.parent[item] != before && m_moves.overtake(item, before, m_starts, m_arrivals);
  }

  bool change(double scale) {
    if (m_random.below(100) < kOvertakeShare && overtake()) {
      return true;
    }
    return m_moves.step(pick(), scale);
  }

  void annealRound(int round) {
    bool holds = false;
    if (round % 4 == 3) {
      makeStarts();
    }
    const Start* start = round % 2 == 0 ? nullptr : pickStart();
    if (start == nullptr) {
      m_current = m_best.solution;
    } else {
      m_current = start->solution;
      holds = hasMessages() && m_random.below(4) != 0;
      if (m_random.below(4) == 0) {
        refreshStart(start->style);
      }
    }
    m_moves.holdMessages(holds);
    const double top = (round % 4 == 0 ? 0.003 : 0.02) * static_cast<double>(m_best.score.makespan);
    anneal(top, roundLength());
    m_moves.holdMessages(false);
  }

  /// Other trees with messages of the same style.
  void refreshStart(const MessageStyle& messages) {
    const StartStyle style = randomStyle(2);
    Solution solution;
    if (makeTrees(style, m_random.below(4), solution)) {
      m_maker.setPriorities(style, m_decoder, solution);
      m_maker.setMessages(messages, m_decoder, solution);
      m_current = std::move(solution);
    }
  }

  void anneal(double top, std::int64_t length) {
    m_moves.attach(m_current);
    const double bottom = 0.0003 * static_cast<double>(m_best.score.makespan);
    Ticks typical = 1;
    for (std::size_t link = 0; link < m_problem.beta.size(); ++link) {
      typical = std::max(typical, m_problem.model->links[link].isRemote ? Ticks{0} : m_problem.beta[link]);
    }
    double cost = costOf(decode(m_current));
    findCritical();
    for (std::int64_t i = 0; i < length && !isDone(); ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(length);
      const double temperature = top * std::pow(bottom / top, share);
      bool isChanged = change(static_cast<double>(typical));
      if (m_random.below(4) == 0) {
        // Two changes at once leave places that one does not.
        isChanged = m_moves.step(pick(), static_cast<double>(typical)) || isChanged;
      }
      if (!isChanged) {
        // Where hardly anything can change, looking for it is work too.
        m_decodes += (++m_idleSteps & 7) == 0 ? 1 : 0;
        continue;
      }
      const double next = costOf(decode(m_current));
      if (next <= cost || m_random.unit() < std::exp((cost - next) / temperature)) {
        m_moves.keep();
        cost = next;
        findCritical();
      } else {
        m_moves.undo();
      }
    }
  }

  void improveConnections() {
    if (m_options.goal == ConnectionGoal::more) {
      m_current = m_best.solution;
      anneal(0.0005 * static_cast<double>(m_best.score.makespan), roundLength());
      return;
    }
    // In turn: sets near those known, and each set with fewer connections.
    if ((m_improvements++ & 1) == 0 || !tryFewLinks()) {
      dropConnections();
    }
  }

  /// The next set with fewer connections that may do. False where all of them are too many to look at.
  bool tryFewLinks() {
    if (!m_fewLinks.list(m_best.score.connections, m_random)) {
      return false;
    }
    while (!isDone()) {
      ++m_decodes;  // looking at a set is work too
      if (const auto orbits = m_fewLinks.next(m_best.score.makespan, m_best.score.connections)) {
        tryOrbits(*orbits);
        return true;
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<char> usedOrbits(const Solution& solution) {
    std::vector<char> orbits(static_cast<std::size_t>(m_problem.linkOrbitCount));
    m_decoder.decode(solution);
    for (std::size_t item = 0; item < m_problem.items.size(); ++item) {
      if (m_decoder.used()[item] != 0 && solution.link[item] >= 0 &&
          !m_problem.model->links[solution.link[item]].isRemote) {
        orbits[m_problem.linkOrbit[solution.link[item]]] = 1;
      }
    }
    return orbits;
  }

  /// Makes schedules again from the links in use less one or two, or at times with another one. Sets of links that do
  /// as well as the best ones are gone on from too.
  void dropConnections() {
    if (m_orbits.empty()) {
      m_orbits = usedOrbits(m_best.solution);
    }
    std::vector<char> orbits = m_orbits;
    const auto change = [&](char from) {
      std::vector<int> choice;
      for (int orbit = 0; orbit < m_problem.linkOrbitCount; ++orbit) {
        if (orbits[orbit] == from && m_decoder.connectionWeight()[orbit] > 0) {
          choice.push_back(orbit);
        }
      }
      if (!choice.empty()) {
        orbits[choice[m_random.below(static_cast<int>(choice.size()))]] = from == 0 ? 1 : 0;
      }
    };
    const auto used = static_cast<int>(std::count(orbits.begin(), orbits.end(), 1));
    if (m_random.below(3) == 0) {
      change(0);
    }
    // Many at once while there are many.
    for (int drops = 1 + m_random.below(std::max(2, used / 6)); drops > 0; --drops) {
      change(1);
    }
    tryOrbits(std::move(orbits));
  }

  /// Makes a few schedules from these links alone.
  void tryOrbits(std::vector<char> orbits) {
    m_maker.allow(std::move(orbits));
    ++m_decodes;  // an attempt counts even where the links do not join all
    for (int attempt = 0; attempt < 4 && !isDone(); ++attempt) {
      const StartStyle style = randomStyle(2);
      Solution solution;
      if (!makeTrees(style, m_random.below(8), solution)) {
        break;
      }
      if (tryLinks(std::move(solution), style)) {
        break;
      }
    }
    m_maker.allow({});
  }

  /// A few ways to form messages; where one comes near, some annealing at times. True where the links do.
  bool tryLinks(Solution solution, const StartStyle& style) {
    Solution nearest = solution;
    Score score = decode(solution);
    m_maker.setPriorities(style, m_decoder, solution);
    static constexpr std::array<int, 4> kRest = {1, 2, 3, 6};
    for (int i = 0; i < (hasMessages() ? 4 : 1); ++i) {
      const MessageStyle messages{hasMessages() ? 1 + m_random.below(6) : 1,
                                  hasMessages() ? kRest[m_random.below(4)] : 1, 0, m_random.below(2) == 0, 0};
      m_maker.setMessages(messages, m_decoder, solution);
      const Score next = decode(solution);
      if (next.makespan < score.makespan) {
        score = next;
        nearest = solution;
      }
    }
    if (score.makespan > m_best.score.makespan && score.makespan < m_best.score.makespan * 21 / 20 &&
        m_random.below(8) == 0) {
      m_current = std::move(nearest);
      anneal(0.003 * static_cast<double>(m_best.score.makespan), roundLength() / 8);
      return false;
    }
    if (score.makespan <= m_best.score.makespan && score.connections <= m_best.score.connections) {
      m_orbits = usedOrbits(nearest);
      return true;
    }
    return false;
  }

  const Problem& m_problem;
  const SearchOptions& m_options;
  const Progress& m_progress;
  Shared& m_shared;
  int m_number;
  std::int64_t m_effort;
  Random m_random;
  Decoder m_decoder;
  StartMaker m_maker;
  Moves m_moves;
  FewLinks m_fewLinks;
  int m_improvements = 0;
  std::vector<Start> m_pool;
  std::vector<char> m_orbits;  ///< of links: those to drop from
  int m_maxConnections = 0;
  Solution m_current;
  std::vector<int> m_critical;    ///< of the current one, from the end
  std::vector<Ticks> m_starts;    ///< of the current one
  std::vector<Ticks> m_arrivals;  ///< of the current one
  Found m_best;
  bool m_hasBest = false;
  bool m_isDone = false;
  std::int64_t m_decodes = 0;
  std::int64_t m_lastBetter = 0;
  int m_startCount = 0;
  std::int64_t m_idleSteps = 0;
};

bool isPreferred(const Found& a, const Found& b, ConnectionGoal goal) {
  if (a.solution.parent.empty() || b.solution.parent.empty()) {
    return b.solution.parent.empty();
  }
  if (a.score.makespan != b.score.makespan || goal == ConnectionGoal::free) {
    return a.score.makespan < b.score.makespan;
  }
  return goal == ConnectionGoal::fewer ? a.score.connections < b.score.connections
                                       : a.score.connections > b.score.connections;
}

}  // namespace

Found search(const Problem& problem, const SearchOptions& options, const Progress& progress) {
  constexpr int kStreams = 2;
  const int cores =
      options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int streams = options.effort ? kStreams : std::min(cores, 64);
  const std::int64_t effort = options.effort ? std::max<std::int64_t>(1, *options.effort / kStreams) : 0;
  Shared shared;
  std::vector<Found> found(static_cast<std::size_t>(streams));
  std::vector<std::exception_ptr> failures(found.size());
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < streams; i = next++) {
      try {
        found[i] = Stream(problem, options, progress, shared, i, effort).run();
      } catch (...) {
        failures[i] = std::current_exception();
        shared.isOver = true;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min(cores, streams); ++i) {
      others.emplace_back(work);
    }
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  // A stream after the first one that reached everything was cut short, so it does not count.
  const int last = options.effort ? std::min(streams - 1, shared.finished.load()) : streams - 1;
  Found best = std::move(found[0]);
  std::int64_t decodes = best.decodes;
  for (int i = 1; i <= last; ++i) {
    decodes += found[i].decodes;
    if (isPreferred(found[i], best, options.goal)) {
      best = std::move(found[i]);
    }
  }
  best.decodes = decodes;
  best.secondsToMakespan = shared.secondsToMakespan;
  return best;
}

}  // namespace coppice::taccl
