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

#include "base/failure.hpp"
#include "nccl/communicator_join.hpp"
#include "nccl/log_facts.hpp"
#include "nccl/log_groups.hpp"
#include "nccl/log_lines.hpp"

namespace coppice::nccl {
namespace {

constexpr std::size_t kMaxFacts = std::size_t{1} << 22;
constexpr std::size_t kMaxListed = 64;

class LogReader {
public:
  Result<Run> run(const std::vector<LogText>& logs) {
    LogLines lines([this](const LogMessage& message) { take(message); },
                   [this](std::string_view line) { takePlain(line); });
    m_hasInit = std::any_of(logs.begin(), logs.end(),
                            [](const LogText& log) { return log.text.find(" - Init ") != std::string_view::npos; });
    for (const LogText& log : logs) {
      lines.read(log.text);
    }
    if (!m_hasMessage) {
      return Error{ErrorCode::badInput,
                   "there is no line of NCCL's log",
                   "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING and give what it printed",
                   {.file = logs.empty() ? std::string() : logs.front().name}};
    }
    m_run.communicators = gatherCommunicators(m_instances, m_processes, m_run.missing);
    tellMissing();
    return std::move(m_run);
  }

private:
  // --- lines ---------------------------------------------------------------------------------------------------------

  void takePlain(std::string_view line) {
    if (line.find("CCL version") != std::string_view::npos) {
      takeVersion(line);
    }
    // nccl-tests names it by its code: 22809 is 2.28.9.
    constexpr std::string_view kLibrary = "nccl-library=";
    if (const std::size_t at = line.find(kLibrary); at != std::string_view::npos && m_codedVersion.empty()) {
      int code = 0;
      std::from_chars(line.data() + at + kLibrary.size(), line.data() + line.size(), code);
      if (code >= 20000 && code < 100000) {
        m_codedVersion =
            std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
      }
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
    m_source = message.source;
    const std::string_view body = text.substr(first);
    switch (body.front()) {
      case 'C':
        if (body.starts_with("Channel ")) {
          return takeChannel(process, thread, body, isCut);
        }
        if (const auto head = readCollnetHead(body)) {
          add(factsFor(process, thread, isAny, body).collnetHeads, *head);
          return true;
        }
        if (const std::vector<TreeEntry> chains = readCollnetChains(body); !chains.empty()) {
          Facts& facts = factsFor(
              process, thread, [&](const Instance& one) { return one.line.rank == chains.front().rank; }, body);
          for (const TreeEntry& entry : chains) {
            add(facts.collnetChains, entry);
          }
          return true;
        }
        if (body.starts_with("Connected all ") || body.starts_with("Connected ")) {
          endPhase(process, thread, body);
          return true;
        }
        break;
      case 'R':
        if (const auto hop = readHopLine(body)) {
          Facts& facts = factsFor(
              process, thread, [&](const Instance& one) { return one.line.rank == hop->rank; }, body, Stage::setup);
          add(facts.hops, *hop);
          return true;
        }
        break;
      case 'T':
        if (body.starts_with("Trees")) {
          const std::vector<TreeEntry> entries = readTreesLine(body);
          if (!entries.empty()) {
            const int rank = entries.front().rank;
            Facts& facts = factsFor(
                process, thread, [&](const Instance& one) { return one.line.rank == rank; }, body, Stage::setup);
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
              process, thread, [&](const Instance& one) { return one.line.rank == entry->rank; }, body, Stage::setup);
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
          process, thread, [&](const Instance& one) { return one.line.rank == 0 && largest < one.line.ranks; }, body,
          Stage::setup);
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
    facts.hasAllRings = facts.hasAllRings || phase == Phase::ring;
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

  /// What a line is printed for.
  enum class Stage {
    setup,  ///< the rings and trees of a communicator that is being made
    any
  };

  /// The facts that a line adds to. @param fits what the line says of ranks agrees with the communicator
  template <typename Fits>
  Facts& factsFor(Process& process, Thread& thread, const Fits& fits, std::string_view body, Stage stage = Stage::any) {
    // RCCL names the communicator in the line.
    if (const std::size_t at = body.rfind(" comm 0x"); at != std::string_view::npos) {
      if (const int named = instanceOf(process, wordAfter(body.substr(at), "comm")); named >= 0) {
        return m_instances[named].facts;
      }
    }
    // The line that began its communicator is lost; the one that ends it takes what waits.
    if (thread.pending.hasSetup()) {
      return thread.pending;
    }
    const auto isRight = [&](int index) {
      if (index < 0 || !fits(m_instances[index])) {
        return false;
      }
      const Instance& instance = m_instances[index];
      return stage == Stage::any ||
             (!instance.isComplete && (instance.maker.empty() || instance.maker == m_source.thread));
    };
    const auto factsOf = [&](int index) -> Facts& {
      if (stage == Stage::setup) {
        m_instances[index].maker = m_source.thread;
      }
      return m_instances[index].facts;
    };
    if (isRight(thread.instance)) {
      return factsOf(thread.instance);
    }
    const bool isBeingMade = thread.instance >= 0 && !m_instances[thread.instance].isComplete;
    // Another thread of the process, on the same device first; one that is being made before one that is made.
    int best = -1;
    int bestScore = -1;
    for (const int index : process.instances) {
      const Instance& instance = m_instances[index];
      if (!instance.hasStart || !isRight(index)) {
        continue;
      }
      const int score = (instance.line.device == m_source.device ? 2 : 0) + (instance.isComplete ? 0 : 1);
      if (score >= bestScore) {
        best = index;
        bestScore = score;
      }
    }
    if (best < 0 && isBeingMade) {
      m_damaged = {};  // of another rank than the one that prints it: its numbers are cut
      return m_damaged;
    }
    return best >= 0 ? factsOf(best) : thread.pending;
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
      if (line.isLayout) {
        instance.line.nodes = line.nodes;
        thread.instance = known;
        return;
      }
      // The end of what began; or a line that was copied twice.
      if (!instance.isComplete || (line.isComplete && (instance.hasStart || thread.pending.isEmpty()))) {
        instance.isComplete = instance.isComplete || line.isComplete;
        merge(instance.line, line);
        thread.instance = known;
        return;
      }
    }
    if (line.isLayout && m_hasInit) {
      return;  // the line that ends the communicator says more
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
    if (m_run.version.empty() && !m_codedVersion.empty()) {
      m_run.version = m_codedVersion;
      m_run.library = "NCCL";
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
  bool m_hasInit = false;  ///< some communicator has a line that begins or ends it
  std::size_t m_factCount = 0;
  LogSource m_source;  ///< of the message that is read
  std::string m_codedVersion;
  std::string m_key;
  std::deque<std::string> m_joined;
  std::deque<Process> m_processes;
  std::unordered_map<std::string, int> m_processIndex;
  std::deque<Instance> m_instances;
  Facts m_damaged;
  std::set<std::string_view> m_warned;
};

}  // namespace

bool isLog(std::string_view text) {
  for (const std::string_view mark : {" NCCL INFO ", " NCCL WARN ", "\nNCCL INFO ", "NCCL version ", "RCCL version "}) {
    if (text.find(mark) != std::string_view::npos) {
      return true;
    }
  }
  return text.starts_with("NCCL INFO ");
}

Result<Run> readLogs(const std::vector<LogText>& logs) {
  return guarded([&] { return LogReader().run(logs); },
                 {.memory = "the logs do not fit into memory", .memoryFix = "give the part that makes communicators"});
}

}  // namespace coppice::nccl
