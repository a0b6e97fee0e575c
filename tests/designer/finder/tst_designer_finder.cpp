// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QComboBox>
#include <QJsonArray>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScatterSeries>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>

#include "designer/finder/finder_dialog.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/theme/theme.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "topology/distance_regular.hpp"
#include "window_fixture.hpp"
#ifdef COPPICE_CLI
#include "support/cli_runner.hpp"
#endif

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using finder::Operation;

namespace {

constexpr int kLong = 60000;

/// A dialog by itself whose first search has ended.
struct Dialog {
  Dialog() {
    dialog.show();
    static_cast<void>(settled());
  }
  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return dialog.findChild<Widget*>(QLatin1String(name));
  }
  /// The pause after a change and the search have ended.
  [[nodiscard]] bool settled() {
    QCoreApplication::processEvents();
    return QTest::qWaitFor(
        [&] {
          return !dialog.search().isRunning() && find<QTableView>("finderTable")->isEnabled() &&
                 find<QPushButton>("finderOpen")->isEnabled() == (dialog.chosen() >= 0);
        },
        kLong);
  }
  void ask(const char* nodes, int degree) {
    find<QSpinBox>("finderDegree")->setValue(degree);
    find<QLineEdit>("finderNodes")->setText(QLatin1String(nodes));
  }
  [[nodiscard]] QString cell(int row, int column) const {
    return dialog.table().data(dialog.table().index(row, column), Qt::DisplayRole).toString();
  }

  FinderDialog dialog;
};

}  // namespace

/// "Find a Topology": search, table, chart, and the fabric that opens.
class TestDesignerFinder : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void theTableIsThatOfTheCommand_data();
  void theTableIsThatOfTheCommand();
  void theSliderChoosesTheFastest();
  void aChangeOfTheOpenFabric();
  void rangesArriveOneByOne();
  void faultsAreNamed_data();
  void faultsAreNamed();
  void tooLargeToDraw();
  void aSearchIsStopped();
  void constructionsHaveTheirSizes_data();
  void constructionsHaveTheirSizes();
  void theChosenOneOpensWithItsSchedule_data();
  void theChosenOneOpensWithItsSchedule();
  void theStartPageOffersIt();
};

void TestDesignerFinder::initTestCase() {
  designer::test::prepareApplication("finder");
}

void TestDesignerFinder::theTableIsThatOfTheCommand_data() {
  QTest::addColumn<QString>("nodes");
  QTest::addColumn<int>("degree");
  QTest::addColumn<bool>("isDuplex");
  QTest::addColumn<bool>("hasAlltoall");
  QTest::newRow("16 of 4") << u"16"_s << 4 << false << false;
  QTest::newRow("16 of 4, duplex") << u"16"_s << 4 << true << false;
  QTest::newRow("20 of 2") << u"20"_s << 2 << false << false;
  QTest::newRow("26 of 3, all-to-all") << u"26"_s << 3 << false << true;
}

void TestDesignerFinder::theTableIsThatOfTheCommand() {
#ifndef COPPICE_CLI
  QSKIP("no coppice-cli");
#else
  QFETCH(QString, nodes);
  QFETCH(int, degree);
  QFETCH(bool, isDuplex);
  QFETCH(bool, hasAlltoall);
  Dialog d;
  d.find<QCheckBox>("finderAlltoall")->setChecked(hasAlltoall);
  d.find<QComboBox>("finderLinks")->setCurrentIndex(isDuplex ? 1 : 0);
  d.ask(qPrintable(nodes), degree);
  QVERIFY(d.settled());
  QStringList words = d.dialog.commandText().split(u' ');
  QCOMPARE(words.takeFirst(), u"coppice-cli"_s);
  QCOMPARE(words.contains(u"--duplex"_s), isDuplex);
  QCOMPARE(words.contains(u"--goal"_s), hasAlltoall);
  const coppice::test::Outcome outcome = coppice::test::run(words + QStringList{u"--json"_s});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray front = outcome.json()["front"].toArray();
  QVERIFY(!front.isEmpty());
  QCOMPARE(d.dialog.table().rowCount(), static_cast<int>(front.size()));
  for (int row = 0; row < front.size(); ++row) {
    const QJsonObject expected = front[row].toObject();
    QCOMPARE(d.cell(row, FrontTable::kSteps).toInt(), expected["steps"].toInt());
    QCOMPARE(d.cell(row, FrontTable::kExact), expected["t_b"].toString());
    QVERIFY(d.cell(row, FrontTable::kConstruction).startsWith(expected["construction"].toString()));
    const auto& alltoall = d.dialog.table().rows()[static_cast<std::size_t>(row)].topology.alltoall;
    QVERIFY(alltoall && alltoall->isExact());
    QCOMPARE(QString::fromStdString(alltoall->least.toString()), expected["alltoall"].toObject()["t_a"].toString());
    QVERIFY(qAbs(d.cell(row, FrontTable::kAlltoall).toDouble() - alltoall->least.toDouble()) < 1e-4);
    const auto& time = d.dialog.table().rows()[static_cast<std::size_t>(row)].time;
    QVERIFY(time);
    QCOMPARE(QString::fromStdString(time->count().toString()),
             expected["times_us"].toArray().first().toObject()["time"].toString());
    QCOMPARE(d.dialog.table().rows()[static_cast<std::size_t>(row)].isFastest,
             outcome.json()["fastest"].toInt() == row);
  }
#endif
}

void TestDesignerFinder::theSliderChoosesTheFastest() {
  Dialog d;
  d.ask("64", 4);
  QVERIFY(d.settled());
  const int last = d.dialog.table().rowCount() - 1;
  QVERIFY(last >= 1);
  auto* slider = d.find<QSlider>("finderSize");
  const auto& rows = d.dialog.table().rows();
  slider->setValue(slider->minimum());
  QCOMPARE(d.find<QLabel>("finderSizeText")->text(), u"1 KiB"_s);
  QCOMPARE(d.dialog.chosen(), 0);
  QVERIFY(rows.front().isFastest);
  QVERIFY(rows.front().fromBytes->isZero());
  slider->setValue(slider->maximum());
  QCOMPARE(d.find<QLabel>("finderSizeText")->text(), u"1 GiB"_s);
  QCOMPARE(d.dialog.chosen(), last);
  QVERIFY(rows.back().isFastest);
  QVERIFY(!rows.back().toBytes);
  // The ranges meet, and both ends are as fast where they do.
  std::optional<Rational> before;
  for (const FrontRow& row : rows) {
    if (row.fromBytes && !row.fromBytes->isZero()) {
      QCOMPARE(row.fromBytes->toString(), before->toString());
    }
    before = row.fromBytes ? row.toBytes : before;
  }
  QVERIFY(!d.find<QLabel>("finderBreaks")->text().isEmpty());
  // The chart marks it, and has both bounds.
  const auto* chart = d.find<ParetoChart>("finderChart");
  QCOMPARE(chart->chart()->series().size(), 7);
  const auto* best = qobject_cast<QScatterSeries*>(chart->chart()->series().last());
  QVERIFY(best != nullptr);
  QCOMPARE(best->count(), 1);
  QCOMPARE(best->at(0).x(), rows.back().topology.entry.steps);
  // A choice by hand stays while the slider moves.
  d.dialog.choose(0);
  slider->setValue(slider->maximum() - 1);
  QCOMPARE(d.dialog.chosen(), 0);
}

/// What find-topology --present says of the same fields.
void TestDesignerFinder::aChangeOfTheOpenFabric() {
#ifndef COPPICE_CLI
  QSKIP("no coppice-cli");
#else
  const QTemporaryDir folder;
  const QString path = folder.filePath(u"torus.fabric.json"_s);
  const auto torus = presets::make("torus", {{"dims", "4x4"}});
  QVERIFY(torus);
  QVERIFY(io::saveFile(path.toStdString(), io::writeFabricJson(*torus)));
  const auto other = presets::make("ring", {{"gpus", "5"}});
  Dialog d;
  d.find<QComboBox>("finderLinks")->setCurrentIndex(1);
  d.ask("16", 4);
  auto* rows = d.find<QTableView>("finderTable");
  QVERIFY(d.settled());
  QVERIFY(rows->isColumnHidden(FrontTable::kChange));
  d.dialog.setFabrics({{u"torus"_s, path, std::make_shared<const fabric::Description>(*torus)},
                       {u"ring"_s, {}, std::make_shared<const fabric::Description>(*other)}});
  d.find<QSpinBox>("finderCalls")->setValue(20);
  d.find<QSpinBox>("finderJobSteps")->setValue(100'000);
  d.find<QComboBox>("finderPresent")->setCurrentIndex(1);
  QVERIFY(QTest::qWaitFor([&] { return d.dialog.table().rows().front().change.has_value(); }, kLong));
  QVERIFY(!rows->isColumnHidden(FrontTable::kChange));
  const coppice::test::Outcome outcome =
      coppice::test::run(d.dialog.commandText().split(u' ').mid(1) + QStringList{u"--json"_s});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray changes = outcome.json()["changes"].toArray();
  QCOMPARE(changes.size(), qsizetype{d.dialog.table().rowCount()});
  for (int row = 0; row < changes.size(); ++row) {
    const QJsonObject expected = changes[row].toObject();
    const workflow::Change& change = *d.dialog.table().rows()[static_cast<std::size_t>(row)].change;
    QCOMPARE(QString::fromStdString(change.changed.count().toString()), expected["changed_us"].toString());
    QCOMPARE(QString::fromStdString(change.gain->count().toString()), expected["gain_us"].toString());
    QCOMPARE(d.cell(row, FrontTable::kChange), expected["pays_from_steps"].isNull()
                                                   ? u"never"_s
                                                   : u"from %1 steps"_s.arg(expected["pays_from_steps"].toInteger()));
  }
  // A time that is none, and a fabric of another size.
  d.find<QLineEdit>("finderReconfiguration")->setText(u"soon"_s);
  QVERIFY2(d.find<QLabel>("finderFault")->text().contains(u"soon"_s),
           qPrintable(d.find<QLabel>("finderFault")->text()));
  d.find<QLineEdit>("finderReconfiguration")->setText(u"5min"_s);
  QVERIFY(d.find<QLabel>("finderFault")->isHidden());
  d.find<QComboBox>("finderPresent")->setCurrentIndex(2);
  QVERIFY(QTest::qWaitFor([&] { return d.cell(0, FrontTable::kChange) == u"–"_s; }, kLong));
#endif
}

void TestDesignerFinder::rangesArriveOneByOne() {
  Dialog d;
  d.ask("5..9", 2);
  QVERIFY(d.settled());
  const auto* table = d.find<QTableView>("finderTable");
  QVERIFY(!table->isColumnHidden(FrontTable::kNodes));
  QCOMPARE(d.dialog.search().fronts().size(), std::size_t{5});
  for (int nodes = 5; nodes <= 9; ++nodes) {
    const int fastest = d.dialog.table().fastestOf(nodes);
    QVERIFY(fastest >= 0);
    QCOMPARE(d.cell(fastest, FrontTable::kNodes), QString::number(nodes));
  }
  d.ask("8", 2);
  QVERIFY(d.settled());
  QVERIFY(table->isColumnHidden(FrontTable::kNodes));
}

void TestDesignerFinder::faultsAreNamed_data() {
  QTest::addColumn<QString>("field");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("message");
  QTest::newRow("words") << u"finderNodes"_s << u"many"_s << u"not a number of GPUs"_s;
  QTest::newRow("nothing") << u"finderNodes"_s << QString() << u"not a number of GPUs"_s;
  QTest::newRow("one GPU") << u"finderNodes"_s << u"1"_s << u"nothing to send"_s;
  QTest::newRow("range turned round") << u"finderNodes"_s << u"9..5"_s << u"not a range"_s;
  QTest::newRow("long range") << u"finderNodes"_s << u"2..2000"_s << u"at most 512"_s;
  QTest::newRow("too many") << u"finderNodes"_s << u"99999999999999999999"_s << u"not a number of GPUs"_s;
  QTest::newRow("bandwidth") << u"finderBandwidth"_s << u"fast"_s << u"not a bandwidth"_s;
  QTest::newRow("no bandwidth") << u"finderBandwidth"_s << u"0"_s << u"not a bandwidth"_s;
  QTest::newRow("latency") << u"finderAlpha"_s << u"-1"_s << u"not a latency"_s;
}

void TestDesignerFinder::faultsAreNamed() {
  QFETCH(QString, field);
  QFETCH(QString, text);
  QFETCH(QString, message);
  Dialog d;
  const auto* fault = d.find<QLabel>("finderFault");
  QVERIFY(fault->isHidden());
  auto* edit = d.find<QLineEdit>(qPrintable(field));
  const QString good = edit->text();
  edit->setText(text);
  QVERIFY(QTest::qWaitFor([&] { return fault->isVisible(); }, kLong));
  QVERIFY2(fault->text().contains(message), qPrintable(fault->text()));
  QVERIFY(!d.find<QPushButton>("finderOpen")->isEnabled());
  edit->setText(good);
  QVERIFY(QTest::qWaitFor([&] { return fault->isHidden() && d.find<QPushButton>("finderOpen")->isEnabled(); }, kLong));
}

void TestDesignerFinder::tooLargeToDraw() {
  Dialog d;
  d.ask("20000", 1);
  QVERIFY(QTest::qWaitFor([&] { return d.find<QLabel>("finderFault")->isVisible(); }, kLong));
  QVERIFY2(d.find<QLabel>("finderFault")->text().contains(u"more than the window can draw"_s),
           qPrintable(d.find<QLabel>("finderFault")->text()));
  QVERIFY(!d.find<QPushButton>("finderOpen")->isEnabled());
  // The values are there all the same.
  QCOMPARE(d.cell(0, FrontTable::kSteps), u"19999"_s);
  d.ask("8", 2);
  QVERIFY(QTest::qWaitFor([&] { return d.find<QPushButton>("finderOpen")->isEnabled(); }, kLong));
  QVERIFY(d.find<QLabel>("finderFault")->isHidden());
}

void TestDesignerFinder::aSearchIsStopped() {
  Dialog d;
  d.ask("1999..2200", 7);
  QVERIFY(QTest::qWaitFor([&] { return d.dialog.search().isRunning(); }, kLong));
  auto* stop = d.find<QPushButton>("finderStop");
  QVERIFY(stop->isVisible());
  QSignalSpy ended(&d.dialog.search(), &TopologySearch::runningChanged);
  stop->click();
  QVERIFY(!d.dialog.search().isRunning());
  QCOMPARE(ended.count(), 1);
  QVERIFY(!stop->isVisible());
  // The thread ends too, long before the search would have.
  QVERIFY(QThreadPool::globalInstance()->waitForDone(kLong));
  QVERIFY(d.dialog.search().fronts().size() < 202);
  // Another search follows at once.
  d.ask("8", 2);
  QVERIFY(d.settled());
  QCOMPARE(d.dialog.search().fronts().front().nodes, 8);
  QVERIFY(d.dialog.table().rowCount() > 0);
}

void TestDesignerFinder::constructionsHaveTheirSizes_data() {
  QTest::addColumn<int>("which");
  for (int i = 0; i < 16; ++i) {
    QTest::addRow("%d", i) << i;
  }
}

void TestDesignerFinder::constructionsHaveTheirSizes() {
  QFETCH(int, which);
  const auto ring = finder::base(Operation::biRing, {2, 5});
  const std::vector<finder::ConstructionPtr> all = {
      finder::base(Operation::complete, {5}),
      finder::base(Operation::multiComplete, {6, 4}),
      finder::base(Operation::completeBipartite, {3}),
      finder::base(Operation::directedCirculant, {3}),
      finder::base(Operation::uniRing, {2, 5}),
      ring,
      finder::base(Operation::denseCirculant, {11, 2}),
      finder::base(Operation::kautz, {3, 12}),
      finder::base(Operation::deBruijn, {2, 4}),
      finder::cayleyOf({8, 2, 7}, {{0, 1}, {1, 0}, {3, 1}, {6, 0}}),
      finder::named(Operation::distanceRegular, topology::distanceRegularGraphs().front().name),
      finder::expanded(Operation::lineGraph, 2, finder::base(Operation::complete, {4})),
      finder::expanded(Operation::degreeExpansion, 3, ring),
      finder::expanded(Operation::power, 2, ring),
      finder::productOf(ring, finder::base(Operation::complete, {4})),
      std::make_shared<finder::Construction>(
          finder::Construction{Operation::duplex, {}, {finder::base(Operation::uniRing, {1, 6})}})};
  QCOMPARE(all.size(), std::size_t{16});
  const finder::ConstructionPtr& construction = all[static_cast<std::size_t>(which)];
  const auto graph = finder::build(*construction);
  QVERIFY2(graph, graph ? "" : graph.error().message.c_str());
  const ConstructionSize size = sizeOf(*construction);
  QCOMPARE(size.nodes, std::int64_t{graph->nodes});
  QCOMPARE(size.degree, std::int64_t{graph->degree});
  // The tree has a line for each operation.
  ConstructionTree tree;
  tree.setConstruction(construction);
  const auto count = [&](const auto& self, const QModelIndex& parent) -> int {
    int lines = tree.model()->rowCount(parent);
    for (int row = 0; row < tree.model()->rowCount(parent); ++row) {
      lines += self(self, tree.model()->index(row, 0, parent));
    }
    return lines;
  };
  QCOMPARE(count(count, {}), finder::operationCount(*construction));
  QVERIFY(!operationTitle(*construction).isEmpty());
}

void TestDesignerFinder::theChosenOneOpensWithItsSchedule_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("isDuplex");
  QTest::newRow("allgather") << static_cast<int>(Collective::allgather) << false;
  QTest::newRow("allreduce, duplex") << static_cast<int>(Collective::allreduce) << true;
}

void TestDesignerFinder::theChosenOneOpensWithItsSchedule() {
  QFETCH(int, collective);
  QFETCH(bool, isDuplex);
  const Fixture f;
  f.run("file.find-topology");
  auto* dialog = f.window->findChild<FinderDialog*>();
  QVERIFY(dialog != nullptr && dialog->isVisible());
  dialog->findChild<QComboBox*>(u"finderLinks"_s)->setCurrentIndex(isDuplex ? 1 : 0);
  auto* collectives = dialog->findChild<QComboBox*>(u"finderCollective"_s);
  collectives->setCurrentIndex(collectives->findData(collective));
  QVERIFY(dialog->findChild<QCheckBox*>(u"finderWithSchedule"_s)->isChecked());
  auto* open = dialog->findChild<QPushButton*>(u"finderOpen"_s);
  QVERIFY(QTest::qWaitFor(
      [&] {
        return !dialog->search().isRunning() && dialog->table().rowCount() > 0 &&
               dialog->findChild<QTableView*>(u"finderTable"_s)->isEnabled() && open->isEnabled();
      },
      kLong));
  const int row = dialog->chosen();
  QVERIFY(row >= 0);
  const finder::Entry entry = dialog->table().rows()[static_cast<std::size_t>(row)].topology.entry;
  open->click();
  QVERIFY(QTest::qWaitFor([&] { return f.editor() != nullptr; }, kLong));
  QVERIFY(!dialog->isVisible());
  QCOMPARE(static_cast<int>(f.editor()->model().nodes().size()), 16);
  QVERIFY(f.editor()->bound().question().collective == static_cast<Collective>(collective));
  QVERIFY(f.window->workspace().mode() == Mode::schedule);
  ScheduleBook* book = ScheduleBook::of(f.editor()->file(), f.editor()->bound());
  QVERIFY(QTest::qWaitFor([&] { return book->current() != nullptr && book->current()->result != nullptr; }, kLong));
  const ScheduleResult& result = *book->current()->result;
  QVERIFY(result.verdict.ok);
  QCOMPARE(QString::fromStdString(result.options.method), u"bfb"_s);
  QVERIFY(result.options.collective == static_cast<Collective>(collective));
  QVERIFY(result.stepSchedule() != nullptr);
  if (static_cast<Collective>(collective) == Collective::allgather) {
    // M/B / T_B with 4 links of 25 GB/s is what the verifier found.
    QCOMPARE(toFraction(result.algbw), (Rational(100) / entry.bandwidthTime).toString());
    QCOMPARE(static_cast<int>(result.cost->steps), entry.steps);
  }
  // All that is needed for the program is there.
  QVERIFY(f.window->actions()[u"schedule.export"_s]->isEnabled());
  // No two GPUs lie on each other.
  std::set<std::pair<double, double>> places;
  for (const auto& [id, node] : f.editor()->model().nodes()) {
    QVERIFY(places.emplace(node.drawing.position.x, node.drawing.position.y).second);
  }
  // The dialog comes back with what it had.
  f.run("file.find-topology");
  QVERIFY(dialog->isVisible());
  QCOMPARE(dialog->chosen(), row);
}

void TestDesignerFinder::theStartPageOffersIt() {
  const Fixture f;
  auto* button = f.window->findChild<QPushButton*>(u"startFind"_s);
  QVERIFY(button != nullptr);
  button->click();
  auto* dialog = f.window->findChild<FinderDialog*>();
  QVERIFY(dialog != nullptr && dialog->isVisible());
  QTest::keyClick(dialog, Qt::Key_Escape);
  QVERIFY(!dialog->isVisible());
}

QTEST_MAIN(TestDesignerFinder)
#include "tst_designer_finder.moc"
