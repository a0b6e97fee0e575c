// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QCheckBox>
#include <QDir>
#include <QImage>
#include <QLineEdit>
#include <QTableView>
#include <QTest>
#include <QTreeView>
#include <algorithm>

#include "designer/schedules/schedule_feature.hpp"
#include "designer/schedules/schedule_fixture.hpp"
#include "designer/theme/theme.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/trees/tree_drawing.hpp"
#include "designer/trees/trees_on_link.hpp"
#include "designer/window/main_window.hpp"
#include "schedule/expansion.hpp"
#include "support/overlapped_star.hpp"
#include "support/rotated_clusters.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace Qt::StringLiterals;

namespace {

/// Every step of a path begins where the one before ends.
bool isConnected(const Model& model, const std::vector<LinkStep>& path) {
  NodeId at;
  for (const LinkStep& step : path) {
    const Link* link = model.find(step.link);
    if (link == nullptr) {
      return false;
    }
    const NodeId from = step.isForward ? link->tail.node : link->head.node;
    if (at.isValid() && from != at) {
      return false;
    }
    at = step.isForward ? link->head.node : link->tail.node;
  }
  return !path.empty();
}

}  // namespace

/// Views of the trees of a schedule: list, drawing, loads, one tree, charts.
class TestDesignerTrees : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void loadsAreThoseOfTheForest_data();
  void loadsAreThoseOfTheForest();
  void treesAreReadLazily_data();
  void treesAreReadLazily();
  void treesAreDrawn();
  void treesOfALink();
  void heatAndTheTableOfLoads();
  void allreduceHasTwoHalves();
  void overlappedHalves_data();
  void overlappedHalves();
  void oneTreeAlone();
  void charts();
};

void TestDesignerTrees::initTestCase() {
  QVERIFY(useLightFusion());
  Theme::instance().applyTo(*qApp);
}

void TestDesignerTrees::loadsAreThoseOfTheForest_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("usesMulticast");
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                      Collective::broadcast, Collective::reduce}) {
    QTest::newRow(std::string(toString(collective)).c_str()) << static_cast<int>(collective) << false;
  }
  QTest::newRow("multicast out") << static_cast<int>(Collective::allgather) << true;
  QTest::newRow("multicast in") << static_cast<int>(Collective::reduceScatter) << true;
}

void TestDesignerTrees::loadsAreThoseOfTheForest() {
  QFETCH(int, collective);
  QFETCH(bool, usesMulticast);
  fabric::Description description = preset("dgx-a100", {{"boxes", "2"}});
  for (fabric::NodeDescription& node : description.nodes) {
    node.multicast = node.aggregation = node.kind == "switch";
  }
  const ScheduleResultPtr result =
      made(description, {.collective = static_cast<Collective>(collective),
                         .methodOptions = usesMulticast ? workflow::Values{{kMulticast, "true"}} : workflow::Values()});
  QVERIFY(result);
  QVERIFY(result->verdict.ok);
  InverseBandwidth busiest;
  for (std::size_t half = 0; half < 2; ++half) {
    const schedule::Forest* forest = result->forest(half);
    std::int64_t inTable = 0;
    for (const ArcLoad& load : result->loads) {
      inTable += load.trees[half];
    }
    std::int64_t inForest = 0;
    if (forest != nullptr) {
      QVERIFY(forest->rotations.empty());
      for (const schedule::Tree& tree : forest->trees) {
        for (const schedule::TreeEdge& edge : forest->edgesOf(tree)) {
          const auto hops = static_cast<std::int64_t>(forest->paths[edge.path].size()) - 1;
          inForest += tree.multiplicity * (hops - edge.pruned);
        }
      }
      QVERIFY(inForest > 0);
    }
    QCOMPARE(inTable, inForest);
  }
  bool hasBusiest = false;
  for (const ArcLoad& load : result->loads) {
    QVERIFY(load.rate <= load.bandwidth);
    for (std::size_t half = 0; half < 2 && !result->isOverlapped(); ++half) {
      busiest = std::max(busiest, Rational(load.trees[half]) / load.bandwidth);
    }
    if (result->isOverlapped()) {
      busiest = std::max(busiest, Rational(load.trees[0] + load.trees[1]) / load.bandwidth);
    }
    hasBusiest = hasBusiest || load.isBusiest;
    QVERIFY(!load.isBusiest || load.rate == load.bandwidth || usesMulticast);
  }
  QVERIFY(hasBusiest);
  QCOMPARE(busiest, result->verdict.busiestLoad);
}

void TestDesignerTrees::treesAreReadLazily_data() {
  QTest::addColumn<bool>("hasRotations");
  QTest::newRow("every tree") << false;
  QTest::newRow("the tree of one GPU and its images") << true;
}

void TestDesignerTrees::treesAreReadLazily() {
  QFETCH(bool, hasRotations);
  samples::Sample sample = samples::RegularCluster{1, 128, 8}.sample();
  if (!hasRotations) {
    auto written = schedule::expanded(*sample.schedule.broadcastForest, sample.fabric);
    QVERIFY(written);
    sample.schedule.broadcastForest = *std::move(written);
  }
  const auto examined =
      examineSchedule(sample.description, std::move(sample.fabric), std::move(sample.schedule), {}, {});
  QVERIFY(examined);
  const ScheduleResultPtr& result = *examined;
  QCOMPARE(result->fabric->gpuCount(), 1024);
  QCOMPARE(result->hasRotations, hasRotations);
  TreeModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  tester.setUseFetchMore(false);
  model.setResult(result);
  QCOMPARE(model.rowCount(), 1024);
  const QModelIndex root = model.index(7, 0);
  QVERIFY(model.hasChildren(root));
  QCOMPARE(model.rowCount(root), 0);
  model.fetchMore(root);
  const int trees = model.rowCount(root);
  QVERIFY(trees >= 1);
  const QModelIndex tree = model.index(0, 0, root);
  QVERIFY(model.index(0, TreeModel::kHeight, root).data().toString().toInt() >= 2);
  QCOMPARE(model.rowCount(tree), 0);
  model.fetchMore(tree);
  QVERIFY(model.rowCount(tree) > 0);
  QVERIFY2(model.rowCount(tree) < 1023, "edges come in batches");
  while (model.canFetchMore(tree)) {
    model.fetchMore(tree);
  }
  QCOMPARE(model.rowCount(tree), 1023);
  const QModelIndex edge = model.index(1022, 0, tree);
  model.fetchMore(edge);
  QVERIFY(model.rowCount(edge) >= 1);
  const auto [from, to] = model.endsAt(edge);
  QCOMPARE(model.endsAt(model.index(0, 0, edge)).first, from);
  QCOMPARE(model.endsAt(model.index(model.rowCount(edge) - 1, 0, edge)).second, to);
  QCOMPARE(edge.data().toString(), from + u" → "_s + to);
  // Roots and copies add up to the whole forest.
  std::int64_t copies = 0;
  for (int row = 0; row < model.rowCount(); ++row) {
    copies += model.index(row, TreeModel::kCopies).data().toString().toLongLong();
  }
  QCOMPARE(copies, result->trees);
}

void TestDesignerTrees::treesAreDrawn() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  QTreeView& view = fixture.trees->trees()->view();
  const Model& model = fixture.editor()->model();
  fixture.window->actions()[u"view.routes"_s]->trigger();
  const QModelIndex first = view.model()->index(0, 0);
  view.setCurrentIndex(first);
  view.selectionModel()->select(first, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  QVERIFY(!fixture.overlay().trees.empty());
  QVERIFY(fixture.overlay().heat.load.empty());
  for (const TreeMark& mark : fixture.overlay().trees) {
    QCOMPARE(mark.paths.size(), 15U);
    QCOMPARE(mark.roots.size(), 1U);
    QVERIFY(mark.label.startsWith(first.data().toString()));
    for (const auto& path : mark.paths) {
      QVERIFY(isConnected(model, path));
    }
  }
  // Several at once, each with a style of its own.
  const QModelIndex second = view.model()->index(1, 0);
  view.selectionModel()->select(second, QItemSelectionModel::Select | QItemSelectionModel::Rows);
  const std::size_t drawn = fixture.overlay().trees.size();
  QVERIFY(drawn >= 2);
  std::set<int> categories;
  for (const TreeMark& mark : fixture.overlay().trees) {
    categories.insert(mark.category);
  }
  QCOMPARE(categories.size(), drawn);
  // Hovering adds one, and takes it away again.
  view.expand(view.model()->index(5, 0));
  const QModelIndex hovered = view.model()->index(0, 0, view.model()->index(5, 0));
  QVERIFY(hovered.isValid());
  view.scrollTo(hovered);
  QTest::mouseMove(view.viewport(), view.visualRect(hovered).center());
  Q_EMIT view.entered(hovered);
  QCOMPARE(fixture.overlay().trees.size(), drawn + 1);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(view.viewport(), &leave);
  QCOMPARE(fixture.overlay().trees.size(), drawn);
  // Away from the rows, where the next list would be hovered too.
  QTest::mouseMove(fixture.window.get(), QPoint(1, 1));
  // Another mode has the canvas to itself, and gives it back.
  fixture.run("mode.analyse");
  QVERIFY(fixture.overlay().trees.empty());
  fixture.run("mode.schedule");
  QCOMPARE(fixture.overlay().trees.size(), drawn);
  fixture.run("schedule.clear-trees");
  QVERIFY(fixture.overlay().trees.empty());
  QVERIFY(!fixture.overlay().heat.load.empty());
  fixture.run("mode.draw");
  QVERIFY(fixture.overlay().isEmpty());
  // From the drawing to the trees of a GPU.
  const NodeId gpu = model.nodeNamed("b1g3").isValid() ? model.nodeNamed("b1g3") : (*model.nodes().begin()).id;
  fixture.editor()->selection().set({gpu});
  fixture.run("schedule.trees-of-selection");
  QCOMPARE(fixture.overlay().trees.size(), 1U);
  QCOMPARE(*fixture.overlay().trees.front().roots.begin(), gpu);
  // The find field.
  auto* search = fixture.window->findChild<QLineEdit*>(u"treeSearch"_s);
  search->setText(model.title(gpu));
  QVERIFY(view.model()->rowCount() >= 1);
  QVERIFY(view.model()->rowCount() < 16);
}

void TestDesignerTrees::treesOfALink() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const ScheduleResultPtr result = fixture.schedules->book()->current()->result;
  // What the trees of an arc carry is the load of the arc, with each of them counted once for each copy.
  for (const ArcLoad& load : result->loads) {
    const TreesOnLink found = treesOn(*result, {{load.tail, load.head}}, 100000, {});
    QCOMPARE(found.first.size(), static_cast<std::size_t>(found.different));
    Bandwidth sum;
    std::int64_t copies = 0;
    for (const TreeOnLink& tree : found.first) {
      sum = sum + tree.rate;
      copies += tree.copies;
    }
    QCOMPARE(copies, found.copies);
    QVERIFY(sum == load.rate);
  }
  // The canvas tells it beside the link under the pointer.
  CanvasView& canvas = fixture.editor()->canvas();
  const LineItem& line = canvas.scene().lines().front();
  canvas.setHovered(line.links.front());
  QTRY_VERIFY_WITH_TIMEOUT(canvas.hoverNote().has_value(), coppice::waiting::kPatience);
  QVERIFY(!canvas.hoverNote()->rows.empty());
  QVERIFY(canvas.hoverNote()->rows.front().second.endsWith(u" GB/s"_s));
  canvas.setHovered({});
  QVERIFY(!canvas.hoverNote());
  // In another mode links say what they are, no more.
  fixture.run("mode.draw");
  canvas.setHovered(line.links.front());
  coppice::waiting::settle();
  QVERIFY(!canvas.hoverNote());
}

void TestDesignerTrees::heatAndTheTableOfLoads() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const Heat heat = fixture.overlay().heat;
  QVERIFY(!heat.load.empty());
  // Marked are the fullest, unless most are.
  const auto marks =
      std::count_if(heat.load.begin(), heat.load.end(), [](const auto& each) { return each.second.isBottleneck; });
  QVERIFY(2 * static_cast<std::size_t>(marks) <= heat.load.size());
  for (const auto& [link, load] : heat.load) {
    QVERIFY(load.forward >= 0 && load.forward <= 1 && load.backward >= 0 && load.backward <= 1);
  }
  fixture.run("schedule.heat");
  QVERIFY(fixture.overlay().heat.load.empty());
  fixture.run("schedule.heat");
  QVERIFY(!fixture.overlay().heat.load.empty());

  fixture.window->actions()[u"view.link-loads"_s]->trigger();
  auto* table = fixture.window->findChild<QTableView*>(u"loadsTable"_s);
  const auto& loads = fixture.current()->result->loads;
  QCOMPARE(table->model()->rowCount(), static_cast<int>(loads.size()));
  // The fullest stand first.
  QVERIFY(table->model()->index(0, 0).data(LoadModel::kBusiestRole).toBool());
  auto* fullest = fixture.window->findChild<QCheckBox*>(u"loadsFullest"_s);
  fullest->setChecked(true);
  QCOMPARE(table->model()->rowCount(),
           static_cast<int>(std::count_if(loads.begin(), loads.end(), [](const ArcLoad& l) { return l.isBusiest; })));
  fullest->setChecked(false);
  auto* search = fixture.window->findChild<QLineEdit*>(u"loadsSearch"_s);
  const QModelIndex row = table->model()->index(3, 0);
  const QString name = row.data().toString();
  search->setText(name);
  QCOMPARE(table->model()->rowCount(), 1);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(0, 0)).center());
  const std::vector<LinkId> chosen = fixture.editor()->selection().links();
  QVERIFY(!chosen.empty());
  const Link& link = *fixture.editor()->model().find(chosen.front());
  const QString ends = QString::fromStdString(fixture.editor()->model().nameOf(link.tail) + " → " +
                                              fixture.editor()->model().nameOf(link.head));
  const QString back = QString::fromStdString(fixture.editor()->model().nameOf(link.head) + " → " +
                                              fixture.editor()->model().nameOf(link.tail));
  QVERIFY(name == ends || name == back);
}

void TestDesignerTrees::allreduceHasTwoHalves() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  Question question = fixture.editor()->bound().question();
  question.collective = Collective::allreduce;
  fixture.editor()->bound().setQuestion(question);
  QVERIFY(fixture.generate());
  TreeModel& model = fixture.trees->trees()->model();
  QCOMPARE(model.rowCount(), 2);
  QCOMPARE(model.rowCount(model.index(0, 0)), 16);
  QCOMPARE(model.rowCount(model.index(1, 0)), 16);
  // The trees of the first half run towards their roots.
  QTreeView& view = fixture.trees->trees()->view();
  view.setCurrentIndex(view.model()->index(0, 0, view.model()->index(0, 0)));
  QVERIFY(!fixture.overlay().trees.empty());
  const TreeMark& mark = fixture.overlay().trees.front();
  const NodeId root = *mark.roots.begin();
  bool arrives = false;
  bool leaves = false;
  for (const auto& path : mark.paths) {
    QVERIFY(isConnected(fixture.editor()->model(), path));
    const Link& last = *fixture.editor()->model().find(path.back().link);
    const Link& first = *fixture.editor()->model().find(path.front().link);
    arrives = arrives || (path.back().isForward ? last.head.node : last.tail.node) == root;
    leaves = leaves || (path.front().isForward ? first.tail.node : first.head.node) == root;
  }
  QVERIFY(arrives && !leaves);
}

void TestDesignerTrees::overlappedHalves_data() {
  QTest::addColumn<bool>("ownCopies");
  QTest::newRow("sums and copies in the switch") << false;
  QTest::newRow("own copies") << true;
}

/// The rate of a link is that of both halves together; a switch that sums or copies is marked, once for each half.
void TestDesignerTrees::overlappedHalves() {
  QFETCH(bool, ownCopies);
  samples::Sample sample = samples::overlappedStar(samples::kOneEach, samples::kOneEach,
                                                   ownCopies ? Bandwidth(80) : Bandwidth(100), ownCopies);
  sample.schedule.bound = Bandwidth(100);
  sample.schedule.allreduceBound = Bandwidth(100);
  const auto examined = examineSchedule(sample.description, sample.fabric, sample.schedule, {}, {});
  QVERIFY2(examined, examined ? "" : describe(examined.error()).c_str());
  const ScheduleResult& result = **examined;
  QVERIFY(result.isOverlapped());
  for (const ArcLoad& load : result.loads) {
    // Three trees of others and one of its own, which own copies double.
    QCOMPARE(result.treesAtOnce(load), ownCopies ? 5 : 4);
    QCOMPARE(load.rate, Bandwidth(100));
    QVERIFY(load.isBusiest);
  }
  const Model model = readModel(sample.description).model;
  const FabricMap map(result, model);
  const NodeId switchNode = model.nodeNamed("sw");
  for (const int half : {0, 1}) {
    schedule::TreeReader reader = *result.readers[static_cast<std::size_t>(half)];
    const TreeMark mark = markOf(result, reader, {half, 2}, map);
    QCOMPARE(mark.summing, half == 0 ? std::set<NodeId>{switchNode} : std::set<NodeId>{});
    QCOMPARE(mark.copying, half == 1 ? std::set<NodeId>{switchNode} : std::set<NodeId>{});
    QCOMPARE(mark.paths.size(), ownCopies ? 4U : 3U);
    std::size_t steps = 0;
    for (const auto& path : mark.paths) {
      steps += path.size();
    }
    QCOMPARE(steps, ownCopies ? 5U : 4U);
  }
  TreeModel trees;
  trees.setResult(*examined);
  QCOMPARE(trees.rowCount(), 2);
  QVERIFY(trees.index(1, 0).data().toString().contains(u"same time"_s));
  const auto gpu = result.fabric->find("g0");
  const TreesOnLink found = treesOn(result, {{*gpu, *result.fabric->find("sw")}}, 8, {});
  Bandwidth rate;
  for (const TreeOnLink& each : found.first) {
    rate += each.rate;
  }
  QCOMPARE(rate, Bandwidth(100));
}

void TestDesignerTrees::oneTreeAlone() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  TreeDrawing* drawing = fixture.trees->drawing();
#ifdef COPPICE_DOT
  drawing->setHelper(QStringLiteral(COPPICE_DOT));
#endif
  QVERIFY(fixture.generate());
#ifdef COPPICE_DOT
  fixture.trees->trees()->showRoot(0);
  fixture.window->actions()[u"view.routes"_s]->trigger();
  QVERIFY(QTest::qWaitFor([&] { return drawing->isDrawn() || drawing->isText(); }, kLong));
  QVERIFY2(drawing->isDrawn(), qPrintable(drawing->note()));
#endif
  drawing->setHelper(u"/nonexistent/coppice-dot"_s);
  fixture.window->actions()[u"view.routes"_s]->trigger();
  fixture.trees->trees()->showRoot(1);
  QVERIFY(QTest::qWaitFor([&] { return drawing->isText(); }, kLong));
  QVERIFY(drawing->note().contains(u"as text"_s));
  const QString text = fixture.window->findChild<QPlainTextEdit*>(u"treeText"_s)->toPlainText();
  QCOMPARE(text.trimmed().split(u'\n').size(), 16);
}

void TestDesignerTrees::charts() {
  ScheduleFixture fixture;
  QVERIFY(fixture.openPreset("mi250", {{"boxes", "2"}}));
  QVERIFY(fixture.generate());
  ChartPanel* charts = fixture.trees->treeCounts();
  charts->setMaxK(4);
  fixture.window->actions()[u"view.tree-counts"_s]->trigger();
  QVERIFY(QTest::qWaitFor([&] { return charts->values().size() == 4; }, kLong));
  for (const KValue& value : charts->values()) {
    QVERIFY(value.algbw <= *fixture.current()->result->bound);
    QVERIFY(value.algbw.isPositive());
  }
  const QString csv = charts->csv();
  QCOMPARE(csv.trimmed().split(u'\n').size(), 5);
  QVERIFY(csv.contains(QString::fromStdString(toFraction(charts->values()[1].algbw))));
  const QStringList bins = fixture.window->findChild<ChartPanel*>(u"histogramPanel"_s)->csv().trimmed().split(u'\n');
  int links = 0;
  for (const QString& line : bins.mid(1)) {
    links += line.section(u',', 2).toInt();
  }
  QCOMPARE(links, static_cast<int>(fixture.current()->result->loads.size()));
  for (const QString& name : {u"k.svg"_s, u"k.png"_s}) {
    QVERIFY(charts->savePicture(fixture.dir.filePath(name)));
    QVERIFY(QFileInfo(fixture.dir.filePath(name)).size() > 500);
  }
  QVERIFY(!QImage(fixture.dir.filePath(u"k.png"_s)).isNull());
  QVERIFY(!charts->savePicture(fixture.dir.filePath(u"k.bmp"_s)));
}

QTEST_MAIN(TestDesignerTrees)
#include "tst_designer_trees.moc"
