// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <map>
#include <random>

#include "groups/groups.hpp"
#include "groups/reference_groups.hpp"
#include "groups/shares.hpp"
#include "io/files.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/concurrent_check.hpp"
#include "workflow/concurrent_schedules.hpp"
#include "workflow/playable.hpp"
#include "workflow/schedule_file.hpp"

using namespace coppice;
using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using test::demandOf;
using test::fabricOf;
using test::presetFabric;
using test::referenceTable;

/// Schedules of several groups that keep to their shares of the links.
namespace {

ConcurrentDemand meshDemand(const fabric::Fabric& fabric, const std::vector<int>& sizes, int axis,
                            Collective collective) {
  ConcurrentDemand demand;
  demand.groups = *groups::meshGroups(sizes, axis, fabric.gpuCount());
  for (ConcurrentGroup& group : demand.groups) {
    group.collective = collective;
  }
  return demand;
}

/// What all schedules together put on each link of the whole fabric in a second of data at their rates, by the names of
/// its ends: from the links of the groups' parts alone.
std::map<std::pair<std::string, std::string>, Rational> usedBy(const std::vector<workflow::GroupSchedule>& schedules) {
  std::map<std::pair<std::string, std::string>, Rational> used;
  for (const workflow::GroupSchedule& each : schedules) {
    for (const fabric::Arc& arc : each.fabric.arcs()) {
      used[{each.fabric.nodes()[arc.tail].id, each.fabric.nodes()[arc.head].id}] += arc.bandwidth.gigabytesPerSecond();
    }
  }
  return used;
}

bool fits(const fabric::Fabric& fabric, const std::vector<workflow::GroupSchedule>& schedules) {
  for (const auto& [ends, gigabytes] : usedBy(schedules)) {
    const auto arc = fabric.findArc(*fabric.find(ends.first), *fabric.find(ends.second));
    if (!arc || fabric.arcs()[*arc].bandwidth.gigabytesPerSecond() < gigabytes) {
      return false;
    }
  }
  return true;
}

}  // namespace

class TestGroupSchedules : public QObject {
  Q_OBJECT

private slots:
  void reference_data();
  void reference();
  void meshes_data();
  void meshes();
  void randomGroups();
  void spoiledShares();
  void files();
  void together_data();
  void together();
  void foldersOfOthersAreRefused();

private:
  /// Schedules of the demand in a folder.
  static void write(const fabric::Fabric& fabric, const fabric::Description& description,
                    const ConcurrentDemand& demand, const QString& folder);
};

void TestGroupSchedules::reference_data() {
  QTest::addColumn<int>("index");
  int index = 0;
  for (const auto& entry : referenceTable()) {
    QTest::newRow(entry.at("name").get<std::string>().c_str()) << index++;
  }
}

/// Every group reaches the exact rate, and all together fit the links.
void TestGroupSchedules::reference() {
  QFETCH(int, index);
  const nlohmann::json& entry = referenceTable().at(static_cast<std::size_t>(index));
  const fabric::Fabric fabric = fabricOf(entry.at("fabric"));
  const ConcurrentDemand demand = demandOf(entry, fabric.gpuCount());
  const auto optimum = workflow::provedConcurrent(fabric, demand, {});
  QVERIFY(optimum);
  QVERIFY(optimum->isExact());
  const auto schedules = workflow::scheduleGroups(fabric, demand, *optimum, {});
  QVERIFY2(schedules, schedules ? "" : describe(schedules.error()).c_str());
  QCOMPARE(schedules->size(), demand.groups.size());
  for (std::size_t i = 0; i < schedules->size(); ++i) {
    const workflow::GroupSchedule& each = (*schedules)[i];
    QVERIFY(each.judged.verdict.ok);
    QVERIFY(each.wanted == optimum->upper * demand.groups[i].weight);
    QVERIFY(schedule::algbwOf(each.judged.made.schedule) >= each.wanted);
  }
  QVERIFY(fits(fabric, *schedules));
}

void TestGroupSchedules::meshes_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<std::vector<int>>("sizes");
  QTest::addColumn<int>("axis");
  QTest::addColumn<std::string>("collective");
  QTest::newRow("tensor") << QString("dgx-h100 boxes=4") << std::vector<int>{4, 8} << 1 << std::string("allgather");
  QTest::newRow("data") << QString("dgx-h100 boxes=4") << std::vector<int>{4, 8} << 0 << std::string("allreduce");
  QTest::newRow("halves of boxes") << QString("dgx-a100 boxes=2") << std::vector<int>{4, 4} << 1
                                   << std::string("alltoall");
  QTest::newRow("leaves") << QString("fat-tree-2") << std::vector<int>{4, 4} << 0 << std::string("reduce_scatter");
  QTest::newRow("gather") << QString("dgx-a100 boxes=2") << std::vector<int>{2, 8} << 0 << std::string("gather");
}

void TestGroupSchedules::meshes() {
  QFETCH(QString, preset);
  QFETCH(std::vector<int>, sizes);
  QFETCH(int, axis);
  QFETCH(std::string, collective);
  const fabric::Fabric fabric = presetFabric(preset);
  if (sizes[0] * sizes[1] != fabric.gpuCount()) {
    sizes = {fabric.gpuCount() / 4, 4};
  }
  const ConcurrentDemand demand = meshDemand(fabric, sizes, axis, *parseCollective(collective));
  const auto optimum = workflow::provedConcurrent(fabric, demand, {});
  QVERIFY2(optimum, optimum ? "" : describe(optimum.error()).c_str());
  const auto schedules = workflow::scheduleGroups(fabric, demand, *optimum, {});
  QVERIFY2(schedules, schedules ? "" : describe(schedules.error()).c_str());
  for (const workflow::GroupSchedule& each : *schedules) {
    QVERIFY(schedule::algbwOf(each.judged.made.schedule) >= each.wanted);
  }
  QVERIFY(fits(fabric, *schedules));
}

/// Groups that overlap, with unequal weights, on boxes and tori.
void TestGroupSchedules::randomGroups() {
  std::mt19937 random(20261129);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  constexpr std::array kCollectives{Collective::allgather, Collective::reduceScatter, Collective::broadcast,
                                    Collective::reduce,    Collective::alltoall,      Collective::allreduce};
  int made = 0;
  for (int round = 0; round < 60; ++round) {
    const fabric::Fabric fabric = presetFabric(round % 2 == 0 ? "dgx-a100 boxes=2" : "torus dims=3x3");
    ConcurrentDemand demand;
    demand.relays.assign(static_cast<std::size_t>(fabric.gpuCount()), true);
    const int count = 1 + below(3);
    for (int i = 0; i < count; ++i) {
      std::vector<int> ranks(static_cast<std::size_t>(fabric.gpuCount()));
      std::iota(ranks.begin(), ranks.end(), 0);
      std::shuffle(ranks.begin(), ranks.end(), random);
      ranks.resize(static_cast<std::size_t>(2 + below(4)));
      demand.groups.push_back({.ranks = ranks,
                               .collective = kCollectives[static_cast<std::size_t>(below(kCollectives.size()))],
                               .weight = Rational(1 + below(3), 1 + below(2))});
    }
    const auto optimum = workflow::provedConcurrent(fabric, demand, {});
    QVERIFY2(optimum, optimum ? "" : describe(optimum.error()).c_str());
    const auto schedules = workflow::scheduleGroups(fabric, demand, *optimum, {});
    if (!schedules) {
      // Groups with a root may leave nothing of a way back.
      QCOMPARE(schedules.error().code, ErrorCode::infeasible);
      continue;
    }
    ++made;
    QVERIFY(fits(fabric, *schedules));
    for (std::size_t i = 0; i < schedules->size(); ++i) {
      const workflow::GroupSchedule& each = (*schedules)[i];
      QVERIFY2(schedule::algbwOf(each.judged.made.schedule) >= each.wanted, qPrintable(QString::number(round)));
    }
  }
  QVERIFY2(made >= 55, qPrintable(QString::number(made)));
}

void TestGroupSchedules::spoiledShares() {
  const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=2");
  const ConcurrentDemand demand = meshDemand(fabric, {2, 8}, 1, Collective::allgather);
  const auto optimum = groups::optimum(fabric, demand);
  const auto shares = groups::linkShares(fabric, demand, *optimum, {});
  QVERIFY(shares);
  QVERIFY(verify::checkShares(fabric, demand, *shares));
  schedule::LinkShares more = *shares;
  more[0][0].bandwidth += Bandwidth(Rational(1'000));
  QCOMPARE(verify::checkShares(fabric, demand, more).error().code, ErrorCode::verification);
  schedule::LinkShares foreign = *shares;
  foreign[0].push_back(foreign[1][0]);
  QCOMPARE(verify::checkShares(fabric, demand, foreign).error().code, ErrorCode::verification);
  schedule::LinkShares none = *shares;
  none[0][0].bandwidth = {};
  QCOMPARE(verify::checkShares(fabric, demand, none).error().code, ErrorCode::verification);
  schedule::LinkShares fewer = *shares;
  fewer.pop_back();
  QCOMPARE(verify::checkShares(fabric, demand, fewer).error().code, ErrorCode::verification);
}

/// A file has its group's part of the fabric, and is a schedule like any other.
void TestGroupSchedules::files() {
  const QTemporaryDir folder;
  const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=2");
  const ConcurrentDemand demand = meshDemand(fabric, {2, 8}, 0, Collective::allgather);
  const auto optimum = groups::optimum(fabric, demand);
  const auto schedules = workflow::scheduleGroups(fabric, demand, *optimum, {});
  const std::filesystem::path path = folder.filePath("deep/er").toStdString();
  const auto names = workflow::writeGroups(path, demand, *schedules, nullptr, {});
  QVERIFY(names);
  QCOMPARE(names->size(), std::size_t{8});
  QCOMPARE(names->back(), std::string("group-7.forest.json"));
  const auto text = io::readFile(path / names->back());
  QVERIFY(text);
  const auto read = workflow::readSchedule(*text, names->back());
  QVERIFY2(read, read ? "" : describe(read.error()).c_str());
  QCOMPARE(read->fabric.gpuCount(), 2);
  QVERIFY(workflow::requireVerified(read->fabric, read->schedule, {}));
  QVERIFY(schedule::algbwOf(read->schedule) >= optimum->upper);
}

void TestGroupSchedules::write(const fabric::Fabric& fabric, const fabric::Description& description,
                               const ConcurrentDemand& demand, const QString& folder) {
  const auto optimum = groups::optimum(fabric, demand);
  QVERIFY(optimum && optimum->isExact());
  const auto schedules = workflow::scheduleGroups(fabric, demand, *optimum, {});
  QVERIFY2(schedules, schedules ? "" : describe(schedules.error()).c_str());
  QVERIFY(workflow::writeGroups(folder.toStdString(), demand, *schedules, &description, {}));
}

void TestGroupSchedules::together_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<std::vector<int>>("sizes");
  QTest::addColumn<std::vector<int>>("axes");
  QTest::addColumn<std::string>("collective");
  QTest::newRow("pairs across") << QString("dgx-a100 boxes=2") << std::vector<int>{2, 8} << std::vector<int>{0}
                                << std::string("allgather");
  QTest::newRow("both axes") << QString("dgx-a100 boxes=2") << std::vector<int>{2, 8} << std::vector<int>{0, 1}
                             << std::string("reduce_scatter");
  QTest::newRow("allreduce") << QString("dgx-a100 boxes=2") << std::vector<int>{2, 8} << std::vector<int>{1}
                             << std::string("allreduce");
  QTest::newRow("rows of a torus") << QString("torus dims=4x4") << std::vector<int>{4, 4} << std::vector<int>{1}
                                   << std::string("allgather");
  QTest::newRow("alltoall") << QString("dgx-a100 boxes=2") << std::vector<int>{2, 8} << std::vector<int>{0}
                            << std::string("alltoall");
}

/// All groups on the links at the same time come close to the rate where messages cost nothing, and never above it.
void TestGroupSchedules::together() {
  QFETCH(QString, preset);
  QFETCH(std::vector<int>, sizes);
  QFETCH(std::vector<int>, axes);
  QFETCH(std::string, collective);
  const QTemporaryDir folder;
  const fabric::Description description = test::describedBy(preset);
  const fabric::Fabric fabric = test::built(description);
  ConcurrentDemand demand;
  for (const int axis : axes) {
    for (ConcurrentGroup& group : meshDemand(fabric, sizes, axis, *parseCollective(collective)).groups) {
      group.weight = Rational(axis == 0 ? 1 : 2);
      demand.groups.push_back(std::move(group));
    }
  }
  write(fabric, description, demand, folder.path());
  const double rate = toGBps(groups::optimum(fabric, demand)->upper);
  const simulate::Model free{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};
  const auto playable = workflow::loadPlayable({.file = folder.path().toStdString(), .model = free}, {});
  QVERIFY2(playable, playable ? "" : describe(playable.error()).c_str());
  QCOMPARE(playable->groups.size(), demand.groups.size());
  double before = 0;
  for (const std::int64_t size : {std::int64_t{1} << 20, std::int64_t{1} << 28}) {
    const auto details = playable->subject->simulate(size, {.pieces = 256});
    QVERIFY2(details, details ? "" : describe(details.error()).c_str());
    const double reached = details->row.algbw.gigabytesPerSecond();
    QVERIFY2(reached <= rate * (1 + 1e-9), qPrintable(QString::number(reached)));
    QVERIFY2(reached >= 0.95 * rate, qPrintable(QString::number(reached)));
    QVERIFY(reached >= before * (1 - 1e-9));
    before = reached;
    Microseconds last(0);
    for (const workflow::PlayedGroup& group : playable->groups) {
      const Microseconds time = group.timeIn(details->phases.front().run);
      QVERIFY(time > Microseconds(0));
      last = std::max(last, time);
    }
    QCOMPARE(last.count(), details->row.time.count());
  }
}

void TestGroupSchedules::foldersOfOthersAreRefused() {
  const QTemporaryDir folder;
  const fabric::Description description = test::describedBy("dgx-a100 boxes=2");
  const fabric::Fabric fabric = test::built(description);
  const auto refusal = [&] {
    const auto playable = workflow::loadPlayable({.file = folder.path().toStdString()}, {});
    return playable ? QString() : QString::fromStdString(describe(playable.error()));
  };
  QVERIFY2(refusal().contains("it has no schedules"), qPrintable(refusal()));
  const ConcurrentDemand demand = meshDemand(fabric, {2, 8}, 0, Collective::allgather);
  write(fabric, description, demand, folder.path());
  QVERIFY2(refusal().isEmpty(), qPrintable(refusal()));
  QVERIFY(QFile::rename(folder.filePath("cluster.fabric.json"), folder.filePath("other.fabric.json")));
  QVERIFY2(refusal().contains("--fabric"), qPrintable(refusal()));
  QVERIFY(QFile::rename(folder.filePath("other.fabric.json"), folder.filePath("cluster.fabric.json")));
  QVERIFY(QFile::remove(folder.filePath("group-3.forest.json")));
  QVERIFY2(refusal().contains("7 schedules of 8 groups"), qPrintable(refusal()));
  QVERIFY(QFile::copy(folder.filePath("group-4.forest.json"), folder.filePath("group-3.forest.json")));
  QVERIFY2(refusal().contains("is not the schedule of its group"), qPrintable(refusal()));
}

QTEST_APPLESS_MAIN(TestGroupSchedules)
#include "tst_group_schedules.moc"
