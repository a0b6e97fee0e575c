// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "program/chakra_traces.hpp"

using namespace coppice;
using namespace coppice::program;

namespace {

/// A reader of protobuf's wire format, apart from the writer: fields as numbers or bytes.
struct Field {
  int number = 0;
  std::uint64_t value = 0;
  std::string bytes = {};
};

std::uint64_t varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  qFatal("a number is cut");
}

std::string taken(std::string_view& text) {
  const std::uint64_t size = varint(text);
  if (size > text.size()) {
    qFatal("a message is cut");
  }
  const std::string bytes(text.substr(0, size));
  text.remove_prefix(size);
  return bytes;
}

std::vector<Field> fieldsOf(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    const std::uint64_t key = varint(message);
    Field field{.number = static_cast<int>(key >> 3U)};
    if ((key & 7U) == 0) {
      field.value = varint(message);
    } else if ((key & 7U) == 2) {
      field.bytes = taken(message);
    } else {
      qFatal("an unexpected wire type");
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

struct Node {
  std::uint64_t type = 0;
  std::vector<std::uint64_t> after = {};
  std::map<std::string, std::uint64_t> attributes = {};
};

struct Trace {
  std::string version;
  std::map<std::uint64_t, Node> nodes;
};

Trace traceOf(std::string_view text) {
  Trace trace;
  trace.version = fieldsOf(taken(text)).front().bytes;
  while (!text.empty()) {
    Node node;
    std::uint64_t id = 0;
    for (const Field& field : fieldsOf(taken(text))) {
      if (field.number == 1) {
        id = field.value;
      } else if (field.number == 3) {
        node.type = field.value;
      } else if (field.number == 5) {
        for (std::string_view packed = field.bytes; !packed.empty();) {
          node.after.push_back(varint(packed));
        }
      } else if (field.number == 10) {
        const auto attribute = fieldsOf(field.bytes);
        if (attribute.size() != 2 || attribute[0].number != 1) {
          qFatal("an attribute without name and value");
        }
        node.attributes[attribute[0].bytes] = attribute[1].value;
      }
    }
    trace.nodes[id] = node;
  }
  return trace;
}

constexpr std::uint64_t kComputes = 4;
constexpr std::uint64_t kSends = 5;
constexpr std::uint64_t kReceives = 6;

Step step(StepType type, int count = 1, int tb = -1, int before = -1) {
  return {.type = type,
          .src = {Buffer::input, 0},
          .dst = {Buffer::output, 0},
          .count = count,
          .dependsOnTb = tb,
          .dependsOnStep = before};
}

/// Rank 0 sends to 1, which adds its own and sends on to 2 from the same step; 2 copies what it received by another
/// threadblock.
Program chain() {
  Program program;
  program.name = "chain";
  program.chunksPerLoop = 4;
  program.ranks.resize(3);
  program.ranks[0].threadBlocks = {{.sendPeer = 1, .steps = {step(StepType::send, 2), step(StepType::send)}}};
  program.ranks[1].threadBlocks = {
      {.sendPeer = 2, .recvPeer = 0, .steps = {step(StepType::recvReduceSend, 2), step(StepType::recvCopySend)}}};
  program.ranks[2].threadBlocks = {{.recvPeer = 1, .steps = {step(StepType::recv, 2), step(StepType::recv)}},
                                   {.steps = {step(StepType::copy, 1, 0, 1)}}};
  return program;
}

}  // namespace

class TestChakraTraces : public QObject {
  Q_OBJECT

private slots:
  void steps();
  void tagsOfChannels();
  void refuses();
};

void TestChakraTraces::steps() {
  const auto texts = chakraTraces(chain(), 4096);
  QVERIFY(texts.hasValue());
  QCOMPARE(texts->size(), std::size_t{3});
  const Trace first = traceOf((*texts)[0]);
  QCOMPARE(first.version, "0.0.4");
  QCOMPARE(first.nodes.size(), std::size_t{2});
  QCOMPARE(first.nodes.at(0).type, kSends);
  QCOMPARE(first.nodes.at(0).attributes.at("comm_size"), 2048U);
  QCOMPARE(first.nodes.at(0).attributes.at("comm_dst"), 1U);
  QCOMPARE(first.nodes.at(1).after, std::vector<std::uint64_t>{0});
  QCOMPARE(first.nodes.at(1).attributes.at("comm_tag"), 1U);
  // Receive, add, send; then receive and send on.
  const Trace second = traceOf((*texts)[1]);
  std::vector<std::uint64_t> types;
  for (const auto& [id, node] : second.nodes) {
    types.push_back(node.type);
    QCOMPARE(node.after, id == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{id - 1});
  }
  QCOMPARE(types, (std::vector<std::uint64_t>{kReceives, kComputes, kSends, kReceives, kSends}));
  QCOMPARE(second.nodes.at(0).attributes.at("comm_src"), 0U);
  QCOMPARE(second.nodes.at(0).attributes.at("comm_dst"), 1U);
  QCOMPARE(second.nodes.at(3).attributes.at("comm_tag"), 1U);
  QCOMPARE(second.nodes.at(4).attributes.at("comm_tag"), 1U);
  // The copy waits for a step of another threadblock.
  const Trace third = traceOf((*texts)[2]);
  QCOMPARE(third.nodes.at(2).type, kComputes);
  QCOMPARE(third.nodes.at(2).after, std::vector<std::uint64_t>{1});
}

void TestChakraTraces::tagsOfChannels() {
  Program program = chain();
  program.channels = 2;
  program.ranks[0].threadBlocks.push_back({.sendPeer = 1, .channel = 1, .steps = {step(StepType::send)}});
  program.ranks[1].threadBlocks.push_back({.recvPeer = 0, .channel = 1, .steps = {step(StepType::recv)}});
  const auto texts = chakraTraces(program, 4096);
  QVERIFY(texts.hasValue());
  // Both ends count the messages between two ranks through, channel after channel.
  std::set<std::uint64_t> tags;
  for (const auto& [id, node] : traceOf((*texts)[0]).nodes) {
    tags.insert(node.attributes.at("comm_tag"));
  }
  QCOMPARE(tags, (std::set<std::uint64_t>{0, 1, 2}));
  std::set<std::uint64_t> received;
  for (const auto& [id, node] : traceOf((*texts)[1]).nodes) {
    if (node.type == kReceives) {
      received.insert(node.attributes.at("comm_tag"));
    }
  }
  QCOMPARE(received, tags);
}

void TestChakraTraces::refuses() {
  const auto size = chakraTraces(chain(), 4097);
  QVERIFY(!size.hasValue());
  QCOMPARE(describe(size.error()), "4097 bytes do not divide into the 4 chunks; give 4096 or 4100 bytes");
  Program unpaired = chain();
  unpaired.ranks[2].threadBlocks[0].steps.pop_back();
  unpaired.ranks[2].threadBlocks.pop_back();
  const auto result = chakraTraces(unpaired, 4096);
  QVERIFY(!result.hasValue());
  QVERIFY(result.error().message.find("do not pair") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestChakraTraces)
#include "tst_chakra_traces.moc"
