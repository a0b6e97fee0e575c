// SPDX-License-Identifier: Apache-2.0
#include "program/step_place.hpp"

namespace coppice::program {

std::string placeText(const StepPlace& place) {
  return "rank " + std::to_string(place.rank) + ", threadblock " + std::to_string(place.threadBlock) + ", step " +
         std::to_string(place.step);
}

bool exists(const Program& program, const StepPlace& place) {
  if (place.rank < 0 || static_cast<std::size_t>(place.rank) >= program.ranks.size()) {
    return false;
  }
  const auto& blocks = program.ranks[place.rank].threadBlocks;
  return place.threadBlock >= 0 && static_cast<std::size_t>(place.threadBlock) < blocks.size() && place.step >= 0 &&
         static_cast<std::size_t>(place.step) < blocks[place.threadBlock].steps.size();
}

std::string operationText(const Program& program, const StepPlace& place) {
  const ThreadBlock& block = program.ranks[place.rank].threadBlocks[place.threadBlock];
  const StepType type = block.steps[place.step].type;
  std::string text(toString(type));
  text += receives(type) ? " from rank " + std::to_string(block.recvPeer) : "";
  return text + (sends(type) ? " to rank " + std::to_string(block.sendPeer) : "");
}

std::string slotText(const Slot& slot, int count) {
  if (slot.offset < 0) {
    return {};
  }
  const std::string last = count > 1 ? "-" + std::to_string(std::int64_t{slot.offset} + count - 1) : std::string();
  return std::string(1, letter(slot.buffer)) + "[" + std::to_string(slot.offset) + last + "]";
}

}  // namespace coppice::program
