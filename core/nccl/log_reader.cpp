// SPDX-License-Identifier: Apache-2.0
#include "nccl/log_reader.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/counted.hpp"
#include "base/failure.hpp"
#include "nccl/communicator_join.hpp"
#include "nccl/log_facts.hpp"
#include "nccl/log_lines.hpp"

namespace coppice::nccl {
namespace {

constexpr int kMaxRanks = 1 << 16;
constexpr std::size_t kMaxFacts = std::size_t{1} << 22;
constexpr std::size_t kMaxListed = 64;
constexpr std::size_t kCutLength = 1000;  ///< NCCL cuts lines at 1023 characters

/// One rank of one communicator.
struct Instance {
  int process = 0;
  RankLine line;
  bool hasStart = false;
  bool isComplete = false;
  Facts facts = {};
  std::string group = {};
  int splits = 0;  ///< communicators made of it so far, where the log does not count them
};

struct Thread {
  int instance = -1;
  Facts pending;  ///< lines before the one that says of which communicator they are
  EstimateTable table;
};

struct Process {
  int index = 0;
  std::string_view host;
  int id = 0;
  std::map<std::pair<std::string_view, int>, Thread> threads = {};  ///< by thread id and device
  std::vector<int> instances = {};
};

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

class LogReader {
public:
  Result<Run> run(const std::vector<LogText>& logs) {
    LogLines lines([this](const LogMessage& message) { take(message); },
                   [this](std::string_view line) { takePlain(line); });
    for (const LogText& log : logs) {
      lines.read(log.text);
    }
    if (!m_hasMessage) {
      return Error{ErrorCode::badInput,
                   "there is no line of NCCL's log",
                   "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING and give what it printed",
                   {.file = logs.empty() ? std::string() : logs.front().name}};
    }
    placePending();
    makeGroups();
    placeOrphans();
    for (const Group& group : m_groups) {
      m_run.communicators.push_back(communicatorOf(group));
    }
    if (!m_loose.isEmpty()) {
      addLoose();
    }
    tellMissing();
    return std::move(m_run);
  }

private:
  // --- lines ---------------------------------------------------------------------------------------------------------

  void takePlain(std::string_view line) {
    if (line.find("CCL version") != std::string_view::npos) {
      takeVersion(line);
    }
  }

  bool takeVersion(std::string_view text) {
    constexpr std::string_view kWord = "CCL version ";
    const std::size_t at = text.find(kWord);
    if (at == std::string_view::npos || at == 0 || (text[at - 1] != 'N' && text[at - 1] != 'R')) {
      return false;
    }
    std::string_view number = text.substr(at + kWord.size());
    number.remove_prefix(std::min(number.find_first_not_of(": "), number.size()));
    number = number.substr(0, std::min(number.find_first_not_of("0123456789."), number.size()));
    if (number.empty() || number.front() < '0' || number.front() > '9') {
      return false;
    }
    while (number.back() == '.') {
      number.remove_suffix(1);
    }
    if (m_run.version.empty()) {
      m_run.version = number;
      m_run.library = text[at - 1] == 'R' ? "RCCL" : "NCCL";
    }
    m_hasMessage = true;
    return true;
  }

  void take(const LogMessage& message) {
    m_hasMessage = true;
    if (message.isWarning) {
      if (m_run.warnings.size() < kMaxListed && m_warned.insert(message.text).second) {
        m_run.warnings.emplace_back(message.text);
      }
      return;
    }
    if (!message.rest.empty()) {
      m_joined.push_back(std::string(message.text) + std::string(message.rest));
      if (takeText(message, m_joined.back(), false)) {
        return;
      }
      m_joined.pop_back();
    }
    takeText(message, message.text, message.isCut);
  }

  Process& processOf(const LogSource& source) {
    m_key.assign(source.host).append(":").append(source.process);
    const auto [found, isNew] = m_processIndex.try_emplace(m_key, static_cast<int>(m_processes.size()));
    if (isNew) {
      int id = 0;
      std::from_chars(source.process.data(), source.process.data() + source.process.size(), id);
      m_processes.push_back({.index = found->second, .host = source.host, .id = id});
    }
    return m_processes[found->second];
  }

  /// False: not a line of a kind that is read, or a damaged one.
  bool takeText(const LogMessage& message, std::string_view text, bool isCut) {
    std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) {
      return false;
    }
    Process& process = processOf(message.source);
    Thread& thread = process.threads[{message.source.thread, message.source.device}];
    m_device = message.source.device;
    const std::string_view body = text.substr(first);
    switch (body.front()) {
      case 'C':
        if (body.starts_with("Channel ")) {
          return takeChannel(process, thread, body, isCut);
        }
        if (body.starts_with("Connected all ") || body.starts_with("Connected ")) {
          endPhase(process, thread, body);
          return true;
        }
        break;
      case 'R':
        if (const auto hop = readHopLine(body)) {
          Facts& facts = factsFor(
              process, thread, [&](const Instance& one) { return one.line.rank == hop->rank; }, body);
          add(facts.hops, *hop);
          return true;
        }
        break;
      case 'T':
        if (body.starts_with("Trees")) {
          const bool mayBeCut = isCut || message.length >= kCutLength;
          const std::vector<TreeEntry> entries = readTreesLine(body, mayBeCut);
          if (!entries.empty()) {
            const int rank = entries.front().rank;
            Facts& facts = factsFor(
                process, thread, [&](const Instance& one) { return one.line.rank == rank; }, body);
            for (const TreeEntry& entry : entries) {
              if (entry.rank == rank) {
                add(facts.trees, entry);
              }
            }
          }
          return !entries.empty();
        }
        if (const auto entry = readTreeLine(body)) {
          Facts& facts = factsFor(
              process, thread, [&](const Instance& one) { return one.line.rank == entry->rank; }, body);
          add(facts.trees, *entry);
          return true;
        }
        break;
      case 'P':
        if (const auto search = readSearchLine(body)) {
          add(factsFor(process, thread, isAny, body).searches, *search);
          return true;
        }
        break;
      case 'N':
        if (const auto heads = readNvlsLine(body)) {
          add(factsFor(process, thread, isAny, body).nvls, *heads);
          return true;
        }
        break;
      default:
        break;
    }
    if (body.find(" Bytes -> ") != std::string_view::npos) {
      if (const auto choice = readChoiceLine(body)) {
        addChoice(factsFor(
                      process, thread, [](const Instance& one) { return one.line.rank == 0; }, body),
                  *choice);
        return true;
      }
    }
    if (body.find('|') != std::string_view::npos) {
      std::vector<Estimate> estimates;
      thread.table.take(body, estimates);
      if (!estimates.empty()) {
        Facts& facts = factsFor(process, thread, isAny, body);
        for (const Estimate& estimate : estimates) {
          add(facts.estimates, estimate);
        }
        return true;
      }
    }
    return takeRest(process, thread, body);
  }

  bool takeRest(Process& process, Thread& thread, std::string_view body) {
    if (body.find("comm 0x") != std::string_view::npos) {
      if (const auto line = readRankLine(body)) {
        takeRank(process, thread, *line);
        return true;
      }
      // "AllReduce: opCount 0 ... comm 0x55d0 [nranks=16]"
      if (const int known = instanceOf(process, wordAfter(body, "comm")); known >= 0) {
        thread.instance = known;
      }
    }
    if (takeVersion(body)) {
      return true;
    }
    if (const std::size_t coll = body.find(" coll channels"); coll != std::string_view::npos && coll > 0) {
      int channels = 0;
      for (const char c : body.substr(0, coll)) {
        channels = c >= '0' && c <= '9' && channels < kMaxRanks ? channels * 10 + (c - '0') : 0;
      }
      Facts& facts = factsFor(process, thread, isAny, body);
      facts.channels = std::max(facts.channels, channels);
      return true;
    }
    constexpr std::string_view kSet = " set by environment to ";
    if (const std::size_t set = body.find(kSet); set != std::string_view::npos) {
      std::string_view value = body.substr(set + kSet.size());
      while (!value.empty() && (value.back() == '.' || value.back() == ' ')) {
        value.remove_suffix(1);
      }
      std::string setting = std::string(body.substr(0, set)) + "=" + std::string(value);
      if (m_run.settings.size() < kMaxListed &&
          std::find(m_run.settings.begin(), m_run.settings.end(), setting) == m_run.settings.end()) {
        m_run.settings.push_back(std::move(setting));
      }
      return true;
    }
    return false;
  }

  bool takeChannel(Process& process, Thread& thread, std::string_view body, bool isCut) {
    if (const auto edge = readEdgeLine(body)) {
      const int rank = edge->isReceive ? edge->to : edge->from;
      Facts& facts = factsFor(
          process, thread,
          [&](const Instance& one) {
            return one.line.rank == rank && edge->from < one.line.ranks && edge->to < one.line.ranks;
          },
          body);
      add(facts.edges, SeenEdge{*edge});
      return true;
    }
    if (auto ring = readRingLine(body)) {
      ring->isCut = ring->isCut || isCut;
      const int largest = *std::max_element(ring->ranks.begin(), ring->ranks.end());
      Facts& facts = factsFor(
          process, thread, [&](const Instance& one) { return one.line.rank == 0 && largest < one.line.ranks; }, body);
      add(facts.rings, *ring);
      return true;
    }
    return false;
  }

  static bool isAny(const Instance& instance) {
    (void)instance;
    return true;
  }

  template <typename T>
  void add(std::vector<T>& list, const T& fact) {
    if (++m_factCount > kMaxFacts) {
      throw Failure{{ErrorCode::limit, "the logs contain more than 4,194,304 facts",
                     "give the part of the log that makes the communicators"}};
    }
    list.push_back(fact);
  }

  void addChoice(Facts& facts, const Choice& choice) {
    const auto same = std::find_if(facts.choices.begin(), facts.choices.end(), [&](const Choice& other) {
      return std::tie(other.collective, other.loggedBytes, other.algorithm, other.protocol, other.channels) ==
             std::tie(choice.collective, choice.loggedBytes, choice.algorithm, choice.protocol, choice.channels);
    });
    if (same != facts.choices.end()) {
      ++same->times;
      return;
    }
    add(facts.choices, choice);
  }

  void endPhase(Process& process, Thread& thread, std::string_view body) {
    Facts& facts = factsFor(process, thread, isAny, body);
    const Phase phase = body.starts_with("Connected all rings")   ? Phase::ring
                        : body.starts_with("Connected all trees") ? Phase::tree
                                                                  : Phase::other;
    for (std::size_t i = facts.phaseBegin; i < facts.edges.size(); ++i) {
      facts.edges[i].phase = phase;
    }
    facts.phaseBegin = facts.edges.size();
  }

  // --- whose line it is ----------------------------------------------------------------------------------------------

  /// The latest with this `comm`; -1.
  [[nodiscard]] int instanceOf(const Process& process, std::string_view comm) const {
    for (auto at = process.instances.rbegin(); at != process.instances.rend(); ++at) {
      if (!comm.empty() && m_instances[*at].line.comm == comm) {
        return *at;
      }
    }
    return -1;
  }

  /// The facts that a line adds to. @param fits what the line says of ranks agrees with the communicator
  template <typename Fits>
  Facts& factsFor(Process& process, Thread& thread, const Fits& fits, std::string_view body) {
    // RCCL names the communicator in the line.
    if (const std::size_t at = body.rfind(" comm 0x"); at != std::string_view::npos) {
      if (const int named = instanceOf(process, wordAfter(body.substr(at), "comm")); named >= 0) {
        return m_instances[named].facts;
      }
    }
    const auto isRight = [&](int index) { return index >= 0 && fits(m_instances[index]); };
    if (isRight(thread.instance)) {
      return m_instances[thread.instance].facts;
    }
    // Another thread of the process, on the same device first; one that is being made before one that is made.
    int best = -1;
    int bestScore = -1;
    for (const int index : process.instances) {
      const Instance& instance = m_instances[index];
      if (!instance.hasStart || !isRight(index)) {
        continue;
      }
      const int score = (instance.line.device == m_device ? 2 : 0) + (instance.isComplete ? 0 : 1);
      if (score >= bestScore) {
        best = index;
        bestScore = score;
      }
    }
    if (best >= 0) {
      return m_instances[best].facts;
    }
    return thread.pending;
  }

  void takeRank(Process& process, Thread& thread, const RankLine& line) {
    if (line.ranks > kMaxRanks) {
      throw Failure{{ErrorCode::limit, "a communicator of " + std::to_string(line.ranks) + " ranks is too large",
                     "the limit is 65,536"}};
    }
    const auto isSame = [&](const RankLine& other) {
      return other.rank == line.rank && other.ranks == line.ranks &&
             (other.commId == line.commId || other.commId.empty() || line.commId.empty());
    };
    if (const int known = instanceOf(process, line.comm); known >= 0 && isSame(m_instances[known].line)) {
      Instance& instance = m_instances[known];
      // The end of what began; or a line that was copied twice.
      if (!instance.isComplete || (line.isComplete && (instance.hasStart || thread.pending.isEmpty()))) {
        instance.isComplete = instance.isComplete || line.isComplete;
        merge(instance.line, line);
        thread.instance = known;
        return;
      }
    }
    const int index = static_cast<int>(m_instances.size());
    m_instances.push_back(
        {.process = process.index, .line = line, .hasStart = !line.isComplete, .isComplete = line.isComplete});
    process.instances.push_back(index);
    // Versions without a start print the lines of a communicator before its only line.
    m_instances.back().facts.append(thread.pending);
    thread.instance = line.isComplete ? -1 : index;
  }

  static void merge(RankLine& into, const RankLine& line) {
    const auto take = [](std::string_view& to, std::string_view from) { to = to.empty() ? from : to; };
    take(into.busId, line.busId);
    take(into.commId, line.commId);
    take(into.parent, line.parent);
    take(into.color, line.color);
    take(into.splitCount, line.splitCount);
    into.device = into.device < 0 ? line.device : into.device;
    into.nvmlDevice = into.nvmlDevice < 0 ? line.nvmlDevice : into.nvmlDevice;
  }

  /// What no line has claimed: of the process's last communicator of that device, or of none.
  void placePending() {
    for (Process& process : m_processes) {
      for (auto& [key, thread] : process.threads) {
        if (thread.pending.isEmpty()) {
          continue;
        }
        int best = -1;
        for (const int index : process.instances) {
          if (m_instances[index].line.device == key.second || process.instances.size() == 1) {
            best = index;
          }
        }
        if (best < 0 && !process.instances.empty()) {
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
                             .line = {.comm = {}, .rank = rank, .ranks = m_groups[found].ranks,
                                      .device = orphan.device, .nvmlDevice = orphan.device}});
      m_instances.back().facts.append(orphan.facts);
    }
  }

  // --- across processes ----------------------------------------------------------------------------------------------

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
    }
    if (hasId) {
      return "id " + std::string(line.commId) + of;
    }
    if (!line.splitCount.empty()) {
      return {};
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
      const auto other = std::find_if(group.instanceOf.begin(), group.instanceOf.end(), [](int one) { return one >= 0; });
      if (other == group.instanceOf.end() || group.ranks != line.ranks || group.instanceOf[line.rank] >= 0) {
        continue;
      }
      const RankLine& known = m_instances[*other].line;
      if (known.splitCount == line.splitCount && known.color == line.color) {
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
      if (std::find(made.hosts.begin(), made.hosts.end(), process.host) == made.hosts.end()) {
        made.hosts.emplace_back(process.host);
      }
      facts.push_back(&instance.facts);
    }
    joinFacts(made, facts);
    if (absent > 0) {
      made.missing.push_back("lines of " + counted(absent, "rank") + " of " + std::to_string(group.ranks) +
                             ": give the logs of all processes (NCCL_DEBUG_FILE=log.%h.%p writes one for each)");
    }
    return made;
  }

  /// A log without a line that names a communicator.
  void addLoose() {
    const int largest = largestRank(m_loose);
    if (largest >= kMaxRanks) {
      throw Failure{{ErrorCode::limit, "a communicator of " + std::to_string(largest + 1) + " ranks is too large",
                     "the limit is 65,536"}};
    }
    Communicator made;
    made.ranks = largest + 1;
    made.places.resize(static_cast<std::size_t>(made.ranks));
    for (const Process& process : m_processes) {
      if (std::find(made.hosts.begin(), made.hosts.end(), process.host) == made.hosts.end()) {
        made.hosts.emplace_back(process.host);
      }
    }
    joinFacts(made, {&m_loose});
    made.missing.emplace_back("which rank runs where: add INIT to NCCL_DEBUG_SUBSYS");
    m_run.communicators.push_back(std::move(made));
  }

  void tellMissing() {
    bool hasChoice = false;
    for (const Communicator& communicator : m_run.communicators) {
      hasChoice = hasChoice || !communicator.choices.empty();
      for (const std::string& sentence : communicator.missing) {
        if (std::find(m_run.missing.begin(), m_run.missing.end(), sentence) == m_run.missing.end() &&
            m_run.missing.size() < kMaxListed) {
          m_run.missing.push_back(sentence);
        }
      }
    }
    if (m_run.version.empty()) {
      m_run.missing.emplace_back("the version: set NCCL_DEBUG=INFO, or VERSION");
    }
    if (m_run.communicators.empty()) {
      m_run.missing.emplace_back(
          "communicators: set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING in the environment of all "
          "ranks");
    }
    if (!hasChoice) {
      m_run.missing.emplace_back("what was chosen for each size: add TUNING to NCCL_DEBUG_SUBSYS");
    }
  }

  Run m_run;
  bool m_hasMessage = false;
  std::size_t m_factCount = 0;
  int m_device = 0;
  std::string m_key;
  std::deque<std::string> m_joined;
  std::deque<Process> m_processes;
  std::unordered_map<std::string, int> m_processIndex;
  std::deque<Instance> m_instances;
  std::map<std::tuple<int, int, int>, int> m_unnamed;
  std::vector<Group> m_groups;
  std::deque<Orphan> m_orphans;
  Facts m_loose;
  std::set<std::string_view> m_warned;
};

}  // namespace

bool isLog(std::string_view text) {
  for (const std::string_view mark : {" NCCL INFO ", " NCCL WARN ", "NCCL version ", "RCCL version "}) {
    if (text.find(mark) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

Result<Run> readLogs(const std::vector<LogText>& logs) {
  return guarded([&] { return LogReader().run(logs); },
                 {.memory = "the logs do not fit into memory", .memoryFix = "give the part that makes communicators"});
}

}  // namespace coppice::nccl
