// SPDX-License-Identifier: Apache-2.0
#include "engine/stuck.hpp"

#include <algorithm>
#include <string>

namespace coppice::executor {
namespace {

constexpr std::size_t kMaxLinks = 12;  // links of a ring that are written out
constexpr std::size_t kMaxWaiting = 32;

bool waits(Wait wait) {
  return wait == Wait::data || wait == Wait::space || wait == Wait::flag;
}

class Explanation {
public:
  Explanation(const Plan& plan, const Script& script, const std::vector<Position>& positions)
      : m_plan(plan), m_script(script), m_positions(positions) {}

  [[nodiscard]] const Op& opOf(int block) const {
    const ScriptBlock& range = m_script.blocks[block];
    const std::int32_t op = m_positions[block].op;
    return m_script.ops[std::clamp(op, range.firstOp, std::max(range.firstOp, range.endOp - 1))];
  }

  [[nodiscard]] int blockerOf(int block) const {
    const PlanBlock& owner = m_plan.blocks[block];
    switch (m_positions[block].wait) {
      case Wait::data:
        return m_plan.connections[owner.recvConnection].sendBlock;
      case Wait::space:
        return m_plan.connections[owner.sendConnection].recvBlock;
      case Wait::flag:
        return opOf(block).waitBlock;
      case Wait::none:
      case Wait::done:
        break;
    }
    return -1;
  }

  [[nodiscard]] std::vector<int> ring(int start) const {
    std::vector<int> chain;
    std::vector<char> seen(m_positions.size(), 0);
    int block = start;
    while (block >= 0 && seen[block] == 0) {
      seen[block] = 1;
      chain.push_back(block);
      block = blockerOf(block);
    }
    if (block < 0) {
      return {};
    }
    chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), block));
    return chain;
  }

  [[nodiscard]] program::WaitRecord record(int block) const {
    const PlanBlock& owner = m_plan.blocks[block];
    const Position& position = m_positions[block];
    const Op& op = opOf(block);
    const int peer = blockerOf(block);
    const PlanBlock& other = m_plan.blocks[peer];
    const Position& otherPosition = m_positions[peer];
    return {.rank = owner.rank,
            .threadBlock = owner.id,
            .step = op.number,
            .tile = static_cast<int>(position.tile),
            .operation = std::string(program::toString(op.type)),
            .waitsFor = word(position.wait),
            .peerRank = other.rank,
            .peerThreadBlock = other.id,
            .peerStep = position.wait == Wait::flag                                    ? op.waitStep
                        : otherPosition.wait == Wait::done                             ? -1
                        : m_script.blocks[peer].firstOp == m_script.blocks[peer].endOp ? -1
                                                                                       : opOf(peer).number,
            .channel = owner.channel};
  }

  [[nodiscard]] std::string sentence(int block) const {
    const Op& op = opOf(block);
    std::string text = nameStep(m_plan, block, op.step) + " waits for ";
    const int peer = blockerOf(block);
    const PlanBlock& other = m_plan.blocks[peer];
    const std::string who = "rank " + std::to_string(other.rank) + ", threadblock " + std::to_string(other.id);
    switch (m_positions[block].wait) {
      case Wait::data:
        text += "data from " + who;
        break;
      case Wait::space:
        text += "space in its connection to " + who;
        break;
      default:
        text += "step " + std::to_string(op.waitStep) + " of threadblock " + std::to_string(other.id);
        break;
    }
    const Wait peerWait = m_positions[peer].wait;
    return peerWait == Wait::done ? text + ", which has ended" : text;
  }

private:
  static std::string word(Wait wait) { return wait == Wait::data ? "data" : wait == Wait::space ? "space" : "flag"; }

  const Plan& m_plan;
  const Script& m_script;
  const std::vector<Position>& m_positions;
};

}  // namespace

program::StuckRecord explainStuck(const Plan& plan, const Script& script, const std::vector<Position>& positions,
                                  bool isDeadlock) {
  program::StuckRecord record;
  record.isDeadlock = isDeadlock;
  const Explanation explanation(plan, script, positions);
  std::vector<int> ring;
  int first = -1;
  for (std::size_t block = 0; block < positions.size() && ring.empty(); ++block) {
    if (waits(positions[block].wait)) {
      first = first < 0 ? static_cast<int>(block) : first;
      ring = explanation.ring(static_cast<int>(block));
    }
  }
  std::vector<char> inRing(positions.size(), 0);
  for (const int block : ring) {
    inRing[block] = 1;
    record.cycle.push_back(explanation.record(block));
  }
  for (std::size_t block = 0; block < positions.size() && record.waiting.size() < kMaxWaiting; ++block) {
    if (waits(positions[block].wait) && inRing[block] == 0) {
      record.waiting.push_back(explanation.record(static_cast<int>(block)));
    }
  }
  if (first < 0) {
    record.text = "no threadblock waits";
    return record;
  }
  record.text = isDeadlock ? "deadlock: " : "no progress: ";
  if (ring.empty()) {
    record.text += explanation.sentence(first);
    return record;
  }
  for (std::size_t link = 0; link < ring.size() && link < kMaxLinks; ++link) {
    record.text += (link == 0 ? "" : "; ") + explanation.sentence(ring[link]);
  }
  if (ring.size() > kMaxLinks) {
    record.text += "; and " + std::to_string(ring.size() - kMaxLinks) + " more, the last of which waits for the first";
  }
  return record;
}

}  // namespace coppice::executor
