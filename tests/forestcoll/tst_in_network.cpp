// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "coppice/test_paths.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/in_network/cut_bound.hpp"
#include "forestcoll/in_network/hub_trees.hpp"
#include "forestcoll/in_network/spanning_packing.hpp"
#include "forestcoll/in_network/tree_columns.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"
#include "io/fabric_json.hpp"
#include "presets/presets.hpp"
#include "random_fabrics.hpp"
#include "support/findings.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/tree_bound_check.hpp"

/// Collectives on switches that copy and sum: bounds and trees against independent values, and against the verifier.
using namespace coppice;
using test::built;

namespace {

constexpr auto kThorough = forestcoll::ColumnEffort::thorough;

std::string contentsOf(const std::string& name) {
  std::ifstream file(std::string(COPPICE_TEST_DATA) + "/in_network/" + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

fabric::Fabric graphOf(const std::string& name) {
  return built(test::must(io::readFabricJson(contentsOf(name + ".json"), name)));
}

/// GPUs g0, g1, ... and switches s0, s1, ...
class Drawing {
public:
  Drawing& gpus(int count) {
    for (int i = 0; i < count; ++i) {
      m_description.nodes.push_back({.id = "g" + std::to_string(i), .kind = "gpu"});
    }
    return *this;
  }
  Drawing& capable(const std::string& id, bool copies = true, bool sums = true) {
    m_description.nodes.push_back({.id = id, .kind = "switch", .multicast = copies, .aggregation = sums});
    return *this;
  }
  Drawing& plain(const std::string& id) { return capable(id, false, false); }
  Drawing& link(const std::string& from, const std::string& to, int bandwidth, bool duplex = true) {
    m_description.links.push_back({.src = from, .dst = to, .bandwidth = std::to_string(bandwidth), .duplex = duplex});
    return *this;
  }
  /// GPUs first to last on the switch.
  Drawing& star(const std::string& id, int first, int last, int bandwidth) {
    for (int i = first; i <= last; ++i) {
      link("g" + std::to_string(i), id, bandwidth);
    }
    return *this;
  }
  [[nodiscard]] fabric::Fabric fabric() const { return built(m_description); }

private:
  fabric::Description m_description;
};

/// A preset without some GPUs, in which all switches copy and sum.
fabric::Description damagedWith(const QString& preset, const QString& lost) {
  fabric::Description description = test::describedBy(preset);
  const QStringList names = lost.split(u' ');
  const auto isLost = [&](const std::string& id) { return names.contains(QString::fromStdString(id)); };
  std::erase_if(description.nodes, [&](const fabric::NodeDescription& node) { return isLost(node.id); });
  std::erase_if(description.links,
                [&](const fabric::LinkDescription& link) { return isLost(link.src) || isLost(link.dst); });
  for (fabric::NodeDescription& node : description.nodes) {
    node.rank.reset();
    node.multicast = node.aggregation = node.kind == "switch";
  }
  return description;
}

/// Generates, and checks the schedule and the proof of its bound by themselves.
void checkSchedule(const fabric::Fabric& fabric, const forestcoll::Request& request, const Bandwidth& algbw) {
  const auto made = forestcoll::generate(fabric, request);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QVERIFY2(made->schedule.algbw == algbw, toFraction(made->schedule.algbw).c_str());
  const auto verdict = verify::verifySchedule(fabric, made->schedule);
  QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
  QVERIFY2(verdict->ok, test::textsOf(verdict->findings).toUtf8());
  QVERIFY(verdict->algbw == algbw);
  if (made->optimum.boundProof) {
    const auto proof = verify::checkTreeBound(
        fabric, *made->optimum.boundProof, {.collective = request.collective, .plainSwitches = request.plainSwitches});
    QVERIFY2(proof && proof->ok,
             proof ? test::textsOf(proof->findings).toUtf8().constData() : describe(proof.error()).c_str());
  } else {
    QVERIFY(request.collective != Collective::allreduce);
  }
}

}  // namespace

class TestInNetwork : public QObject {
  Q_OBJECT

private slots:
  void reference_data();
  void reference();
  void unbalanced_data();
  void unbalanced();
  void knownValues_data();
  void knownValues();
  void drawn_data();
  void drawn();
  void ownCopies();
  void largeFabrics_data();
  void largeFabrics();
  void randomFabrics();
  void treesOverHubs_data();
  void treesOverHubs();
  void treesOverSeveralHubs_data();
  void treesOverSeveralHubs();
  void treesByColumns_data();
  void treesByColumns();
  void damagedCluster();
  void fewTreesOverSpines();
  void kindsShareTheLinks();
  void spanningPackings();
  void damagedTorus();
  void boundsOfCuts();
  void damagedDragonfly_data();
  void damagedDragonfly();
};

void TestInNetwork::reference_data() {
  QTest::addColumn<QString>("plain");
  QTest::addColumn<QString>("upper");
  for (const auto& row : nlohmann::json::parse(contentsOf("expected.json"))) {
    QTest::newRow(row["graph"].get<std::string>().c_str())
        << QString::fromStdString(row["plain"]) << QString::fromStdString(row["upper"]);
  }
}

void TestInNetwork::reference() {
  QFETCH(QString, plain);
  QFETCH(QString, upper);
  const fabric::Fabric fabric = graphOf(QTest::currentDataTag());
  for (const bool isPlain : {false, true}) {
    const forestcoll::Request request{.collective = Collective::allreduce, .plainSwitches = isPlain};
    const Bandwidth wanted{Rational::parse((isPlain ? plain : upper).toStdString()).value()};
    const auto optimum = forestcoll::optimum(fabric, request);
    QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
    QVERIFY2(optimum->algbw == wanted, toFraction(optimum->algbw).c_str());
    QVERIFY(optimum->allreduceLimit && optimum->allreduceLimit->isExact && optimum->allreduceLimit->isReached);
    QVERIFY(optimum->allreduceLimit->algbw == wanted);
    checkSchedule(fabric, request, wanted);
  }
}

void TestInNetwork::unbalanced_data() {
  QTest::addColumn<QString>("graph");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<QString>("plain");
  QTest::addColumn<QString>("upper");
  for (const auto& row : nlohmann::json::parse(contentsOf("expected_unbalanced.json"))) {
    const auto graph = row["graph"].get<std::string>();
    for (const char* collective : {"allgather", "reduce_scatter"}) {
      QTest::newRow((graph + " " + collective).c_str())
          << QString::fromStdString(graph) << collective << QString::fromStdString(row[collective]["plain"])
          << QString::fromStdString(row[collective]["upper"]);
    }
  }
}

void TestInNetwork::unbalanced() {
  QFETCH(QString, graph);
  QFETCH(QString, collective);
  QFETCH(QString, plain);
  QFETCH(QString, upper);
  const fabric::Fabric fabric = graphOf(graph.toStdString());
  for (const bool isPlain : {false, true}) {
    const forestcoll::Request request{.collective = *parseCollective(collective.toStdString()),
                                      .plainSwitches = isPlain};
    checkSchedule(fabric, request, Bandwidth{Rational::parse((isPlain ? plain : upper).toStdString()).value()});
  }
}

void TestInNetwork::knownValues_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("plain");
  QTest::addColumn<QString>("with");
  QTest::newRow("one DGX H100") << "dgx-h100 boxes=1"
                                << "1800/7"
                                << "450";
  QTest::newRow("two boxes") << "dgx-h100 boxes=2"
                             << "800/3"
                             << "400";
  QTest::newRow("two boxes of 4") << "dgx-h100 boxes=2 gpus=4"
                                  << "200"
                                  << "200";
  QTest::newRow("three boxes of 4 on rails") << "dgx-h100 boxes=3 gpus=4 network=rail-only"
                                             << "150"
                                             << "150";
  QTest::newRow("three boxes of 4 on rails that sum") << "dgx-h100 boxes=3 gpus=4 network=rail-only sharp=true"
                                                      << "150"
                                                      << "200";
  QTest::newRow("four boxes on rails") << "dgx-h100 boxes=4 network=rails"
                                       << "8000/31"
                                       << "800/3";
  QTest::newRow("four boxes on rails that sum") << "dgx-h100 boxes=4 network=rails sharp=true"
                                                << "8000/31"
                                                << "400";
  QTest::newRow("eight boxes that sum") << "dgx-h100 boxes=8 sharp=true"
                                        << "1600/7"
                                        << "400";
  QTest::newRow("four B200 boxes") << "dgx-b200 boxes=4"
                                   << "800/3"
                                   << "800/3";
  QTest::newRow("one NVL72") << "gb200-nvl72"
                             << "32400/71"
                             << "900";
  QTest::newRow("four NVL72") << "gb200-nvl72 racks=4"
                              << "136800/287"
                              << "262800/287";
}

void TestInNetwork::knownValues() {
  QFETCH(QString, preset);
  QFETCH(QString, plain);
  QFETCH(QString, with);
  const fabric::Fabric fabric = test::presetFabric(preset);
  const Bandwidth wanted{Rational::parse(with.toStdString()).value()};
  const auto optimum = forestcoll::optimum(fabric, {.collective = Collective::allreduce});
  QVERIFY(optimum && optimum->plainSwitches);
  QVERIFY2(toFraction(optimum->plainSwitches->algbw) == plain.toStdString(),
           toFraction(optimum->plainSwitches->algbw).c_str());
  checkSchedule(fabric, {.collective = Collective::allreduce}, wanted);
}

void TestInNetwork::drawn_data() {
  QTest::addColumn<fabric::Fabric>("fabric");
  QTest::addColumn<QString>("plain");
  QTest::addColumn<QString>("with");
  const auto row = [](const char* name, const Drawing& drawing, const char* plain, const char* with) {
    QTest::newRow(name) << drawing.fabric() << plain << with;
  };
  row("star", Drawing().gpus(4).capable("s").star("s", 0, 3, 100), "200/3", "100");
  row("a capable and a plain plane", Drawing().gpus(4).capable("s").plain("t").star("s", 0, 3, 10).star("t", 0, 3, 10),
      "40/3", "50/3");
  row("star and ring",
      Drawing()
          .gpus(4)
          .capable("s")
          .star("s", 0, 3, 10)
          .link("g0", "g1", 6)
          .link("g1", "g2", 6)
          .link("g2", "g3", 6)
          .link("g3", "g0", 6),
      "44/3", "18");
  row("one-way ring and star",
      Drawing()
          .gpus(3)
          .capable("s")
          .star("s", 0, 2, 2)
          .link("g0", "g1", 4, false)
          .link("g1", "g2", 4, false)
          .link("g2", "g0", 4, false),
      "9/2", "5");
  row("two leaves",
      Drawing().gpus(6).capable("s").capable("t").star("s", 0, 2, 10).star("t", 3, 5, 10).link("s", "t", 10), "6",
      "10");
  row("multicast alone", Drawing().gpus(5).capable("s", true, false).star("s", 0, 4, 90), "225/4", "225/4");
  row("aggregation alone", Drawing().gpus(5).capable("s", false, true).star("s", 0, 4, 90), "225/4", "225/4");
}

void TestInNetwork::drawn() {
  QFETCH(fabric::Fabric, fabric);
  QFETCH(QString, plain);
  QFETCH(QString, with);
  checkSchedule(fabric, {.collective = Collective::allreduce}, Bandwidth{Rational::parse(with.toStdString()).value()});
  checkSchedule(fabric, {.collective = Collective::allreduce, .plainSwitches = true},
                Bandwidth{Rational::parse(plain.toStdString()).value()});
}

/// NVLink SHARP returns what a GPU sent, and reads what it has.
void TestInNetwork::ownCopies() {
  const fabric::Fabric box = test::presetFabric("dgx-h100 boxes=1");
  checkSchedule(box, {.collective = Collective::allreduce, .ownCopies = true}, Bandwidth(400));
  const auto optimum = forestcoll::optimum(box, {.collective = Collective::allreduce, .ownCopies = true});
  QVERIFY(optimum && optimum->allreduceLimit && optimum->allreduceLimit->algbw == Bandwidth(450));
  QVERIFY(!optimum->allreduceLimit->isReached);
  // Boxes whose NICs are the limit have room for them.
  checkSchedule(test::presetFabric("dgx-h100 boxes=2"), {.collective = Collective::allreduce, .ownCopies = true},
                Bandwidth(400));
}

void TestInNetwork::largeFabrics_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("algbw");
  QTest::newRow("rails that sum") << "dgx-h100 boxes=128 network=rails sharp=true"
                                  << "400";
  QTest::newRow("rails alone that sum") << "dgx-h100 boxes=128 network=rail-only sharp=true"
                                        << "400";
  QTest::newRow("leaves and spines that sum") << "dgx-h100 boxes=128 network=leaf-spine sharp=true"
                                              << "400";
  QTest::newRow("14 racks") << "gb200-nvl72 racks=14"
                            << "919800/1007";
  QTest::newRow("fat tree") << "fat-tree-2 leaves=64 gpus_per_leaf=16 spines=16 sharp=true"
                            << "50";
}

void TestInNetwork::largeFabrics() {
  QFETCH(QString, preset);
  QFETCH(QString, algbw);
  const fabric::Fabric fabric = test::presetFabric(preset);
  const auto optimum = forestcoll::optimum(fabric, {.collective = Collective::allreduce});
  QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
  QVERIFY2(toFraction(optimum->algbw) == algbw.toStdString(), toFraction(optimum->algbw).c_str());
  QVERIFY(optimum->allreduceLimit->isReached);
  const auto proof = verify::checkTreeBound(fabric, optimum->boundProof.value());
  QVERIFY2(proof && proof->ok,
           proof ? test::textsOf(proof->findings).toUtf8().constData() : describe(proof.error()).c_str());
}

/// Schedules are sound and bounds proved on fabrics without symmetry, with random capabilities, in all three
/// collectives.
void TestInNetwork::randomFabrics() {
  int gains = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    fabric::Description description = test::randomFabric({.gpus = 2 + static_cast<int>(seed % 5),
                                                          .switches = 1 + static_cast<int>(seed % 3),
                                                          .largestBandwidth = 9,
                                                          .duplex = seed % 3 != 0},
                                                         seed);
    std::mt19937 random(seed);
    for (fabric::NodeDescription& node : description.nodes) {
      node.multicast = node.kind != "gpu" && random() % 4 > 0;
      node.aggregation = node.kind != "gpu" && random() % 4 > 0;
    }
    const fabric::Fabric fabric = built(description);
    const auto plain = forestcoll::optimum(fabric, {.collective = Collective::allreduce, .plainSwitches = true});
    QVERIFY(plain.hasValue());
    for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::reduceScatter}) {
      const forestcoll::Request request{.collective = collective};
      const auto optimum = forestcoll::optimum(fabric, request);
      QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
      checkSchedule(fabric, request, optimum->algbw);
      if (QTest::currentTestFailed()) {
        QFAIL(qPrintable(QStringLiteral("seed %1").arg(seed)));
      }
      if (collective == Collective::allreduce) {
        QVERIFY(optimum->algbw >= plain->algbw);
        gains += optimum->algbw > plain->algbw ? 1 : 0;
      }
    }
  }
  QVERIFY(gains > 10);
}

/// Trees and their mirror images as an allreduce that the verifier accepts.
void checkColumns(const fabric::Fabric& fabric, const forestcoll::ColumnTrees& found, const Bandwidth& bound) {
  schedule::Schedule schedule;
  schedule.collective = Collective::allreduce;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.overlapped = true;
  schedule.algbw = found.algbw;
  schedule.bound = bound;
  schedule.allreduceBound = bound;
  schedule.reduceForest = schedule::reversed(found.outTrees);
  schedule.broadcastForest = found.outTrees;
  const auto verdict = verify::verifySchedule(fabric, schedule);
  QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
  QVERIFY2(verdict->ok, test::textsOf(verdict->findings).toUtf8());
  QVERIFY(verdict->algbw == found.algbw);
}

void TestInNetwork::treesOverHubs_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("lost");
  QTest::addColumn<int>("switches");
  QTest::addColumn<QString>("bound");
  // Of the box with the fewest GPUs b + a (n - 1) / n, with a = NVLink and b = NICs, or n b where that is less.
  QTest::newRow("one switch") << "cluster boxes=7 gpus=32 network=simple nic=50 nvlink=150"
                              << "b0g25 b6g16 b6g13" << 1 << "195";
  QTest::newRow("slow NICs") << "cluster boxes=5 gpus=16 network=simple nic=12.5 nvlink=200"
                             << "b2g3 b4g0" << 1 << "375/2";
  QTest::newRow("two switches") << "cluster boxes=5 gpus=8 network=simple nic=25 nvlink=150"
                                << "b1g3" << 2 << "1250/7";
}

/// Boxes that only switches with SHARP join: trees are packed box by box.
void TestInNetwork::treesOverHubs() {
  QFETCH(QString, preset);
  QFETCH(QString, lost);
  QFETCH(QString, bound);
  QFETCH(int, switches);
  const Bandwidth expected{Rational::parse(bound.toStdString()).value()};
  fabric::Description description = damagedWith(preset, lost);
  if (switches == 2) {
    const auto links = description.links;
    for (fabric::LinkDescription link : links) {
      if (link.dst == "ib") {
        link.dst = "other";
        description.links.push_back(std::move(link));
      }
    }
    description.nodes.push_back({.id = "other", .kind = "switch", .multicast = true, .aggregation = true});
  }
  const fabric::Fabric fabric = built(description);
  checkSchedule(fabric, {.collective = Collective::allreduce}, expected);
  const forestcoll::TreeGraph graph = forestcoll::treeGraph(fabric);
  const auto packing = forestcoll::packOverHubs(graph, forestcoll::branching(graph, {}, false), expected,
                                                std::chrono::seconds(1), kThorough, {});
  QVERIFY(packing && packing->algbw() == expected);
  constexpr std::size_t kFew = 400;
  QVERIFY2(packing->parts.size() < kFew, std::to_string(packing->parts.size()).c_str());
}

void TestInNetwork::treesOverSeveralHubs_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("lost");
  QTest::addColumn<bool>("outside");
  // The box that lost a GPU is the bound: the others have room to join.
  QTest::newRow("planes") << "cluster boxes=12 gpus=4 network=planes nic=200 nvlink=150 planes=2"
                          << "b3g1" << false;
  QTest::newRow("rails") << "cluster boxes=24 gpus=4 network=rail-only nic=20 nvlink=450"
                         << "b3g1 b5g0" << true;
  QTest::newRow("rails, all switches") << "cluster boxes=24 gpus=4 network=rail-only nic=50 nvlink=450"
                                       << "b3g1 b5g0" << false;
}

/// Planes or rails, each with some of the GPUs of every box: none alone joins the boxes well. A tree hangs GPUs on any
/// of them, and in turn one box joins these.
void TestInNetwork::treesOverSeveralHubs() {
  QFETCH(QString, preset);
  QFETCH(QString, lost);
  QFETCH(bool, outside);
  fabric::Description description = damagedWith(preset, lost);
  for (fabric::NodeDescription& node : description.nodes) {
    node.multicast = node.aggregation = node.multicast && (node.box.empty() || !outside);
  }
  const fabric::Fabric fabric = built(description);
  const auto optimum = forestcoll::optimum(fabric, {.collective = Collective::allreduce});
  QVERIFY(optimum && optimum->allreduceLimit);
  const Bandwidth bound = optimum->allreduceLimit->algbw;
  const forestcoll::TreeGraph graph = forestcoll::treeGraph(fabric);
  const auto packing = forestcoll::packOverHubs(graph, forestcoll::branching(graph, {}, false), bound,
                                                std::chrono::seconds(1), kThorough, {});
  QVERIFY(packing);
  QVERIFY2(packing->algbw() <= bound && packing->algbw() >= bound * Rational(99, 100),
           toFraction(packing->algbw()).c_str());
  const auto found = forestcoll::treesByColumns(fabric, {}, std::nullopt, bound, kThorough, {});
  QVERIFY(found && found->algbw >= packing->algbw());
  checkColumns(fabric, *found, bound);
}

void TestInNetwork::treesByColumns_data() {
  reference_data();
}

/// Trees found one by one, without a mixture to follow: a schedule that the verifier accepts, never above the bound.
void TestInNetwork::treesByColumns() {
  QFETCH(QString, plain);
  QFETCH(QString, upper);
  const fabric::Fabric fabric = graphOf(QTest::currentDataTag());
  for (const bool isPlain : {false, true}) {
    const forestcoll::TreeDemand demand{.plainSwitches = isPlain};
    const Bandwidth bound{Rational::parse((isPlain ? plain : upper).toStdString()).value()};
    const auto found = forestcoll::treesByColumns(fabric, demand, std::nullopt, bound, kThorough, {});
    if (!found) {
      QVERIFY(!forestcoll::isMirrored(forestcoll::treeGraph(fabric), demand));
      continue;
    }
    checkColumns(fabric, *found, bound);
    if (QTest::currentTestFailed()) {
      return;
    }
    QVERIFY2(found->algbw <= bound, toFraction(found->algbw).c_str());
    QVERIFY2(found->algbw >= bound * Rational(19, 20), toFraction(found->algbw).c_str());
  }
}

/// Kinds whose images are equal share the links evenly: all together they fit. Boxes on leaves and spines, two of them
/// without a GPU: the switches of a box are a kind that keeps its GPUs alike.
void TestInNetwork::kindsShareTheLinks() {
  const fabric::Fabric fabric = built(damagedWith(
      "cluster boxes=9 boxes_per_leaf=4 gpus=32 network=leaf-spine nic=400 nvlink=100 oversubscription=1 spines=4",
      "b1g11 b3g28"));
  const Bandwidth bound(15400, 31);
  const auto mixture = forestcoll::bestMixture(fabric, {}, bound, {});
  QVERIFY(mixture && mixture->algbw == bound && mixture->isMirrored);
  QVERIFY(std::any_of(mixture->kinds.begin(), mixture->kinds.end(),
                      [](const forestcoll::TreeShare& share) { return share.images.size() > 1; }));
  std::map<std::pair<int, int>, Rational> loads;
  for (const forestcoll::TreeShare& share : mixture->kinds) {
    const auto images = static_cast<std::int64_t>(share.images.size());
    for (const auto& image : share.images) {
      for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
        const Rational load(share.bandwidths[arc], mixture->denominator * images);
        const int tail = image[fabric.arcs()[arc].tail];
        const int head = image[fabric.arcs()[arc].head];
        loads[{tail, head}] += load;
        loads[{head, tail}] += load;
      }
    }
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    QVERIFY((loads[{arc.tail, arc.head}] <= arc.bandwidth.gigabytesPerSecond()));
  }
}

/// One slow link among 288 GPUs leaves a mixture whose links are shared in fractions that more than a thousand
/// different trees make up; a few do as well.
void TestInNetwork::damagedCluster() {
  fabric::Description description = test::describedBy("cluster boxes=4 gpus=72 network=simple nvlink=900 nic=25");
  bool isDamaged = false;
  for (fabric::LinkDescription& link : description.links) {
    if (!isDamaged && link.bandwidth == "900") {
      link.bandwidth = "450";
      isDamaged = true;
    }
  }
  QVERIFY(isDamaged);
  for (fabric::NodeDescription& node : description.nodes) {
    node.multicast = node.aggregation = node.kind == "switch" && !node.box.empty();
  }
  const fabric::Fabric fabric = built(description);
  const Bandwidth bound(475, 1);
  checkSchedule(fabric, {.collective = Collective::allreduce}, bound);
  const auto found = forestcoll::treesByColumns(fabric, {}, std::nullopt, bound, kThorough, {});
  QVERIFY(found && found->algbw == bound);
  constexpr std::size_t kFew = 200;
  QVERIFY2(found->outTrees.trees.size() < kFew, std::to_string(found->outTrees.trees.size()).c_str());
}

/// A tree of each leaf has an image on every spine: 4,992 out-trees of all GPUs, or, over the spines, few that share
/// them.
void TestInNetwork::fewTreesOverSpines() {
  fabric::Description description =
      test::describedBy("fat-tree-2 gpus_per_leaf=8 leaves=52 oversubscription=1 spines=12");
  for (fabric::NodeDescription& node : description.nodes) {
    node.multicast = node.aggregation = node.kind == "switch" && node.box.empty();
  }
  const fabric::Fabric fabric = built(description);
  const auto generated = forestcoll::generate(fabric, {.collective = Collective::allreduce});
  QVERIFY(generated && generated->optimum.allreduceLimit);
  QVERIFY(generated->optimum.allreduceLimit->isReached);
  constexpr std::size_t kFew = 100;
  QVERIFY2(generated->schedule.broadcastForest->trees.size() < kFew,
           std::to_string(generated->schedule.broadcastForest->trees.size()).c_str());
}

/// The rate against all partitions, and what out-trees may take of the edges against all cuts.
void TestInNetwork::spanningPackings() {
  std::mt19937 random(7);
  const auto upTo = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  constexpr int kGraphs = 400;
  int coarse = 0;
  for (int graph = 0; graph < kGraphs; ++graph) {
    const int nodes = 1 + upTo(6);
    std::vector<forestcoll::WeightedEdge> edges;
    for (int b = 1; b < nodes; ++b) {
      const int parent = upTo(b) - 1;
      for (int a = 0; a < b; ++a) {
        if (a == parent || upTo(3) == 1) {
          edges.push_back({a, b, upTo(9)});
        }
      }
    }
    const auto packing = forestcoll::spanningPacking(nodes, edges, lp::Milliseconds(1000), {});
    QVERIFY(packing.has_value());
    coarse += packing->parts < nodes ? 1 : 0;

    std::optional<Rational> least;
    std::vector<int> part(static_cast<std::size_t>(nodes), 0);
    const std::function<void(int, int)> divide = [&](int node, int parts) {
      if (node < nodes) {
        for (int each = 0; each <= parts; ++each) {
          part[node] = each;
          divide(node + 1, std::max(parts, each + 1));
        }
      } else if (parts > 1) {
        std::int64_t cross = 0;
        for (const auto& edge : edges) {
          cross += part[edge.a] == part[edge.b] ? 0 : edge.capacity;
        }
        if (const Rational rate(cross, parts - 1); !least || rate < *least) {
          least = rate;
        }
      }
    };
    divide(1, 1);
    QCOMPARE(Rational(packing->cross, packing->parts - 1), *least);

    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
      QVERIFY(packing->forward[edge] >= 0 && packing->backward[edge] >= 0);
      QVERIFY(packing->forward[edge] + packing->backward[edge] <= edges[edge].capacity * (packing->parts - 1));
    }
    for (unsigned set = 1; set < 1U << static_cast<unsigned>(nodes); ++set) {
      const auto has = [set](int node) { return (set >> static_cast<unsigned>(node) & 1U) != 0; };
      std::int64_t entering = 0;
      for (std::size_t edge = 0; edge < edges.size(); ++edge) {
        if (has(edges[edge].a) != has(edges[edge].b)) {
          entering += has(edges[edge].b) ? packing->forward[edge] : packing->backward[edge];
        }
      }
      QVERIFY(has(packing->root) || entering >= packing->cross);
    }
  }
  QVERIFY(coarse > kGraphs / 10);  // not only the partition into single nodes
}

/// A torus that lost GPUs has no symmetry and many cuts. What leaves single GPUs limits it: each tree takes one link
/// less than there are GPUs.
void TestInNetwork::damagedTorus() {
  fabric::Description description = test::describedBy("torus dims=8x11x7 bandwidth=25");
  for (const char* id : {"g115", "g117", "g155", "g215", "g290", "g30", "g330", "g372", "g385", "g415"}) {
    const auto isGone = [id](const auto& node) { return node.id == id; };
    QCOMPARE(std::erase_if(description.nodes, isGone), std::size_t{1});
    std::erase_if(description.links, [id](const auto& link) { return link.src == id || link.dst == id; });
  }
  for (fabric::NodeDescription& node : description.nodes) {
    node.rank.reset();
  }
  const fabric::Fabric fabric = built(description);
  Rational sum;
  for (const fabric::Arc& arc : fabric.arcs()) {
    sum += arc.bandwidth.gigabytesPerSecond();
  }
  const Bandwidth bound{sum / Rational(2 * (fabric.gpuCount() - 1))};
  const auto made = forestcoll::generate(fabric, {.collective = Collective::allreduce});
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  const forestcoll::Optimum& optimum = made->optimum;
  QVERIFY(optimum.allreduceLimit && optimum.allreduceLimit->isExact);
  QVERIFY2(optimum.allreduceLimit->algbw == bound, toFraction(optimum.allreduceLimit->algbw).c_str());
  QVERIFY(made->schedule.algbw >= bound * Rational(99, 100));
  const auto verdict = verify::verifySchedule(fabric, made->schedule);
  QVERIFY2(verdict && verdict->ok, verdict ? test::textsOf(verdict->findings).toUtf8().constData() : "");
  QVERIFY(optimum.boundProof.has_value());
  const auto proof = verify::checkTreeBound(fabric, *optimum.boundProof, {.collective = Collective::allreduce});
  QVERIFY2(proof && proof->ok, proof ? test::textsOf(proof->findings).toUtf8().constData() : "");
}

/// Bounds by parts and by cuts are proved and not below the best bound; the least cut against all sets of nodes.
void TestInNetwork::boundsOfCuts() {
  int tight = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    fabric::Description description = test::randomFabric({.gpus = 2 + static_cast<int>(seed % 4),
                                                          .switches = 1 + static_cast<int>(seed % 3),
                                                          .largestBandwidth = 9,
                                                          .duplex = seed % 3 != 0},
                                                         seed);
    std::mt19937 random(seed);
    for (fabric::NodeDescription& node : description.nodes) {
      node.multicast = node.kind != "gpu" && random() % 4 == 0;
      node.aggregation = node.kind != "gpu" && random() % 4 == 0;
      node.box = std::array{"", "a", "b", "c"}[random() % 4];
    }
    const fabric::Fabric fabric = built(description);
    const forestcoll::TreeGraph graph = forestcoll::treeGraph(fabric);
    const forestcoll::TreeDemand demand;
    const auto best = forestcoll::treeBound(graph, demand, std::nullopt, {});
    QCOMPARE(best.status, lp::BoundStatus::exact);
    const auto byParts = forestcoll::partitionBound(graph, demand);
    const auto leastCut = forestcoll::leastCutBound(graph, {});
    for (const forestcoll::TreeBound* bound : {&byParts, &leastCut}) {
      const auto proof = verify::checkTreeBound(fabric, bound->proof.value(), {.collective = Collective::allreduce});
      QVERIFY2(proof && proof->ok, proof ? test::textsOf(proof->findings).toUtf8() : "");
      QVERIFY(bound->algbw == bound->proof->bound && bound->algbw >= best.algbw);
      tight += bound->algbw == best.algbw ? 1 : 0;
    }
    std::optional<Bandwidth> least;
    for (unsigned set = 1; set < 1U << static_cast<unsigned>(fabric.nodeCount()); ++set) {
      const auto has = [set](int node) { return (set >> static_cast<unsigned>(node) & 1U) != 0; };
      const auto inside = std::count_if(graph.gpus.begin(), graph.gpus.end(), has);
      if (inside == 0 || inside == fabric.gpuCount()) {
        continue;
      }
      Bandwidth entering;
      for (const lp::RateArc& arc : graph.arcs) {
        entering += has(arc.head) && !has(arc.tail) ? arc.bandwidth : Bandwidth();
      }
      least = least ? std::min(*least, entering) : entering;
    }
    QCOMPARE(leastCut.algbw, *least);
  }
  QVERIFY(tight > 40);
}

void TestInNetwork::damagedDragonfly_data() {
  QTest::addColumn<bool>("isCapable");
  QTest::addColumn<QString>("bound");
  QTest::newRow("plain routers") << false << "11250/899";
  QTest::newRow("routers that copy and sum") << true << "25";
}

/// Too large for the linear program, since missing links leave no symmetry. The links of the GPUs are the limit.
void TestInNetwork::damagedDragonfly() {
  QFETCH(bool, isCapable);
  QFETCH(QString, bound);
  fabric::Description description = test::describedBy("dragonfly a=6 h=4 p=6 global=100 local=25 terminal=25");
  for (const auto& [from, to] : {std::pair("b8r3", "b21r2"), std::pair("b11r3", "b11r4")}) {
    QCOMPARE(std::erase_if(description.links, [&](const auto& link) { return link.src == from && link.dst == to; }),
             std::size_t{1});
  }
  for (fabric::NodeDescription& node : description.nodes) {
    node.multicast = node.aggregation = isCapable && node.kind != "gpu";
  }
  const fabric::Fabric fabric = built(description);
  checkSchedule(fabric, {.collective = Collective::allreduce}, Bandwidth{Rational::parse(bound.toStdString()).value()});
  const auto optimum = forestcoll::optimum(fabric, {.collective = Collective::allreduce});
  QVERIFY(optimum && optimum->allreduceLimit && optimum->allreduceLimit->isExact && optimum->allreduceLimit->isReached);
}

QTEST_APPLESS_MAIN(TestInNetwork)
#include "tst_in_network.moc"
