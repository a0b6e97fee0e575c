// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_check.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "verify/fault_log.hpp"
#include "verify/plan_bound.hpp"
#include "verify/plan_model.hpp"

namespace coppice::verify {
namespace {

using sketch::Chunk;
using sketch::Link;
using sketch::Message;
using sketch::Model;
using sketch::Plan;

ElementRef named(std::size_t message) {
  return {RefKind::message, message};
}

class PlanCheck {
public:
  PlanCheck(const Model& model, const Plan& plan, const Progress& progress)
      : m_model(model), m_plan(plan), m_progress(progress) {}

  Result<PlanVerdict> run() {
    const Collective moved = m_plan.collective == Collective::allreduce ? Collective::allgather : m_plan.collective;
    auto chunks = chunksMoved(m_model, moved, m_plan.root);
    if (!chunks) {
      return Error{ErrorCode::badUsage, "no plan makes " + std::string(toString(m_plan.collective)) + " with root " +
                                            std::to_string(m_plan.root)};
    }
    m_chunks = *std::move(chunks);
    checkMessages();
    if (m_log.faultCount() == 0) {
      checkMachines();
      throwIfCancelled(m_progress);
      checkData();
      checkSketch();
      checkClaims();
      checkSymmetries();
    }
    return PlanVerdict{m_log.faultCount() == 0, m_log.take()};
  }

private:
  [[nodiscard]] const Link& linkOf(const Message& message) const { return m_model.links[message.link]; }
  [[nodiscard]] bool isReduction(int phase) const {
    return m_plan.collective == Collective::allreduce ? phase == 0 : reduces(m_plan.collective);
  }

  void checkMessages() {
    const int phases = m_plan.collective == Collective::allreduce ? 2 : 1;
    for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
      const Message& message = m_plan.messages[i];
      if (message.link < 0 || message.link >= static_cast<int>(m_model.links.size())) {
        m_log.fault("names link " + std::to_string(message.link) + ", which does not exist", named(i));
        continue;
      }
      const Link& link = linkOf(message);
      const std::set<int> chunks(message.chunks.begin(), message.chunks.end());
      const std::size_t max = link.isRemote ? static_cast<std::size_t>(m_model.maxTogether) : 1;
      if (chunks.size() != message.chunks.size() || chunks.empty() || chunks.size() > max) {
        m_log.fault("carries " + std::to_string(message.chunks.size()) + " chunks, " + std::to_string(chunks.size()) +
                        " different ones; 1 to " + std::to_string(max) + " may go together",
                    named(i));
      }
      if (!chunks.empty() && (*chunks.begin() < 0 || *chunks.rbegin() >= static_cast<int>(m_chunks.size()))) {
        m_log.fault("names a chunk that does not exist", named(i));
        continue;
      }
      const Rational length = link.alpha + link.beta * Rational(static_cast<std::int64_t>(message.chunks.size()));
      if (message.end - message.start != length || message.start < Rational(0)) {
        m_log.fault("lasts from " + message.start.toString() + " to " + message.end.toString() + "; its length is " +
                        length.toString() + ", from 0 on",
                    named(i));
      }
      if (message.phase < 0 || message.phase >= phases || message.reduces != isReduction(message.phase)) {
        m_log.fault("is of a wrong phase, or reduces where it should copy", named(i));
      }
    }
  }

  /// No two of the messages overlap. `indices` are into the plan.
  void requireApart(std::vector<std::size_t> indices, const std::string& what) {
    std::sort(indices.begin(), indices.end(),
              [&](std::size_t a, std::size_t b) { return m_plan.messages[a].start < m_plan.messages[b].start; });
    for (std::size_t i = 1; i < indices.size(); ++i) {
      const Message& before = m_plan.messages[indices[i - 1]];
      const Message& after = m_plan.messages[indices[i]];
      if (after.start < before.end) {
        m_log.fault("and " + toText(named(indices[i])) + " overlap on " + what, named(indices[i - 1]));
      }
    }
  }

  void checkMachines() {
    std::map<int, std::vector<std::size_t>> byLink;
    std::map<std::tuple<int, int, bool>, std::vector<std::size_t>> byPort;  // switch or -1, GPU, incoming
    std::map<std::tuple<int, int, bool>, std::vector<std::size_t>> byNic;   // node, NIC, incoming
    for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
      const Message& message = m_plan.messages[i];
      const Link& link = linkOf(message);
      byLink[message.link].push_back(i);
      int through = -1;
      if (!link.isRemote) {
        through = switchOf(link);
        if (through < 0) {
          continue;
        }
      } else if (!m_model.nics.empty()) {
        for (const bool isIn : {false, true}) {
          const int gpu = isIn ? link.to : link.from;
          byNic[{m_model.nodeOf(gpu), m_model.nics[gpu % m_model.gpusPerNode], isIn}].push_back(i);
        }
        continue;
      } else if (m_model.nodes < 3) {
        continue;
      }
      byPort[{through, link.from, false}].push_back(i);
      byPort[{through, link.to, true}].push_back(i);
    }
    for (auto& [link, messages] : byLink) {
      const Link& each = m_model.links[link];
      requireApart(std::move(messages), "link " + std::to_string(each.from) + " -> " + std::to_string(each.to));
    }
    for (auto& [nic, messages] : byNic) {
      requireApart(std::move(messages), "NIC " + std::to_string(std::get<1>(nic)) + " of node " +
                                            std::to_string(std::get<0>(nic)) + (std::get<2>(nic) ? " in" : " out"));
    }
    for (auto& [port, messages] : byPort) {
      requireApart(std::move(messages), std::string(std::get<2>(port) ? "the input of GPU " : "the output of GPU ") +
                                            std::to_string(std::get<1>(port)));
    }
  }

  [[nodiscard]] int switchOf(const Link& link) const {
    int copies = 0;
    for (std::size_t i = 0; i < m_model.switches.size(); ++i) {
      const auto& gpus = m_model.switches[i];
      const bool hasFrom = std::count(gpus.begin(), gpus.end(), link.from % m_model.gpusPerNode) > 0;
      const bool hasTo = std::count(gpus.begin(), gpus.end(), link.to % m_model.gpusPerNode) > 0;
      if (hasFrom && hasTo) {
        if (copies == link.lane) {
          return static_cast<int>(i);
        }
        ++copies;
      }
    }
    return -1;
  }

  void checkData() {
    const int phases = m_plan.collective == Collective::allreduce ? 2 : 1;
    Rational begin = 0;
    for (int phase = 0; phase < phases; ++phase) {
      std::vector<std::size_t> indices;
      Rational end = begin;
      for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
        if (m_plan.messages[i].phase == phase) {
          indices.push_back(i);
          end = std::max(end, m_plan.messages[i].end);
          if (m_plan.messages[i].start < begin) {
            m_log.fault("starts before the reduction has finished", named(i));
          }
        }
      }
      if (isReduction(phase)) {
        playReduction(indices);
      } else {
        playCopies(indices, begin);
      }
      begin = end;
    }
  }

  using Place = std::pair<int, int>;  // chunk, GPU

  void playCopies(const std::vector<std::size_t>& indices, const Rational& begin) {
    // By place, when the chunk is there.
    std::vector<std::pair<Place, const Rational*>> since;
    for (std::size_t chunk = 0; chunk < m_chunks.size(); ++chunk) {
      since.emplace_back(Place(static_cast<int>(chunk), m_chunks[chunk].origin), &begin);
    }
    for (const std::size_t i : indices) {
      const Message& message = m_plan.messages[i];
      for (const int chunk : message.chunks) {
        since.emplace_back(Place(chunk, linkOf(message).to), &message.end);
      }
    }
    std::sort(since.begin(), since.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto find = [&](const Place& place) {
      const auto at = std::lower_bound(since.begin(), since.end(), place,
                                       [](const auto& entry, const Place& wanted) { return entry.first < wanted; });
      return at != since.end() && at->first == place ? at->second : nullptr;
    };
    for (std::size_t i = 1; i < since.size(); ++i) {
      const auto [chunk, gpu] = since[i].first;
      if (since[i - 1].first == since[i].first) {
        m_log.fault("gets to GPU " + std::to_string(gpu) + " twice", {RefKind::chunk, static_cast<std::size_t>(chunk)});
      }
    }
    for (const std::size_t i : indices) {
      const Message& message = m_plan.messages[i];
      for (const int chunk : message.chunks) {
        const Rational* at = find(Place(chunk, linkOf(message).from));
        if (at == nullptr || *at > message.start) {
          m_log.fault("sends chunk " + std::to_string(chunk) + " before GPU " + std::to_string(linkOf(message).from) +
                          " has it",
                      named(i));
        }
      }
    }
    for (std::size_t chunk = 0; chunk < m_chunks.size(); ++chunk) {
      for (const int target : m_chunks[chunk].targets) {
        if (find(Place(static_cast<int>(chunk), target)) == nullptr) {
          m_log.fault("never reaches GPU " + std::to_string(target), {RefKind::chunk, chunk});
        }
      }
    }
  }

  void playReduction(const std::vector<std::size_t>& indices) {
    std::map<Place, std::vector<std::size_t>> into;
    std::map<Place, std::size_t> outOf;
    for (const std::size_t i : indices) {
      const Message& message = m_plan.messages[i];
      for (const int chunk : message.chunks) {
        into[Place(chunk, linkOf(message).to)].push_back(i);
        if (!outOf.emplace(Place(chunk, linkOf(message).from), i).second ||
            linkOf(message).from == m_chunks[chunk].origin) {
          m_log.fault("sends the part of chunk " + std::to_string(chunk) + " again, or away from its owner", named(i));
        }
      }
    }
    for (auto& [place, messages] : into) {
      if (const auto out = outOf.find(place); out != outOf.end()) {
        for (const std::size_t i : messages) {
          if (m_plan.messages[i].end > m_plan.messages[out->second].start) {
            m_log.fault("adds to chunk " + std::to_string(place.first) + " at GPU " + std::to_string(place.second) +
                            " after it was sent on",
                        named(i));
          }
        }
      }
      requireApart(messages,
                   "the sum of chunk " + std::to_string(place.first) + " at GPU " + std::to_string(place.second));
    }
    // Times ascend along the ways, so that each ends at the owner unless a part is never sent.
    for (std::size_t chunk = 0; chunk < m_chunks.size(); ++chunk) {
      for (const int target : m_chunks[chunk].targets) {
        if (!outOf.contains(Place(static_cast<int>(chunk), target))) {
          m_log.fault("lacks the part of GPU " + std::to_string(target), {RefKind::chunk, chunk});
        }
      }
    }
  }

  /// Hops from one GPU to all, over all links or, for an owner, over those that may carry its chunks.
  [[nodiscard]] std::vector<int> hopsOf(int start, bool isBackwards, int owner) const {
    std::vector<std::vector<int>> next(m_model.gpus());
    for (const Link& link : m_model.links) {
      const int near = isBackwards ? link.to : link.from;
      const bool isAllowed = owner < 0 || !link.isRemote ||
                             (m_model.nodeOf(near) == m_model.nodeOf(owner) && mayLeaveBy(m_model, owner, link.from));
      if (isAllowed) {
        next[near].push_back(isBackwards ? link.from : link.to);
      }
    }
    std::vector<int> hops(next.size(), -1);
    std::vector<int> queue = {start};
    hops[start] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const int gpu : next[queue[at]]) {
        if (hops[gpu] < 0) {
          hops[gpu] = hops[queue[at]] + 1;
          queue.push_back(gpu);
        }
      }
    }
    return hops;
  }

  void checkSketch() {
    std::map<std::tuple<int, int, int>, int> crossings;  // phase, chunk, node -> how often
    for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
      const Message& message = m_plan.messages[i];
      const Link& link = linkOf(message);
      const bool backwards = isReduction(message.phase);
      for (const int chunk : message.chunks) {
        const int owner = m_chunks[chunk].origin;
        const int home = m_model.nodeOf(owner);
        const int near = backwards ? link.to : link.from;
        const int far = backwards ? link.from : link.to;
        if (!link.isRemote) {
          continue;
        }
        if (m_model.nodeOf(near) != home) {
          m_log.fault("takes chunk " + std::to_string(chunk) + " between two nodes that are not its owner's", named(i));
        }
        if (!mayLeaveBy(m_model, owner, link.from)) {
          m_log.fault("takes chunk " + std::to_string(chunk) + " by GPU " + std::to_string(link.from) +
                          ", which does not relay it",
                      named(i));
        }
        const auto& targets = m_chunks[chunk].targets;
        const int node = m_model.nodeOf(far);
        if (std::none_of(targets.begin(), targets.end(), [&](int target) { return m_model.nodeOf(target) == node; }) ||
            ++crossings[{message.phase, chunk, node}] > 1) {
          m_log.fault("takes chunk " + std::to_string(chunk) + " to node " + std::to_string(node) +
                          ", which does not need it or gets it over another link",
                      named(i));
        }
      }
    }
    checkPlaces();
    checkOwnFirst();
  }

  /// Chunks stay on shortest ways in hops between their origin and their targets, of all links or of those that relays
  /// leave.
  void checkPlaces() {
    for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
      const Message& message = m_plan.messages[i];
      const bool backwards = isReduction(message.phase);
      const int at = backwards ? linkOf(message).from : linkOf(message).to;
      for (const int chunk : message.chunks) {
        if (!isBetween(chunk, at, backwards, -1) && !isBetween(chunk, at, backwards, m_chunks[chunk].origin)) {
          m_log.fault("takes chunk " + std::to_string(chunk) + " to GPU " + std::to_string(at) +
                          ", which is on no shortest route to a target",
                      named(i));
        }
      }
    }
  }

  bool isBetween(int chunk, int at, bool backwards, int owner) {
    const Chunk& each = m_chunks[chunk];
    const std::vector<int>& from = knownHops(each.origin, backwards, owner);
    const std::vector<int>& onward = knownHops(at, backwards, owner);
    return from[at] >= 0 && std::any_of(each.targets.begin(), each.targets.end(), [&](int target) {
             return onward[target] >= 0 && from[at] + onward[target] == from[target];
           });
  }

  const std::vector<int>& knownHops(int start, bool backwards, int owner) {
    const auto [known, isNew] = m_hops.try_emplace({start, backwards, owner});
    if (isNew) {
      known->second = hopsOf(start, backwards, owner);
    }
    return known->second;
  }

  void checkOwnFirst() {
    if (!m_model.ownFirst) {
      return;
    }
    std::map<int, Rational> lastOwn;
    for (const Message& message : m_plan.messages) {
      for (const int chunk : message.chunks) {
        if (linkOf(message).isRemote && !message.reduces && m_chunks[chunk].origin == linkOf(message).from) {
          const auto [at, isNew] = lastOwn.emplace(message.link, message.start);
          at->second = std::max(at->second, message.start);
        }
      }
    }
    for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
      const Message& message = m_plan.messages[i];
      const auto own = lastOwn.find(message.link);
      if (!message.reduces && own != lastOwn.end() && message.start < own->second) {
        for (const int chunk : message.chunks) {
          if (m_chunks[chunk].origin != linkOf(message).from) {
            m_log.fault("takes chunk " + std::to_string(chunk) + " before the sender's own chunks", named(i));
          }
        }
      }
    }
  }

  void checkClaims() {
    Rational end = 0;
    std::vector<std::set<int>> used(m_model.nodes);
    for (const Message& message : m_plan.messages) {
      end = std::max(end, message.end);
      if (!linkOf(message).isRemote) {
        used[m_model.nodeOf(linkOf(message).from)].insert(message.link);
      }
    }
    std::size_t max = 0;
    for (const auto& links : used) {
      max = std::max(max, links.size());
    }
    if (end != m_plan.makespan) {
      m_log.fault("claims " + m_plan.makespan.toString() + ", its last message ends at " + end.toString(),
                  {RefKind::field, "makespan"});
    }
    if (static_cast<int>(max) != m_plan.connections) {
      m_log.fault("claims " + std::to_string(m_plan.connections) + ", a node uses " + std::to_string(max),
                  {RefKind::field, "connections"});
    }
    if (m_plan.bound > m_plan.makespan || m_plan.bound < Rational(0)) {
      m_log.fault("claims " + m_plan.bound.toString() + ", but the plan takes " + end.toString(),
                  {RefKind::field, "bound"});
    } else if (m_plan.bound.isPositive()) {
      checkBound();
    }
  }

  /// Computed again from the links, for the relaxation that the plan names; of an allreduce, for both halves.
  void checkBound() {
    Rational proved = 0;
    std::string reasons;
    const int phases = m_plan.collective == Collective::allreduce ? 2 : 1;
    for (int phase = 0; phase < phases && phase < static_cast<int>(m_plan.boundReasons.size()); ++phase) {
      const bool isBackwards = isReduction(phase);
      proved += provedBound(isBackwards ? turnedRound(m_model) : m_model, m_chunks, isBackwards,
                            m_plan.boundReasons[phase], m_progress);
      reasons += (reasons.empty() ? "" : "; ") + m_plan.boundReasons[phase].relaxation;
    }
    if (m_plan.bound > proved) {
      m_log.fault("claims " + m_plan.bound.toString() + " by \"" + reasons + "\", which proves " + proved.toString(),
                  {RefKind::field, "bound"});
    }
  }

  void checkSymmetries() {
    std::map<std::tuple<int, int, int>, int> byEnds;
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      byEnds[{m_model.links[i].from, m_model.links[i].to, m_model.links[i].lane}] = static_cast<int>(i);
    }
    // No link carries a chunk twice in a phase, so that the smallest chunk names a message.
    using Key = std::tuple<int, int, int>;  // phase, link, chunk
    std::vector<std::pair<Key, const Message*>> known;
    for (const Message& message : m_plan.messages) {
      const int min = *std::min_element(message.chunks.begin(), message.chunks.end());
      known.emplace_back(Key(message.phase, message.link, min), &message);
    }
    std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t s = 0; s < m_plan.symmetries.size(); ++s) {
      const sketch::Permutation& symmetry = m_plan.symmetries[s];
      std::set<int> values(symmetry.begin(), symmetry.end());
      if (static_cast<int>(symmetry.size()) != m_model.gpus() || values.size() != symmetry.size() ||
          *values.begin() != 0 || *values.rbegin() != m_model.gpus() - 1) {
        m_log.fault("is not a permutation of the GPUs", {RefKind::symmetry, s});
        continue;
      }
      for (std::size_t i = 0; i < m_plan.messages.size(); ++i) {
        const Message& message = m_plan.messages[i];
        const Link& link = linkOf(message);
        const auto image = byEnds.find({symmetry[link.from], symmetry[link.to], link.lane});
        std::vector<int> chunks;
        for (const int chunk : message.chunks) {
          chunks.push_back(imageOf(chunk, symmetry));
        }
        std::sort(chunks.begin(), chunks.end());
        const Key key(message.phase, image == byEnds.end() ? -1 : image->second, chunks.front());
        const auto at = std::lower_bound(known.begin(), known.end(), key,
                                         [](const auto& entry, const Key& wanted) { return entry.first < wanted; });
        if (at == known.end() || at->first != key || sorted(at->second->chunks) != chunks ||
            at->second->start != message.start || at->second->end != message.end) {
          m_log.fault("has no counterpart under symmetry " + std::to_string(s), named(i));
          break;
        }
      }
    }
  }

  static std::vector<int> sorted(std::vector<int> values) {
    std::sort(values.begin(), values.end());
    return values;
  }

  [[nodiscard]] int imageOf(int chunk, const sketch::Permutation& symmetry) const {
    const int k = chunk % m_model.chunksPerGpu;
    const int place = chunk / m_model.chunksPerGpu;
    const int gpus = m_model.gpus();
    if (m_plan.collective == Collective::alltoall) {
      return (symmetry[place / gpus] * gpus + symmetry[place % gpus]) * m_model.chunksPerGpu + k;
    }
    return isRooted(m_plan.collective) ? chunk : symmetry[place] * m_model.chunksPerGpu + k;
  }

  const Model& m_model;
  const Plan& m_plan;
  const Progress& m_progress;
  std::vector<Chunk> m_chunks;
  std::map<std::tuple<int, bool, int>, std::vector<int>> m_hops;  ///< by start, direction and owner (-1: all links)
  FaultLog m_log;
};

}  // namespace

Result<PlanVerdict> checkPlan(const sketch::Model& model, const sketch::Plan& plan, const Progress& progress) {
  return guarded([&] { return PlanCheck(model, plan, progress).run(); },
                 {.overflowFix = "use costs with fewer digits"});
}

}  // namespace coppice::verify
