// SPDX-License-Identifier: Apache-2.0
// Logs as launchers and collectors print them, and what is measured beside them.
#include <QTest>
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "nccl/in_network_load.hpp"
#include "nccl/log_reader.hpp"
#include "nccl/measurements.hpp"
#include "nccl/ras.hpp"
#include "nccl/reaches.hpp"
#include "nccl/search.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

using namespace coppice;
using namespace coppice::nccl;
using test::must;

namespace {

constexpr int kRanks = 6;
constexpr int kChannels = 3;

/// What a log says, by hand.
struct Truth {
  std::vector<std::vector<int>> rings;
  std::vector<std::vector<int>> trees;  ///< parents

  [[nodiscard]] int next(int channel, int rank) const {
    const auto& ring = rings[channel];
    const auto at = std::find(ring.begin(), ring.end(), rank) - ring.begin();
    return ring[static_cast<std::size_t>(at + 1) % ring.size()];
  }
};

Truth randomTruth(std::mt19937& random) {
  Truth truth;
  for (int channel = 0; channel < kChannels; ++channel) {
    std::vector<int> ring(kRanks);
    std::iota(ring.begin(), ring.end(), 0);
    std::shuffle(ring.begin() + 1, ring.end(), random);
    truth.rings.push_back(ring);
    std::vector<int> parents(kRanks, -1);
    std::shuffle(ring.begin(), ring.end(), random);
    for (int i = 1; i < kRanks; ++i) {
      parents[ring[i]] = ring[(i - 1) / 2];
    }
    truth.trees.push_back(parents);
  }
  return truth;
}

std::string number(int value) {
  return std::to_string(value);
}

/// The lines of a rank without prefix. @param source "lines", "hops" or "edges"
std::vector<std::string> linesOf(const Truth& truth, int rank, const std::string& source) {
  const std::string head = "comm 0x55d" + number(rank) + "0 rank " + number(rank) + " nranks " + number(kRanks) +
                           " cudaDev " + number(rank) + " nvmlDev " + number(rank) + " busId " + number(rank) +
                           "b000 commId 0x9ad1";
  std::vector<std::string> lines{"[Rank " + number(rank) + "] ncclCommInitRank " + head + " - Init START"};
  std::string trees = "Trees";
  std::vector<std::string> edges;
  std::vector<std::string> treeEdges;
  for (int channel = 0; channel < kChannels; ++channel) {
    const auto& parents = truth.trees[channel];
    std::vector<int> children;
    for (int other = 0; other < kRanks; ++other) {
      if (parents[other] == rank) {
        children.push_back(other);
      }
    }
    children.resize(3, -1);
    trees += " [" + number(channel) + "] " + number(children[0]) + "/" + number(children[1]) + "/" +
             number(children[2]) + "->" + number(rank) + "->" + number(parents[rank]);
    if (source == "lines" && rank == 0) {
      std::string line = "Channel 0" + number(channel) + "/0" + number(kChannels) + " :";
      for (const int one : truth.rings[channel]) {
        line += " " + number(one);
      }
      lines.push_back(line);
    }
    const int next = truth.next(channel, rank);
    const auto edge = [&](int to) {
      return "Channel 0" + number(channel) + "/0 : " + number(rank) + "[" + number(rank) + "] -> " + number(to) + "[" +
             number(to) + "] via P2P/CUMEM/read";
    };
    if (source == "hops") {
      int previous = 0;
      while (truth.next(channel, previous) != rank) {
        ++previous;
      }
      lines.push_back("Ring 0" + number(channel) + " : " + number(previous) + " -> " + number(rank) + " -> " +
                      number(next));
    } else if (source == "edges") {
      edges.push_back(edge(next));
      if (parents[rank] >= 0 && parents[rank] != next) {
        treeEdges.push_back(edge(parents[rank]));
      }
    }
  }
  if (source != "hops") {
    lines.insert(lines.begin() + 1, "comm 0x55d" + number(rank) + "0 rank " + number(rank) + " nRanks " +
                                        number(kRanks) + " nNodes 1 localRanks " + number(kRanks) + " localRank " +
                                        number(rank) + " MNNVL 0");
  }
  lines.push_back(trees);
  lines.insert(lines.end(), edges.begin(), edges.end());
  lines.emplace_back("Connected all rings, use ring PXN 0 GDR 1");
  lines.insert(lines.end(), treeEdges.begin(), treeEdges.end());
  lines.emplace_back("Connected all trees");
  lines.push_back("ncclCommInitRank " + head + " - Init COMPLETE");
  return lines;
}

/// What is put before the lines of a rank.
std::string tagOf(const QString& style, int rank) {
  const std::map<QString, std::string> tags{
      {"none", ""},
      {"mpirun", "[1," + number(rank) + "]<stdout>:"},
      {"mpirun with times", "Sun Nov 29 10:00:0" + number(rank) + " 2026[1," + number(rank) + "]<stdout>:"},
      {"PRRTE", "[prterun-h-123@1," + number(rank) + "]<stdout>: "},
      {"Slurm", number(rank) + ": "},
      {"Kubernetes", "2026-01-31T10:00:0" + number(rank) + ".123456789Z "},
      {"pod", "[pod/train-" + number(rank) + "/main] "},
      {"torchrun", "[default" + number(rank) + "]:"},
      {"Ray in colours", "\x1b[36m(Worker pid=10" + number(rank) + ", ip=10.0.0.1)\x1b[0m "},
      {"colours", "\x1b[1;36m"},
      {"NCCL's times", "[2026-01-31 10:00:0" + number(rank) + "] "},
      {"Hydra", "[" + number(rank) + "] "},
      {"blanks", "    "}};
  return tags.at(style);
}

std::vector<std::vector<int>> ringsOf(const Communicator& communicator) {
  std::vector<std::vector<int>> rings;
  for (const LoggedRing& ring : communicator.rings) {
    rings.push_back(ring.ranks);
  }
  return rings;
}

std::vector<std::vector<int>> treesOf(const Communicator& communicator) {
  std::vector<std::vector<int>> trees;
  for (const LoggedTree& tree : communicator.trees) {
    trees.push_back(tree.parents);
  }
  return trees;
}

fabric::NodeDescription nodeOf(const std::string& id, fabric::NodeKind kind) {
  fabric::NodeDescription node;
  node.id = id;
  node.kind = toString(kind);
  node.box = "server";
  return node;
}

/// Eight GPUs on the root ports of two sockets, as PCI numbers them: `together` on one, then as many on the other, in
/// turn.
fabric::Fabric pcieBox(int together = 2, int between = 16) {
  fabric::Description box;
  box.name = "PCIe box";
  const auto add = [&](const std::string& id, fabric::NodeKind kind) { box.nodes.push_back(nodeOf(id, kind)); };
  const auto link = [&](const std::string& a, const std::string& b, int bandwidth) {
    box.links.push_back({.src = a, .dst = b, .bandwidth = number(bandwidth), .duplex = true});
  };
  add("cpu0", fabric::NodeKind::switchNode);
  add("cpu1", fabric::NodeKind::switchNode);
  link("cpu0", "cpu1", between);
  for (int gpu = 0; gpu < 8; ++gpu) {
    add("gpu" + number(gpu), fabric::NodeKind::gpu);
    link("gpu" + number(gpu), gpu / together % 2 == 0 ? "cpu0" : "cpu1", 48);
  }
  return must(fabric::Fabric::build(box));
}

fabric::Fabric presetOf(const std::string& name, const std::map<std::string, std::string>& values) {
  return must(fabric::Fabric::build(must(presets::make(name, values))));
}

std::vector<HeadRanks> headsOf(int count, int boxes) {
  std::vector<HeadRanks> heads(static_cast<std::size_t>(count));
  for (int head = 0; head < count; ++head) {
    for (int box = 0; box < boxes; ++box) {
      heads[head].ranks.push_back(8 * box + head);
    }
  }
  return heads;
}

}  // namespace

class TestNcclRuns : public QObject {
  Q_OBJECT

private slots:
  void tags_data();
  void tags();
  void shortenedPrefixes_data();
  void shortenedPrefixes();
  void withoutPrefixes();
  void copiedAndLostLines();
  void splitsOfOneColour();
  void openRings();
  void codedVersion();
  void collnetLines();
  void nvls();
  void reaches();
  void nvlsOnStars();
  void collnet();
  void pcie();
  void turin();
  void pathKinds_data();
  void pathKinds();
  void rasText();
  void rasJson();
  void lateRanks();
};

void TestNcclRuns::tags_data() {
  QTest::addColumn<QString>("style");
  QTest::addColumn<QString>("source");
  for (const char* style : {"none", "mpirun", "mpirun with times", "PRRTE", "Slurm", "Kubernetes", "pod", "torchrun",
                            "Ray in colours", "colours", "NCCL's times", "Hydra", "blanks"}) {
    for (const char* source : {"lines", "hops", "edges"}) {
      QTest::addRow("%s, %s", style, source) << QString(style) << QString(source);
    }
  }
}

/// Whatever stands before lines, also where a process prints into the line of another: what puts tags before whole
/// lines tags the rest of such a line, too.
void TestNcclRuns::tags() {
  QFETCH(QString, style);
  QFETCH(QString, source);
  std::mt19937 random(7);
  for (int round = 0; round < 10; ++round) {
    const Truth truth = randomTruth(random);
    std::vector<std::vector<std::string>> lines;
    for (int rank = 0; rank < kRanks; ++rank) {
      lines.push_back(linesOf(truth, rank, source.toStdString()));
    }
    const auto prefix = [](int rank) {
      return "box:" + number(100 + rank) + ":" + number(200 + rank) + " [" + number(rank) + "] NCCL INFO ";
    };
    const std::string end = round % 3 == 2 ? "\r\n" : "\n";
    std::string text = tagOf(style, 0) + "NCCL version 2.30.7+cuda12.9" + end;
    std::vector<std::size_t> at(kRanks, 0);
    for (std::size_t left = kRanks * lines.front().size(); left > 0;) {
      const int rank = static_cast<int>(random() % kRanks);
      const int other = static_cast<int>(random() % kRanks);
      if (at[rank] >= lines[rank].size()) {
        continue;
      }
      const std::string& line = lines[rank][at[rank]++];
      left = left > 0 ? left - 1 : 0;
      if (random() % 4 == 0 && other != rank && at[other] + 1 < lines[other].size()) {
        const std::size_t cut = random() % (line.size() + 1);
        text += tagOf(style, rank) + prefix(rank) + line.substr(0, cut) + prefix(other) + lines[other][at[other]++] +
                end + tagOf(style, rank) + line.substr(cut) + end;
        left = left > 0 ? left - 1 : 0;
      } else {
        text += tagOf(style, rank) + prefix(rank) + line + end;
      }
      left = 0;
      for (int each = 0; each < kRanks; ++each) {
        left += lines[each].size() - at[each];
      }
    }
    const Run run = must(readLogs({{text, "x"}}));
    QCOMPARE(QString::fromStdString(run.version), QString("2.30.7"));
    QCOMPARE(run.communicators.size(), std::size_t{1});
    QCOMPARE(run.communicators.front().hosts, std::vector<std::string>{"box"});
    QCOMPARE(ringsOf(run.communicators.front()), truth.rings);
    QCOMPARE(treesOf(run.communicators.front()), truth.trees);
  }
}

void TestNcclRuns::shortenedPrefixes_data() {
  QTest::addColumn<QString>("style");
  for (const char* style : {"host:process [device]", "[process:thread][device]", "[time][process:thread][device]",
                            "[device]", "time [device]"}) {
    QTest::newRow(style) << QString(style);
  }
}

/// People take hosts or threads out of what they paste.
void TestNcclRuns::shortenedPrefixes() {
  QFETCH(QString, style);
  std::mt19937 random(13);
  const auto prefix = [&](int rank) {
    const std::string device = "[" + number(rank) + "] NCCL INFO ";
    const std::string process = number(100 + rank);
    if (style == "host:process [device]") {
      return "box:" + process + " " + device;
    }
    if (style.endsWith("[device]") && style.contains("process")) {
      return std::string(style.startsWith("[time]") ? "[2031-10-09 14:25:46.7]" : "") + "[" + process + ":" +
             number(200 + rank) + "]" + device;
    }
    return std::string(style.startsWith("time") ? "14:25:46 " : "") + device;
  };
  for (int round = 0; round < 10; ++round) {
    const Truth truth = randomTruth(random);
    std::vector<std::vector<std::string>> lines;
    for (int rank = 0; rank < kRanks; ++rank) {
      lines.push_back(linesOf(truth, rank, round % 2 == 0 ? "lines" : "edges"));
    }
    std::string text;
    for (std::size_t at = 0; at < lines.front().size(); ++at) {
      for (int rank = 0; rank < kRanks; ++rank) {
        text += at < lines[rank].size() ? prefix(rank) + lines[rank][at] + "\n" : std::string();
      }
    }
    QVERIFY(isLog(text));
    const Run run = must(readLogs({{text, "x"}}));
    QCOMPARE(run.communicators.size(), std::size_t{1});
    QCOMPARE(ringsOf(run.communicators.front()), truth.rings);
    QCOMPARE(treesOf(run.communicators.front()), truth.trees);
  }
}

/// One rank's lines as pages quote them.
void TestNcclRuns::withoutPrefixes() {
  const std::string text =
      "NCCL INFO comm 0x7f00 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0\n"
      "NCCL INFO Channel 00/02 :    0   3   2   1\n"
      "NCCL INFO Channel 01/02 :    0   1   2   3\n"
      "NCCL INFO Trees [0] 1/-1/-1->0->-1\n";
  QVERIFY(isLog(text));
  const Run run = must(readLogs({{text, "x"}}));
  QCOMPARE(run.communicators.size(), std::size_t{1});
  QCOMPARE(run.communicators.front().ranks, 4);
  QCOMPARE(run.communicators.front().hosts, std::vector<std::string>{});
  QCOMPARE(ringsOf(run.communicators.front()), (std::vector<std::vector<int>>{{0, 3, 2, 1}, {0, 1, 2, 3}}));
}

/// Lines that are copied change nothing; of lines that are lost no wrong ring and no wrong tree comes.
void TestNcclRuns::copiedAndLostLines() {
  std::mt19937 random(11);
  int recovered = 0;
  for (int round = 0; round < 60; ++round) {
    const Truth truth = randomTruth(random);
    const bool isCopied = round % 2 == 0;
    std::string text = "NCCL version 2.28.9+cuda12.9\n";
    for (int rank = 0; rank < kRanks; ++rank) {
      for (const std::string& line : linesOf(truth, rank, round % 3 == 0 ? "hops" : "edges")) {
        if (!isCopied && random() % 12 == 0) {
          continue;
        }
        const std::string whole = "box:" + number(100 + rank) + ":200 [" + number(rank) + "] NCCL INFO " + line + "\n";
        text += whole + (isCopied && random() % 5 == 0 ? whole : "");
      }
    }
    const Run run = must(readLogs({{text, "x"}}));
    QCOMPARE(run.communicators.size(), std::size_t{1});
    const Communicator& found = run.communicators.front();
    for (const LoggedRing& ring : found.rings) {
      QCOMPARE(ring.ranks, truth.rings[ring.channel]);
      ++recovered;
    }
    for (const LoggedTree& tree : found.trees) {
      QCOMPARE(tree.parents, truth.trees[tree.channel]);
    }
    if (isCopied) {
      QCOMPARE(found.rings.size(), std::size_t{kChannels});
      QCOMPARE(found.trees.size(), std::size_t{kChannels});
    } else if (found.rings.size() < kChannels) {
      QVERIFY(!found.missing.empty());
    }
  }
  QVERIFY(recovered > 120);
}

/// Before 2.23 the id of a split is made of its parent and colour alone: two splits have the same.
void TestNcclRuns::splitsOfOneColour() {
  std::string text = "NCCL version 2.22.3+cuda12.5\n";
  for (int rank = 0; rank < 4; ++rank) {
    const std::string prefix = "box:" + number(10 + rank) + ":20 [" + number(rank) + "] NCCL INFO ";
    const std::string own = "0x5" + number(rank);
    text += prefix + "ncclCommInitRank comm " + own + "0 rank " + number(rank) + " nranks 4 cudaDev " + number(rank) +
            " nvmlDev " + number(rank) + " busId 1b000 commId 0xa - Init START\n";
    for (int split = 1; split <= 2; ++split) {
      // First by pairs, then by parity.
      const int color = split == 1 ? rank / 2 : rank % 2;
      const int inside = split == 1 ? rank % 2 : rank / 2;
      text += prefix + "ncclCommSplit comm " + own + number(split) + " rank " + number(inside) + " nranks 2 cudaDev " +
              number(rank) + " nvmlDev " + number(rank) + " busId 1b000 parent " + own + "0 color " + number(color) +
              " key 0 commId 0xb" + number(color) + " - Init START\n";
    }
  }
  const Run run = must(readLogs({{text, "x"}}));
  QCOMPARE(run.communicators.size(), std::size_t{5});
  for (const Communicator& communicator : run.communicators) {
    QVERIFY(std::all_of(communicator.places.begin(), communicator.places.end(),
                        [](const RankPlace& place) { return place.host == "box"; }));
  }
}

/// Connections that several rings could have say nothing.
void TestNcclRuns::openRings() {
  std::string text = "NCCL version 2.28.9+cuda12.9\n";
  for (int rank = 0; rank < 4; ++rank) {
    const std::string prefix = "box:" + number(10 + rank) + ":20 [" + number(rank) + "] NCCL INFO ";
    text += prefix + "comm 0x5" + number(rank) + " rank " + number(rank) + " nranks 4 cudaDev " + number(rank) +
            " busId 1b000 commId 0xa - Init START\n";
    for (int to = 0; to < 4; ++to) {
      if (to != rank) {
        text += prefix + "Channel 00/0 : " + number(rank) + "[0] -> " + number(to) + "[0] via P2P/IPC\n";
      }
    }
  }
  const Run run = must(readLogs({{text, "x"}}));
  QVERIFY(run.communicators.front().rings.empty());
  QVERIFY(!run.communicators.front().missing.empty());
}

void TestNcclRuns::codedVersion() {
  const Run run =
      must(readLogs({{"# nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22809\n"
                      "box:1:1 [0] NCCL INFO Bootstrap : Using eth0\n",
                      "x"}}));
  QCOMPARE(QString::fromStdString(run.version), QString("2.28.9"));
}

void TestNcclRuns::collnetLines() {
  std::string text;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string prefix = "box" + number(rank) + ":10:20 [0] NCCL INFO ";
    text += prefix + "comm 0x50 rank " + number(rank) + " nranks 2 cudaDev 0 busId 1b000 commId 0xa - Init START\n" +
            prefix + "CollNet 00/0 : " + number(rank) + " [send] via COLLNET/SHARP/0/GDRDMA\n" + prefix +
            "Connected Collnet Chains  [0] -1->" + number(rank) + "->2 [1] -1->" + number(rank) + "->2\n";
  }
  const Run run = must(readLogs({{text, "x"}}));
  QCOMPARE(run.communicators.front().collnetHeads, (std::vector<int>{0, 1}));
  QCOMPARE(run.communicators.front().collnetChains.size(), std::size_t{2});
  QCOMPARE(run.communicators.front().collnetChains[1].parents, (std::vector<int>{-1, -1}));
}

/// By hand: GPUs of 450 GB/s send and get 9/8 of the data; in an allgather they get all of it and send an eighth. Two
/// boxes: each head's eighth over its NIC of 50 GB/s.
void TestNcclRuns::nvls() {
  const auto box = presetOf("dgx-h100", {{"boxes", "1"}});
  Ways ways(box);
  QCOMPARE(must(nvlsLoad(ways, headsOf(8, 1), Collective::allreduce)).algbw, Bandwidth(Rational(400)));
  QCOMPARE(must(nvlsLoad(ways, headsOf(8, 1), Collective::allgather)).algbw, Bandwidth(Rational(450)));
  QCOMPARE(must(nvlsLoad(ways, headsOf(8, 1), Collective::reduceScatter)).algbw, Bandwidth(Rational(450)));
  QVERIFY(!nvlsLoad(ways, headsOf(8, 1), Collective::broadcast));
  QVERIFY(!nvlsLoad(ways, {}, Collective::allreduce));
  const auto two = presetOf("dgx-h100", {{"boxes", "2"}, {"network", "rails"}});
  Ways both(two);
  QCOMPARE(must(nvlsLoad(both, headsOf(8, 2), Collective::allreduce)).algbw, Bandwidth(Rational(400)));
  QCOMPARE(must(nvlsTreeLoad(both, headsOf(8, 2))).algbw, Bandwidth(Rational(400)));
  // Half of the heads: theirs is a quarter, over 50 GB/s; heads send 5/4 over NVLink.
  QCOMPARE(must(nvlsTreeLoad(both, headsOf(4, 2))).algbw, Bandwidth(Rational(200)));
  // An inner one of four nodes has three neighbours in one tree and one in the other: twice a head's part.
  const auto four = presetOf("dgx-h100", {{"boxes", "4"}, {"network", "rails"}});
  Ways all(four);
  QCOMPARE(must(nvlsTreeLoad(all, headsOf(8, 4))).algbw, Bandwidth(Rational(200)));
  QVERIFY(!nvlsTreeLoad(all, headsOf(8, 2)));
  // Four boxes: a GPU sends 1/32 of the data over its NIC and gets an eighth, so 50 GB/s give 400.
  QCOMPARE(must(nvlsLoad(all, headsOf(8, 4), Collective::allgather)).algbw, Bandwidth(Rational(400)));
  QCOMPARE(must(nvlsLoad(all, headsOf(8, 4), Collective::reduceScatter)).algbw, Bandwidth(Rational(400)));
  QVERIFY(!nvlsLoad(all, headsOf(4, 4), Collective::allgather));
}

/// Which algorithms have a figure, and what an estimate is limited to. Two boxes without CollNet take NVLSTree.
void TestNcclRuns::reaches() {
  const auto names = [](const std::vector<Reach>& reaches) {
    QStringList list;
    for (const Reach& reach : reaches) {
      list << QString::fromUtf8(reach.algorithm.data(), static_cast<qsizetype>(reach.algorithm.size()));
    }
    return list.join(' ');
  };
  const auto box = presetOf("dgx-h100", {{"boxes", "1"}});
  Ways ways(box);
  ChannelSet set = must(searchAsNccl(ways, {.computeCapability = 90})).channels;
  const auto alone = must(reachesOf(ways, set, Collective::allreduce));
  QCOMPARE(names(alone), QString("Ring Tree NVLS"));
  QCOMPARE(findNvls(alone)->load.algbw, Bandwidth(Rational(400)));
  QCOMPARE(names(must(reachesOf(ways, set, Collective::broadcast))), QString("Ring"));
  QCOMPARE(names(must(reachesOf(ways, set, Collective::allgather))), QString("Ring NVLS"));
  QCOMPARE(names(must(reachesOf(ways, set, Collective::alltoall))), QString());

  const Estimate estimate{.algorithm = "NVLS", .protocol = "Simple", .algbw = Throughput(500)};
  const auto limited = [&](const char* algorithm, const char* protocol) {
    Estimate other = estimate;
    other.algorithm = algorithm;
    other.protocol = protocol;
    return limitedBy(alone, other).algbw;
  };
  QCOMPARE(limited("NVLS", "Simple"), Throughput(400));
  QCOMPARE(limited("NVLS", "LL"), Throughput(200));
  QCOMPARE(limited("NVLS", "LL128"), Throughput(368));
  QCOMPARE(limited("PAT", "Simple"), Throughput(500));

  const auto two = presetOf("dgx-h100", {{"boxes", "2"}, {"network", "rails"}});
  Ways both(two);
  set = must(searchAsNccl(both, {.computeCapability = 90})).channels;
  QCOMPARE(names(must(reachesOf(both, set, Collective::allreduce))), QString("Ring Tree NVLSTree"));
  set.collnetHeads = set.nvlsHeads;
  QCOMPARE(names(must(reachesOf(both, set, Collective::allreduce))), QString("Ring Tree NVLS NVLSTree CollNetDirect"));
  set.rings.front().hops.pop_back();
  QVERIFY(!reachesOf(both, set, Collective::allreduce));
}

/// One switch, GPUs with links of any bandwidth, any heads: the sums of the definition, added up apart.
void TestNcclRuns::nvlsOnStars() {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const int count = 2 + static_cast<int>(random() % 7);
    fabric::Description star;
    star.name = "star";
    star.nodes.push_back(nodeOf("s", fabric::NodeKind::switchNode));
    std::vector<Rational> rates;
    for (int gpu = 0; gpu < count; ++gpu) {
      const int rate = 10 + static_cast<int>(random() % 90);
      rates.emplace_back(rate);
      star.nodes.push_back(nodeOf("g" + number(gpu), fabric::NodeKind::gpu));
      star.links.push_back({.src = "g" + number(gpu), .dst = "s", .bandwidth = number(rate), .duplex = true});
    }
    const auto fabric = must(fabric::Fabric::build(star));
    std::vector<HeadRanks> heads;
    for (int gpu = 0; gpu < count; ++gpu) {
      if (gpu == 0 || random() % 2 == 0) {
        heads.push_back({{gpu}});
      }
    }
    Rational least;
    for (int gpu = 0; gpu < count; ++gpu) {
      const bool isHead =
          std::any_of(heads.begin(), heads.end(), [&](const auto& head) { return head.ranks[0] == gpu; });
      const Rational load = Rational(1) + (isHead ? Rational(1, static_cast<std::int64_t>(heads.size())) : Rational(0));
      least = gpu == 0 ? rates[gpu] / load : std::min(least, rates[gpu] / load);
    }
    Ways ways(fabric);
    QCOMPARE(must(nvlsLoad(ways, heads, Collective::allreduce)).algbw, Bandwidth(least));
  }
}

/// Each GPU exchanges an eighth with the seven other heads, and as a head with the seven others.
void TestNcclRuns::collnet() {
  const auto two = presetOf("dgx-h100", {{"boxes", "2"}, {"network", "rails"}});
  Ways ways(two);
  QCOMPARE(must(collnetDirectLoad(ways, headsOf(8, 2), Collective::allreduce)).algbw, Bandwidth(Rational(1800, 7)));
  // Allgather: an eighth over each NIC, an eighth to each of seven GPUs.
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter}) {
    QCOMPARE(must(collnetDirectLoad(ways, headsOf(8, 2), collective)).algbw, Bandwidth(Rational(400)));
    QVERIFY(!collnetDirectLoad(ways, headsOf(4, 2), collective));
  }
  QVERIFY(!collnetDirectLoad(ways, headsOf(8, 2), Collective::broadcast));
  // A chain through each box, all of it over one NIC of each.
  Tree chain;
  for (int rank = 0; rank < 16; ++rank) {
    chain.parents.push_back(rank % 8 == 0 ? -1 : rank - 1);
  }
  QCOMPARE(must(collnetChainLoad(ways, {chain})).algbw, Bandwidth(Rational(50)));
}

/// From compute capability 100 on, NCCL's search tries no speed below 18 GB/s in a box. Sockets of AMD are joined by 16
/// in its eyes: it falls back to the order of devices, which crosses twice as often as it need.
void TestNcclRuns::pcie() {
  const fabric::Fabric box = pcieBox();
  Ways ways(box);
  for (const auto& [capability, isBad] : {std::pair(120, true), std::pair(80, false)}) {
    const SearchOptions options{.computeCapability = capability};
    const FoundGraphs stock = must(searchAsNccl(ways, options));
    const FoundGraphs best = must(searchBest(ways, stock, options));
    QCOMPARE(stock.allreduce.algbw, Bandwidth(isBad ? Rational(32, 7) : Rational(64, 7)));
    QCOMPARE(best.allreduce.algbw, Bandwidth(Rational(64, 7)));
    if (isBad) {
      QCOMPARE(stock.channels.rings.front().ranks(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
  }
}

/// NVIDIA/nccl #2127: eight RTX PRO 6000 on two sockets of AMD Turin, four on each, which that NCCL joins by 32 GB/s.
/// Its log has "Pattern 4 ... bw 15/15, type SYS/PIX" and 2 channels.
void TestNcclRuns::turin() {
  const fabric::Fabric box = pcieBox(4, 32);
  Ways ways(box);
  const FoundGraphs stock = must(searchAsNccl(ways, {.computeCapability = 120}));
  const Graph* const rings = stock.graphs.find(kRingGraph);
  QCOMPARE(rings->channelCount, 2);
  QCOMPARE(QString::fromStdString(rings->speedIntra), QString("15"));
  QCOMPARE(QString::fromStdString(rings->typeIntra), QString("SYS"));
  QCOMPARE(QString::fromStdString(rings->typeInter), QString("PIX"));
  // By hand: 7/4 of the data between the sockets, which no ring can do with less; PCIe at 48 would carry 192/7.
  QCOMPARE(stock.allreduce.algbw, Bandwidth(Rational(128, 7)));
  QVERIFY(!(must(searchBest(ways, stock, {.computeCapability = 120})).allreduce.algbw < stock.allreduce.algbw));
}

void TestNcclRuns::pathKinds_data() {
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QString>("intra");
  QTest::addColumn<QString>("inter");
  const QStringList outside{"n0 ib 25", "n1 ib 25", "m0 ib 25", "m1 ib 25"};
  const QStringList nvlink{"g0 nvs 300", "g1 nvs 300", "h0 nvt 300", "h1 nvt 300"};
  QTest::newRow("NVSwitch, NICs at GPUs")
      << nvlink + outside + QStringList{"g0 n0 25", "g1 n1 25", "h0 m0 25", "h1 m1 25"} << "NVL"
      << "PIX";
  QTest::newRow("slow NVSwitch") << QStringList{"g0 nvs 20", "g1 nvs 20", "h0 nvt 20", "h1 nvt 20"} + outside +
                                        QStringList{"g0 n0 25", "g1 n1 25", "h0 m0 25", "h1 m1 25"}
                                 << "NVL"
                                 << "PIX";
  QTest::newRow("NVSwitch with the NICs")
      << nvlink + outside + QStringList{"nvs n0 25", "nvs n1 25", "nvt m0 25", "nvt m1 25"} << "NVL"
      << "PIX";
  QTest::newRow("NVSwitch, NICs behind PCIe switches")
      << nvlink + outside + QStringList{"g0 pcie0 50", "g1 pcie0 50", "pcie0 n0 50", "pcie0 n1 50",
                                        "h0 pcie1 50", "h1 pcie1 50", "pcie1 m0 50", "pcie1 m1 50"}
      << "NVL"
      << "PIX";
  QTest::newRow("NVSwitch, NICs behind CPUs")
      << nvlink + outside + QStringList{"g0 cpu0 50", "g1 cpu0 50", "cpu0 n0 50", "cpu0 n1 50",
                                        "h0 cpu1 50", "h1 cpu1 50", "cpu1 m0 50", "cpu1 m1 50"}
      << "NVL"
      << "PHB";
  QTest::newRow("PCIe switches") << outside + QStringList{"g0 pcie0 50", "g1 pcie0 50", "pcie0 n0 50", "pcie0 n1 50",
                                                          "h0 pcie1 50", "h1 pcie1 50", "pcie1 m0 50", "pcie1 m1 50"}
                                 << "PIX"
                                 << "PIX";
  QTest::newRow("CPUs") << outside + QStringList{"g0 cpu0 50", "g1 cpu0 50", "cpu0 n0 50", "cpu0 n1 50",
                                                 "h0 cpu1 50", "h1 cpu1 50", "cpu1 m0 50", "cpu1 m1 50"}
                        << "PHB"
                        << "PHB";
  QTest::newRow("links of NVLink between GPUs")
      << outside + QStringList{"g0 g1 25", "h0 h1 25", "g0 n0 25", "g1 n1 25", "h0 m0 25", "h1 m1 25"} << "NVL"
      << "PIX";
}

/// Two boxes of two GPUs (g, h) and two NICs (n, m).
void TestNcclRuns::pathKinds() {
  QFETCH(QStringList, links);
  fabric::Description description;
  std::set<std::string> seen;
  const auto add = [&](const QString& id) {
    if (!seen.insert(id.toStdString()).second) {
      return;
    }
    const QChar first = id[0];
    const bool isGpu = first == 'g' || first == 'h';
    const bool isNic = id.size() == 2 && (first == 'n' || first == 'm');
    const bool isSecond = first == 'h' || first == 'm' || id.endsWith('t') || (id.size() > 2 && id.endsWith('1'));
    description.nodes.push_back(nodeOf(id.toStdString(), isGpu   ? fabric::NodeKind::gpu
                                                         : isNic ? fabric::NodeKind::nic
                                                                 : fabric::NodeKind::switchNode));
    description.nodes.back().box = id == "ib" ? "" : isSecond ? "b" : "a";
  };
  for (const QString& link : links) {
    const QStringList words = link.split(' ');
    add(words[0]);
    add(words[1]);
    description.links.push_back({.src = words[0].toStdString(),
                                 .dst = words[1].toStdString(),
                                 .bandwidth = words[2].toStdString(),
                                 .duplex = true});
  }
  const auto fabric = must(fabric::Fabric::build(description));
  Ways ways(fabric);
  const Graph rings = *must(searchAsNccl(ways)).graphs.find(kRingGraph);
  QTEST(QString::fromStdString(rings.typeIntra), "intra");
  QTEST(QString::fromStdString(rings.typeInter), "inter");
}

void TestNcclRuns::rasText() {
  const std::string text =
      "NCCL version 2.28.9 compiled with CUDA 12.9\n\nJob summary\n===========\n\n  Nodes  Processes\n      2          "
      "8\n"
      "\nCommunicators... (0.00s)\n=============\n\nGroup     Comms     Nodes\n    #  in group  per comm\n    0        "
      " 1\n"
      "\nErrors\n======\n\nDEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
      "\n#0-0 (9ad1) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 7\n\n"
      "Warnings\n========\n\n#0-0 (9ad1) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
      "  14 ranks have launched up to operation 6650\n  2 ranks have launched up to operation 6648\n"
      "  Rank 3 -- GPU 3 managed by process 4103 on node 10.0.0.1\n  Rank 5 -- GPU 5 managed by process 4105 on node "
      "10.0.0.1\n"
      "  Rank 9 has launched up to operation 6649 -- GPU 1 managed by process 4101 on node 10.0.0.2\n\n";
  QVERIFY(isRas(text));
  const RasStatus status = must(readRas(text, "x"));
  QCOMPARE(QString::fromStdString(status.version), QString("2.28.9"));
  QCOMPARE(status.problems.size(), std::size_t{1});
  QCOMPARE(status.communicators.size(), std::size_t{1});
  const RasCommunicator& found = status.communicators.front();
  QCOMPARE(QString::fromStdString(found.id), QString("0x9ad1"));
  std::vector<std::pair<int, int>> behind;
  for (const RasRank& rank : found.outliers) {
    behind.emplace_back(rank.rank, static_cast<int>(rank.behind));
  }
  QCOMPARE(behind, (std::vector<std::pair<int, int>>{{7, 0}, {3, 2}, {5, 2}, {9, 1}}));
  QCOMPARE(QString::fromStdString(found.outliers[1].host), QString("10.0.0.1"));
  QCOMPARE(found.outliers[1].process, 4103);
  QCOMPARE(QString::fromStdString(found.outliers[3].what), QString("launched up to AllReduce operation 6649"));
}

void TestNcclRuns::rasJson() {
  const std::string text =
      R"({"nccl_version":"2.29.3","communicators_count":1,"communicators":[{"hash":"0x9ad1","size":3,"ranks":[)"
      R"({"rank":0,"host":"a","pid":1,"nvml_dev":0,"collective_counts":{"AllReduce":10,"Broadcast":1}},)"
      R"({"rank":1,"host":"a","pid":2,"nvml_dev":1,"collective_counts":{"AllReduce":7,"Broadcast":1}}],)"
      R"("missing_ranks":[{"rank":2,"host":"b","pid":3,"nvml_dev":0}]}],"ras":{"timeouts_count":0}})";
  QVERIFY(isRas(text));
  const RasStatus status = must(readRas(text, "x"));
  const auto& outliers = status.communicators.front().outliers;
  QCOMPARE(outliers.size(), std::size_t{2});
  QCOMPARE(outliers[0].rank, 1);
  QCOMPARE(outliers[0].behind, std::int64_t{3});
  QCOMPARE(outliers[1].rank, 2);
  QCOMPARE(QString::fromStdString(outliers[1].what), QString("missing"));
  QVERIFY(!readRas(R"({"communicators_count":1})", "x"));
}

/// All ranks end a call together: a late one is seen by its shorter time.
void TestNcclRuns::lateRanks() {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    for (int call = 0; call < 3; ++call) {
      const int time = rank == 2 && call > 0 ? 60 : 100;
      text += R"({"header":{"id":"0x1","rank":)" + number(rank) +
              R"(,"n_ranks":4,"nnodes":1},"metadata":{},"coll_perf":{"coll":"AllReduce","coll_sn":)" + number(call) +
              R"(,"coll_msg_size_bytes":4096,"coll_exec_time_us":)" + number(time) +
              R"(,"coll_algobw_gbs":1.5,"coll_busbw_gbs":1.5}})" + "\n";
    }
  }
  const auto calls = must(readInspector(text, "x"));
  QCOMPARE(calls.front().late.size(), std::size_t{1});
  QCOMPARE(calls.front().late.front().rank, 2);
  QCOMPARE(calls.front().late.front().calls, 2);
  QCOMPARE(calls.front().late.front().lost.count(), 80.0);
}

QTEST_APPLESS_MAIN(TestNcclRuns)
#include "tst_nccl_runs.moc"
