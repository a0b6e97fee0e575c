// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <random>
#include <stop_token>

#include "support/sample_schedules.hpp"
#include "verify/tree_bound_check.hpp"

using namespace coppice;
using schedule::Direction;
using schedule::NodeMoves;
using schedule::TreeBoundProof;
using verify::TreeBoundGoal;

namespace {

constexpr int kSwitch = 4;

/// A proof, with what it proves of which fabric.
struct Case {
  fabric::Fabric fabric;
  TreeBoundProof proof;
  TreeBoundGoal goal = {};
};
using Make = std::function<Case()>;
using Break = std::function<void(Case&)>;

enum class Switch { plain, multicast, aggregation, capable };

/// Four GPUs round a switch, `up` and `down` GB/s. Arcs 0 to 3 go up from GPU 0 to 3, arcs 4 to 7 down to them.
fabric::Fabric square(Switch kind, const std::string& up = "100", const std::string& down = "100") {
  auto description = samples::describeFabric("square", {"g0", "g1", "g2", "g3"}, {"sw"}, {});
  for (const char* gpu : {"g0", "g1", "g2", "g3"}) {
    description.links.push_back({.src = gpu, .dst = "sw", .bandwidth = up, .duplex = false});
    description.links.push_back({.src = "sw", .dst = gpu, .bandwidth = down, .duplex = false});
  }
  description.nodes[kSwitch].multicast = kind == Switch::multicast || kind == Switch::capable;
  description.nodes[kSwitch].aggregation = kind == Switch::aggregation || kind == Switch::capable;
  return samples::buildFabric(description);
}

std::vector<Rational> prices(const Rational& up, const Rational& down) {
  return {up, up, up, up, down, down, down, down};
}

std::vector<Rational> atSwitch(const Rational& value) {
  return {0, 0, 0, 0, value};
}

const NodeMoves kTurn{{0, 1}, {1, 2}, {2, 3}, {3, 0}};

/// Whatever the root is, g0 sends the sum that is made there, or what it adds to another: 100 GB/s.
Case egress() {
  Case made{square(Switch::capable), {}};
  made.proof.bound = Bandwidth(100);
  made.proof.linkPrice = {1, 0, 0, 0, 0, 0, 0, 0};
  made.proof.cuts = {{{1, 2, 3, 4}, Direction::out, 1}, {{0}, Direction::in, 1}};
  return made;
}

/// The same of all GPUs, each with a fourth of the weight.
Case egressOfAll() {
  Case made = egress();
  made.proof.linkPrice = prices(Rational(1, 4), 0);
  made.proof.symmetries = {kTurn};
  return made;
}

/// What enters each GPU goes through the switch only once: 200/3 GB/s.
Case plain() {
  Case made{square(Switch::plain), {}};
  made.proof.bound = Bandwidth(200, 3);
  made.proof.linkPrice = prices(Rational(1, 12), Rational(1, 12));
  made.proof.cuts = {{{0}, Direction::out, Rational(2, 3)}, {{0}, Direction::in, Rational(2, 3)}};
  made.proof.outPotential = atSwitch(Rational(-1, 12));
  made.proof.inPotential = atSwitch(Rational(-1, 12));
  // Two generators, one of which moves two GPUs only.
  made.proof.symmetries = {{{0, 1}, {1, 0}}, kTurn};
  return made;
}

Case plainWritten() {
  Case made = plain();
  made.proof.symmetries.clear();
  made.proof.cuts.clear();
  for (int gpu = 0; gpu < 4; ++gpu) {
    made.proof.cuts.push_back({{gpu}, Direction::out, Rational(1, 6)});
    made.proof.cuts.push_back({{gpu}, Direction::in, Rational(1, 6)});
  }
  return made;
}

/// g0 receives three quarters of the data of an allgather.
Case gathered() {
  Case made{square(Switch::capable), {}, {.collective = Collective::allgather}};
  made.proof.bound = Bandwidth(400, 3);
  made.proof.linkPrice = {0, 0, 0, 0, Rational(4, 3), 0, 0, 0};
  made.proof.cuts = {{{0}, Direction::out, Rational(4, 3)}};
  return made;
}

Case scattered() {
  Case made{square(Switch::capable), {}, {.collective = Collective::reduceScatter}};
  made.proof.bound = Bandwidth(400, 3);
  made.proof.linkPrice = {Rational(4, 3), 0, 0, 0, 0, 0, 0, 0};
  made.proof.cuts = {{{0}, Direction::in, Rational(4, 3)}};
  return made;
}

/// Each GPU sends its share once to a switch that copies, 10 GB/s up: 40 GB/s.
Case copiedUp() {
  Case made{square(Switch::multicast, "10", "30"), {}, {.collective = Collective::allgather}};
  made.proof.bound = Bandwidth(40);
  made.proof.linkPrice = prices(1, 0);
  made.proof.cuts = {{{1, 2, 3, 4}, Direction::out, 4}};
  made.proof.symmetries = {kTurn};
  return made;
}

/// A plain switch gives out what it gets: three quarters of the data for each GPU, 40/3 GB/s.
Case plainUp() {
  Case made{square(Switch::plain, "10", "30"), {}, {.collective = Collective::allgather}};
  made.proof.bound = Bandwidth(40, 3);
  made.proof.linkPrice = prices(Rational(1, 3), 0);
  made.proof.cuts = {{{0}, Direction::out, Rational(4, 3)}};
  made.proof.outPotential = atSwitch(Rational(-1, 3));
  made.proof.symmetries = {kTurn};
  return made;
}

QString textsOf(const verify::TreeBoundVerdict& verdict) {
  QString texts;
  for (const Finding& finding : verdict.findings) {
    texts += QString::fromStdString(describe(finding)) + "\n";
  }
  return texts;
}

verify::TreeBoundVerdict verdictOf(const Case& made) {
  auto verdict = verify::checkTreeBound(made.fabric, made.proof, made.goal);
  if (!verdict) {
    throw std::runtime_error(describe(verdict.error()));
  }
  return *std::move(verdict);
}

}  // namespace

Q_DECLARE_METATYPE(Make)
Q_DECLARE_METATYPE(Break)

class TestTreeBoundCheck : public QObject {
  Q_OBJECT

private slots:
  void accepts_data() {
    QTest::addColumn<Make>("make");
    const auto row = [](const char* name, const Make& make) { QTest::newRow(name) << make; };
    row("egress of a GPU", egress);
    row("egress of all GPUs", egressOfAll);
    row("plain switch", plain);
    row("plain switch, without symmetries", plainWritten);
    row("switch taken as plain", [] {
      Case made = plain();
      made.fabric = square(Switch::capable);
      made.goal.plainSwitches = true;
      return made;
    });
    row("allgather", gathered);
    row("allgather of unequal data", [] {
      Case made = gathered();
      made.goal.demand = {2, 1, 1, 0};
      made.proof.bound = Bandwidth(100);
      made.proof.linkPrice = {0, 0, 0, 0, 0, 0, 0, 1};
      made.proof.cuts = {{{3}, Direction::out, 1}};
      return made;
    });
    row("reduce-scatter", scattered);
    row("allgather by copies", copiedUp);
    row("allgather by a plain switch", plainUp);
    row("looser bound", [] {
      Case made = egress();
      made.proof.linkPrice[0] = 2;
      made.proof.linkPrice[5] = Rational(1, 3);
      made.proof.bound = Bandwidth(700, 3);
      return made;
    });
    row("symmetry that moves nothing", [] {
      Case made = egress();
      made.proof.symmetries = {{}, {{1, 2}, {2, 1}}, {{3, 3}}};
      return made;
    });
    row("switches that differ, taken as plain", [] {
      Case made = twoPlanes();
      made.goal.plainSwitches = true;
      return made;
    });
  }

  void accepts() {
    QFETCH(Make, make);
    const auto verdict = verdictOf(make());
    QVERIFY2(verdict.ok, qPrintable(textsOf(verdict)));
    QVERIFY(verdict.findings.empty());
  }

  void refuses_data() {
    QTest::addColumn<Make>("make");
    QTest::addColumn<Break>("breakIt");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* name, const Make& make, const char* message, const Break& breakIt) {
      QTest::newRow(name) << make << breakIt << QString(message);
    };
    row("too few prices", egress, "linkPrice: there are 7 prices for 8 links",
        [](Case& c) { c.proof.linkPrice.pop_back(); });
    row("too few potentials", plain, "inPotential: there are 4 potentials for 5 nodes",
        [](Case& c) { c.proof.inPotential.pop_back(); });
    row("negative price", egress, "link \"sw\" -> \"g2\": its price is -1", [](Case& c) { c.proof.linkPrice[6] = -1; });
    row("price of an image", egressOfAll, "its price is 1/3, that of its image \"g0\" -> \"sw\" is 1/4",
        [](Case& c) { c.proof.linkPrice[2] = Rational(1, 3); });
    row("price too low for out-trees", egress,
        "link \"g0\" -> \"sw\": its price is 1/2; the cuts of out-trees that it enters ask for at least 1",
        [](Case& c) {
          c.proof.linkPrice[0] = Rational(1, 2);
          c.proof.bound = Bandwidth(50);
        });
    row("price too low for in-trees", egress, "the cuts of in-trees that it leaves ask for at least 1", [](Case& c) {
      c.proof.linkPrice[0] = Rational(1, 2);
      c.proof.cuts[0].nodes = {1, 2, 3};
      c.proof.linkPrice[5] = c.proof.linkPrice[6] = c.proof.linkPrice[7] = 1;
    });
    row("price too low with images", egressOfAll, "that it enters, averaged over its 4 images, ask for at least 1/4",
        [](Case& c) {
          c.proof.linkPrice = prices(Rational(1, 5), 0);
          c.proof.bound = Bandwidth(80);
        });
    row("price too low for a potential", plain, "with its potentials ask for at least 1/12",
        [](Case& c) { c.proof.linkPrice = prices(Rational(1, 12), Rational(1, 13)); });
    row("potential too high", plain,
        "that it enters, averaged over its 4 images, with its potentials ask for at least 1/4",
        [](Case& c) { c.proof.outPotential = atSwitch(Rational(1, 12)); });
    row("in-potential too high", plain,
        "that it leaves, averaged over its 4 images, with its potentials ask for at least 1/5",
        [](Case& c) { c.proof.inPotential = atSwitch(Rational(1, 30)); });
    row("negative potential of a multicast switch", plain, "node \"sw\": its out-potential is -1/12; where a switch",
        [](Case& c) { c.fabric = square(Switch::multicast); });
    row("negative potential of an aggregation switch", plain, "node \"sw\": its in-potential is -1/12; where a switch",
        [](Case& c) { c.fabric = square(Switch::aggregation); });
    row("plain bound of an allgather by copies", plainUp, "can multicast it must be 0 or more",
        [](Case& c) { c.fabric = square(Switch::multicast, "10", "30"); });
    row("potential of a GPU", plain, "node \"g2\": its out-potential is 1; that of a GPU must be 0",
        [](Case& c) { c.proof.outPotential[2] = 1; });
    row("in-potential of a GPU", plain, "node \"g3\": its in-potential is 1; that of a GPU must be 0",
        [](Case& c) { c.proof.inPotential[3] = 1; });
    row(
        "potential of an image",
        [] {
          Case made = twoPlanes();
          made.goal.plainSwitches = true;
          return made;
        },
        "its out-potential is 1, that of its image \"s0\" is 0",
        [](Case& c) {
          c.proof.outPotential = {0, 0, 0, 1};
        });
    row("bound too low", egress, "bound: states 99 GB/s; the prices of the links give 100",
        [](Case& c) { c.proof.bound = Bandwidth(99); });
    row("bound too high", egress, "bound: states 101 GB/s", [](Case& c) { c.proof.bound = Bandwidth(101); });
    row("no cuts", egress, "node \"g0\": the cuts without it weigh 0", [](Case& c) {
      c.proof.cuts.clear();
      c.proof.linkPrice = prices(0, 0);
      c.proof.bound = Bandwidth(0);
    });
    row("weights too low", egress, "node \"g1\": the cuts without it weigh 1/2",
        [](Case& c) { c.proof.cuts[1].weight = Rational(1, 2); });
    row("weights too low with images", egressOfAll, "the cuts without it, averaged over its 4 images, weigh 5/8",
        [](Case& c) { c.proof.cuts[1].weight = Rational(1, 2); });
    row("weights too low for an allgather", gathered,
        "cuts: the cuts without a GPU weigh 3/4, averaged by the data of the GPUs",
        [](Case& c) { c.proof.cuts[0].weight = 1; });
    row("weights too low for other data", gathered, "the cuts without a GPU weigh 2/3", [](Case& c) {
      c.goal.demand = {3, 1, 1, 1};
    });
    row("weight 0", egress, "cut 1: its weight is 0; it must be positive", [](Case& c) { c.proof.cuts[1].weight = 0; });
    row("negative weight", egress, "cut 1: its weight is -1", [](Case& c) { c.proof.cuts[1].weight = -1; });
    row("cut without a GPU", egress, "cut 0: holds no GPU", [](Case& c) { c.proof.cuts[0].nodes = {4}; });
    row("empty cut", egress, "cut 0: holds no GPU", [](Case& c) { c.proof.cuts[0].nodes = {}; });
    row("cut out of range", egress, "cut 0: holds node 5", [](Case& c) { c.proof.cuts[0].nodes = {1, 5}; });
    row("cut below the range", egress, "cut 0: holds node -1", [](Case& c) { c.proof.cuts[0].nodes = {-1, 1}; });
    row("cut unordered", egress, "cut 0: its nodes are not in ascending order", [](Case& c) {
      c.proof.cuts[0].nodes = {2, 1};
    });
    row("node of a cut twice", egress, "cut 0: its nodes are not in ascending order", [](Case& c) {
      c.proof.cuts[0].nodes = {1, 1};
    });
    row("in-cut of an allgather", gathered, "cut 0: is a cut of in-trees",
        [](Case& c) { c.proof.cuts[0].direction = Direction::in; });
    row("out-cut of a reduce-scatter", scattered, "cut 0: is a cut of out-trees",
        [](Case& c) { c.proof.cuts[0].direction = Direction::out; });
    row("out-cut for an in-cut", egress, "ask for at least 1",
        [](Case& c) { c.proof.cuts[1].direction = Direction::out; });
    row("allgather's proof of a reduce-scatter", gathered, "is a cut of out-trees",
        [](Case& c) { c.goal.collective = Collective::reduceScatter; });
    row("allgather's proof of an allreduce", gathered, "node \"g0\": the cuts without it weigh 0",
        [](Case& c) { c.goal.collective = Collective::allreduce; });
    row("symmetry out of range", egressOfAll, "symmetry 0: moves node 7",
        [](Case& c) { c.proof.symmetries[0][3].to = 7; });
    row("symmetry below the range", egressOfAll, "symmetry 0: moves node -1",
        [](Case& c) { c.proof.symmetries[0][3].from = -1; });
    row("node moved twice", egressOfAll, "symmetry 0: moves \"g0\" twice",
        [](Case& c) { c.proof.symmetries[0][3].from = 0; });
    row("two nodes moved to one", egressOfAll, "symmetry 0: moves two nodes to \"g1\"",
        [](Case& c) { c.proof.symmetries[0][3].to = 1; });
    row("no permutation", egressOfAll, "symmetry 0: does not permute",
        [](Case& c) { c.proof.symmetries[0].pop_back(); });
    row("GPU moved to a switch", egressOfAll, "takes \"g0\" to \"sw\", which is not its equal", [](Case& c) {
      c.proof.symmetries = {{{0, 4}, {4, 0}}};
    });
    row("unequal links", egressOfAll,
        "takes the link \"g0\" -> \"sw\" to \"g1\" -> \"sw\", where there is no equal link", [](Case& c) {
          auto description = samples::describeFabric(
              "uneven", {"g0", "g1", "g2", "g3"}, {"sw"},
              {{"g0", "sw", "100"}, {"g1", "sw", "101"}, {"g2", "sw", "100"}, {"g3", "sw", "100"}});
          c.fabric = samples::buildFabric(description);
        });
    row("no link where an image is", egressOfAll, "takes the link \"g0\" -> \"g1\" to \"g1\" -> \"g2\"", [](Case& c) {
      auto description = samples::describeFabric(
          "chord", {"g0", "g1", "g2", "g3"}, {"sw"},
          {{"g0", "sw", "100"}, {"g1", "sw", "100"}, {"g2", "sw", "100"}, {"g3", "sw", "100"}, {"g0", "g1", "1"}});
      c.fabric = samples::buildFabric(description);
      c.proof.linkPrice.resize(10, 0);
    });
    row("second symmetry is none", egressOfAll, "symmetry 1: takes \"g0\" to \"sw\"", [](Case& c) {
      c.proof.symmetries.push_back({{0, 4}, {4, 0}});
    });
    row("switches that differ", twoPlanes, "takes \"s0\" to \"s1\", which is not its equal", [](Case&) {});
  }

  void refuses() {
    QFETCH(Make, make);
    QFETCH(Break, breakIt);
    QFETCH(QString, message);
    Case made = make();
    breakIt(made);
    const auto verdict = verdictOf(made);
    QVERIFY(!verdict.ok);
    QVERIFY2(textsOf(verdict).contains(message), qPrintable(textsOf(verdict)));
  }

  void errors() {
    Case made = gathered();
    for (const std::vector<std::int64_t>& demand : {std::vector<std::int64_t>{1, 1}, {0, 0, 0, 0}, {1, 1, 1, -1}}) {
      made.goal.demand = demand;
      const auto verdict = verify::checkTreeBound(made.fabric, made.proof, made.goal);
      QVERIFY(!verdict && verdict.error().code == ErrorCode::badUsage);
    }
    made.goal = {.collective = Collective::broadcast};
    const auto broadcast = verify::checkTreeBound(made.fabric, made.proof, made.goal);
    QVERIFY(!broadcast && broadcast.error().code == ErrorCode::badUsage);

    Case huge = egress();
    huge.proof.cuts[0].weight = Rational(1, 4611686018427387847);
    huge.proof.cuts[1].weight = Rational(1, 4611686018427387817);
    const auto overflow = verify::checkTreeBound(huge.fabric, huge.proof);
    QVERIFY(!overflow && overflow.error().code == ErrorCode::overflow);

    std::stop_source stop;
    stop.request_stop();
    Progress progress;
    progress.stop = stop.get_token();
    const Case sound = egress();
    const auto cancelled = verify::checkTreeBound(sound.fabric, sound.proof, sound.goal, progress);
    QVERIFY(!cancelled && cancelled.error().code == ErrorCode::cancelled);
  }

  /// Random proofs on four GPUs in a ring and round a switch: with symmetries and with all images written, the verdict
  /// is the same, and what passes is above the 100 GB/s that trees reach on the star alone.
  void imagesWrittenOut_data() {
    QTest::addColumn<bool>("isCapable");
    QTest::newRow("capable") << true;
    QTest::newRow("plain") << false;
  }

  void imagesWrittenOut() {
    QFETCH(bool, isCapable);
    const auto fabric = samples::buildFabric(samples::describeFabric("wheel", {"g0", "g1", "g2", "g3"}, {"sw"},
                                                                     {{"g0", "sw", "100"},
                                                                      {"g1", "sw", "100"},
                                                                      {"g2", "sw", "100"},
                                                                      {"g3", "sw", "100"},
                                                                      {"g0", "g1", "7"},
                                                                      {"g1", "g2", "7"},
                                                                      {"g2", "g3", "7"},
                                                                      {"g3", "g0", "7"}},
                                                                     isCapable));
    std::mt19937 random(7);
    const auto number = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    int accepted = 0;
    int refused = 0;
    for (int round = 0; round < 400; ++round) {
      Case turned{fabric, {}};
      turned.proof.symmetries = {kTurn};
      turned.proof.outPotential = atSwitch(Rational(number(4) - (isCapable ? 0 : 2), 8));
      turned.proof.inPotential = atSwitch(Rational(number(4) - (isCapable ? 0 : 2), 8));
      // Prices by orbit: up, down, round and back.
      const Rational up(number(9), 6);
      const Rational down(number(9), 6);
      const Rational forth(number(9), 6);
      const Rational back(number(9), 6);
      Rational sum;
      for (const fabric::Arc& arc : fabric.arcs()) {
        const Rational& price = arc.head == kSwitch              ? up
                                : arc.tail == kSwitch            ? down
                                : arc.head == (arc.tail + 1) % 4 ? forth
                                                                 : back;
        turned.proof.linkPrice.push_back(price);
        sum += price * arc.bandwidth.gigabytesPerSecond();
      }
      turned.proof.bound = Bandwidth(sum);
      for (int i = 0; i <= number(3) + 1; ++i) {
        std::vector<fabric::NodeIndex> nodes;
        const int set = 1 + number(14) + 16 * number(2);
        for (int node = 0; node < 5; ++node) {
          if ((set >> node & 1) != 0) {
            nodes.push_back(node);
          }
        }
        turned.proof.cuts.push_back(
            {nodes, number(2) == 0 ? Direction::out : Direction::in, Rational(2 + number(4), 4)});
      }
      Case written = turned;
      written.proof.symmetries.clear();
      written.proof.cuts.clear();
      for (const schedule::WeightedCut& cut : turned.proof.cuts) {
        for (int turn = 0; turn < 4; ++turn) {
          schedule::WeightedCut image{{}, cut.direction, cut.weight / Rational(4)};
          for (const int node : cut.nodes) {
            image.nodes.push_back(node == kSwitch ? node : (node + turn) % 4);
          }
          std::sort(image.nodes.begin(), image.nodes.end());
          written.proof.cuts.push_back(image);
        }
      }
      const auto verdict = verdictOf(turned);
      QCOMPARE(verdict.ok, verdictOf(written).ok);
      ++(verdict.ok ? accepted : refused);
      if (verdict.ok) {
        QVERIFY2(turned.proof.bound >= (isCapable ? Bandwidth(100) : Bandwidth(200, 3)),
                 toFraction(turned.proof.bound).c_str());
      }
    }
    QVERIFY2(accepted > 10 && refused > 10, qPrintable(QString("%1 and %2").arg(accepted).arg(refused)));
  }

  void manyGpus() {
    constexpr int kGpus = 1024;
    constexpr int kCuts = 50;
    fabric::Description description;
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      const std::string id = "g" + std::to_string(gpu);
      description.nodes.push_back({.id = id});
      for (const char* plane : {"s0", "s1", "s2", "s3"}) {
        description.links.push_back({.src = id, .dst = plane, .bandwidth = "25"});
      }
    }
    for (const char* plane : {"s0", "s1", "s2", "s3"}) {
      description.nodes.push_back({.id = plane, .kind = "switch", .multicast = true, .aggregation = true});
    }
    Case made{samples::buildFabric(description), {}};
    for (const fabric::Arc& arc : made.fabric.arcs()) {
      made.proof.linkPrice.push_back(arc.tail < kGpus ? Rational(1, kGpus) : Rational(0));
    }
    for (int i = 0; i < kCuts; ++i) {
      // All nodes but one GPU, and that GPU.
      std::vector<fabric::NodeIndex> others;
      for (int node = 0; node < made.fabric.nodeCount(); ++node) {
        if (node != i) {
          others.push_back(node);
        }
      }
      made.proof.cuts.push_back({others, Direction::out, Rational(1, kCuts)});
      made.proof.cuts.push_back({{i}, Direction::in, Rational(1, kCuts)});
    }
    for (int gpu = 1; gpu < kGpus; ++gpu) {
      made.proof.symmetries.push_back({{gpu - 1, gpu}, {gpu, gpu - 1}});
    }
    made.proof.bound = Bandwidth(100);
    const auto verdict = verdictOf(made);
    QVERIFY2(verdict.ok, qPrintable(textsOf(verdict)));
    made.proof.symmetries.pop_back();
    QVERIFY2(!verdictOf(made).ok, "the last GPU has no image");
  }

private:
  /// Two GPUs on two switches of which one copies and sums; the symmetry exchanges the switches.
  static Case twoPlanes() {
    auto description =
        samples::describeFabric("planes", {"g0", "g1"}, {"s0", "s1"},
                                {{"g0", "s0", "5"}, {"g1", "s0", "5"}, {"g0", "s1", "5"}, {"g1", "s1", "5"}});
    description.nodes[2].multicast = description.nodes[2].aggregation = true;
    Case made{samples::buildFabric(description), {}};
    made.proof.bound = Bandwidth(10);
    for (const fabric::Arc& arc : made.fabric.arcs()) {
      made.proof.linkPrice.push_back(arc.tail == 0 ? 1 : 0);
    }
    made.proof.cuts = {{{1, 2, 3}, Direction::out, 1}, {{0}, Direction::in, 1}};
    made.proof.symmetries = {{{2, 3}, {3, 2}}};
    return made;
  }
};

QTEST_GUILESS_MAIN(TestTreeBoundCheck)
#include "tst_tree_bound_check.moc"
