// SPDX-License-Identifier: Apache-2.0
#include "verify/program_repair.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "verify/program_deadlock.hpp"
#include "verify/program_execution.hpp"
#include "verify/program_flat.hpp"

namespace coppice::verify {
namespace {

using program::Program;
using program::Step;
using program::StepPlace;
using program::StepType;
using program::ThreadBlock;

constexpr std::size_t kMaxNamed = 3;                     // moves that are written out
constexpr std::size_t kMaxTried = 64;                    // candidates
constexpr std::size_t kMaxSteps = std::size_t{1} << 25;  // of all candidates together

struct IgnoreRepair {
  void operator()(const Event& /*event*/) const {}
};

ThreadBlock& blockOf(Program& program, const StepPlace& place) {
  return program.ranks[place.rank].threadBlocks[place.threadBlock];
}
Step& stepOf(Program& program, const StepPlace& place) {
  return blockOf(program, place).steps[place.step];
}

std::string nameOf(const Program& program, const StepPlace& place) {
  return "step " + std::to_string(place.step) + " (" + operationText(program, place) + ")";
}
std::string blockName(const StepPlace& place) {
  return "rank " + std::to_string(place.rank) + ", threadblock " + std::to_string(place.threadBlock);
}

/// Dependencies of the rank on steps of a threadblock follow to where `to` says that they are now.
template <typename To>
void renumber(Program& program, int rank, int threadBlock, To to) {
  for (ThreadBlock& block : program.ranks[rank].threadBlocks) {
    for (Step& step : block.steps) {
      if (step.dependsOnTb == threadBlock && step.dependsOnStep >= 0) {
        std::tie(step.dependsOnTb, step.dependsOnStep) = to(step.dependsOnStep);
      }
    }
  }
}

void move(Program& program, const StepPlace& from, int to) {
  auto& steps = blockOf(program, from).steps;
  const auto first = steps.begin();
  if (to < from.step) {
    std::rotate(first + to, first + from.step, first + from.step + 1);
  } else {
    std::rotate(first + from.step, first + from.step + 1, first + to + 1);
  }
  renumber(program, from.rank, from.threadBlock, [&](int step) {
    int now = step;
    if (step == from.step) {
      now = to;
    } else if (to < from.step && step >= to && step < from.step) {
      now = step + 1;
    } else if (to > from.step && step > from.step && step <= to) {
      now = step - 1;
    }
    return std::pair(from.threadBlock, now);
  });
}

/// Two steps of a threadblock, the first of which is earlier, take each other's place.
void exchange(Program& program, const StepPlace& first, int second) {
  auto& steps = blockOf(program, first).steps;
  std::swap(steps[first.step], steps[second]);
  renumber(program, first.rank, first.threadBlock, [&](int step) {
    return std::pair(first.threadBlock, step == first.step ? second : step == second ? first.step : step);
  });
}

/// Takes a step out of its threadblock into a new one, which is the last of its rank.
int isolate(Program& program, const StepPlace& place, int channel) {
  ThreadBlock& old = blockOf(program, place);
  const Step step = old.steps[place.step];
  ThreadBlock added{.channel = channel, .steps = {step}};
  (sends(step.type) ? added.sendPeer : added.recvPeer) = sends(step.type) ? old.sendPeer : old.recvPeer;
  old.steps.erase(old.steps.begin() + place.step);
  auto& blocks = program.ranks[place.rank].threadBlocks;
  const int id = static_cast<int>(blocks.size());
  blocks.push_back(std::move(added));
  renumber(program, place.rank, place.threadBlock, [&](int awaited) {
    return awaited == place.step ? std::pair(id, 0)
                                 : std::pair(place.threadBlock, awaited - (awaited > place.step ? 1 : 0));
  });
  return id;
}

struct Candidate {
  int size = 0;
  ProgramChange change;
};

class Search {
public:
  Search(const Program& program, const std::vector<RingStep>& ring, const ProgramCheckOptions& options,
         const Progress& progress)
      : m_program(program), m_ring(ring), m_options(options), m_progress(progress), m_links(program) {}

  std::optional<ProgramChange> run() {
    for (std::size_t at = 0; at < m_ring.size() && m_found.size() < kMaxTried; ++at) {
      dropWait(m_ring[at]);
      // What the threadblock before needs from this one lies behind the step at which this one stands.
      const StepPlace& needed = m_ring[(at + m_ring.size() - 1) % m_ring.size()].needs;
      moveSteps(m_ring[at].place, liftedIn(at));
      split(m_ring[at].place);
      ownConnection(needed);
    }
    moveAll();
    for (const auto& [places, isWhole] : standingAlike()) {
      changeAll(places, isWhole, true);
      changeAll(places, isWhole, false);
    }
    std::stable_sort(m_found.begin(), m_found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.size < b.size; });
    const std::set<std::string> known = faultsOf(m_program);
    std::size_t steps = 0;
    for (Candidate& candidate : m_found) {
      throwIfCancelled(m_progress);
      steps += m_links.stepCount();
      if (steps > kMaxSteps) {
        break;
      }
      if (ends(candidate.change.after)) {
        const std::set<std::string> left = faultsOf(candidate.change.after);
        if (std::includes(known.begin(), known.end(), left.begin(), left.end())) {
          return std::move(candidate.change);
        }
      }
    }
    return std::nullopt;
  }

private:
  static constexpr int kSplitSize = 1 << 19;  // after every move
  static constexpr int kConnectionSize = 1 << 20;

  void dropWait(const RingStep& link) {
    if (link.reason != program::WaitReason::flag) {
      return;
    }
    Program after = m_program;
    Step& step = stepOf(after, link.place);
    const std::string text = blockName(link.place) + ": " + nameOf(m_program, link.place) +
                             " no longer waits for threadblock " + std::to_string(step.dependsOnTb) + ", step " +
                             std::to_string(step.dependsOnStep);
    step.dependsOnTb = -1;
    step.dependsOnStep = -1;
    if (step.type == StepType::nop) {
      // A nop without dependency is a fault of its own.
      auto& steps = blockOf(after, link.place).steps;
      steps.erase(steps.begin() + link.place.step);
      renumber(after, link.place.rank, link.place.threadBlock, [&](int awaited) {
        return std::pair(link.place.threadBlock, awaited - (awaited > link.place.step ? 1 : 0));
      });
    }
    m_found.push_back({1, {text, link.place, std::move(after)}});
  }

  /// The step of a threadblock of the ring that may have to happen earlier: what the threadblock before needs, or,
  /// where that is the fused step at which this one stands, the next that only sends.
  [[nodiscard]] StepPlace liftedIn(std::size_t at) const {
    const StepPlace& stands = m_ring[at].place;
    StepPlace lifted = m_ring[(at + m_ring.size() - 1) % m_ring.size()].needs;
    if (lifted == stands) {
      const auto& steps = m_program.ranks[stands.rank].threadBlocks[stands.threadBlock].steps;
      const auto next = std::find_if(steps.begin() + stands.step + 1, steps.end(),
                                     [](const Step& step) { return step.type == StepType::send; });
      lifted.step = next == steps.end() ? stands.step : static_cast<int>(next - steps.begin());
    }
    return lifted;
  }

  void moveSteps(const StepPlace& stands, const StepPlace& needed) {
    if (needed.rank != stands.rank || needed.threadBlock != stands.threadBlock || needed.step <= stands.step) {
      return;
    }
    const int way = needed.step - stands.step;
    Program early = m_program;
    move(early, needed, stands.step);
    m_found.push_back(
        {way,
         {blockName(needed) + ": move " + nameOf(m_program, needed) + " before " + nameOf(m_program, stands), needed,
          std::move(early)}});
    if (way > 1) {  // else it is the same
      Program late = m_program;
      move(late, stands, needed.step);
      m_found.push_back(
          {way,
           {blockName(stands) + ": move " + nameOf(m_program, stands) + " behind " + nameOf(m_program, needed), stands,
            std::move(late)}});
    }
  }

  /// The same fault in every threadblock of the ring, as generators make it: all of them move at once.
  void moveAll() {
    Program after = m_program;
    int way = 0;
    std::string text;
    for (std::size_t at = 0; at < m_ring.size(); ++at) {
      const StepPlace& stands = m_ring[at].place;
      const StepPlace needed = liftedIn(at);
      if (needed.rank != stands.rank || needed.threadBlock != stands.threadBlock || needed.step <= stands.step) {
        return;
      }
      move(after, needed, stands.step);
      way += needed.step - stands.step;
      if (at < kMaxNamed) {
        text += (at == 0 ? "" : "; ") + blockName(needed) + ": move " + nameOf(m_program, needed) + " before step " +
                std::to_string(stands.step);
      }
    }
    if (m_ring.size() > kMaxNamed) {
      text += "; and the same in the other " + std::to_string(m_ring.size() - kMaxNamed) + " of the ring";
    }
    m_found.push_back({way, {text, m_ring.front().place, std::move(after)}});
  }

  /// The step that only sends next behind the one at which a threadblock stands.
  [[nodiscard]] std::optional<StepPlace> nextSend(const StepPlace& stands) const {
    const auto& steps = m_program.ranks[stands.rank].threadBlocks[stands.threadBlock].steps;
    const auto next = std::find_if(steps.begin() + stands.step + 1, steps.end(),
                                   [](const Step& step) { return step.type == StepType::send; });
    return next == steps.end()
               ? std::nullopt
               : std::optional(StepPlace{stands.rank, stands.threadBlock, static_cast<int>(next - steps.begin())});
  }

  /// The steps at which the threadblocks of the ring stand, and, where there are more, those of all threadblocks with
  /// the same types of steps: a generator makes the same fault on every channel. Second: these are only the ring.
  [[nodiscard]] std::vector<std::pair<std::vector<StepPlace>, bool>> standingAlike() const {
    std::vector<StepPlace> ring;
    std::map<std::vector<StepType>, int> forms;  // the step at which such a threadblock stands
    const auto formOf = [](const ThreadBlock& block) {
      std::vector<StepType> form;
      for (const Step& step : block.steps) {
        form.push_back(step.type);
      }
      return form;
    };
    for (const RingStep& link : m_ring) {
      ring.push_back(link.place);
      forms[formOf(m_program.ranks[link.place.rank].threadBlocks[link.place.threadBlock])] = link.place.step;
    }
    std::vector<StepPlace> all;
    for (std::size_t rank = 0; rank < m_program.ranks.size(); ++rank) {
      const auto& blocks = m_program.ranks[rank].threadBlocks;
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        if (const auto found = forms.find(formOf(blocks[block])); found != forms.end()) {
          all.push_back({static_cast<int>(rank), static_cast<int>(block), found->second});
        }
      }
    }
    std::vector<std::pair<std::vector<StepPlace>, bool>> result{{ring, true}};
    if (all.size() > ring.size()) {
      result.emplace_back(std::move(all), false);
    }
    return result;
  }

  /// In every one of the threadblocks, the next step that only sends goes before the one at which it stands. What only
  /// receives there takes its place (exchanges), or stays behind it: the order of what is sent decides what arrives.
  void changeAll(const std::vector<StepPlace>& places, bool isRing, bool exchanges) {
    Program after = m_program;
    int way = 0;
    std::string text;
    for (std::size_t at = 0; at < places.size(); ++at) {
      const StepPlace& stands = places[at];
      const auto sending = nextSend(stands);
      const StepType type = stepOf(stands).type;
      if (!sending || (exchanges && (sends(type) || !receives(type)))) {
        return;
      }
      if (exchanges) {
        exchange(after, stands, sending->step);
      } else {
        move(after, *sending, stands.step);
      }
      way += (exchanges ? 2 : 1) * (sending->step - stands.step);
      if (at < kMaxNamed) {
        text += (at == 0 ? "" : "; ") + blockName(stands) + ": " +
                (exchanges ? "exchange " + nameOf(m_program, stands) + " with " + nameOf(m_program, *sending)
                           : "move " + nameOf(m_program, *sending) + " before step " + std::to_string(stands.step));
      }
    }
    if (places.size() > kMaxNamed) {
      text += "; and the like in the other " + std::to_string(places.size() - kMaxNamed) +
              (isRing ? " of the ring" : " with the same steps");
    }
    m_found.push_back({way, {text, places.front(), std::move(after)}});
  }

  /// What a threadblock receives goes to one of its own, so that neither direction waits for the other.
  void split(const StepPlace& stands) {
    const ThreadBlock& block = m_program.ranks[stands.rank].threadBlocks[stands.threadBlock];
    const auto onlyReceives = [](const Step& step) { return receives(step.type) && !sends(step.type); };
    const auto count = std::count_if(block.steps.begin(), block.steps.end(), onlyReceives);
    const bool isFused = std::any_of(block.steps.begin(), block.steps.end(),
                                     [](const Step& step) { return receives(step.type) && sends(step.type); });
    const bool hasSends = std::any_of(block.steps.begin(), block.steps.end(),
                                      [](const Step& step) { return step.type == StepType::send; });
    if (count == 0 || isFused || !hasSends) {
      return;
    }
    Program after = m_program;
    auto& blocks = after.ranks[stands.rank].threadBlocks;
    const int id = static_cast<int>(blocks.size());
    ThreadBlock taking{.recvPeer = block.recvPeer, .channel = block.channel, .steps = {}};
    std::vector<Step> rest;
    std::vector<std::pair<int, int>> now;
    for (const Step& step : block.steps) {
      std::vector<Step>& into = onlyReceives(step) ? taking.steps : rest;
      now.emplace_back(onlyReceives(step) ? id : stands.threadBlock, static_cast<int>(into.size()));
      into.push_back(step);
    }
    blocks[stands.threadBlock].recvPeer = -1;
    blocks[stands.threadBlock].steps = std::move(rest);
    blocks.push_back(std::move(taking));
    renumber(after, stands.rank, stands.threadBlock, [&](int step) {
      return static_cast<std::size_t>(step) < now.size() ? now[step] : std::pair(stands.threadBlock, step);
    });
    const std::string text = blockName(stands) + ": its " + std::to_string(count) +
                             " receiving steps go to a new threadblock " + std::to_string(id);
    m_found.push_back({kSplitSize, {text, stands, std::move(after)}});
  }

  /// A channel on which no threadblock of either rank has this peer.
  [[nodiscard]] int freeChannel(int sender, int receiver) const {
    const auto isTaken = [&](int channel) {
      const auto& from = m_program.ranks[sender].threadBlocks;
      const auto& to = m_program.ranks[receiver].threadBlocks;
      return std::any_of(
                 from.begin(), from.end(),
                 [&](const ThreadBlock& block) { return block.channel == channel && block.sendPeer == receiver; }) ||
             std::any_of(to.begin(), to.end(), [&](const ThreadBlock& block) {
               return block.channel == channel && block.recvPeer == sender;
             });
    };
    int channel = 0;
    while (isTaken(channel)) {
      ++channel;
    }
    return channel;
  }

  void ownConnection(const StepPlace& needed) {
    const StepType type = stepOf(needed).type;
    std::optional<StepPlace> send;
    std::optional<StepPlace> take;
    if (type == StepType::send) {
      send = needed;
      take = m_links.receiverOf(needed);
    } else if (receives(type) && !sends(type)) {
      send = m_links.senderOf(needed);
      take = needed;
    }
    if (!send || !take || sends(stepOf(*take).type) || stepOf(*send).type != StepType::send) {
      return;  // a fused step belongs to two connections
    }
    Program after = m_program;
    const int channel = freeChannel(send->rank, take->rank);
    after.channels = std::max(after.channels, channel + 1);
    const int sender = isolate(after, *send, channel);
    const int receiver = isolate(after, *take, channel);
    const std::string text = "a connection of its own: " + nameOf(m_program, *send) + " of " + blockName(*send) +
                             " goes to a new threadblock " + std::to_string(sender) + " on channel " +
                             std::to_string(channel) + ", and " + nameOf(m_program, *take) + " of " + blockName(*take) +
                             " to a new threadblock " + std::to_string(receiver);
    m_found.push_back({kConnectionSize, {text, needed, std::move(after)}});
  }

  [[nodiscard]] const Step& stepOf(const StepPlace& place) const {
    return m_program.ranks[place.rank].threadBlocks[place.threadBlock].steps[place.step];
  }
  static Step& stepOf(Program& program, const StepPlace& place) { return verify::stepOf(program, place); }

  [[nodiscard]] bool ends(const Program& program) const {
    program::FindingSink sink;
    const auto flat = checkStructure(program, m_options, m_progress, sink);
    IgnoreRepair ignore;
    return flat && Execution(*flat, static_cast<std::uint32_t>(program::connectionDepth(program.protocol)), 1, ignore,
                             m_progress)
                       .run();
  }

  /// Without their places, which a change may shift.
  [[nodiscard]] std::set<std::string> faultsOf(const Program& program) const {
    Progress quiet;
    quiet.stop = m_progress.stop;
    const auto verdict = verifyProgram(program, m_options, quiet);
    if (!verdict) {
      if (verdict.error().code == ErrorCode::cancelled) {
        throw CancelledError{};
      }
      return {verdict.error().message};
    }
    std::set<std::string> faults;
    for (const Finding& finding : verdict->findings) {
      if (finding.severity == Severity::error) {
        faults.insert(finding.text);
      }
    }
    return faults;
  }

  const Program& m_program;
  const std::vector<RingStep>& m_ring;
  const ProgramCheckOptions& m_options;
  const Progress& m_progress;
  StepLinks m_links;
  std::vector<Candidate> m_found;
};

}  // namespace

std::optional<ProgramChange> changeThatFrees(const Program& program, const std::vector<RingStep>& ring,
                                             const ProgramCheckOptions& options, const Progress& progress) {
  if (auto change = Search(program, ring, options, progress).run()) {
    return change;
  }
  // Last, a smaller size window: all sizes above it go to the runtime's own algorithm.
  Progress quiet;
  quiet.stop = progress.stop;
  program::FindingSink sink;
  const auto flat = checkStructure(program, options, quiet, sink);
  const auto window = flat ? windowThatFrees(program, *flat, options.runtime, quiet) : std::nullopt;
  if (!window) {
    return std::nullopt;
  }
  Program after = program;
  after.maxBytes = *window;
  const auto verdict = verifyProgram(after, options, quiet);
  if (!verdict || !verdict->ok) {
    if (!verdict && verdict.error().code == ErrorCode::cancelled) {
      throw CancelledError{};
    }
    return std::nullopt;
  }
  return ProgramChange{"set maxBytes to " + std::to_string(*window) + " in place of " +
                           std::to_string(program.maxBytes) +
                           ": with the runtime's default buffers it does not stop up to there",
                       ring.front().place, std::move(after)};
}

}  // namespace coppice::verify
