// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/execution_plan.hpp"

#include <array>

namespace coppice::mscclpp {

namespace {

struct OpFacts {
  OpType type;
  std::string_view name;
  OpShape shape;
};

constexpr int kMany = kMaxRunsOfOp;

/// Columns: sources, destinations, memory, port, channels, semaphores, reads packets, writes packets.
constexpr std::array<OpFacts, kOpTypes> kFacts{{
    {OpType::nop, "nop", {}},
    {OpType::barrier, "barrier", {}},
    {OpType::semAcquire, "sem_acquire", {0, 0, 0, 0, false, false, false, true}},
    {OpType::semRelease, "sem_release", {0, 0, 0, 0, false, false, false, true}},
    {OpType::signal, "signal", {0, 0, 0, 0, true, true, true}},
    {OpType::relaxedSignal, "rlxsignal", {0, 0, 0, 0, true, true, true}},
    {OpType::wait, "wait", {0, 0, 0, 0, true, true, true}},
    {OpType::relaxedWait, "rlxwait", {0, 0, 0, 0, true, true, true}},
    {OpType::flush, "flush", {0, 0, 0, 0, false, true, true}},
    {OpType::put, "put", {1, kMany, 1, kMany, true, true}},
    {OpType::putWithSignal, "pws", {1, kMany, 1, kMany, true, true}},
    {OpType::putWithSignalAndFlush, "pwsf", {1, kMany, 1, kMany, true, true}},
    {OpType::get, "get", {1, kMany, 1, kMany, true, false}},
    {OpType::copy, "copy", {1, 1, 1, 1}},
    {OpType::reduce, "re", {2, kMany, 1, 1}},
    {OpType::reduceSend, "res", {2, kMany, 2, kMany, true, false}},
    {OpType::readReduce, "rre", {2, kMany, 1, 1, true, false}},
    {OpType::readReduceSend, "rres", {2, kMany, 2, kMany, true, false}},
    {OpType::multiLoadReduceStore, "glres", {1, 1, 1, 1}},
    {OpType::multiStore, "gstore", {1, 1, 1, 1, false, false, false, false, false, false, "main of August 2026"}},
    {OpType::putPackets, "ppkt", {1, kMany, 1, kMany, true, true, false, false, false, true}},
    {OpType::readPutPackets, "rppkt", {1, 1, 1, kMany, true, true, false, false, true, true}},
    {OpType::copyPackets, "cpkt", {1, 1, 1, 1, false, false, false, false, false, true}},
    {OpType::unpackPackets, "upkt", {1, 1, 1, 1, false, false, false, false, true, false}},
    {OpType::reducePackets, "repkt", {2, kMany, 1, 1, false, false, false, false, true, false}},
    {OpType::reduceSendPackets, "respkt", {2, kMany, 2, kMany, true, false, false, false, true, true}},
    {OpType::reduceCopyPackets, "recpkt", {2, kMany, 2, 2, false, false, false, false, true, true, "0.9"}},
    {OpType::reduceCopySendPackets, "recspkt", {2, kMany, 3, kMany, true, false, false, false, true, true, "0.9"}},
    {OpType::multiStorePackets,
     "gstorepkt",
     {1, 1, 1, 1, false, false, false, false, true, true, "main of August 2026"}},
    {OpType::pipeline, "pipeline", {}},
}};

const OpFacts& factsOf(OpType type) {
  return kFacts[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view toString(ChannelType type) {
  switch (type) {
    case ChannelType::memory:
      return "memory";
    case ChannelType::port:
      return "port";
    case ChannelType::switched:
      return "switch";
    case ChannelType::none:
      break;
  }
  return "none";
}

std::string_view toString(OpType type) {
  return factsOf(type).name;
}

std::optional<OpType> parseOpType(std::string_view name) {
  for (const OpFacts& facts : kFacts) {
    if (facts.name == name) {
      return facts.type;
    }
  }
  return std::nullopt;
}

const OpShape& shapeOf(OpType type) {
  return factsOf(type).shape;
}

std::string placeText(const OpPlace& place) {
  std::string text = "rank " + std::to_string(place.rank) + ", threadblock " + std::to_string(place.block) +
                     ", operation " + std::to_string(place.op);
  if (place.inner >= 0) {
    text += "." + std::to_string(place.inner);
  }
  return text;
}

ElementRef elementOf(const OpPlace& place) {
  const ElementRef block = ElementRef(RefKind::rank, place.rank).with({RefKind::threadblock, place.block});
  const ElementRef op = block.with({RefKind::step, place.op});
  return place.inner < 0 ? op : op.with({RefKind::step, place.inner});
}

int countOps(const ThreadBlock& block) {
  std::size_t count = block.ops.size();
  for (const Operation& op : block.ops) {
    count += op.inner.size();
  }
  return static_cast<int>(count);
}

}  // namespace coppice::mscclpp
