// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "coppice/test_paths.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/frontier.hpp"
#include "workflow/frontier_request.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/training_choice.hpp"

using namespace coppice;
using namespace coppice::workflow;
using test::must;

namespace {

bom::Parts sample() {
  return must(bom::readParts(must(io::readFile(COPPICE_EXAMPLES "/parts.csv")), "parts.csv"));
}

/// Boxes of two GPUs, which take milliseconds.
FrontierRequest smallRequest() {
  FrontierRequest request;
  request.variants.box = "cluster";
  request.variants.gpus = 16;
  request.variants.arguments = {{"gpus", "2"}};
  request.variants.nics = {Bandwidth(25), Bandwidth(50)};
  request.variants.tapers = {1, 2};
  request.variants.planes = {2};
  return request;
}

}  // namespace

class TestFrontier : public QObject {
  Q_OBJECT

private slots:
  void frontByBruteForce();
  void groupsHaveOneBound();
  void boundsByHand();
  void trainingStep_data();
  void trainingStep();
  void tablesOfParts_data();
  void tablesOfParts();
  void files();
  void refuses_data();
  void refuses();
  void notBuilt();
  void cancelled();
};

/// Every network is there, built and judged on its own; the front is what no other beats, by the definition.
void TestFrontier::frontByBruteForce() {
  const FrontierRequest request = smallRequest();
  const bom::Parts parts = sample();
  const Frontier frontier = must(findFrontier(request, parts, {}));
  QVERIFY(frontier.variants > 100);
  QVERIFY(frontier.points.size() > 10);
  // Of all variants, whether they were kept or not.
  struct All {
    Rational price;
    Rational watts;
    NetworkBounds bounds;
  };
  std::map<std::string, NetworkBounds> boundsOf;
  for (const FrontierPoint& point : frontier.points) {
    boundsOf[point.group] = point.bounds;
  }
  std::vector<All> all;
  for (const Variant& variant : must(networkVariants(request.variants))) {
    const auto fabric = must(fabric::Fabric::build(must(presets::make(request.variants.box, variant.arguments))));
    for (const bom::Preference preference : {bom::Preference::price, bom::Preference::watts}) {
      if (const auto bill = bom::billOf(fabric, parts, request.floor, preference)) {
        all.push_back({bill->total.price, bill->total.watts, boundsOf.at(variant.group)});
      }
    }
  }
  QVERIFY(all.size() > frontier.points.size());
  for (const FrontierPoint& point : frontier.points) {
    bool isBeaten = false;
    for (const All& other : all) {
      const bool isAsGood = other.price <= point.bill.total.price && other.watts <= point.bill.total.watts &&
                            other.bounds.allreduce >= point.bounds.allreduce &&
                            other.bounds.alltoall >= point.bounds.alltoall;
      const bool isSame = other.price == point.bill.total.price && other.watts == point.bill.total.watts &&
                          other.bounds.allreduce == point.bounds.allreduce &&
                          other.bounds.alltoall == point.bounds.alltoall;
      isBeaten = isBeaten || (isAsGood && !isSame);
    }
    QCOMPARE(point.isOnFront, !isBeaten);
  }
  // And every variant is as good as nothing that a point of the front is not.
  for (const All& each : all) {
    QVERIFY(std::any_of(frontier.points.begin(), frontier.points.end(), [&](const FrontierPoint& point) {
      return point.isOnFront && point.bill.total.price <= each.price && point.bill.total.watts <= each.watts &&
             point.bounds.allreduce >= each.bounds.allreduce && point.bounds.alltoall >= each.bounds.alltoall;
    }));
  }
}

/// Variants that differ in spines and cores alone have the same bounds, computed on each.
void TestFrontier::groupsHaveOneBound() {
  FrontierRequest request = smallRequest();
  request.variants.nics = {};
  request.variants.networks = {"leaf-spine", "two-plane", "three-tier"};
  std::map<std::string, std::pair<Bandwidth, Bandwidth>> known;
  std::set<std::string> several;
  for (const Variant& variant : must(networkVariants(request.variants))) {
    const auto fabric = must(fabric::Fabric::build(must(presets::make(request.variants.box, variant.arguments))));
    const auto allreduce = must(provedOptimum(fabric, {.collective = Collective::allreduce}));
    const auto alltoall = must(verifiedAlltoall(fabric, {}, {}));
    QVERIFY(alltoall->isExact());
    const std::pair bounds(allreduce.algbw, alltoall->upper);
    const auto [found, isNew] = known.try_emplace(variant.group, bounds);
    QVERIFY2(found->second == bounds, variant.name.c_str());
    if (!isNew) {
      several.insert(variant.group);
    }
  }
  QVERIFY(several.size() > 10);
}

/// Eight boxes of two GPUs, NICs of 50 GB/s: a box sends 100 GB/s. Alltoall: of 16 shards of a GPU 14 leave the box, so
/// that algbw is 100 / (2 * 14/16) = 400/7. With leaves of four boxes at 4:1, 400/4 GB/s leave a leaf, for 8 of 16
/// shards of 8 GPUs: 100 / (8 * 8/16) = 25.
void TestFrontier::boundsByHand() {
  FrontierRequest request = smallRequest();
  request.variants.nics = {Bandwidth(50)};
  request.variants.networks = {"simple", "leaf-spine"};
  const Frontier frontier = must(findFrontier(request, sample(), {}));
  std::map<std::string, NetworkBounds> bounds;
  for (const FrontierPoint& point : frontier.points) {
    bounds[point.group] = point.bounds;
  }
  QCOMPARE(bounds.at("simple, NICs of 50 GB/s").alltoall, Bandwidth(400, 7));
  QCOMPARE(bounds.at("leaf-spine 1:1, 4 boxes per leaf, NICs of 50 GB/s").alltoall, Bandwidth(400, 7));
  QCOMPARE(bounds.at("leaf-spine 4:1, 4 boxes per leaf, NICs of 50 GB/s").alltoall, Bandwidth(25));
  for (const auto& [name, each] : bounds) {
    QCOMPARE(each.alltoall, each.alltoallUpper);
    QVERIFY(each.allreduce <= each.allreduceUpper);
  }
}

void TestFrontier::trainingStep_data() {
  QTest::addColumn<std::int64_t>("batch");
  QTest::addColumn<bool>("isComputation");
  QTest::newRow("computation limits") << std::int64_t{64} << true;
  QTest::newRow("communication limits") << std::int64_t{4} << false;
}

/// A network that is cheaper and no slower than another one keeps it off the front, unless the step tells otherwise:
/// it is computed unless computation alone takes as long as the step of the better one.
void TestFrontier::trainingStep() {
  QFETCH(std::int64_t, batch);
  QFETCH(bool, isComputation);
  FrontierRequest request = smallRequest();
  request.variants.gpus = 8;
  request.variants.nics = {Bandwidth(50)};
  request.variants.networks = {"simple", "rails"};
  request.training =
      must(readTraining({{"model", "llama-3-8b"}, {"batch", std::to_string(batch)}, {"sequence", "1024"}}));
  const Frontier frontier = must(findFrontier(request, sample(), {}));
  QCOMPARE(frontier.points.size(), std::size_t{4});
  QVERIFY(frontier.points.front().isOnFront && frontier.points.front().bounds.step);
  const Rational first = *frontier.points.front().bounds.step;
  for (std::size_t i = 1; i < frontier.points.size(); ++i) {
    const FrontierPoint& point = frontier.points[i];
    QCOMPARE(point.bounds.hasStep, !isComputation);
    const auto fabric = must(fabric::Fabric::build(point.description));
    const auto choice = must(chooseTraining(fabric, request.training->demand, {}, {}));
    QVERIFY(choice.plans.front().overlapped() >= first);
    QVERIFY(!point.isOnFront);
    if (point.bounds.step) {
      QCOMPARE(*point.bounds.step, choice.plans.front().overlapped());
    }
  }
}

void TestFrontier::tablesOfParts_data() {
  QTest::addColumn<QByteArray>("json");
  QTest::addColumn<QString>("fault");
  const QByteArray good = R"([
    {"kind": "switch", "name": "S", "ports": 8, "rate": 50, "watts": 100, "price": 1000.5},
    {"name": "C", "kind": "copper", "rate": "400Gb/s", "reach": 3, "watts": 0.1, "price": 20, "note": null}
  ])";
  const auto row = [](const char* name, const QByteArray& json, const char* fault) {
    QTest::newRow(name) << json << QString(fault);
  };
  row("list", good, "");
  row("named list", "{\"currency\": \"none\", \"parts\": " + good + "}", "");
  row("two lists", R"({"a": [], "b": []})", "no list of rows");
  row("no list", R"({"a": 1})", "no list of rows");
  row("no objects", "[\n1]", "parts.json:2: an entry of the list is not an object");
  row("nested", R"([{"kind": ["switch"]}])", "is not a number or a text");
  row("empty", "[]", "column is missing");
  row("unknown column", R"([{"colour": "red"}])", "there is no column");
  row("bad number", QByteArray(good).replace("1000.5", "\"dear\""), "parts.json:2");
  row("no JSON", "[{", "parts.json");
}

/// JSON says what a table says.
void TestFrontier::tablesOfParts() {
  QFETCH(QByteArray, json);
  QFETCH(QString, fault);
  const QTemporaryDir folder;
  const std::string path = folder.filePath("parts.json").toStdString();
  QVERIFY(io::saveFile(path, json.toStdString()));
  const auto read = readPartsAndFloor({{"parts", path}});
  if (!fault.isEmpty()) {
    QVERIFY(!read);
    QVERIFY2(QString::fromStdString(describe(read.error())).contains(fault), describe(read.error()).c_str());
    return;
  }
  const bom::Parts parts = must(read).parts;
  const bom::Parts table =
      must(bom::readParts("kind,name,ports,rate,reach,watts,price\n"
                          "switch,S,8,50,,100,1000.5\ncopper,C,,50,3,0.1,20\n"));
  QCOMPARE(parts.rows.size(), table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const bom::Part& one = parts.rows[i];
    const bom::Part& other = table.rows[i];
    QVERIFY(one.kind == other.kind && one.name == other.name && one.ports == other.ports && one.rate == other.rate &&
            one.reach == other.reach && one.watts == other.watts && one.price == other.price);
  }
}

void TestFrontier::files() {
  FrontierRequest request = smallRequest();
  request.variants.networks = {"simple", "rails"};
  const bom::Parts parts = sample();
  const Frontier frontier = must(findFrontier(request, parts, {}));
  const QTemporaryDir folder;
  const std::string path = folder.filePath("out").toStdString();
  const auto stems = must(writeFrontier(path, frontier, parts));
  std::size_t onFront = 0;
  for (const FrontierPoint& point : frontier.points) {
    if (!point.isOnFront) {
      continue;
    }
    const std::string& stem = path + "/" + stems[onFront++];
    QCOMPARE(must(io::readFabricJson(must(io::readFile(stem + ".fabric.json")))), point.description);
    const QString bill = QString::fromStdString(must(io::readFile(stem + ".bill.csv")));
    QVERIFY(bill.contains("total,,,," + QString::fromStdString(toExactText(point.bill.total.price))));
    QVERIFY(QFile::exists(QString::fromStdString(stem + ".cables.csv")));
  }
  QCOMPARE(stems.size(), onFront);
  QVERIFY(onFront > 0);
  const QString csv = QString::fromStdString(must(io::readFile(path + "/frontier.csv")));
  QCOMPARE(csv.count('\n'), static_cast<qsizetype>(frontier.points.size() + 1));
  QCOMPARE(csv.count(",yes\n"), static_cast<qsizetype>(onFront));
}

void TestFrontier::refuses_data() {
  QTest::addColumn<QString>("box");
  QTest::addColumn<int>("gpus");
  QTest::addColumn<QString>("network");
  QTest::addColumn<QString>("option");
  QTest::newRow("no such box") << "dgx" << 64 << ""
                               << "--box";
  QTest::newRow("no network") << "torus" << 64 << ""
                              << "--box";
  QTest::newRow("part of a box") << "dgx-h100" << 60 << ""
                                 << "--gpus";
  QTest::newRow("one box") << "dgx-h100" << 8 << ""
                           << "--gpus";
  QTest::newRow("no such network") << "dgx-h100" << 64 << "mesh"
                                   << "--network";
}

void TestFrontier::refuses() {
  QFETCH(QString, box);
  QFETCH(int, gpus);
  QFETCH(QString, network);
  QFETCH(QString, option);
  FrontierRequest request;
  request.variants.box = box.toStdString();
  request.variants.gpus = gpus;
  if (!network.isEmpty()) {
    request.variants.networks = {network.toStdString()};
  }
  const auto frontier = findFrontier(request, sample(), {});
  QVERIFY(!frontier);
  QCOMPARE(frontier.error().where.element.as(RefKind::option)->name, option.toStdString());
  QVERIFY(!frontier.error().fix.empty());
}

/// 256 GPUs on one switch need 256 ports, which the table does not have; where nothing can be built, that is the error.
void TestFrontier::notBuilt() {
  FrontierRequest request;
  request.variants.gpus = 256;
  request.variants.networks = {"simple", "rail-only"};
  const Frontier frontier = must(findFrontier(request, sample(), {}));
  QCOMPARE(frontier.points.size(), std::size_t{1});
  QCOMPARE(frontier.notBuilt.size(), std::size_t{1});
  QCOMPARE(frontier.notBuilt.front().name, std::string("simple"));
  QCOMPARE(frontier.notBuilt.front().reason,
           std::string("no switch has the 256 ports of 50 GB/s that \"ib\" needs; the largest has 128"));
  request.variants.networks = {"simple"};
  const auto nothing = findFrontier(request, sample(), {});
  QVERIFY(!nothing);
  QCOMPARE(nothing.error().message, frontier.notBuilt.front().reason);
}

void TestFrontier::cancelled() {
  std::stop_source source;
  source.request_stop();
  const auto frontier = findFrontier(smallRequest(), sample(), {.onReport = {}, .stop = source.get_token()});
  QVERIFY(!frontier);
  QCOMPARE(frontier.error().code, ErrorCode::cancelled);
}

QTEST_APPLESS_MAIN(TestFrontier)
#include "tst_frontier.moc"
