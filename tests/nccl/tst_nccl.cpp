// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "coppice/test_paths.hpp"
#include "nccl/graph.hpp"
#include "nccl/joining.hpp"
#include "nccl/load.hpp"
#include "nccl/log_reader.hpp"
#include "nccl/measurements.hpp"
#include "nccl/tuning.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

using namespace coppice;
using namespace coppice::nccl;
using test::must;

namespace {

GraphSet graphsOf(const std::vector<std::vector<int>>& channels, bool hasNets, int pattern = kBalancedTree,
                  int crossNic = 0, const std::string& speed = "20") {
  GraphSet set;
  for (const int id : {kRingGraph, kTreeGraph}) {
    Graph graph{.id = id, .pattern = id == kRingGraph ? kRing : pattern, .crossNic = crossNic};
    graph.speedIntra = graph.speedInter = speed;
    graph.typeIntra = "NVL";
    graph.typeInter = "PIX";
    for (std::size_t i = 0; i < channels.size(); ++i) {
      GraphChannel channel;
      channel.devices = channels[i];
      if (hasNets) {
        channel.nets = {i, i};
      }
      graph.channels.push_back(std::move(channel));
    }
    graph.channelCount = static_cast<int>(channels.size());
    set.graphs.push_back(std::move(graph));
  }
  return set;
}

std::map<int, int> ranksFrom(int first, int count) {
  std::map<int, int> ranks;
  for (int i = 0; i < count; ++i) {
    ranks[i] = first + i;
  }
  return ranks;
}

/// Two nodes of eight GPUs, as NCCL's own code joined them.
ChannelSet goldenSet() {
  const std::vector<std::vector<int>> first(4, {0, 1, 2, 3, 7, 6, 5, 4});
  const std::vector<std::vector<int>> second(4, {7, 6, 5, 4, 0, 1, 2, 3});
  return must(joinNodes({{graphsOf(first, true), ranksFrom(0, 8)}, {graphsOf(second, true), ranksFrom(8, 8)}}));
}

ChannelSet randomSet(std::mt19937& random, int nodes, int gpus, int channels) {
  std::vector<GraphNode> all;
  for (int node = 0; node < nodes; ++node) {
    std::vector<std::vector<int>> chains(static_cast<std::size_t>(channels));
    for (auto& chain : chains) {
      for (int gpu = 0; gpu < gpus; ++gpu) {
        chain.push_back(gpu);
      }
      std::shuffle(chain.begin(), chain.end(), random);
    }
    all.push_back({graphsOf(chains, nodes > 1), ranksFrom(node * gpus, gpus)});
  }
  return must(joinNodes(std::move(all)));
}

/// What a log has of the rings.
enum class Source { lines, cutLines, hops, edges };

struct LogStyle {
  Source source = Source::lines;
  bool hasStart = true;
  bool hasCommId = true;
  bool hasTags = false;
  bool hasTimestamps = false;
  bool isInterleaved = false;
  bool isRccl = false;
  bool isTreesFirst = false;
  std::string version = "2.28.9";
};

std::string padded(int number, int width) {
  std::string text = std::to_string(number);
  return std::string(static_cast<std::size_t>(std::max<int>(0, width - static_cast<int>(text.size()))), '0') + text;
}

/// The lines of one rank.
std::vector<std::string> linesOfRank(const ChannelSet& set, int rank, int gpus, const LogStyle& style,
                                     const std::string& comm, const std::string& commId) {
  std::vector<std::string> lines;
  const int device = rank % gpus;
  const auto count = static_cast<int>(set.rings.size());
  const std::string suffix =
      style.isRccl ? " comm " + comm + " nRanks " + padded(set.ranks, 2) + " busId c1000" : std::string();
  const std::string rankLine = "ncclCommInitRank comm " + comm + " rank " + std::to_string(rank) + " nranks " +
                               std::to_string(set.ranks) + " cudaDev " + std::to_string(device) + " nvmlDev " +
                               std::to_string(device) + " busId 1b000" +
                               (style.hasCommId ? " commId " + commId : std::string()) + " - Init ";
  if (style.hasStart) {
    lines.push_back(rankLine + "START");
  }
  if (rank == 0 && (style.source == Source::lines || style.source == Source::cutLines)) {
    for (int c = 0; c < count; ++c) {
      std::string line = "Channel " + padded(c, 2) + "/" + padded(count, 2) + " :";
      for (const int one : set.rings[c].ranks()) {
        std::string number = std::to_string(one);
        line += std::string(4 - std::min<std::size_t>(3, number.size()), ' ') + number;
      }
      if (style.source == Source::cutLines && line.size() > 60) {
        line = line.substr(0, 57) + "...";
      }
      lines.push_back(line + suffix);
    }
  }
  std::string trees = "Trees";
  for (int c = 0; c < count; ++c) {
    const Tree& tree = set.trees[c];
    std::vector<int> children = tree.children[rank];
    children.resize(3, -1);
    trees += " [" + std::to_string(c) + "] " + std::to_string(children[0]) + "/" + std::to_string(children[1]) + "/" +
             std::to_string(children[2]) + "->" + std::to_string(rank) + "->" + std::to_string(tree.parents[rank]);
  }
  lines.push_back(trees.substr(0, 1000) + suffix);
  const auto edge = [&](int c, int from, int to, bool isReceive) {
    const bool isRemote = from / gpus != to / gpus;
    std::string line = "Channel " + padded(c, 2) + "/0 : " + std::to_string(from) + "[" + std::to_string(from % gpus) +
                       "] -> " + std::to_string(to) + "[" + std::to_string(to % gpus) + "] ";
    line += isRemote
                ? std::string(isReceive ? "[receive]" : "[send]") + " via NET/IB/" + std::to_string(c % 4) + "/GDRDMA"
                : std::string("via P2P/CUMEM/read");
    return line + suffix;
  };
  std::vector<std::string> ringLines;
  std::vector<std::string> treeLines;
  for (int c = 0; c < count; ++c) {
    const auto ranks = set.rings[c].ranks();
    const auto at = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
    const int next = ranks[static_cast<std::size_t>(at + 1) % ranks.size()];
    const int previous = ranks[static_cast<std::size_t>(at + static_cast<long>(ranks.size()) - 1) % ranks.size()];
    if (style.source == Source::hops) {
      lines.push_back("Ring " + padded(c, 2) + " : " + std::to_string(previous) + " -> " + std::to_string(rank) +
                      " -> " + std::to_string(next) + suffix);
    }
    std::vector<int> connected;
    if (previous / gpus != rank / gpus) {
      ringLines.push_back(edge(c, previous, rank, true));
    }
    ringLines.push_back(edge(c, rank, next, false));
    std::vector<int> peers = set.trees[c].children[rank];
    if (set.trees[c].parents[rank] >= 0) {
      peers.push_back(set.trees[c].parents[rank]);
    }
    for (const int peer : peers) {
      // A connection is made once.
      if (peer != next) {
        treeLines.push_back(edge(c, rank, peer, false));
      }
    }
  }
  lines.insert(lines.end(), ringLines.begin(), ringLines.end());
  lines.emplace_back("Connected all rings, use ring PXN 0 GDR 1");
  lines.insert(lines.end(), treeLines.begin(), treeLines.end());
  lines.emplace_back("Connected all trees");
  lines.push_back(std::to_string(count) + " coll channels, 0 collnet channels, 0 nvls channels, 8 p2p channels");
  lines.push_back(rankLine + "COMPLETE");
  if (rank == 0) {
    lines.emplace_back("AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}");
  }
  return lines;
}

/// The logs of all ranks as one text.
std::string logOf(const std::vector<std::pair<ChannelSet, int>>& sets, const LogStyle& style, std::mt19937& random,
                  const std::vector<std::string>& ids) {
  struct Writer {
    std::string prefix;
    std::vector<std::string> lines;
    std::size_t at = 0;
  };
  std::vector<Writer> writers;
  int first = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const auto& [set, gpus] = sets[s];
    for (int rank = 0; rank < set.ranks; ++rank) {
      const int pid = 4100 + rank;
      const std::string tag = style.hasTags ? "[1," + std::to_string(rank) + "]<stdout>:" : std::string();
      const std::string stamp = style.hasTimestamps ? "[2026-01-31 10:00:00] " : "";
      const std::string prefix = tag + stamp + "box" + std::to_string(rank / gpus) + ":" + std::to_string(pid) + ":" +
                                 std::to_string(pid + 32) + " [" + std::to_string(rank % gpus) + "] NCCL INFO ";
      auto lines = linesOfRank(set, rank, gpus, style, "0x55d" + std::to_string(s), ids[s]);
      if (s == 0) {
        writers.push_back({prefix, std::move(lines)});
      } else {
        auto& own = writers[static_cast<std::size_t>(first + rank)].lines;
        own.insert(own.end(), lines.begin(), lines.end());
      }
    }
  }
  std::string text = style.isRccl ? "RCCL version : 2.21.5-abcdef\n" : "NCCL version " + style.version + "+cuda12.4\n";
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    open.push_back(i);
  }
  std::string pending;  // what is to be printed behind the line of another process
  while (!open.empty()) {
    const std::size_t pick = random() % open.size();
    Writer& writer = writers[open[pick]];
    const std::string line = writer.prefix + writer.lines[writer.at++];
    const bool isLast = writer.at == writer.lines.size();
    if (isLast) {
      open.erase(open.begin() + static_cast<long>(pick));
    }
    if (style.isInterleaved && !open.empty() && random() % 3 == 0) {
      // Another process prints between the line and its end, or inside the line.
      Writer& other = writers[open[random() % open.size()]];
      if (&other != &writer && other.at + 1 < other.lines.size()) {
        const std::size_t cut =
            random() % 2 == 0 ? line.size() : writer.prefix.size() + random() % (line.size() - writer.prefix.size());
        text += line.substr(0, cut) + other.prefix + other.lines[other.at++] + "\n" + line.substr(cut) + "\n";
        continue;
      }
    }
    text += line + "\n";
  }
  return text;
}

std::vector<std::vector<int>> ringsOf(const Communicator& communicator) {
  std::vector<std::vector<int>> rings;
  for (const LoggedRing& ring : communicator.rings) {
    rings.push_back(ring.ranks);
  }
  return rings;
}

std::vector<std::vector<int>> ringsOf(const ChannelSet& set) {
  std::vector<std::vector<int>> rings;
  for (const Ring& ring : set.rings) {
    rings.push_back(ring.ranks());
  }
  return rings;
}

}  // namespace

class TestNccl : public QObject {
  Q_OBJECT

private slots:
  void goldenJoin();
  void doubleTrees();
  void crossNic();
  void repeats();
  void dumpsReadBack();
  void badGraphs_data();
  void badGraphs();
  void checksOfGraphs();
  void logs_data();
  void logs();
  void splits();
  void oldAndPartialLogs();
  void choices();
  void estimates();
  void testsJson();
  void inspector();
  void largeLog();
  void load();
  void tuning();
  void tunedAsNccl_data();
  void tunedAsNccl();
  void tunedChoices();
  void tunerFile();
  void fits();
};

void TestNccl::goldenJoin() {
  const ChannelSet set = goldenSet();
  QCOMPARE(set.rings.size(), std::size_t{8});
  const std::vector<int> ring{0, 1, 2, 3, 7, 6, 5, 4, 15, 14, 13, 12, 8, 9, 10, 11};
  for (const Ring& each : set.rings) {
    QCOMPARE(each.ranks(), ring);
  }
  QCOMPARE(set.trees[0].parents[0], -1);
  QCOMPARE(set.trees[0].children[0], (std::vector<int>{1, 15}));
  QCOMPARE(set.trees[4].parents[0], 15);
  QCOMPARE(set.trees[4].children[0], std::vector<int>{1});
}

void TestNccl::doubleTrees() {
  const auto root = doubleTreePlace(4, 0);
  QCOMPARE(root[0].up, -1);
  QCOMPARE(root[0].down[1], 2);
  QCOMPARE(doubleTreePlace(4, 2)[0].down, (std::array{1, 3}));
  QCOMPARE(doubleTreePlace(4, 3)[1].up, -1);
  QCOMPARE(doubleTreePlace(4, 1)[1].down, (std::array{2, 0}));
  for (int count = 1; count < 40; ++count) {
    for (int which = 0; which < 2; ++which) {
      int roots = 0;
      for (int node = 0; node < count; ++node) {
        const DoubleTreePlace place = doubleTreePlace(count, node)[which];
        roots += place.up < 0 ? 1 : 0;
        if (place.up >= 0) {
          QCOMPARE(doubleTreePlace(count, place.up)[which].down[place.childType], node);
        }
      }
      QCOMPARE(roots, 1);
    }
  }
}

void TestNccl::crossNic() {
  const std::vector<std::vector<int>> chains{{0, 1}, {1, 0}};
  const ChannelSet set = must(joinNodes({{graphsOf(chains, true, kBalancedTree, 2), ranksFrom(0, 2)},
                                         {graphsOf(chains, true, kBalancedTree, 2), ranksFrom(2, 2)}}));
  QCOMPARE(set.rings[0].ranks(), (std::vector<int>{0, 1, 3, 2}));
  QCOMPARE(set.rings[1].ranks(), (std::vector<int>{0, 2, 3, 1}));
}

void TestNccl::repeats() {
  const std::vector<std::vector<int>> chains{{0, 1}, {1, 0}};
  const auto join = [&](const std::string& speed, int capability, int nodes, JoinOptions options = {}) {
    std::vector<GraphNode> all;
    for (int node = 0; node < nodes; ++node) {
      all.push_back({graphsOf(chains, nodes > 1, kTree, 0, speed), ranksFrom(2 * node, 2)});
    }
    options.computeCapability = capability;
    return must(joinNodes(std::move(all), options)).rings.size();
  };
  QCOMPARE(join("48", 90, 2), std::size_t{8});
  QCOMPARE(join("48", 90, 1), std::size_t{4});
  QCOMPARE(join("45", 90, 2), std::size_t{4});
  QCOMPARE(join("48", 80, 2), std::size_t{4});
  QCOMPARE(join("48", 80, 2, {.maxChannels = 3}), std::size_t{3});
  QCOMPARE(join("48", 80, 2, {.minChannels = 7}), std::size_t{7});
}

void TestNccl::dumpsReadBack() {
  const std::string text =
      "<graphs version=\"1\">\n"
      "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" speedintra=\"20\" speedinter=\"12.5\" "
      "latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PXN\" samechannels=\"1\">\n"
      "    <channel>\n"
      "      <net dev=\"0x1a\"/>\n"
      "      <gpu dev=\"0\" rank=\"4\"/>\n"
      "      <gpu dev=\"1\" rank=\"5\"/>\n"
      "      <net dev=\"0x1a\"/>\n"
      "    </channel>\n"
      "  </graph>\n"
      "  <graph id=\"3\" pattern=\"5\" crossnic=\"0\" nchannels=\"0\" speedintra=\"0\" speedinter=\"0\" "
      "typeintra=\"LOC\" typeinter=\"LOC\" samechannels=\"0\"/>\n"
      "</graphs>\n";
  const GraphSet set = must(readGraphs(text, "dump.xml"));
  QCOMPARE(set.graphs.front().channels.front().nets.front(), std::uint64_t{26});
  QCOMPARE(QString::fromStdString(writeGraphs(set)), QString::fromStdString(text));
  QCOMPARE(must(readGraphs(writeGraphs(set), "again")), set);
}

void TestNccl::badGraphs_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("message");
  const auto graph = [](const QString& attributes, const QString& inside) {
    return QStringLiteral("<graphs version=\"1\"><graph %1>%2</graph></graphs>").arg(attributes, inside);
  };
  const QString good = QStringLiteral(
      "id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" speedintra=\"1\" speedinter=\"1\" typeintra=\"NVL\" "
      "typeinter=\"PIX\" samechannels=\"1\"");
  QTest::newRow("no XML") << QStringLiteral("<graphs") << QStringLiteral("not well-formed");
  QTest::newRow("no graphs") << QStringLiteral("<system/>") << QStringLiteral("no <graphs>");
  QTest::newRow("empty") << QStringLiteral("<graphs/>") << QStringLiteral("no <graph>");
  QTest::newRow("attribute") << graph(QStringLiteral("id=\"0\""), {}) << QStringLiteral("has no attribute pattern");
  QTest::newRow("number") << graph(QString(good).replace(QStringLiteral("nchannels=\"1\""),
                                                         QStringLiteral("nchannels=\"x\"")),
                                   {})
                          << QStringLiteral("not a whole number");
  QTest::newRow("device") << graph(good, QStringLiteral("<channel><gpu/></channel>"))
                          << QStringLiteral("has no attribute dev");
  QTest::newRow("nets") << graph(good,
                                 QStringLiteral("<channel><net dev=\"1\"/><net dev=\"1\"/><net dev=\"1\"/></channel>"))
                        << QStringLiteral("more than two NICs");
}

void TestNccl::badGraphs() {
  QFETCH(QString, text);
  QFETCH(QString, message);
  const auto read = readGraphs(text.toStdString(), "x.xml");
  QVERIFY(!read);
  QVERIFY2(QString::fromStdString(read.error().message).contains(message), read.error().message.c_str());
  QCOMPARE(QString::fromStdString(read.error().where.file), QStringLiteral("x.xml"));
}

void TestNccl::checksOfGraphs() {
  GraphSet set = graphsOf({{0, 1, 2}}, true);
  QVERIFY(checkGraphs(set, {0, 1, 2}, false).empty());
  QVERIFY(hasErrors(checkGraphs(set, {0, 1}, false)));
  QVERIFY(hasErrors(checkGraphs(set, {0, 1, 2, 3}, false)));
  QVERIFY(hasErrors(checkGraphs(graphsOf({{0, 1, 1}}, true), {0, 1}, false)));
  set.graphs[0].channelCount = 2;
  QVERIFY(hasErrors(checkGraphs(set, {0, 1, 2}, false)));
  QVERIFY(!checkGraphs(graphsOf({{0, 1}}, false), {0, 1}, false).empty());
  QVERIFY(!joinNodes({{set, ranksFrom(0, 3)}}));
  QVERIFY(!joinNodes({{graphsOf({{0, 1}}, false), ranksFrom(1, 2)}}));
  QVERIFY(!joinNodes({}));
}

void TestNccl::logs_data() {
  QTest::addColumn<int>("source");
  QTest::addColumn<bool>("isInterleaved");
  QTest::addColumn<bool>("hasTags");
  QTest::addColumn<bool>("hasStart");
  QTest::addColumn<bool>("isRccl");
  for (int source = 0; source < 4; ++source) {
    for (int style = 0; style < 8; ++style) {
      QTest::addRow("source %d style %d", source, style)
          << source << ((style & 1) != 0) << ((style & 2) != 0) << ((style & 4) == 0 || (style & 1) != 0)
          << (style == 4 || style == 6);
    }
  }
}

void TestNccl::logs() {
  QFETCH(int, source);
  QFETCH(bool, isInterleaved);
  QFETCH(bool, hasTags);
  QFETCH(bool, hasStart);
  QFETCH(bool, isRccl);
  std::mt19937 random(static_cast<unsigned>(source) * 31 + 7);
  for (int round = 0; round < 6; ++round) {
    const int gpus = 2 + static_cast<int>(random() % 7);
    const int nodes = 1 + static_cast<int>(random() % 4);
    const ChannelSet set =
        round == 0 ? goldenSet() : randomSet(random, nodes, gpus, 1 + static_cast<int>(random() % 6));
    LogStyle style{.source = static_cast<Source>(source),
                   .hasStart = hasStart,
                   .hasTags = hasTags,
                   .hasTimestamps = hasTags,
                   .isInterleaved = isInterleaved,
                   .isRccl = isRccl};
    const std::string text = logOf({{set, round == 0 ? 8 : gpus}}, style, random, {"0x9ad1"});
    const Run run = must(readLogs({{text, "log"}}));
    QCOMPARE(QString::fromStdString(run.version), QString::fromLatin1(isRccl ? "2.21.5" : "2.28.9"));
    QCOMPARE(run.communicators.size(), std::size_t{1});
    const Communicator& communicator = run.communicators.front();
    QCOMPARE(communicator.ranks, set.ranks);
    QCOMPARE(static_cast<int>(communicator.hosts.size()), round == 0 ? 2 : nodes);
    QCOMPARE(ringsOf(communicator), ringsOf(set));
    QCOMPARE(communicator.trees.size(), set.trees.size());
    for (std::size_t c = 0; c < set.trees.size(); ++c) {
      QCOMPARE(communicator.trees[c].parents, set.trees[c].parents);
    }
    QCOMPARE(communicator.choices.size(), std::size_t{1});
    QVERIFY2(communicator.missing.empty(), communicator.missing.empty() ? "" : communicator.missing.front().c_str());
  }
}

void TestNccl::splits() {
  std::mt19937 random(11);
  const ChannelSet large = randomSet(random, 2, 4, 2);
  const ChannelSet small = randomSet(random, 1, 4, 3);
  std::string text = logOf({{large, 4}}, {}, random, {"0x1"});
  // Each node makes a communicator of its own, without a commId, and later another with one.
  for (int node = 0; node < 2; ++node) {
    for (int rank = 0; rank < 4; ++rank) {
      const int global = node * 4 + rank;
      const std::string prefix = "box" + std::to_string(node) + ":" + std::to_string(4100 + global) + ":" +
                                 std::to_string(4132 + global) + " [" + std::to_string(rank) + "] NCCL INFO ";
      for (std::string line : linesOfRank(small, rank, 4, {.hasCommId = false}, "0x77" + std::to_string(rank), "")) {
        if (const std::size_t at = line.find(" - Init"); at != std::string::npos) {
          line.insert(at, " parent 0x55d0 splitCount 1 color " + std::to_string(node + 3) + " key 0");
        }
        text += prefix + line + "\n";
      }
    }
  }
  const Run run = must(readLogs({{text, "log"}}));
  QCOMPARE(run.communicators.size(), std::size_t{3});
  QCOMPARE(ringsOf(run.communicators[0]), ringsOf(large));
  for (int node = 0; node < 2; ++node) {
    const Communicator& split = run.communicators[static_cast<std::size_t>(node) + 1];
    QCOMPARE(ringsOf(split), ringsOf(small));
    QCOMPARE(split.hosts, std::vector<std::string>{"box" + std::to_string(node)});
    QCOMPARE(split.choices.size(), std::size_t{1});
  }
}

void TestNccl::oldAndPartialLogs() {
  std::mt19937 random(5);
  const ChannelSet set = goldenSet();
  // Rank 0 alone, with whole ring lines.
  std::string text;
  for (const std::string& line : linesOfRank(set, 0, 8, {}, "0x1", "0x2")) {
    text += "h:1:2 [0] NCCL INFO " + line + "\n";
  }
  Run run = must(readLogs({{text, "log"}}));
  QCOMPARE(ringsOf(run.communicators.front()), ringsOf(set));
  QVERIFY(run.communicators.front().trees.empty());
  QVERIFY(!run.missing.empty());
  // The same with cut ring lines: nothing is made up.
  text.clear();
  for (const std::string& line : linesOfRank(set, 0, 8, {.source = Source::cutLines}, "0x1", "0x2")) {
    text += "h:1:2 [0] NCCL INFO " + line + "\n";
  }
  run = must(readLogs({{text, "log"}}));
  QVERIFY(run.communicators.front().rings.empty());
  QVERIFY(std::any_of(run.missing.begin(), run.missing.end(),
                      [](const std::string& one) { return one.find("NCCL_DEBUG_SUBSYS") != std::string::npos; }));
  QVERIFY(!readLogs({{"nothing", "log"}}));
  // Without INIT there is no rank line.
  run = must(readLogs({{"h:1:2 [0] NCCL INFO Channel 00/01 :    0   2   1\n", "log"}}));
  QCOMPARE(ringsOf(run.communicators.front()), (std::vector<std::vector<int>>{{0, 2, 1}}));
}

void TestNccl::choices() {
  const std::string text =
      "b:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1000 - Init COMPLETE\n"
      "b:1:2 [0] NCCL INFO 1024 Bytes -> Algo 1 proto 0 time 62.05\n"
      "b:1:2 [0] NCCL INFO AllReduce: 2048 Bytes -> Algo 0 proto 2 time 12.5\n"
      "b:1:2 [0] NCCL INFO AllGather: 512 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={2..5}\n"
      "b:1:2 [0] NCCL INFO AllGather: 512 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={2..5}\n"
      "b:1:2 [0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8 nthreads 512\n";
  const Run run = must(readLogs({{text, "log"}}));
  const auto& choices = run.communicators.front().choices;
  QCOMPARE(choices.size(), std::size_t{4});
  QCOMPARE(QString::fromStdString(choices[0].algorithm + choices[0].protocol), QStringLiteral("RingLL"));
  QCOMPARE(choices[0].bytes, std::int64_t{1024});
  QCOMPARE(QString::fromStdString(choices[1].collective), QStringLiteral("allreduce"));
  QCOMPARE(QString::fromStdString(choices[1].protocol), QStringLiteral("Simple"));
  QCOMPARE(choices[2].bytes, std::int64_t{2048});
  QCOMPARE(choices[2].loggedBytes, std::int64_t{512});
  QCOMPARE(choices[2].channels.value_or(0), 4);
  QCOMPARE(choices[2].times, 2);
  QCOMPARE(choices[3].channels.value_or(0), 8);
}

void TestNccl::estimates() {
  const std::string text =
      "b:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1000 commId 0x3 - Init START\n"
      "b:1:2 [0] NCCL INFO   Algorithm   |                            Tree           |                            "
      "Ring           |\n"
      "b:1:2 [0] NCCL INFO    AllReduce |    15.2/   9.7 |    31.5/  28.6 |    64.4/  36.8 |    15.0/  22.3 |    "
      "40.6/  42.1 |    56.0/  45.7 |\n";
  const Run run = must(readLogs({{text, "log"}}));
  const auto& estimates = run.communicators.front().estimates;
  QCOMPARE(estimates.size(), std::size_t{6});
  QCOMPARE(QString::fromStdString(estimates[4].algorithm + estimates[4].protocol), QStringLiteral("RingLL128"));
  QCOMPARE(estimates[4].latency.count(), 40.6);
}

void TestNccl::testsJson() {
  const std::string text =
      R"({"version":3,"nccl_version":"2.28.9","args":["./all_reduce_perf","-b","8"],"config":{"devices":[{"rank":0},{"rank":1}]},)"
      R"("results":[{"size":1024,"count":256,"type":"float","redop":"sum","out_of_place":{"time":12.5,"alg_bw":0.08,)"
      R"("bus_bw":0.08,"nwrong":0},"in_place":{"time":12.0,"alg_bw":0.09,"bus_bw":0.09,"nwrong":"N/A"}}]})";
  QVERIFY(isTestsJson(text));
  const io::NcclTable table = must(readTestsJson(text, "out.json"));
  QCOMPARE(QString::fromStdString(table.collective), QStringLiteral("allreduce"));
  QCOMPARE(table.ranks, 2);
  QCOMPARE(table.rows.front().outOfPlace->time.count(), 12.5);
  QVERIFY(!readTestsJson(R"({"results":[]})", "out.json"));
}

void TestNccl::inspector() {
  std::string text;
  for (int rank = 0; rank < 2; ++rank) {
    for (int call = 0; call < 3; ++call) {
      text += R"({"header":{"id":"0x1","rank":)" + std::to_string(rank) +
              R"(,"n_ranks":2,"nnodes":1},"metadata":{},"coll_perf":{"coll":"AllReduce","coll_sn":)" +
              std::to_string(call) + R"(,"coll_msg_size_bytes":4096,"coll_exec_time_us":)" +
              std::to_string(10 + 5 * rank) + R"(,"coll_algobw_gbs":1.5,"coll_busbw_gbs":1.5}})" + "\n";
    }
  }
  text += R"({"header":{"id":"0x1","ra)";
  const auto calls = must(readInspector(text, "inspector"));
  QCOMPARE(calls.size(), std::size_t{1});
  QCOMPARE(calls.front().calls, 3);
  QCOMPARE(calls.front().time.count(), 15.0);
  QCOMPARE(calls.front().slowestRank.value_or(-1), 1);
}

void TestNccl::largeLog() {
  std::mt19937 random(3);
  const ChannelSet set = randomSet(random, 128, 8, 4);
  const std::string text = logOf({{set, 8}}, {.source = Source::edges}, random, {"0x5"});
  const Run run = must(readLogs({{text, "log"}}));
  QCOMPARE(ringsOf(run.communicators.front()), ringsOf(set));
}

void TestNccl::load() {
  // Eight GPUs at one switch: a ring takes as much of each link as it sends.
  const auto fabric = must(fabric::Fabric::build(must(presets::make("dgx-a100", {{"boxes", "1"}}))));
  std::vector<Hop> hops;
  for (int i = 0; i < 8; ++i) {
    hops.push_back({i, (i + 1) % 8, -1, -1});
  }
  Ways ways(fabric);
  const Load load = must(ringLoad(ways, {Ring{hops}}, Collective::allreduce));
  QVERIFY(load.arc >= 0);
  const Bandwidth link = fabric.arcs()[load.arc].bandwidth;
  QCOMPARE(load.algbw, link * Rational(8, 14));
  QCOMPARE(must(ringLoad(ways, {Ring{hops}, Ring{hops}}, Collective::allgather)).algbw, link * Rational(8, 7));
  QVERIFY(!ringLoad(ways, {}, Collective::allgather));
}

namespace {

/// Eight V100 with four channels of 20 GB/s.
TuningInput voltas() {
  TuningInput input{.ranks = 8, .nodes = 1, .computeCapability = 70};
  input.ring = {.channels = 4, .intraGBps = 20, .interGBps = 20, .pattern = kRing};
  input.tree = {.channels = 4, .intraGBps = 20, .interGBps = 20, .pattern = kBalancedTree};
  return input;
}

TuningInput hoppers() {
  TuningInput input{.ranks = 8, .nodes = 1, .computeCapability = 90};
  input.ring = {.channels = 12, .intraGBps = 30, .interGBps = 30, .pattern = kRing};
  input.tree = {.channels = 12, .intraGBps = 30, .interGBps = 30, .pattern = kTree};
  input.nvls = TunedGraph{.channels = 8, .intraGBps = 40, .interGBps = 60};
  return input;
}

}  // namespace

void TestNccl::tuning() {
  // As NCCL 2.28.9 printed them.
  const auto table = tuningTable(voltas(), Collective::allreduce);
  const std::vector<std::pair<QString, QString>> golden{{QStringLiteral("Tree LL"), QStringLiteral("15.2/9.7")},
                                                        {QStringLiteral("Tree LL128"), QStringLiteral("31.5/28.6")},
                                                        {QStringLiteral("Tree Simple"), QStringLiteral("64.4/36.8")},
                                                        {QStringLiteral("Ring LL"), QStringLiteral("15.0/22.3")},
                                                        {QStringLiteral("Ring LL128"), QStringLiteral("40.6/42.1")},
                                                        {QStringLiteral("Ring Simple"), QStringLiteral("56.0/45.7")}};
  QCOMPARE(table.size(), golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    QCOMPARE(QString::fromStdString(table[i].algorithm + " " + table[i].protocol), golden[i].first);
    QCOMPARE(QString::number(table[i].latency.count(), 'f', 1) + "/" +
                 QString::number(table[i].algbw.gigabytesPerSecond(), 'f', 1),
             golden[i].second);
  }
}

void TestNccl::tunedAsNccl_data() {
  QTest::addColumn<QString>("given");
  QTest::addColumn<QStringList>("expected");
  QFile file(QStringLiteral(COPPICE_TEST_DATA "/nccl/tuning_2.30.7.txt"));
  QVERIFY(file.open(QIODevice::ReadOnly | QIODevice::Text));
  QString given;
  QStringList expected;
  const auto flush = [&] {
    if (!given.isEmpty()) {
      QTest::newRow(given.toUtf8().constData()) << given << expected;
    }
  };
  while (!file.atEnd()) {
    const QString line = QString::fromUtf8(file.readLine()).trimmed();
    if (line.startsWith(QStringLiteral("case"))) {
      flush();
      given = line;
      expected.clear();
    } else if (!line.startsWith(u'#') && !line.isEmpty()) {
      expected << line;
    }
  }
  flush();
}

/// The whole table and two times of each entry, as NCCL's own code gives them.
void TestNccl::tunedAsNccl() {
  QFETCH(QString, given);
  QFETCH(QStringList, expected);
  int amd = 0;
  int isSame = 0;
  int nvlink = 0;
  TuningInput input;
  TunedGraph nvls;
  QCOMPARE(std::sscanf(given.toUtf8().constData(),
                       "case ranks %d nodes %d cc %d amd %d ch %d %lf/%lf pattern %d same %d nvls %d %lf/%lf nvl %d",
                       &input.ranks, &input.nodes, &input.computeCapability, &amd, &input.ring.channels,
                       &input.ring.intraGBps, &input.ring.interGBps, &input.tree.pattern, &isSame, &nvls.channels,
                       &nvls.intraGBps, &nvls.interGBps, &nvlink),
           13);
  input.isAmd = amd != 0;
  input.hasNvlink = input.hasLl128 = nvlink != 0;
  input.channels = 2 * input.ring.channels;
  input.ring.isSame = isSame != 0;
  const int pattern = input.tree.pattern;
  input.tree = input.ring;
  input.tree.pattern = pattern;
  input.nvls = nvls;
  QStringList found;
  for (const Collective collective : {Collective::broadcast, Collective::reduce, Collective::allgather,
                                      Collective::reduceScatter, Collective::allreduce}) {
    for (const Estimate& estimate : tuningTable(input, collective)) {
      found << QString::fromStdString(estimate.collective + " " + estimate.algorithm + " " + estimate.protocol) +
                   QStringLiteral(" %1 %2 %3 %4")
                       .arg(estimate.latency.count(), 0, 'f', 2)
                       .arg(estimate.algbw.gigabytesPerSecond(), 0, 'f', 3)
                       .arg(estimatedTime(input, estimate, 1 << 16).count(), 0, 'f', 2)
                       .arg(estimatedTime(input, estimate, 1 << 28).count(), 0, 'f', 1);
    }
  }
  const auto keyOf = [](const QString& line) {
    return line.section(u' ', 0, 2)
        .toLower()
        .replace(QStringLiteral("reducescatter"), QStringLiteral("reduce_scatter"));
  };
  QCOMPARE(found.size(), expected.size());
  for (const QString& line : expected) {
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const QString& own) { return keyOf(own) == keyOf(line); });
    QVERIFY2(same != found.end(), qPrintable(line));
    for (int field = 3; field < 7; ++field) {
      const double golden = line.section(u' ', field, field).toDouble();
      const double own = same->section(u' ', field, field).toDouble();
      // NCCL counts in single precision.
      QVERIFY2(std::abs(own - golden) <= 0.011 + 2e-4 * golden, qPrintable(line + QStringLiteral(" / ") + *same));
    }
  }
}

void TestNccl::tunedChoices() {
  const auto told = [](const TuningInput& input, std::int64_t bytes) {
    const auto table = tuningTable(input, Collective::allreduce);
    const Estimate* choice = tunedChoice(input, table, bytes);
    return QString::fromStdString(choice->algorithm + "/" + choice->protocol) + " " +
           QString::number(estimatedTime(input, *choice, bytes).count(), 'f', 2);
  };
  QCOMPARE(told(voltas(), 1 << 20), QStringLiteral("Ring/LL 62.05"));
  QCOMPARE(told(voltas(), 1 << 24), QStringLiteral("Ring/Simple 423.00"));
  QCOMPARE(told(hoppers(), 1 << 20), QStringLiteral("Ring/LL 28.01"));
  QCOMPARE(told(hoppers(), 1 << 22), QStringLiteral("NVLS/Simple 40.42"));
  QCOMPARE(told(hoppers(), 1 << 30), QStringLiteral("NVLS/Simple 3972.58"));
  QVERIFY(tuningTable(voltas(), Collective::alltoall).empty());
}

void TestNccl::tunerFile() {
  const std::string csv = writeTunerCsv(
      {{Collective::allreduce, 0, 1023, "Ring", "LL", 8}, {Collective::reduceScatter, 0, 9, "NVLSTree", "Simple", 16}},
      2, 16);
  QCOMPARE(QString::fromStdString(csv),
           QStringLiteral("allreduce,0,1023,ring,ll,8,2,16\nreducescatter,0,9,nvls_tree,simple,16,2,16\n"
                          "allreduce,0,1023,ring,ll,8,-1,-1\nreducescatter,0,9,ring,simple,16,-1,-1\n"));
}

/// Times made with known factors give them back; with one point both parts have one factor.
void TestNccl::fits() {
  const TuningInput input = voltas();
  const std::vector<Estimate> table = tuningTable(input, Collective::allreduce);
  const auto entry = std::find_if(table.begin(), table.end(), [](const Estimate& each) {
    return each.algorithm == "Ring" && each.protocol == "Simple";
  });
  QVERIFY(entry != table.end());
  std::vector<TunedPoint> points;
  for (const std::int64_t bytes : {1 << 12, 1 << 20, 1 << 28}) {
    Estimate changed = *entry;
    changed.latency *= 3;
    changed.algbw = changed.algbw * 0.5;
    points.push_back({"Ring", "Simple", bytes, estimatedTime(input, changed, bytes)});
  }
  const std::vector<TuningFit> fits = fitTuning(input, table, points);
  QCOMPARE(fits.size(), table.size());
  const TuningFit& own = fits[static_cast<std::size_t>(entry - table.begin())];
  QVERIFY(std::abs(own.latency - 3) < 1e-9 && std::abs(own.transfer - 2) < 1e-9);
  // Others follow what is known of all.
  QCOMPARE(own.points, 3);
  QVERIFY(std::abs(fits.front().latency - 3) < 1e-9);
  const std::vector<Estimate> made = fitted(table, fits);
  QVERIFY(std::abs(estimatedTime(input, made[static_cast<std::size_t>(entry - table.begin())], 1 << 20).count() -
                   points[1].time.count()) < 1e-6);
  const std::vector<TuningFit> single =
      fitTuning(input, table, {{"Ring", "Simple", 1 << 20, estimatedTime(input, *entry, 1 << 20) * 2.0}});
  QVERIFY(std::abs(single.front().latency - 2) < 1e-9 && std::abs(single.front().transfer - 2) < 1e-9);
  for (const TuningFit& none : fitTuning(input, table, {})) {
    QCOMPARE(none, TuningFit());
  }
}

QTEST_APPLESS_MAIN(TestNccl)
#include "tst_nccl.moc"
