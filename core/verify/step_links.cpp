// SPDX-License-Identifier: Apache-2.0
#include "verify/step_links.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace coppice::verify {

using program::Program;
using program::Step;
using program::StepLink;
using program::StepPlace;
using program::StepType;
using program::ThreadBlock;
using program::WaitReason;

StepLinks::StepLinks(const Program& program) : m_depth(connectionDepth(program.protocol)) {
  m_firstBlock.push_back(0);
  m_firstStep.push_back(0);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (const ThreadBlock& block : program.ranks[rank].threadBlocks) {
      m_rankOfBlock.push_back(static_cast<int>(rank));
      m_firstStep.push_back(m_firstStep.back() + static_cast<std::uint32_t>(block.steps.size()));
    }
    m_firstBlock.push_back(m_rankOfBlock.size());
  }
  addFlags(program);
  connect(program);
}

std::uint32_t StepLinks::indexOf(const StepPlace& place) const {
  return m_firstStep[m_firstBlock[place.rank] + static_cast<std::size_t>(place.threadBlock)] +
         static_cast<std::uint32_t>(place.step);
}

StepPlace StepLinks::placeOf(std::uint32_t index) const {
  const auto block = static_cast<std::size_t>(std::upper_bound(m_firstStep.begin(), m_firstStep.end(), index) -
                                              m_firstStep.begin() - 1);
  const int rank = m_rankOfBlock[block];
  return {rank, static_cast<int>(block - m_firstBlock[rank]), static_cast<int>(index - m_firstStep[block])};
}

void StepLinks::addFlags(const Program& program) {
  m_flagOf.assign(m_firstStep.back(), kNone);
  std::uint32_t index = 0;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const auto& blocks = program.ranks[rank].threadBlocks;
    for (const ThreadBlock& block : blocks) {
      for (const Step& step : block.steps) {
        const std::uint32_t waiter = index++;
        const int target = step.dependsOnTb;
        if (target < 0 || static_cast<std::size_t>(target) >= blocks.size() || step.dependsOnStep < 0) {
          continue;
        }
        const auto& steps = blocks[target].steps;
        auto found = static_cast<std::size_t>(step.dependsOnStep);
        while (found < steps.size() && !(steps[found].hasDependent && steps[found].type != StepType::nop)) {
          ++found;
        }
        if (found < steps.size()) {
          m_flagOf[waiter] =
              m_firstStep[m_firstBlock[rank] + static_cast<std::size_t>(target)] + static_cast<std::uint32_t>(found);
        }
      }
    }
  }
  m_waiters.assign(m_flagOf.size(), [this](const auto& add) {
    for (std::uint32_t waiter = 0; waiter < m_flagOf.size(); ++waiter) {
      if (m_flagOf[waiter] != kNone) {
        add(m_flagOf[waiter], waiter);
      }
    }
  });
}

void StepLinks::connect(const Program& program) {
  m_sends.resize(m_flagOf.size());
  m_receives.resize(m_flagOf.size());
  std::map<std::tuple<int, int, int>, std::uint32_t> known;  // sender, receiver, channel
  const auto join = [&](int sender, int receiver, int channel, std::uint32_t step, int count, bool isSend) {
    const auto [entry, isNew] =
        known.emplace(std::tuple(sender, receiver, channel), static_cast<std::uint32_t>(m_connections.size()));
    if (isNew) {
      m_connections.emplace_back();
    }
    Side& side = isSend ? m_connections[entry->second].sends : m_connections[entry->second].receives;
    (isSend ? m_sends : m_receives)[step] = {entry->second, static_cast<std::uint32_t>(side.steps.size())};
    side.steps.push_back(step);
    side.firstMessage.push_back(side.firstMessage.back() + count);
  };
  std::uint32_t index = 0;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (const ThreadBlock& block : program.ranks[rank].threadBlocks) {
      for (const Step& step : block.steps) {
        if (step.count > 0 && sends(step.type)) {
          join(static_cast<int>(rank), block.sendPeer, block.channel, index, step.count, true);
        }
        if (step.count > 0 && receives(step.type)) {
          join(block.recvPeer, static_cast<int>(rank), block.channel, index, step.count, false);
        }
        ++index;
      }
    }
  }
}

std::optional<StepPlace> StepLinks::receiverOf(const StepPlace& place) const {
  const End& end = m_sends[indexOf(place)];
  if (end.connection == kNone || end.at >= m_connections[end.connection].receives.steps.size()) {
    return std::nullopt;
  }
  return placeOf(m_connections[end.connection].receives.steps[end.at]);
}

std::optional<StepPlace> StepLinks::senderOf(const StepPlace& place) const {
  const End& end = m_receives[indexOf(place)];
  if (end.connection == kNone || end.at >= m_connections[end.connection].sends.steps.size()) {
    return std::nullopt;
  }
  return placeOf(m_connections[end.connection].sends.steps[end.at]);
}

std::vector<StepLink> StepLinks::waitsFor(const StepPlace& place) const {
  std::vector<StepLink> links;
  const std::uint32_t index = indexOf(place);
  if (place.step > 0) {
    links.push_back({{place.rank, place.threadBlock, place.step - 1}, WaitReason::order});
  }
  if (m_flagOf[index] != kNone) {
    links.push_back({placeOf(m_flagOf[index]), WaitReason::flag});
  }
  if (const auto sender = senderOf(place)) {
    links.push_back({*sender, WaitReason::data});
  }
  if (const End& end = m_sends[index]; end.connection != kNone) {
    const Connection& connection = m_connections[end.connection];
    const Side& taken = connection.receives;
    const std::int64_t message = connection.sends.firstMessage[end.at + 1] - 1 - m_depth;
    if (message >= 0 && message < taken.firstMessage.back()) {
      const auto after = std::upper_bound(taken.firstMessage.begin(), taken.firstMessage.end(), message);
      links.push_back({placeOf(taken.steps[after - taken.firstMessage.begin() - 1]), WaitReason::space});
    }
  }
  return links;
}

std::vector<StepLink> StepLinks::releases(const StepPlace& place) const {
  std::vector<StepLink> links;
  const std::uint32_t index = indexOf(place);
  const std::size_t block = m_firstBlock[place.rank] + static_cast<std::size_t>(place.threadBlock);
  if (index + 1 < m_firstStep[block + 1]) {
    links.push_back({{place.rank, place.threadBlock, place.step + 1}, WaitReason::order});
  }
  for (const std::uint32_t waiter : m_waiters[index]) {
    links.push_back({placeOf(waiter), WaitReason::flag});
  }
  if (const auto receiver = receiverOf(place)) {
    links.push_back({*receiver, WaitReason::data});
  }
  if (const End& end = m_receives[index]; end.connection != kNone) {
    const Connection& connection = m_connections[end.connection];
    const Side& sent = connection.sends;
    // Sends whose last message has to wait until a message of this step is taken out.
    const std::int64_t first = connection.receives.firstMessage[end.at] + m_depth;
    const std::int64_t past = connection.receives.firstMessage[end.at + 1] + m_depth;
    for (auto at = static_cast<std::size_t>(
             std::upper_bound(sent.firstMessage.begin(), sent.firstMessage.end(), first) - sent.firstMessage.begin());
         at < sent.firstMessage.size() && sent.firstMessage[at] - 1 < past; ++at) {
      links.push_back({placeOf(sent.steps[at - 1]), WaitReason::space});
    }
  }
  return links;
}

}  // namespace coppice::verify
