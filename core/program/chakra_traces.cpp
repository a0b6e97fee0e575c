// SPDX-License-Identifier: Apache-2.0
#include "program/chakra_traces.hpp"

#include <map>
#include <string_view>
#include <tuple>

#include "base/checked.hpp"

namespace coppice::program {
namespace {

// WireType format of protobuf: a key is the field's number and its wire type, numbers are varints of seven bits a byte.
enum class WireType : std::uint64_t { varint = 0, bytes = 2 };

void putVarint(std::string& out, std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  for (; value >= kMore; value >>= 7U) {
    out += static_cast<char>(value | kMore);
  }
  out += static_cast<char>(value);
}

void putKey(std::string& out, int field, WireType wire) {
  putVarint(out, static_cast<std::uint64_t>(field) << 3U | static_cast<std::uint64_t>(wire));
}

void putNumber(std::string& out, int field, std::uint64_t value) {
  putKey(out, field, WireType::varint);
  putVarint(out, value);
}

void putBytes(std::string& out, int field, std::string_view bytes) {
  putKey(out, field, WireType::bytes);
  putVarint(out, bytes.size());
  out += bytes;
}

// Numbers of et_def.proto.
constexpr int kMetadataVersion = 1;
constexpr int kNodeId = 1;
constexpr int kNodeName = 2;
constexpr int kNodeType = 3;
constexpr int kNodeDataDeps = 5;
constexpr int kNodeAttr = 10;
constexpr int kAttrName = 1;
constexpr int kAttrInt32 = 7;
constexpr int kAttrInt64 = 9;
constexpr int kAttrBool = 27;
enum class ChakraNode : std::uint64_t { computation = 4, send = 5, receive = 6 };

struct ChakraAttribute {
  std::string_view name;
  int field;
  std::uint64_t value;
};

void putMessage(std::string& trace, const std::string& message) {
  putVarint(trace, message.size());
  trace += message;
}

void putNode(std::string& trace, std::uint64_t id, const std::string& name, ChakraNode type,
             const std::vector<std::uint64_t>& after, const std::vector<ChakraAttribute>& attributes) {
  std::string message;
  putNumber(message, kNodeId, id);
  putBytes(message, kNodeName, name);
  putNumber(message, kNodeType, static_cast<std::uint64_t>(type));
  if (!after.empty()) {
    std::string packed;
    for (const std::uint64_t one : after) {
      putVarint(packed, one);
    }
    putBytes(message, kNodeDataDeps, packed);
  }
  for (const ChakraAttribute& one : attributes) {
    std::string text;
    putBytes(text, kAttrName, one.name);
    putNumber(text, one.field, one.value);
    putBytes(message, kNodeAttr, text);
  }
  putMessage(trace, message);
}

/// Nodes of one step, one after the other: what it receives, what it computes, what it sends.
std::uint64_t nodesOf(StepType type) {
  const bool computes = type != StepType::send && type != StepType::recv && type != StepType::recvCopySend;
  return (receives(type) ? 1U : 0U) + (computes ? 1U : 0U) + (sends(type) ? 1U : 0U);
}

/// Sender, receiver, channel.
using ChakraConnection = std::tuple<int, int, int>;

class ChakraWriter {
public:
  ChakraWriter(const Program& program, std::int64_t chunkBytes) : m_program(program), m_chunkBytes(chunkBytes) {}

  Result<std::vector<std::string>> run() {
    if (Outcome paired = numberConnections(); !paired) {
      return paired.error();
    }
    std::vector<std::string> traces;
    for (int rank = 0; rank < static_cast<int>(m_program.ranks.size()); ++rank) {
      traces.push_back(traceOf(rank));
    }
    return traces;
  }

private:
  /// The first tag of each connection: those between the same two ranks are counted through.
  Outcome numberConnections() {
    std::map<ChakraConnection, std::int64_t> sent;
    std::map<ChakraConnection, std::int64_t> received;
    for (int rank = 0; rank < static_cast<int>(m_program.ranks.size()); ++rank) {
      for (const ThreadBlock& block : m_program.ranks[rank].threadBlocks) {
        for (const Step& step : block.steps) {
          if (sends(step.type)) {
            ++sent[{rank, block.sendPeer, block.channel}];
          }
          if (receives(step.type)) {
            ++received[{block.recvPeer, rank, block.channel}];
          }
        }
      }
    }
    if (sent != received) {
      return Error{ErrorCode::badInput, "sends and receives of the program do not pair", "verify it first"};
    }
    std::int64_t tag = 0;
    std::pair<int, int> ends{-1, -1};
    for (const auto& [connection, count] : sent) {
      const auto& [from, to, channel] = connection;
      if (ends != std::pair(from, to)) {
        ends = {from, to};
        tag = 0;
      }
      m_firstTag[connection] = tag;
      tag = checkedAdd(tag, count);
    }
    return Done{};
  }

  std::string traceOf(int rank) const {
    const RankProgram& part = m_program.ranks[rank];
    std::string trace;
    std::string head;
    putBytes(head, kMetadataVersion, "0.0.4");
    putMessage(trace, head);
    // The last node of each step, by threadblock.
    std::vector<std::vector<std::uint64_t>> last;
    std::uint64_t next = 0;
    for (const ThreadBlock& block : part.threadBlocks) {
      std::vector<std::uint64_t>& ends = last.emplace_back();
      for (const Step& step : block.steps) {
        next += nodesOf(step.type);
        ends.push_back(next - 1);
      }
    }
    std::uint64_t id = 0;
    for (std::size_t b = 0; b < part.threadBlocks.size(); ++b) {
      const ThreadBlock& block = part.threadBlocks[b];
      std::int64_t sentTag = firstTag(rank, block.sendPeer, block.channel);
      std::int64_t receivedTag = firstTag(block.recvPeer, rank, block.channel);
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const Step& step = block.steps[s];
        std::vector<std::uint64_t> after;
        if (s > 0) {
          after.push_back(last[b][s - 1]);
        }
        if (step.dependsOnTb >= 0 && step.dependsOnStep >= 0) {
          after.push_back(last.at(step.dependsOnTb).at(step.dependsOnStep));
        }
        const std::string place = "_tb" + std::to_string(b) + "_s" + std::to_string(s);
        const std::uint64_t end = last[b][s];
        if (receives(step.type)) {
          putTransfer(trace, id, "RECV" + place, ChakraNode::receive, after, step, block.recvPeer, rank, receivedTag++);
          after = {id++};
        }
        if (id + (sends(step.type) ? 1 : 0) <= end) {
          putNode(trace, id, std::string(toString(step.type)) + place, ChakraNode::computation, after,
                  {{"is_cpu_op", kAttrBool, 0}, {"num_ops", kAttrInt64, 0}});
          after = {id++};
        }
        if (sends(step.type)) {
          putTransfer(trace, id, "SEND" + place, ChakraNode::send, after, step, rank, block.sendPeer, sentTag++);
          ++id;
        }
      }
    }
    return trace;
  }

  [[nodiscard]] std::int64_t firstTag(int from, int to, int channel) const {
    const auto known = m_firstTag.find({from, to, channel});
    return known == m_firstTag.end() ? 0 : known->second;
  }

  void putTransfer(std::string& trace, std::uint64_t id, const std::string& name, ChakraNode type,
                   const std::vector<std::uint64_t>& after, const Step& step, int from, int to,
                   std::int64_t tag) const {
    putNode(trace, id, name, type, after,
            {{"is_cpu_op", kAttrBool, 0},
             {"comm_size", kAttrInt64, static_cast<std::uint64_t>(checkedMul<std::int64_t>(m_chunkBytes, step.count))},
             {"comm_src", kAttrInt32, static_cast<std::uint64_t>(from)},
             {"comm_dst", kAttrInt32, static_cast<std::uint64_t>(to)},
             {"comm_tag", kAttrInt32, static_cast<std::uint64_t>(tag)}});
  }

  const Program& m_program;
  std::int64_t m_chunkBytes;
  std::map<ChakraConnection, std::int64_t> m_firstTag;
};

}  // namespace

Result<std::vector<std::string>> chakraTraces(const Program& program, std::int64_t bytes) {
  const std::int64_t chunks = program.chunksPerLoop;
  if (bytes < chunks || bytes % chunks != 0) {
    const std::int64_t below = bytes / chunks * chunks;
    return Error{ErrorCode::badUsage,
                 std::to_string(bytes) + " bytes do not divide into the " + std::to_string(chunks) + " chunks",
                 "give " + (below > 0 ? std::to_string(below) + " or " : std::string()) +
                     std::to_string(below + chunks) + " bytes"};
  }
  return ChakraWriter(program, bytes / chunks).run();
}

}  // namespace coppice::program
