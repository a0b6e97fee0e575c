// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <random>

#include "paper_oracle.hpp"
#include "synth/sccl.hpp"
#include "synth/search.hpp"
#include "verify/rounds_check.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using synth::Verdict;

namespace {

/// A fabric with the relation B of the paper beside it, each written on its own.
struct Case {
  fabric::Description description;
  paper::Instance paper;
};

std::string idOf(int node) {
  return "g" + std::to_string(node);
}

void addGpus(Case& made, int nodes) {
  made.paper.nodes = nodes;
  for (int node = 0; node < nodes; ++node) {
    made.description.nodes.push_back({.id = idOf(node)});
  }
}

void link(fabric::Description& description, const std::string& from, const std::string& to, int bandwidth) {
  description.links.push_back({.src = from, .dst = to, .bandwidth = std::to_string(bandwidth), .duplex = false});
}

/// Links from the generator until every GPU reaches every other.
Case randomGraph(std::mt19937& random) {
  Case made;
  made.description.name = "random";
  const int nodes = 3 + static_cast<int>(random() % 4);
  addGpus(made, nodes);
  std::vector<std::vector<int>> rate(nodes, std::vector<int>(nodes, 0));
  // A one-way ring through all, then some more.
  std::vector<int> order(nodes);
  for (int i = 0; i < nodes; ++i) {
    order[i] = i;
  }
  std::shuffle(order.begin(), order.end(), random);
  for (int i = 0; i < nodes; ++i) {
    rate[order[i]][order[(i + 1) % nodes]] = 1 + static_cast<int>(random() % 4 == 0);
  }
  for (auto extra = random() % (2 * nodes); extra > 0; --extra) {
    const int from = static_cast<int>(random() % nodes);
    const int to = static_cast<int>(random() % nodes);
    if (from != to) {
      rate[from][to] = 1 + static_cast<int>(random() % 4 == 0);
    }
  }
  for (int from = 0; from < nodes; ++from) {
    for (int to = 0; to < nodes; ++to) {
      if (rate[from][to] > 0) {
        link(made.description, idOf(from), idOf(to), rate[from][to]);
        made.paper.bandwidths.push_back({{static_cast<int>(made.paper.arcs.size())}, rate[from][to]});
        made.paper.arcs.emplace_back(from, to);
      }
    }
  }
  return made;
}

/// GPUs on one switch: what leaves and what enters each is bounded.
Case star(std::mt19937& random) {
  Case made;
  made.description.name = "star";
  const int nodes = 3 + static_cast<int>(random() % 2);
  addGpus(made, nodes);
  made.description.nodes.push_back({.id = "sw", .kind = "switch"});
  std::vector<paper::Bandwidth> out(nodes);
  std::vector<paper::Bandwidth> in(nodes);
  for (int node = 0; node < nodes; ++node) {
    out[node].perRound = 1 + static_cast<int>(random() % 2);
    in[node].perRound = 1 + static_cast<int>(random() % 2);
    link(made.description, idOf(node), "sw", out[node].perRound);
    link(made.description, "sw", idOf(node), in[node].perRound);
  }
  for (int from = 0; from < nodes; ++from) {
    for (int to = 0; to < nodes; ++to) {
      if (from != to) {
        out[from].arcs.push_back(static_cast<int>(made.paper.arcs.size()));
        in[to].arcs.push_back(static_cast<int>(made.paper.arcs.size()));
        made.paper.arcs.emplace_back(from, to);
      }
    }
  }
  made.paper.bandwidths.insert(made.paper.bandwidths.end(), out.begin(), out.end());
  made.paper.bandwidths.insert(made.paper.bandwidths.end(), in.begin(), in.end());
  return made;
}

/// pre and post of the paper's Tables 1 and 2; `perRank` is C as people count it.
void specify(paper::Instance& instance, Collective collective, int root, int chunks) {
  const int nodes = instance.nodes;
  const bool isFromRoot = collective == Collective::broadcast || collective == Collective::scatter;
  const int all = isFromRoot ? chunks : chunks * nodes;
  for (int c = 0; c < all; ++c) {
    std::vector<bool> pre(nodes, false);
    pre[isFromRoot ? root : c % nodes] = true;
    std::vector<bool> post(nodes, collective == Collective::allgather || collective == Collective::broadcast);
    if (collective == Collective::gather) {
      post[root] = true;
    } else if (collective == Collective::scatter) {
      post[c % nodes] = true;
    } else if (collective == Collective::alltoall) {
      post[c / nodes % nodes] = true;
    }
    instance.pre.push_back(std::move(pre));
    instance.post.push_back(std::move(post));
  }
}

}  // namespace

/// Small instances of random fabrics, decided by the synthesis and by Z3 on the paper's constraints.
class TestSynthPaper : public QObject {
  Q_OBJECT

private slots:
  void agrees_data();
  void agrees();
};

void TestSynthPaper::agrees_data() {
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("seed");
  for (const char* collective :
       {"allgather", "broadcast", "gather", "scatter", "alltoall", "reduce_scatter", "reduce"}) {
    for (int seed = 1; seed <= 8; ++seed) {
      QTest::addRow("%s", qPrintable(QStringLiteral("%1 %2").arg(collective).arg(seed))) << QString(collective) << seed;
    }
  }
}

void TestSynthPaper::agrees() {
  QFETCH(QString, collective);
  QFETCH(int, seed);
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  std::mt19937 random(static_cast<unsigned>(seed) * 977);
  const Case made = seed % 4 == 0 ? star(random) : randomGraph(random);
  const auto fabric = fabric::Fabric::build(made.description);
  QVERIFY2(fabric, fabric ? "" : describe(fabric.error()).c_str());
  const Collective word = *parseCollective(collective.toStdString());
  const int root = static_cast<int>(random() % made.paper.nodes);
  const auto goal =
      schedule::CollectiveTable::make(word, fabric->gpuCount(), isRooted(word) ? std::optional(root) : std::nullopt);
  QVERIFY(goal);
  const bool isInMultiples =
      word == Collective::alltoall || word == Collective::scatter || word == Collective::reduceScatter;
  const bool isCombining = reduces(word);
  const Collective dual = word == Collective::reduce ? Collective::broadcast : Collective::allgather;
  const int largest = word == Collective::alltoall ? 1 : 2;
  int decided = 0;
  for (int n = 1; n <= largest; ++n) {
    const int chunks = isInMultiples ? n * made.paper.nodes : n;
    for (int steps = 1; steps <= 3; ++steps) {
      for (int rounds = steps; rounds <= steps + 2; ++rounds) {
        paper::Instance instance = made.paper;
        instance.steps = steps;
        instance.rounds = rounds;
        if (isCombining) {
          // What combines is the other collective on the links turned round, played backwards.
          for (auto& [from, to] : instance.arcs) {
            std::swap(from, to);
          }
        }
        specify(instance, isCombining ? dual : word, root, word == Collective::reduceScatter ? n : chunks);
        const auto expected = paper::isSatisfiable(instance, 2000);
        if (!expected) {
          continue;
        }
        ++decided;
        synth::SynthesisOptions options;
        options.unit.unit = Bandwidth(1);
        const auto answer = synth::synthesize(*fabric, *goal, {chunks, steps, rounds}, options, {});
        QVERIFY2(answer, answer ? "" : describe(answer.error()).c_str());
        const QString place = QStringLiteral("(%1, %2, %3): ").arg(chunks).arg(steps).arg(rounds);
        QVERIFY2(answer->verdict == (*expected ? Verdict::sat : Verdict::unsat),
                 qPrintable(place + QString::fromStdString(answer->reason)));
        if (*expected) {
          QVERIFY(verify::verifySteps(*fabric, *answer->schedule)->ok);
          QVERIFY(verify::checkRounds(*fabric, *answer->schedule, Bandwidth(1))->empty());
        }
      }
    }
  }
  QVERIFY(decided > 0);
}

QTEST_GUILESS_MAIN(TestSynthPaper)
#include "tst_synth_paper.moc"
