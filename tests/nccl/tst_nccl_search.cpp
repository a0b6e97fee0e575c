// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "nccl/box_model.hpp"
#include "nccl/load.hpp"
#include "nccl/search.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

using namespace coppice;
using namespace coppice::nccl;
using test::must;

/// The graphs that NCCL would find on a fabric, and the best that a graph file can hold.
class TestNcclSearch : public QObject {
  Q_OBJECT

private slots:
  void wirings();
  void searches_data();
  void searches();
  void nvlsHeads_data();
  void nvlsHeads();
  void unequalBoxes();
  void tooManyGpusInABox();
  void cancelledWays();
};

/// Boxes are of one kind where their links have the same bandwidths and are shared by the same ways.
void TestNcclSearch::wirings() {
  for (const bool isUnlike : {false, true}) {
    fabric::Description description;
    description.nodes = {{.id = "net", .kind = "switch"}};
    for (const std::string box : {"a", "b", "c"}) {
      for (const char* gpu : {"0", "1", "2"}) {
        description.nodes.push_back({.id = box + gpu, .box = box});
        description.links.push_back({.src = box + gpu, .dst = "net", .bandwidth = "10"});
      }
      const bool isFast = isUnlike && box == "b";
      description.links.push_back({.src = box + "0", .dst = box + "1", .bandwidth = isFast ? "40" : "20"});
      description.links.push_back({.src = box + "1", .dst = box + "2", .bandwidth = "20"});
      description.links.push_back({.src = box + "2", .dst = box + "0", .bandwidth = "20"});
    }
    const auto fabric = must(fabric::Fabric::build(description));
    Ways ways(fabric);
    const auto boxes = must(boxModels(ways));
    QCOMPARE(wiringKinds(fabric, boxes), (isUnlike ? std::vector<int>{0, 1, 0} : std::vector<int>{0, 0, 0}));
    const FoundGraphs found = must(searchBest(ways, must(searchAsNccl(ways))));
    QCOMPARE(found.others.size(), static_cast<std::size_t>(isUnlike ? 1 : 0));
    QCOMPARE(found.channels.rings.front().hops.size(), std::size_t{9});
  }
}

void TestNcclSearch::searches_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("boxes");
  QTest::addColumn<int>("capability");
  QTest::newRow("DGX-1") << "dgx1-v100" << 1 << 70;
  QTest::newRow("DGX A100") << "dgx-a100" << 1 << 80;
  QTest::newRow("two DGX A100") << "dgx-a100" << 2 << 80;
  QTest::newRow("four DGX H100") << "dgx-h100" << 4 << 90;
}

/// What the search finds is a file that NCCL takes, and the best is never worse than it.
void TestNcclSearch::searches() {
  QFETCH(QString, preset);
  QFETCH(int, boxes);
  QFETCH(int, capability);
  const auto fabric =
      must(fabric::Fabric::build(must(presets::make(preset.toStdString(), {{"boxes", std::to_string(boxes)}}))));
  Ways ways(fabric);
  const SearchOptions options{.computeCapability = capability};
  const FoundGraphs stock = must(searchAsNccl(ways, options));
  const FoundGraphs best = must(searchBest(ways, stock, options));
  QVERIFY(!(best.allreduce.algbw < stock.allreduce.algbw));
  for (const FoundGraphs* found : {&stock, &best}) {
    std::vector<int> devices(static_cast<std::size_t>(fabric.gpuCount() / boxes));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[i] = static_cast<int>(i);
    }
    const GraphSet read = must(readGraphs(writeGraphs(found->graphs), "written"));
    QCOMPARE(read, found->graphs);
    for (const Finding& finding : checkGraphs(read, devices, boxes == 1)) {
      QFAIL(finding.text.c_str());
    }
    QCOMPARE(found->channels.rings.front().hops.size(), static_cast<std::size_t>(fabric.gpuCount()));
  }
}

void TestNcclSearch::nvlsHeads_data() {
  QTest::addColumn<QString>("options");
  QTest::addColumn<int>("capability");
  QTest::addColumn<int>("heads");
  QTest::addColumn<QString>("speeds");
  // As NCCL found them with 370 GB/s for each GPU: nine times 40 fit.
  QTest::newRow("one box") << QStringLiteral("nvlink=370") << 90 << 8 << QStringLiteral("40/60");
  QTest::newRow("450 GB/s") << QStringLiteral("nvlink=450") << 90 << 8 << QStringLiteral("50/60");
  QTest::newRow("before Hopper") << QStringLiteral("nvlink=450") << 80 << 0 << QString();
  QTest::newRow("four boxes") << QStringLiteral("boxes=4") << 90 << 8 << QStringLiteral("48/48");
  QTest::newRow("slow NICs") << QStringLiteral("boxes=4;nic=25") << 90 << 8 << QStringLiteral("24/24");
}

void TestNcclSearch::nvlsHeads() {
  QFETCH(QString, options);
  QFETCH(int, capability);
  QFETCH(int, heads);
  QFETCH(QString, speeds);
  std::map<std::string, std::string> values{{"boxes", "1"}};
  for (const QString& option : options.split(u';')) {
    values[option.section(u'=', 0, 0).toStdString()] = option.section(u'=', 1).toStdString();
  }
  const auto fabric = must(fabric::Fabric::build(must(presets::make("dgx-h100", values))));
  Ways ways(fabric);
  const FoundGraphs found = must(searchAsNccl(ways, {.computeCapability = capability}));
  QCOMPARE(found.nvls.has_value(), heads > 0);
  QCOMPARE(found.channels.nvlsHeads.size(), static_cast<std::size_t>(heads));
  if (heads == 0) {
    return;
  }
  QCOMPARE(QString::fromStdString(found.nvls->speedIntra + "/" + found.nvls->speedInter), speeds);
  std::set<int> ranks;
  for (const HeadRanks& head : found.channels.nvlsHeads) {
    QCOMPARE(head.ranks.size(), static_cast<std::size_t>(std::stoi(values["boxes"])));
    ranks.insert(head.ranks.begin(), head.ranks.end());
  }
  QCOMPARE(ranks.size(), static_cast<std::size_t>(fabric.gpuCount()));
}

void TestNcclSearch::unequalBoxes() {
  fabric::Description description;
  description.nodes = {
      {.id = "a0", .box = "a"}, {.id = "a1", .box = "a"}, {.id = "b0", .box = "b"}, {.id = "s", .kind = "switch"}};
  for (const char* id : {"a0", "a1", "b0"}) {
    description.links.push_back({.src = id, .dst = "s", .bandwidth = "10"});
  }
  const auto fabric = must(fabric::Fabric::build(description));
  Ways ways(fabric);
  const auto found = searchAsNccl(ways);
  QVERIFY(!found);
  QCOMPARE(found.error().code, ErrorCode::infeasible);
}

/// GPUs on one switch, in one box.
fabric::Fabric starOf(int gpus) {
  fabric::Description description;
  description.nodes = {{.id = "s", .kind = "switch", .box = "rack"}};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    description.nodes.push_back({.id = std::to_string(gpu), .box = "rack"});
    description.links.push_back({.src = std::to_string(gpu), .dst = "s", .bandwidth = "10"});
  }
  return must(fabric::Fabric::build(description));
}

void TestNcclSearch::tooManyGpusInABox() {
  const auto fabric = starOf(641);
  Ways ways(fabric);
  const auto found = searchAsNccl(ways);
  QVERIFY(!found);
  QCOMPARE(found.error().code, ErrorCode::limit);
  QVERIFY2(found.error().message.find("\"rack\" has 641 GPUs") != std::string::npos, found.error().message.c_str());
}

void TestNcclSearch::cancelledWays() {
  const auto fabric = starOf(640);
  std::stop_source stop;
  stop.request_stop();
  Ways ways(fabric, {.stop = stop.get_token()});
  const auto boxes = boxModels(ways);
  QVERIFY(!boxes);
  QCOMPARE(boxes.error().code, ErrorCode::cancelled);
}

QTEST_APPLESS_MAIN(TestNcclSearch)
#include "tst_nccl_search.moc"
