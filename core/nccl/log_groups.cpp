// SPDX-License-Identifier: Apache-2.0
#include "nccl/log_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "base/counted.hpp"
#include "base/failure.hpp"

namespace coppice::nccl {
namespace {

/// What a process printed without a line that names a communicator.
struct Orphan {
  int process = 0;
  int device = 0;
  Facts facts = {};
};

/// The ranks of one communicator.
struct Group {
  std::string id;
  int ranks = 0;
  std::vector<int> instanceOf;  ///< by rank; -1 = not in the logs
};

class Gathering {
public:
  Gathering(std::deque<Instance>& instances, std::deque<Process>& processes)
      : m_instances(instances), m_processes(processes) {}

  std::vector<Communicator> run(std::vector<std::string>& missing) {
    placePending();
    makeGroups();
    placeOrphans();
    std::vector<Communicator> made;
    for (const Group& group : m_groups) {
      made.push_back(communicatorOf(group));
    }
    if (!m_loose.isEmpty() && m_groups.empty()) {
      made.push_back(looseCommunicator());
    } else if (!m_loose.isEmpty()) {
      missing.emplace_back(
          "lines that belong to no communicator, as the line that begins it is lost: give the whole logs");
    }
    return made;
  }

private:
  /// What no line has claimed: of the process's last communicator of that device, or of none.
  void placePending() {
    for (Process& process : m_processes) {
      for (auto& [key, thread] : process.threads) {
        if (thread.pending.isEmpty()) {
          continue;
        }
        int best = -1;
        const bool isSetup = thread.pending.hasSetup();
        const auto canBe = [&](int index) { return !isSetup || !m_instances[index].facts.hasSetup(); };
        for (const int index : process.instances) {
          const bool isItsDevice = m_instances[index].line.device == key.second || process.instances.size() == 1;
          best = isItsDevice && canBe(index) ? index : best;
        }
        if (best < 0 && !process.instances.empty() && canBe(process.instances.back())) {
          best = process.instances.back();
        }
        if (best >= 0) {
          m_instances[best].facts.append(thread.pending);
        } else {
          m_orphans.push_back({process.index, key.second, {}});
          m_orphans.back().facts.append(thread.pending);
        }
      }
    }
  }

  /// Whose lines these are, by the ranks in them; -1 = they do not say.
  static int rankOf(const Facts& facts) {
    for (const TreeEntry& entry : facts.trees) {
      return entry.rank;
    }
    for (const HopLine& hop : facts.hops) {
      return hop.rank;
    }
    for (const SeenEdge& edge : facts.edges) {
      return edge.line.isReceive ? edge.line.to : edge.line.from;
    }
    return facts.rings.empty() ? -1 : 0;
  }

  static int largestRank(const Facts& facts) {
    int largest = -1;
    const auto see = [&](int rank) { largest = std::max(largest, rank); };
    for (const RingLine& line : facts.rings) {
      std::for_each(line.ranks.begin(), line.ranks.end(), see);
    }
    for (const HopLine& line : facts.hops) {
      see(line.rank);
      see(line.next);
      see(line.previous);
    }
    for (const SeenEdge& edge : facts.edges) {
      see(edge.line.from);
      see(edge.line.to);
    }
    for (const TreeEntry& entry : facts.trees) {
      see(entry.rank);
      see(entry.parent);
    }
    return largest;
  }

  /// Lines of processes whose line with the communicator is lost: of the one that has no other for this rank.
  void placeOrphans() {
    for (Orphan& orphan : m_orphans) {
      const int rank = rankOf(orphan.facts);
      const int largest = largestRank(orphan.facts);
      int found = -1;
      for (int group = 0; group < static_cast<int>(m_groups.size()) && rank >= 0; ++group) {
        if (m_groups[group].ranks > largest && m_groups[group].instanceOf[rank] < 0) {
          found = found == -1 ? group : -2;
        }
      }
      if (found < 0) {
        m_loose.append(orphan.facts);
        continue;
      }
      m_groups[found].instanceOf[rank] = static_cast<int>(m_instances.size());
      m_instances.push_back({.process = orphan.process,
                             .line = {.comm = {},
                                      .rank = rank,
                                      .ranks = m_groups[found].ranks,
                                      .device = orphan.device,
                                      .nvmlDevice = orphan.device}});
      m_instances.back().facts.append(orphan.facts);
    }
  }

  /// Empty: it is a split of a communicator that is not known.
  std::string groupName(int index) {
    const Instance& instance = m_instances[index];
    const RankLine& line = instance.line;
    const std::string of = " of " + std::to_string(line.ranks);
    const bool hasId = !line.commId.empty() && line.commId != "0x0";
    if (!line.parent.empty()) {
      int parent = -1;
      for (const int other : m_processes[instance.process].instances) {
        if (other < index && m_instances[other].line.comm == line.parent) {
          parent = other;
        }
      }
      if (parent >= 0) {
        // Splits of one colour after another have the same id in versions before 2.23.
        const int count = ++m_instances[parent].splits;
        const std::string split = line.splitCount.empty() ? std::to_string(count) : std::string(line.splitCount);
        return m_instances[parent].group + " / " + split + " " + std::string(hasId ? line.commId : line.color) + of;
      }
      return {};
    }
    if (hasId) {
      return "id " + std::string(line.commId) + of;
    }
    // Nothing joins the processes but the order in which they make communicators.
    const int before = m_unnamed[{instance.process, line.ranks, line.device}]++;
    return "number " + std::to_string(before) + of;
  }

  void makeGroups() {
    std::map<std::string, int> latest;
    std::map<std::tuple<int, int, std::string>, int> repeated;
    std::vector<int> later;
    for (std::size_t index = 0; index < m_instances.size(); ++index) {
      Instance& instance = m_instances[index];
      instance.group = groupName(static_cast<int>(index));
      if (instance.group.empty()) {
        later.push_back(static_cast<int>(index));
        continue;
      }
      const int before = repeated[{instance.process, instance.line.rank, instance.group}]++;
      instance.group += before > 0 ? " again " + std::to_string(before) : std::string();
      const auto found = latest.find(instance.group);
      int group = found == latest.end() ? -1 : found->second;
      // A rank that comes again begins another run.
      if (group < 0 || m_groups[group].instanceOf[instance.line.rank] >= 0) {
        group = latest[instance.group] = newGroup(instance.line);
      }
      m_groups[group].instanceOf[instance.line.rank] = static_cast<int>(index);
    }
    for (const int index : later) {
      placeSplit(index);
    }
  }

  int newGroup(const RankLine& line) {
    m_groups.push_back({.id = std::string(line.commId),
                        .ranks = line.ranks,
                        .instanceOf = std::vector<int>(static_cast<std::size_t>(line.ranks), -1)});
    return static_cast<int>(m_groups.size()) - 1;
  }

  /// Where the line of the parent is lost in this process: to the other ranks of the split.
  void placeSplit(int index) {
    const RankLine& line = m_instances[index].line;
    for (Group& group : m_groups) {
      const auto other =
          std::find_if(group.instanceOf.begin(), group.instanceOf.end(), [](int one) { return one >= 0; });
      if (other == group.instanceOf.end() || group.ranks != line.ranks || group.instanceOf[line.rank] >= 0) {
        continue;
      }
      const RankLine& known = m_instances[*other].line;
      if (!known.parent.empty() && known.splitCount == line.splitCount && known.color == line.color &&
          known.commId == line.commId) {
        group.instanceOf[line.rank] = index;
        return;
      }
    }
    m_groups[newGroup(line)].instanceOf[line.rank] = index;
  }

  Communicator communicatorOf(const Group& group) {
    Communicator made;
    made.id = group.id;
    made.ranks = group.ranks;
    made.places.resize(static_cast<std::size_t>(group.ranks));
    std::vector<const Facts*> facts;
    int absent = 0;
    for (int rank = 0; rank < group.ranks; ++rank) {
      const int index = group.instanceOf[rank];
      if (index < 0) {
        ++absent;
        continue;
      }
      const Instance& instance = m_instances[index];
      const Process& process = m_processes[instance.process];
      made.places[rank] = {.host = std::string(process.host),
                           .process = process.id,
                           .device = instance.line.nvmlDevice,
                           .busId = std::string(instance.line.busId)};
      addHost(made, process);
      made.nodes = std::max(made.nodes, instance.line.nodes);
      facts.push_back(&instance.facts);
    }
    joinFacts(made, facts);
    if (absent > 0) {
      made.missing.push_back("lines of " + counted(absent, "rank") + " of " + std::to_string(group.ranks) +
                             ": give the logs of all processes (NCCL_DEBUG_FILE=log.%h.%p writes one for each)");
    }
    return made;
  }

  /// A shortened log has no names.
  static void addHost(Communicator& made, const Process& process) {
    if (!process.host.empty() && std::find(made.hosts.begin(), made.hosts.end(), process.host) == made.hosts.end()) {
      made.hosts.emplace_back(process.host);
    }
  }

  /// A log without a line that names a communicator.
  Communicator looseCommunicator() {
    const int largest = largestRank(m_loose);
    if (largest >= kMaxRanks) {
      throw Failure{{ErrorCode::limit, "a communicator of " + std::to_string(largest + 1) + " ranks is too large",
                     "the limit is 65,536"}};
    }
    Communicator made;
    made.ranks = largest + 1;
    made.places.resize(static_cast<std::size_t>(made.ranks));
    for (const Process& process : m_processes) {
      addHost(made, process);
    }
    joinFacts(made, {&m_loose});
    made.missing.emplace_back("which rank runs where: add INIT to NCCL_DEBUG_SUBSYS");
    return made;
  }

  std::deque<Instance>& m_instances;
  std::deque<Process>& m_processes;
  std::deque<Orphan> m_orphans;
  std::map<std::tuple<int, int, int>, int> m_unnamed;
  std::vector<Group> m_groups;
  Facts m_loose;
};

}  // namespace

std::vector<Communicator> gatherCommunicators(std::deque<Instance>& instances, std::deque<Process>& processes,
                                              std::vector<std::string>& missing) {
  return Gathering(instances, processes).run(missing);
}

}  // namespace coppice::nccl
