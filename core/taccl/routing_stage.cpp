// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/collective.hpp"
#include "base/disjoint_sets.hpp"
#include "lp/mixed_program.hpp"
#include "taccl/expansion.hpp"
#include "taccl/routes.hpp"
#include "taccl/stages.hpp"

namespace coppice::taccl {
namespace {

using lp::MixedProgram;
using lp::MixedRow;
using lp::MixedTerm;

constexpr double kConnectionWeight = 0.01;

/// Rows without those that are there already, which symmetries make many of.
class RowSet {
public:
  explicit RowSet(MixedProgram& program) : m_program(program) {}

  void add(const std::vector<MixedTerm>& terms, double lower, double upper) {
    std::map<int, double> sums;
    for (const MixedTerm& term : terms) {
      sums[term.column] += term.coefficient;
    }
    MixedRow row{{}, lower, upper};
    std::string key(reinterpret_cast<const char*>(&lower), sizeof lower);
    key.append(reinterpret_cast<const char*>(&upper), sizeof upper);
    for (const auto& [column, coefficient] : sums) {
      if (coefficient != 0) {
        row.terms.push_back({column, coefficient});
        key.append(reinterpret_cast<const char*>(&column), sizeof column);
        key.append(reinterpret_cast<const char*>(&coefficient), sizeof coefficient);
      }
    }
    if (m_known.insert(std::move(key)).second && !row.terms.empty()) {
      m_program.rows.push_back(std::move(row));
    }
  }

private:
  MixedProgram& m_program;
  std::unordered_set<std::string> m_known;
};

class Router {
public:
  Router(const Problem& problem, const SendGraph& graph, Collective collective, int root, const StageOptions& options,
         const Progress& progress)
      : m_problem(problem),
        m_model(*problem.model),
        m_graph(graph),
        m_collective(collective),
        m_root(root),
        m_options(options),
        m_progress(progress),
        m_sendClass(graph.sends.size()),
        m_itemClass(problem.items.size()),
        m_linkClass(problem.model->links.size()),
        m_rows(m_program) {
    for (const Link& link : m_model.links) {
      m_cost.push_back((link.routingCost * Rational(problem.ticksPerUnit)).floor());
    }
  }

  Result<Routing> run(double seconds) {
    lp::MixedOptions options;
    options.seconds = seconds;
    options.threads = m_options.threads;
    options.stage = "choosing routes";
    Result<lp::MixedAnswer> answer = lp::MixedAnswer{};
    try {
      mergeSymmetries();
      findStart();
      build();
      options.start = startValues();
      throwIfCancelled(m_progress);
      answer = lp::solveMixed(m_program, options, m_progress);
    } catch (const CancelledError&) {
      if (m_start.empty()) {
        throw;
      }
      answer = lp::MixedAnswer{.status = lp::MixedStatus::undecided, .values = {}, .bound = {}, .reason = "cancelled"};
    }
    if (!answer) {
      return answer.error();
    }
    // Where the start keeps all rules, "impossible" is a solver that was stopped too early.
    const bool isFailure = answer->status == lp::MixedStatus::impossible && !options.start.empty();
    if (answer->status == lp::MixedStatus::impossible && !isFailure) {
      return Error{ErrorCode::infeasible, "no routes satisfy this sketch and its symmetry offsets",
                   "leave the offsets out with --no-symmetry, or use --engine search"};
    }
    m_result.report.stage = "routing";
    m_result.report.status = std::string(lp::toString(answer->status));
    m_result.report.reason = isFailure ? "CBC found no solution, but the start is one" : answer->reason;
    m_result.report.bound = answer->bound;
    if (!answer->values.empty()) {
      m_result.trees = read(answer->values);
    }
    if (m_result.trees.empty()) {
      if (m_start.empty()) {
        return Error{ErrorCode::limit, "the solver found no routes: " + answer->reason,
                     "give it more time with --time, or use --engine search"};
      }
      m_result.report.status = std::string(lp::toString(lp::MixedStatus::undecided));
      m_result.trees = m_start;
    }
    m_result.report.makespan = Rational(timeOf(m_result.trees), m_problem.ticksPerUnit);
    m_result.report.cost = costOf(m_result.trees);
    return std::move(m_result);
  }

private:
  [[nodiscard]] double inUnits(Ticks ticks) const {
    return static_cast<double>(ticks) / static_cast<double>(m_problem.ticksPerUnit);
  }
  [[nodiscard]] bool isSingle(int chunk) const {
    return m_problem.allChunks[m_problem.chunks[chunk]].targets.size() == 1;
  }
  [[nodiscard]] int chunkOf(const Send& send) const { return m_problem.items[send.item].chunk; }
  [[nodiscard]] int originOf(int chunk) const { return m_problem.firstItem[chunk]; }

  // Symmetries: what an offset maps to each other within its groups is decided once.

  void mergeSymmetries() {
    std::map<std::tuple<int, int, int>, int> byEnds;
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      const Link& link = m_model.links[i];
      byEnds.emplace(std::tuple(link.from, link.to, link.lane), static_cast<int>(i));
    }
    std::unordered_map<std::int64_t, int> sendAt;
    const auto links = static_cast<std::int64_t>(m_model.links.size());
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      sendAt.emplace(chunkOf(m_graph.sends[i]) * links + m_graph.sends[i].link, static_cast<int>(i));
    }
    for (const auto& [offset, size] : m_model.offsets) {
      if (!m_options.usesSymmetry || isRooted(m_collective)) {
        continue;
      }
      Permutation permutation(static_cast<std::size_t>(m_model.gpus()));
      for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
        permutation[gpu] = (gpu % size + offset) % size + gpu / size * size;
      }
      std::vector<int> linkImage(m_model.links.size(), -1);
      for (std::size_t i = 0; i < m_model.links.size(); ++i) {
        const Link& link = m_model.links[i];
        if (link.from / size == link.to / size) {
          const auto image = byEnds.find({permutation[link.from], permutation[link.to], link.lane});
          linkImage[i] = image != byEnds.end() && m_cost[image->second] == m_cost[i] ? image->second : -2;
        }
      }
      if (!mergeBy(permutation, linkImage, sendAt)) {
        m_result.ignored.push_back("[" + std::to_string(offset) + ", " + std::to_string(size) + "]");
      }
    }
  }

  /// False, and nothing is merged, where a send has no counterpart.
  bool mergeBy(const Permutation& permutation, const std::vector<int>& linkImage,
               const std::unordered_map<std::int64_t, int>& sendAt) {
    std::vector<std::pair<int, int>> sends;
    std::vector<int> chunkImage;
    for (const int chunk : m_problem.chunks) {
      chunkImage.push_back(m_graph.chunkAt[imageOf(m_problem, m_collective, chunk, permutation)]);
    }
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      const Send& send = m_graph.sends[i];
      const int link = linkImage[send.link];
      if (link == -1) {
        continue;
      }
      const int chunk = chunkImage[chunkOf(send)];
      const auto at = link < 0 || chunk < 0
                          ? sendAt.end()
                          : sendAt.find(chunk * static_cast<std::int64_t>(m_model.links.size()) + link);
      if (at == sendAt.end()) {
        return false;
      }
      sends.emplace_back(static_cast<int>(i), at->second);
    }
    std::vector<std::pair<int, int>> items;
    for (std::size_t i = 0; i < m_problem.items.size(); ++i) {
      const Item& item = m_problem.items[i];
      const int chunk = chunkImage[item.chunk];
      const int image = chunk < 0 ? -1 : m_graph.find(chunk, permutation[item.gpu]);
      if (image < 0 || m_problem.items[image].isTarget != item.isTarget) {
        return false;
      }
      items.emplace_back(static_cast<int>(i), image);
    }
    for (const auto& [a, b] : sends) {
      m_sendClass.join(a, b);
      m_linkClass.join(m_graph.sends[a].link, m_graph.sends[b].link);
    }
    for (const auto& [a, b] : items) {
      m_itemClass.join(a, b);
    }
    return true;
  }

  // Something to start from, and the horizon.

  void findStart() {
    ProblemOptions problemOptions;
    problemOptions.usesSymmetry = m_options.usesSymmetry;
    problemOptions.sendsOneAtATime = m_problem.sendsOneAtATime;
    const auto quotient = makeProblem(m_model, m_collective, m_root, problemOptions);
    if (!quotient) {
      return;
    }
    Random random(m_options.seed);
    StartMaker maker(*quotient, random);
    constexpr int kStarts = 12;
    for (int i = 0; i < kStarts && (m_start.empty() || !m_progress.isCancelled()); ++i) {
      StartStyle style;
      style.noise = i < 2 ? 0 : 0.1;
      style.loadWeight = i < 2 ? 0.2 : 1;
      Solution solution = maker.blank();
      const bool isMade =
          maker.canBeGreedy() && i % 2 == 0 ? maker.greedy(style, solution) : maker.routed(style, solution);
      if (!isMade) {
        continue;
      }
      Trees trees = treesOf(expand(*quotient, m_collective, solution));
      if (!trees.empty() && (m_start.empty() || costOf(trees) < costOf(m_start))) {
        m_start = std::move(trees);
      }
    }
  }

  Trees treesOf(const std::vector<sketch::Message>& messages) const {
    Trees trees(m_problem.items.size(), -1);
    for (const sketch::Message& message : messages) {
      for (const int chunk : message.chunks) {
        const int item = m_graph.find(m_graph.chunkAt[chunk], m_model.links[message.link].to);
        const std::vector<int>& in = m_graph.in[item];
        const auto at =
            std::find_if(in.begin(), in.end(), [&](int send) { return m_graph.sends[send].link == message.link; });
        if (at == in.end()) {
          return {};
        }
        trees[item] = *at;
      }
    }
    return trees;
  }

  /// What the first stage counts: the load of machines and the longest way.
  [[nodiscard]] Ticks timeOf(const Trees& trees) const {
    std::vector<Ticks> load(static_cast<std::size_t>(m_problem.machineCount));
    std::vector<Ticks> way(trees.size());
    std::vector<Ticks> sent(trees.size());
    Ticks max = 0;
    for (const int item : downwards(m_problem, m_graph, trees)) {
      const Send& send = m_graph.sends[trees[item]];
      way[item] = way[send.from] + m_cost[send.link];
      max = std::max(max, way[item]);
      for (const int machine : m_problem.linkMachines[send.link]) {
        load[machine] += m_cost[send.link];
        max = std::max(max, load[machine]);
      }
      sent[send.from] += m_problem.sendsOneAtATime ? m_cost[send.link] : 0;
      max = std::max(max, sent[send.from]);
    }
    return max;
  }

  [[nodiscard]] bool isCounted(int link) const {
    return !m_model.links[link].isRemote && m_model.nodeOf(m_model.links[link].from) == 0;
  }

  [[nodiscard]] double weight() const {
    return m_options.goal == ConnectionGoal::fewer  ? kConnectionWeight
           : m_options.goal == ConnectionGoal::more ? -kConnectionWeight
                                                    : 0;
  }

  [[nodiscard]] double costOf(const Trees& trees) const {
    std::set<int> used;
    std::vector<int> load(m_model.links.size());
    for (const int send : trees) {
      if (send >= 0) {
        ++load[m_graph.sends[send].link];
        if (isCounted(m_graph.sends[send].link)) {
          used.insert(m_graph.sends[send].link);
        }
      }
    }
    double cost = inUnits(timeOf(trees)) + weight() * static_cast<double>(used.size());
    if (m_model.local == sketch::LocalStrategy::minmax || m_model.local == sketch::LocalStrategy::maxmin) {
      const auto [min, max] = localLoads(load);
      cost += kConnectionWeight * (m_model.local == sketch::LocalStrategy::minmax ? max : -min);
    }
    return cost;
  }

  [[nodiscard]] std::pair<int, int> localLoads(const std::vector<int>& load) const {
    int min = std::numeric_limits<int>::max();
    int max = 0;
    for (std::size_t i = 0; i < load.size(); ++i) {
      if (!m_model.links[i].isRemote) {
        min = std::min(min, load[i]);
        max = std::max(max, load[i]);
      }
    }
    return {max == 0 ? 0 : min, max};
  }

  // The program.

  void build() {
    m_way.assign(m_graph.sends.size(), -1);
    m_flow.assign(m_graph.sends.size(), -1);
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      const int representative = m_sendClass.find(static_cast<int>(i));
      const int chunk = chunkOf(m_graph.sends[i]);
      if (m_way[representative] < 0) {
        m_way[representative] = m_program.addColumn({.upper = 1, .isInteger = true});
        if (!isSingle(chunk)) {
          m_flow[representative] = m_program.addColumn({.upper = static_cast<double>(targetsBelow(m_graph.sends[i]))});
        }
      }
      m_way[i] = m_way[representative];
      m_flow[i] = m_flow[representative];
    }
    m_min = minTime();
    const double horizon = m_start.empty() ? lp::kInfinite : inUnits(timeOf(m_start)) + slack();
    m_time = m_program.addColumn({.lower = inUnits(m_min), .upper = horizon, .cost = 1});
    for (std::size_t chunk = 0; chunk < m_problem.chunks.size(); ++chunk) {
      throwIfCancelled(m_progress);
      addChunk(static_cast<int>(chunk));
    }
    addLoads();
    addConnections();
    addBalance();
  }

  /// By how much the connections may outweigh time.
  [[nodiscard]] double slack() const { return kConnectionWeight * static_cast<double>(m_model.links.size() + 1); }

  /// How many targets the chunk can be on its way to over this send.
  [[nodiscard]] int targetsBelow(const Send& send) const {
    const Item& item = m_problem.items[send.item];
    if (item.block < 0) {
      return static_cast<int>(m_problem.allChunks[m_problem.chunks[item.chunk]].targets.size());
    }
    const std::vector<int>& items = m_problem.blocks[item.block].items;
    return static_cast<int>(
        std::count_if(items.begin(), items.end(), [&](int each) { return m_problem.items[each].isTarget; }));
  }

  /// No routes take less: sends that cannot avoid a machine.
  [[nodiscard]] Ticks minTime() const {
    std::vector<std::set<int>> machinesOf(m_model.links.size());
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      machinesOf[i] = std::set<int>(m_problem.linkMachines[i].begin(), m_problem.linkMachines[i].end());
    }
    std::vector<Ticks> load(static_cast<std::size_t>(m_problem.machineCount));
    const auto force = [&](const std::vector<int>& sends) {
      if (sends.empty()) {
        return;
      }
      Ticks min = m_cost[m_graph.sends[sends.front()].link];
      std::set<int> common = machinesOf[m_graph.sends[sends.front()].link];
      for (const int send : sends) {
        min = std::min(min, m_cost[m_graph.sends[send].link]);
        std::erase_if(common, [&](int machine) { return !machinesOf[m_graph.sends[send].link].contains(machine); });
      }
      for (const int machine : common) {
        load[machine] += min;
      }
    };
    for (std::size_t i = 0; i < m_problem.items.size(); ++i) {
      // What may come over links between nodes is counted with these.
      const bool mayEnter = std::any_of(m_graph.in[i].begin(), m_graph.in[i].end(),
                                        [&](int send) { return m_graph.sends[send].block >= 0; });
      if (m_problem.items[i].isTarget && !mayEnter) {
        force(m_graph.in[i]);
      }
    }
    for (const std::vector<int>& entries : m_graph.entries) {
      force(entries);
    }
    return load.empty() ? 0 : *std::max_element(load.begin(), load.end());
  }

  /// No way of the chunk within the rules is longer.
  [[nodiscard]] Ticks longestWay(int chunk) const {
    Ticks sum = 0;
    std::map<int, Ticks> entry;
    for (int item = m_problem.firstItem[chunk]; item < m_problem.firstItem[chunk + 1]; ++item) {
      Ticks max = 0;
      for (const int send : m_graph.in[item]) {
        Ticks& of = m_graph.sends[send].block < 0 ? max : entry[m_graph.sends[send].block];
        of = std::max(of, m_cost[m_graph.sends[send].link]);
      }
      sum += max;
    }
    for (const auto& [block, max] : entry) {
      sum += max;
    }
    return sum;
  }

  void addChunk(int chunk) {
    const int first = m_problem.firstItem[chunk];
    const int last = m_problem.firstItem[chunk + 1];
    for (int item = first + 1; item < last; ++item) {
      addArrival(chunk, item);
    }
    for (int item = first + 1; item < last; ++item) {
      if (const int block = m_problem.items[item].block; block >= 0 && m_problem.blocks[block].items.front() == item) {
        std::vector<MixedTerm> terms;
        for (const int send : m_graph.entries[block]) {
          terms.push_back({m_way[send], 1});
        }
        m_rows.add(terms, 1, 1);
      }
    }
    if (longestWay(chunk) > m_min) {
      addTimes(chunk);
    }
  }

  void addArrival(int chunk, int item) {
    const bool isTarget = m_problem.items[item].isTarget;
    std::vector<MixedTerm> in;
    std::vector<MixedTerm> balance;
    for (const int send : m_graph.in[item]) {
      in.push_back({m_way[send], 1});
      balance.push_back({isSingle(chunk) ? m_way[send] : m_flow[send], 1});
    }
    for (const int send : m_graph.out[item]) {
      balance.push_back({isSingle(chunk) ? m_way[send] : m_flow[send], -1});
    }
    m_rows.add(in, isTarget ? 1 : -lp::kInfinite, 1);
    m_rows.add(balance, isTarget ? 1 : 0, isTarget ? 1 : 0);
    if (isSingle(chunk)) {
      return;
    }
    for (const int send : m_graph.in[item]) {
      const double max = m_program.columns[m_flow[send]].upper;
      m_rows.add({{m_flow[send], 1}, {m_way[send], -1}}, 0, lp::kInfinite);
      m_rows.add({{m_flow[send], 1}, {m_way[send], -max}}, -lp::kInfinite, 0);
    }
    if (!isTarget) {
      for (const int send : m_graph.out[item]) {
        std::vector<MixedTerm> terms = in;
        terms.push_back({m_way[send], -1});
        m_rows.add(terms, 0, lp::kInfinite);
      }
    }
  }

  /// Arrival times, for chunks that may go so far that the makespan notices.
  void addTimes(int chunk) {
    const int first = m_problem.firstItem[chunk];
    const int last = m_problem.firstItem[chunk + 1];
    const Ticks horizon =
        m_start.empty() ? longestWay(chunk) : std::max(timeOf(m_start), m_min) + m_problem.ticksPerUnit;
    const std::vector<Ticks> min = distances(chunk);
    if (m_arrival.empty()) {
      m_arrival.assign(m_problem.items.size(), -1);
    }
    for (int item = first + 1; item < last; ++item) {
      int& column = m_arrival[m_itemClass.find(item)];
      if (column < 0) {
        column = m_program.addColumn({.lower = inUnits(min[item - first]), .upper = inUnits(horizon) + slack()});
      }
      m_arrival[item] = column;
      if (m_problem.items[item].isTarget) {
        m_rows.add({{m_time, 1}, {column, -1}}, 0, lp::kInfinite);
      }
    }
    for (int item = first + 1; item < last; ++item) {
      for (const int send : m_graph.in[item]) {
        // t[v] >= t[u] + lat - M (1 - x)
        const int from = m_graph.sends[send].from;
        const double lat = inUnits(m_cost[m_graph.sends[send].link]);
        const double big = inUnits(horizon) + slack() - inUnits(min[item - first]) + lat;
        std::vector<MixedTerm> terms = {{m_arrival[item], 1}, {m_way[send], -big}};
        if (from != first) {
          terms.push_back({m_arrival[from], -1});
        }
        m_rows.add(terms, lat - big, lp::kInfinite);
      }
    }
  }

  [[nodiscard]] std::vector<Ticks> distances(int chunk) const {
    const int first = m_problem.firstItem[chunk];
    std::vector<Ticks> min(static_cast<std::size_t>(m_problem.firstItem[chunk + 1] - first),
                           std::numeric_limits<Ticks>::max() / 4);
    min[0] = 0;
    std::set<std::pair<Ticks, int>> queue = {{0, first}};
    while (!queue.empty()) {
      const auto [time, item] = *queue.begin();
      queue.erase(queue.begin());
      for (const int send : m_graph.out[item]) {
        const int to = m_graph.sends[send].item;
        const Ticks next = time + m_cost[m_graph.sends[send].link];
        if (next < min[to - first]) {
          queue.erase({min[to - first], to});
          min[to - first] = next;
          queue.emplace(next, to);
        }
      }
    }
    return min;
  }

  void addLoads() {
    std::vector<std::vector<MixedTerm>> load(static_cast<std::size_t>(m_problem.machineCount));
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      const int link = m_graph.sends[i].link;
      for (const int machine : m_problem.linkMachines[link]) {
        load[machine].push_back({m_way[i], -inUnits(m_cost[link])});
      }
    }
    for (std::vector<MixedTerm>& terms : load) {
      terms.push_back({m_time, 1});
      m_rows.add(terms, 0, lp::kInfinite);
    }
    if (!m_problem.sendsOneAtATime) {
      return;
    }
    for (const std::vector<int>& out : m_graph.out) {
      std::vector<MixedTerm> terms = {{m_time, 1}};
      for (const int send : out) {
        terms.push_back({m_way[send], -inUnits(m_cost[m_graph.sends[send].link])});
      }
      m_rows.add(terms, 0, lp::kInfinite);
    }
  }

  void addConnections() {
    m_used.assign(m_model.links.size(), -1);
    if (m_options.goal == ConnectionGoal::free) {
      return;
    }
    const bool isFewer = m_options.goal == ConnectionGoal::fewer;
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      if (isCounted(static_cast<int>(i))) {
        int& column = m_used[m_linkClass.find(static_cast<int>(i))];
        if (column < 0) {
          column = m_program.addColumn({.upper = 1, .cost = 0, .isInteger = isFewer});
        }
        m_program.columns[column].cost += weight();
        m_used[i] = column;
      }
    }
    std::vector<std::vector<MixedTerm>> sums(m_model.links.size());
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      const int link = m_graph.sends[i].link;
      if (m_used[link] >= 0 && isCounted(link)) {
        if (isFewer) {
          m_rows.add({{m_used[link], 1}, {m_way[i], -1}}, 0, lp::kInfinite);
        } else {
          sums[link].push_back({m_way[i], 1});
        }
      }
    }
    for (std::size_t i = 0; i < sums.size() && !isFewer; ++i) {
      if (isCounted(static_cast<int>(i))) {
        sums[i].push_back({m_used[i], -1});
        m_rows.add(sums[i], 0, lp::kInfinite);
      }
    }
  }

  /// minmax, maxmin: the loads of links within nodes.
  void addBalance() {
    const bool isMax = m_model.local == sketch::LocalStrategy::minmax;
    if (!isMax && m_model.local != sketch::LocalStrategy::maxmin) {
      return;
    }
    m_balance = m_program.addColumn({.upper = static_cast<double>(m_problem.chunks.size()),
                                     .cost = isMax ? kConnectionWeight : -kConnectionWeight});
    std::vector<std::vector<MixedTerm>> loads(m_model.links.size());
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      loads[m_graph.sends[i].link].push_back({m_way[i], isMax ? -1.0 : 1.0});
    }
    for (std::size_t i = 0; i < loads.size(); ++i) {
      if (!m_model.links[i].isRemote) {
        loads[i].push_back({m_balance, isMax ? 1.0 : -1.0});
        m_rows.add(loads[i], 0, lp::kInfinite);
      }
    }
  }

  /// Empty where the start does not keep the symmetries that are merged.
  [[nodiscard]] std::vector<double> startValues() const {
    if (m_start.empty()) {
      return {};
    }
    std::vector<double> values(m_program.columns.size(), -1);
    const auto set = [&](int column, double value) {
      const bool isSame = values[column] < 0 || values[column] == value;
      values[column] = value;
      return isSame;
    };
    std::vector<int> below(m_start.size());
    std::vector<Ticks> way(m_start.size());
    const std::vector<int> order = downwards(m_problem, m_graph, m_start);
    for (const int item : order) {
      const Send& send = m_graph.sends[m_start[item]];
      way[item] = way[send.from] + m_cost[send.link];
    }
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      below[*at] += m_problem.items[*at].isTarget ? 1 : 0;
      below[m_graph.sends[m_start[*at]].from] += below[*at];
    }
    bool isWhole = true;
    std::vector<int> load(m_model.links.size());
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      const int item = m_graph.sends[i].item;
      const bool isTaken = m_start[item] == static_cast<int>(i);
      isWhole = set(m_way[i], isTaken ? 1 : 0) && isWhole;
      if (m_flow[i] >= 0) {
        isWhole = set(m_flow[i], isTaken ? below[item] : 0) && isWhole;
      }
      load[m_graph.sends[i].link] += isTaken ? 1 : 0;
    }
    for (std::size_t i = 0; i < m_arrival.size(); ++i) {
      if (m_arrival[i] >= 0) {
        double& value = values[m_arrival[i]];
        const double min = m_program.columns[m_arrival[i]].lower;
        value = std::max({value, min, inUnits(way[i])});
      }
    }
    values[m_time] = inUnits(std::max(m_min, timeOf(m_start)));
    for (std::size_t i = 0; i < m_used.size(); ++i) {
      if (m_used[i] >= 0 && isCounted(static_cast<int>(i))) {
        values[m_used[i]] = std::max(values[m_used[i]], load[i] > 0 ? 1.0 : 0.0);
      }
    }
    if (m_balance >= 0) {
      const auto [min, max] = localLoads(load);
      values[m_balance] = m_model.local == sketch::LocalStrategy::minmax ? max : min;
    }
    if (!isWhole || std::any_of(values.begin(), values.end(), [](double value) { return value < 0; })) {
      return {};
    }
    return values;
  }

  /// The trees that values stand for; empty where they do not join all.
  [[nodiscard]] Trees read(const std::vector<double>& values) const {
    Trees chosen(m_problem.items.size(), -1);
    for (std::size_t i = 0; i < m_graph.sends.size(); ++i) {
      if (values[m_way[i]] > 0.5) {
        chosen[m_graph.sends[i].item] = static_cast<int>(i);
      }
    }
    Trees trees(chosen.size(), -1);
    for (const int target : m_problem.targetItems) {
      int item = target;
      const int origin = originOf(m_problem.items[target].chunk);
      std::size_t steps = 0;
      while (item != origin && trees[item] < 0) {
        if (chosen[item] < 0 || ++steps > chosen.size()) {
          return {};
        }
        trees[item] = chosen[item];
        item = m_graph.sends[chosen[item]].from;
      }
    }
    // A ring that no origin feeds would have been walked without an end.
    std::size_t sent = 0;
    for (const int send : trees) {
      sent += send >= 0 ? 1 : 0;
    }
    return downwards(m_problem, m_graph, trees).size() == sent ? trees : Trees{};
  }

  const Problem& m_problem;
  const Model& m_model;
  const SendGraph& m_graph;
  Collective m_collective;
  int m_root;
  const StageOptions& m_options;
  const Progress& m_progress;
  DisjointSets m_sendClass;
  DisjointSets m_itemClass;
  DisjointSets m_linkClass;
  MixedProgram m_program;
  RowSet m_rows;
  std::vector<Ticks> m_cost;   ///< by link: of one chunk in this stage
  Trees m_start;               ///< empty = none
  std::vector<int> m_way;      ///< by send: column
  std::vector<int> m_flow;     ///< by send: column; -1 = none
  std::vector<int> m_arrival;  ///< by item: column; -1 = none
  std::vector<int> m_used;     ///< by link: column; -1 = none
  int m_time = -1;
  int m_balance = -1;
  Ticks m_min = 0;
  Routing m_result;
};

}  // namespace

Result<Routing> chooseRoutes(const Problem& problem, const SendGraph& graph, Collective collective, int root,
                             const StageOptions& options, double seconds, const Progress& progress) {
  return Router(problem, graph, collective, root, options, progress).run(seconds);
}

}  // namespace coppice::taccl
