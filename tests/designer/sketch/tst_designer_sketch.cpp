// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "coppice/test_paths.hpp"
#include "designer/run/differences_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/sketch/sketch_edits.hpp"
#include "designer/sketch/sketch_overlay.hpp"
#include "designer/sketch/sketch_panel.hpp"
#include "designer/trees/transfer_panel.hpp"
#include "designer/window/window_fixture.hpp"
#include "designer/workspace/import_dialog.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "lp/mixed_program.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace Qt::StringLiterals;

namespace {

constexpr int kLong = 60000;

using Change = std::function<void(sketch::Sketch&)>;
using Relays = std::map<int, std::vector<int>>;

sketch::Sketch withRelays(const Relays& receivers) {
  sketch::Sketch sketch;
  sketch.nodes = 2;
  sketch.remote.emplace().receivers = receivers;
  return sketch;
}

/// The window with two NDv2 and a proposed sketch.
struct Page : Fixture {
  explicit Page(const std::map<std::string, std::string>& arguments = {{"boxes", "2"}}) {
    const auto made = presets::make("azure-ndv2", arguments);
    window->workspace().adopt(readArranged(*made).model, {}, u"NDv2"_s);
    panel = window->findChild<SketchPanel*>();
    run("sketch.propose");
    isProposed = QTest::qWaitFor([this] { return desk().fit() != nullptr; }, kLong);
  }
  [[nodiscard]] SketchDesk& desk() const { return *panel->desk(); }
  [[nodiscard]] const sketch::Sketch& now() const { return *desk().current(); }
  /// The sketch fits again after an edit, or is refused.
  [[nodiscard]] bool settle() const {
    return QTest::qWaitFor([this] { return !desk().isFitting() && (desk().fit() || desk().problem()); }, kLong);
  }
  template <typename Widget>
  [[nodiscard]] Widget* child(const char* name) const {
    return panel->findChild<Widget*>(QLatin1String(name));
  }
  void select(const std::vector<std::string>& names) const {
    std::set<ElementId> elements;
    for (const std::string& name : names) {
      elements.insert(editor()->model().nodeNamed(name));
    }
    editor()->selection().set(elements);
  }
  [[nodiscard]] ScheduleBook& book() const { return *ScheduleBook::of(editor()->file(), editor()->bound()); }

  SketchPanel* panel = nullptr;
  bool isProposed = false;
};

}  // namespace

/// Sketches on the drawing: proposed, edited, saved, and searched.
class TestDesignerSketch : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void proposes();
  void joinsRelays_data();
  void joinsRelays();
  void readsNumbers_data();
  void readsNumbers();
  void editsOnThePage();
  void takesRelaysFromTheDrawing();
  void pointsToRelays_data();
  void pointsToRelays();
  void drawsRelaysWithTheMouse();
  void drawsRelaysByKeys();
  void hasEveryField();
  void namesProblems_data();
  void namesProblems();
  void savesAndReads();
  void keepsFilesOfOthers_data();
  void keepsFilesOfOthers();
  void drawsTheSketch();
  void synthesizes_data();
  void synthesizes();
  void stopKeepsTheBest();
  void followsTheFabric();
  void coloursOrbits();
  void isSavedWithTheDocument();
  void unsavedSketchIsAskedFor();
  void isRecovered();
  void stagesNeedTheirSolver();
  void stagesAreOneOfTheEngines();
  void opensTopologiesAndSketches();
  void opensInferredFabrics();
};

void TestDesignerSketch::proposes() {
  Page page;
  QVERIFY(page.isProposed);
  QCOMPARE(page.now().nodes, 2);
  QCOMPARE(sendersOf(page.now(), 8), std::set<int>{1});
  QCOMPARE(receiversOf(page.now(), 8), std::set<int>{0});
  QCOMPARE(ownersBySender(page.now(), 8), (Relays{{1, {0, 1, 2, 3, 4, 5, 6, 7}}}));
  // The boxes are alike, the GPUs of a box are not.
  QCOMPARE(page.now().symmetryOffsets, (std::vector<std::pair<int, int>>{{8, 16}}));
  QCOMPARE(page.panel->symmetry().orbits().size(), 8U);
  QCOMPARE(page.panel->symmetry().orbits()[3], (std::vector<int>{3, 11}));
  QCOMPARE(page.panel->problem(), QString());
  QCOMPARE(page.panel->relays().table().rowCount(), 8);
  QCOMPARE(page.panel->relays().table().item(1, RelayPage::kSends)->checkState(), Qt::Checked);
  QCOMPARE(page.panel->relays().table().item(2, RelayPage::kSends)->checkState(), Qt::Unchecked);
}

void TestDesignerSketch::joinsRelays_data() {
  QTest::addColumn<QString>("senders");
  QTest::addColumn<QString>("receivers");
  QTest::addColumn<QString>("expected");  // by sender
  QTest::newRow("pairs") << "1, 3"
                         << "0, 2"
                         << "1: 0 | 3: 2";
  QTest::newRow("blocks") << "1, 3"
                          << "0, 2, 4, 5"
                          << "1: 0, 2 | 3: 4, 5";
  QTest::newRow("one receiver") << "1, 3"
                                << "0"
                                << "1: 0 | 3: 0";
  QTest::newRow("all to all") << "1, 3"
                              << "0, 2, 4"
                              << "1: 0, 2, 4 | 3: 0, 2, 4";
}

void TestDesignerSketch::joinsRelays() {
  QFETCH(QString, senders);
  QFETCH(QString, receivers);
  QFETCH(QString, expected);
  const auto setOf = [](const QString& text) {
    const auto numbers = *parseNumbers(text);
    return std::set<int>(numbers.begin(), numbers.end());
  };
  sketch::Sketch sketch = withRelays({{5, {5}}});
  sketch.remote->relayedBy = {{5, {0, 1, 2, 3, 4, 5, 6, 7}}};
  sketch.remote->betaSplit = {{5, Rational(2)}};
  joinRelays(sketch, 8, setOf(senders), setOf(receivers));
  QStringList found;
  for (const auto& [sender, gpus] : sketch.remote->receivers) {
    found << u"%1: %2"_s.arg(sender).arg(numbersText(gpus));
  }
  QCOMPARE(found.join(u" | "_s), expected);
  // Each GPU's data goes with itself or the sender before it; nothing is said of the one that sends no more.
  QCOMPARE(sketch.remote->relayedBy, (Relays{{1, {0, 1, 2}}, {3, {3, 4, 5, 6, 7}}}));
  QVERIFY(sketch.remote->betaSplit.empty());
}

void TestDesignerSketch::readsNumbers_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("numbers");  // "-" = refused
  QTest::newRow("list") << "0, 2,5"
                        << "0, 2, 5";
  QTest::newRow("range") << "3-5, 1"
                         << "1, 3, 4, 5";
  QTest::newRow("twice") << "2, 2"
                         << "2";
  QTest::newRow("empty") << ""
                         << "";
  QTest::newRow("word") << "one"
                        << "-";
  QTest::newRow("backwards") << "5-3"
                             << "-";
  QTest::newRow("negative") << "-1"
                            << "-";
}

void TestDesignerSketch::readsNumbers() {
  QFETCH(QString, text);
  QFETCH(QString, numbers);
  const auto found = parseNumbers(text);
  QCOMPARE(found ? numbersText(*found) : u"-"_s, numbers);
}

void TestDesignerSketch::editsOnThePage() {
  Page page;
  QVERIFY(page.isProposed);
  QTableWidget& table = page.panel->relays().table();
  table.item(5, RelayPage::kSends)->setCheckState(Qt::Checked);
  QCOMPARE(sendersOf(page.now(), 8), (std::set<int>{1, 5}));
  QCOMPARE(page.now().remote->relayedBy, (Relays{{1, {0, 1, 2, 3, 4}}, {5, {5, 6, 7}}}));
  QVERIFY(page.settle());
  QVERIFY(page.desk().fit());
  // Another sender than the last one cannot go: a box must send.
  table.item(1, RelayPage::kSends)->setCheckState(Qt::Unchecked);
  QVERIFY(page.settle());
  table.item(5, RelayPage::kSends)->setCheckState(Qt::Unchecked);
  QCOMPARE(sendersOf(page.now(), 8), std::set<int>{5});
  QVERIFY2(page.panel->problem().contains(u"needs a sender"_s), qPrintable(page.panel->problem()));

  page.child<QSpinBox>("sketchChunks")->setValue(4);
  QCOMPARE(page.now().chunksPerGpu, 4);
  QVERIFY(page.settle());
  QCOMPARE(page.desk().fit()->chunkBytes, std::int64_t{1} << 18);

  auto* strategy = page.child<QComboBox>("sketchStrategy");
  strategy->setCurrentIndex(1);
  Q_EMIT strategy->activated(1);
  QVERIFY(page.now().local == sketch::LocalStrategy::switchPorts);
  QCOMPARE(page.now().switches.size(), 1U);
  auto* policy = page.child<QComboBox>("sketchPolicy0");
  QVERIFY(policy != nullptr);
  Q_EMIT policy->textActivated(u"uc-min"_s);
  QCOMPARE(page.now().policies, std::vector<std::string>{"uc-min"});
  QVERIFY(page.settle());
  QCOMPARE(page.desk().fit()->fit.model.policy, "uc-min");

  page.desk().undo();
  QCOMPARE(page.now().policies, std::vector<std::string>{"freeuc"});
}

void TestDesignerSketch::takesRelaysFromTheDrawing() {
  Page page;
  QVERIFY(page.isProposed);
  // A GPU of the second box is the one of its number in every box.
  page.select({"b0g2", "b1g6"});
  page.run("sketch.make-senders");
  QCOMPARE(sendersOf(page.now(), 8), (std::set<int>{2, 6}));
  page.select({"b0g3", "b0g7"});
  page.run("sketch.make-receivers");
  QCOMPARE(page.now().remote->receivers, (Relays{{2, {3}}, {6, {7}}}));
  QVERIFY(page.settle());
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
  page.select({});
  page.run("sketch.make-senders");
  QVERIFY2(page.panel->problem().contains(u"No GPU is selected"_s), qPrintable(page.panel->problem()));
}

void TestDesignerSketch::pointsToRelays_data() {
  QTest::addColumn<QString>("gestures");  // "1>0'": to GPU 0 of another box; "2>1": to the relay 1
  QTest::addColumn<QString>("receivers");
  QTest::addColumn<QString>("owners");
  QTest::addColumn<bool>("refused");  // the last one
  // From 1: 0, which sends everything.
  QTest::newRow("another sender") << "3>2'"
                                  << "1: 0 | 3: 2"
                                  << "1: 0, 1, 2 | 3: 3" << false;
  QTest::newRow("another receiver") << "1>2'"
                                    << "1: 0, 2"
                                    << "1: 0, 1, 2, 3" << false;
  QTest::newRow("again") << "3>2' 3>2'"
                         << "1: 0"
                         << "1: 0, 1, 2, 3" << false;
  QTest::newRow("the last") << "1>0'"
                            << "1: 0"
                            << "1: 0, 1, 2, 3" << true;
  QTest::newRow("relay") << "3>2' 2>3"
                         << "1: 0 | 3: 2"
                         << "1: 0, 1 | 3: 2, 3" << false;
  QTest::newRow("relay of none") << "3>2' 1>3"
                                 << "1: 0 | 3: 2"
                                 << "1: 0, 2 | 3: 1, 3" << false;
  QTest::newRow("no sender") << "2>3"
                             << "1: 0"
                             << "1: 0, 1, 2, 3" << true;
  QTest::newRow("heir before") << "3>2' 2>3 3>2'"
                               << "1: 0"
                               << "1: 0, 1, 2, 3" << false;
}

void TestDesignerSketch::pointsToRelays() {
  QFETCH(QString, gestures);
  QFETCH(QString, receivers);
  QFETCH(QString, owners);
  QFETCH(bool, refused);
  sketch::Sketch sketch = withRelays({{1, {0}}});
  sketch.remote->relayedBy = {{1, {0, 1, 2, 3}}};
  PointFault last = PointFault::none;
  for (const QString& gesture : gestures.split(u' ')) {
    const int from = gesture.front().digitValue();
    const int to = gesture[2].digitValue();
    last = gesture.endsWith(u'\'') ? pointToReceiver(sketch, 4, from, to) : pointToRelay(sketch, 4, from, to);
  }
  const auto text = [](const Relays& relays) {
    QStringList found;
    for (const auto& [sender, gpus] : relays) {
      found << u"%1: %2"_s.arg(sender).arg(numbersText(gpus));
    }
    return found.join(u" | "_s);
  };
  QCOMPARE(text(sketch.remote->receivers), receivers);
  QCOMPARE(text(sketch.remote->relayedBy), owners);
  QCOMPARE(last != PointFault::none, refused);
}

void TestDesignerSketch::drawsRelaysWithTheMouse() {
  Page page;
  QVERIFY(page.isProposed);
  page.run("sketch.point");
  CanvasView& canvas = page.editor()->canvas();
  QCOMPARE(canvas.tool(), ToolKind::point);
  QVERIFY(page.child<QToolButton>("sketchPoint")->isChecked());
  canvas.zoomToFit();
  canvas.complete();
  const auto drag = [&](const char* from, const char* to) {
    const auto place = [&](const char* name) {
      return canvas.toView(canvas.scene().rectOf(page.editor()->model().nodeNamed(name)).center()).toPoint();
    };
    QTest::mousePress(&canvas, Qt::LeftButton, {}, place(from));
    QTest::mouseMove(&canvas, (place(from) + place(to)) / 2);
    QTest::mouseMove(&canvas, place(to));
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, place(to));
  };
  const QPointF before = canvas.scene().rectOf(page.editor()->model().nodeNamed("b0g5")).center();
  drag("b0g5", "b1g4");
  QCOMPARE(page.now().remote->receivers, (Relays{{1, {0}}, {5, {4}}}));
  drag("b1g6", "b1g5");
  QCOMPARE(page.now().remote->relayedBy, (Relays{{1, {0, 1, 2, 3, 4, 7}}, {5, {5, 6}}}));
  QCOMPARE(canvas.scene().rectOf(page.editor()->model().nodeNamed("b0g5")).center(), before);
  drag("b0g2", "b0g3");
  QVERIFY2(page.panel->problem().contains(u"sends to no other box"_s), qPrintable(page.panel->problem()));
  drag("b0g2", "ib");
  QVERIFY2(page.panel->problem().contains(u"Relays are GPUs"_s), qPrintable(page.panel->problem()));
  QVERIFY(page.settle());
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
  // Another dock in front: the drawing is as usual again.
  page.run("view.routes");
  QTRY_COMPARE_WITH_TIMEOUT(canvas.tool(), ToolKind::select, coppice::waiting::kPatience);
}

void TestDesignerSketch::drawsRelaysByKeys() {
  Page page;
  QVERIFY(page.isProposed);
  page.run("sketch.point");
  CanvasView& canvas = page.editor()->canvas();
  const auto press = [&](const char* name) {
    page.editor()->selection().setCurrent(page.editor()->model().nodeNamed(name));
    QTest::keyClick(&canvas, Qt::Key_Return);
  };
  press("b0g5");
  QTest::keyClick(&canvas, Qt::Key_Right);
  QVERIFY(page.editor()->selection().current() != ElementId(page.editor()->model().nodeNamed("b0g5")));
  press("b1g4");
  QCOMPARE(page.now().remote->receivers, (Relays{{1, {0}}, {5, {4}}}));
  press("b0g6");
  QTest::keyClick(&canvas, Qt::Key_Escape);
  QCOMPARE(canvas.tool(), ToolKind::point);
  QTest::keyClick(&canvas, Qt::Key_Escape);
  QCOMPARE(canvas.tool(), ToolKind::select);
}

/// What the official files say of relays has a field each.
void TestDesignerSketch::hasEveryField() {
  Page page;
  QVERIFY(page.isProposed);
  QTableWidget& table = page.panel->relays().table();
  table.item(1, RelayPage::kShare)->setText(u"3/2"_s);
  QCOMPARE(page.now().remote->betaSplit, (std::map<int, Rational>{{1, Rational(3, 2)}}));
  QVERIFY(page.settle());
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
  table.item(1, RelayPage::kShare)->setText(u"0"_s);
  QVERIFY2(page.panel->problem().contains(u"not a valid share"_s), qPrintable(page.panel->problem()));
  QVERIFY(page.settle());
  table.item(1, RelayPage::kShare)->setText(QString());
  QVERIFY(page.now().remote->betaSplit.empty());

  page.desk().edit([](sketch::Sketch& sketch) { sketch.remote->receivers = {{1, {0}}, {5, {4}}}; });
  auto* rule = page.child<QComboBox>("sketchRelayRule");
  rule->setCurrentIndex(rule->findText(u"By block"_s));
  Q_EMIT rule->activated(rule->currentIndex());
  QCOMPARE(page.now().remote->chunkToRelay, std::optional(std::pair(8, 1)));
  QVERIFY(page.now().remote->relayedBy.empty());
  auto* blocks = page.child<QLineEdit>("sketchBlocks");
  QVERIFY(blocks->isVisible());
  const auto type = [&](const QString& text) {
    blocks->setText(text);
    blocks->setModified(true);
    Q_EMIT blocks->editingFinished();
  };
  type(u"4, 1"_s);
  QCOMPARE(page.now().remote->chunkToRelay, std::optional(std::pair(4, 1)));
  QVERIFY(page.settle());
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
  QCOMPARE(page.desk().fit()->fit.model.relays[6], std::vector<int>{5});
  type(u"four"_s);
  QVERIFY2(page.panel->problem().contains(u"example 2, 1"_s), qPrintable(page.panel->problem()));
  rule->setCurrentIndex(rule->findText(u"By any sender"_s));
  Q_EMIT rule->activated(rule->currentIndex());
  QVERIFY(!page.now().remote->chunkToRelay);
  QVERIFY(page.settle());
  QVERIFY(page.desk().fit()->fit.model.relays.empty());
}

void TestDesignerSketch::namesProblems_data() {
  QTest::addColumn<Change>("change");
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("fix");
  QTest::addColumn<int>("tab");
  const auto add = [](const char* name, const Change& change, const char* key, const char* fix, int tab) {
    QTest::newRow(name) << change << QString::fromLatin1(key) << QString::fromLatin1(fix) << tab;
  };
  add(
      "size", [](sketch::Sketch& sketch) { sketch.inputSize = "many"; }, "input_size", "1MiB", -1);
  add(
      "chunks", [](sketch::Sketch& sketch) { sketch.chunksPerGpu = 0; }, "input_chunkup", "1 or more", -1);
  add(
      "nodes", [](sketch::Sketch& sketch) { sketch.nodes = 3; }, "nnodes", "Set nnodes to 2", -1);
  add(
      "receivers",
      [](sketch::Sketch& sketch) {
        sketch.remote->receivers = {{1, {0}}, {2, {0, 3}}};
      },
      "internode_conn", "same number of receivers", 0);
  add(
      "no relay",
      [](sketch::Sketch& sketch) {
        sketch.remote->relayedBy = {{1, {0, 1}}};
      },
      "gpus_to_sender_rev_map", "under a sender", 0);
  add(
      "GPU", [](sketch::Sketch& sketch) { setReceivers(sketch, 8, 1, {9}); }, "internode_conn", "from 0", 0);
  add(
      "switch", [](sketch::Sketch& sketch) { addSwitch(sketch, {3}); }, "switches", "each GPU", 1);
  add(
      "group",
      [](sketch::Sketch& sketch) {
        sketch.symmetryOffsets = {{1, 5}};
      },
      "symmetry_offsets", "divides", 2);
}

void TestDesignerSketch::namesProblems() {
  QFETCH(Change, change);
  QFETCH(QString, key);
  QFETCH(QString, fix);
  QFETCH(int, tab);
  Page page;
  QVERIFY(page.isProposed);
  page.desk().edit(change);
  QVERIFY(page.settle());
  QVERIFY(!page.desk().fit());
  QVERIFY2(page.panel->problem().startsWith(key + u": "_s), qPrintable(page.panel->problem()));
  QVERIFY2(page.panel->problem().contains(fix), qPrintable(page.panel->problem()));
  const auto* tabs = page.child<QTabWidget>("sketchTabs");
  for (int i = 0; i < tabs->count(); ++i) {
    QCOMPARE(tabs->tabIcon(i).isNull(), i != tab);
  }
  QVERIFY(!page.window->actions()[u"sketch.start"_s]->isEnabled());
  page.desk().undo();
  QVERIFY(page.settle());
  QCOMPARE(page.panel->problem(), QString());
  QVERIFY(page.window->actions()[u"sketch.start"_s]->isEnabled());
}

void TestDesignerSketch::savesAndReads() {
  Page page;
  QVERIFY(page.isProposed);
  page.desk().edit([](sketch::Sketch& sketch) {
    joinRelays(sketch, 8, {1, 5}, {0, 4});
    sketch.remote->enforceOrdering = true;
    sketch.remote->sharesNics = true;
    addSwitch(sketch, {0, 1, 2, 3});
    sketch.policies[0] = "uc-max";
    sketch.chunksPerGpu = 2;
    sketch.inputSize = "2MiB";
    sketch.unknown.emplace_back("coppice_note", "\"mine\"");
  });
  QVERIFY(page.settle());
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
  QVERIFY(page.child<QCheckBox>("sketchWholeNics")->isChecked());
  QVERIFY(!page.desk().fit()->fit.model.nics.empty());
  page.child<QCheckBox>("sketchWholeNics")->click();
  QVERIFY(page.settle());
  QVERIFY(page.desk().fit()->fit.model.nics.empty());
  page.desk().undo();
  QVERIFY(page.settle());
  QVERIFY(page.now().remote->sharesNics);
  page.answers->saveTo = page.dir.filePath(u"mine.json"_s);
  page.run("sketch.save");
  QVERIFY2(page.answers->failures.isEmpty(), qPrintable(page.answers->failures.join(u'\n')));
  QVERIFY(!page.desk().isModified());
  const sketch::Sketch saved = page.now();
  page.answers->saveTo = page.dir.filePath(u"topology.json"_s);
  page.run("sketch.save-topology");
  const auto topology = io::readTacclTopology(*io::readFile(page.answers->saveTo.toStdString()));
  QVERIFY(topology);
  QCOMPARE(topology->value, page.desk().fit()->fit.topology);

  page.run("sketch.propose");
  QTRY_VERIFY_WITH_TIMEOUT(page.now().switches.empty(), kLong);
  page.answers->open = {page.dir.filePath(u"mine.json"_s)};
  page.run("sketch.open");
  QVERIFY(page.settle());
  QCOMPARE(page.now(), saved);
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
  QVERIFY(!page.desk().isModified());
  QVERIFY(page.child<QLabel>("sketchState")->text().contains(u"mine.json"_s));
}

void TestDesignerSketch::keepsFilesOfOthers_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<bool>("fits");
  QTest::newRow("relay") << "sketch-ndv2-relay-n2.json" << true;
  QTest::newRow("full") << "sketch-ndv2-full-n2.json" << true;
  QTest::newRow("another machine") << "sketch-dgx2-pairs-n8.json" << false;
}

void TestDesignerSketch::keepsFilesOfOthers() {
  QFETCH(QString, name);
  QFETCH(bool, fits);
  Page page;
  QVERIFY(page.isProposed);
  page.answers->open = {QStringLiteral(COPPICE_EXAMPLES "/taccl/") + name};
  page.run("sketch.open");
  QVERIFY2(page.answers->failures.isEmpty(), qPrintable(page.answers->failures.join(u'\n')));
  QVERIFY(page.settle());
  QCOMPARE(page.desk().fit() != nullptr, fits);
  QCOMPARE(page.panel->problem().isEmpty(), fits);
  const auto read = io::readTacclSketch(*io::readFile(page.answers->open.front().toStdString()));
  QCOMPARE(page.now(), read->value);
  page.answers->saveTo = page.dir.filePath(name);
  page.run("sketch.save");
  const auto again = io::readTacclSketch(*io::readFile(page.answers->saveTo.toStdString()));
  QCOMPARE(again->value, read->value);
}

void TestDesignerSketch::drawsTheSketch() {
  Page page;
  QVERIFY(page.isProposed);
  QTRY_VERIFY_WITH_TIMEOUT(!page.editor()->canvas().overlay().trees.empty(), coppice::waiting::kPatience);
  const auto shown = [&] { return page.editor()->canvas().overlay(); };
  QCOMPARE(shown().trees.size(), 2U);
  const Model& model = page.editor()->model();
  QCOMPARE(shown().trees[0].roots, (std::set<NodeId>{model.nodeNamed("b0g1"), model.nodeNamed("b1g1")}));
  QCOMPARE(shown().trees[1].roots, (std::set<NodeId>{model.nodeNamed("b0g0"), model.nodeNamed("b1g0")}));
  QCOMPARE(shown().trees[0].paths.size(), 2U);
  QVERIFY(shown().trees[0].paths[0].size() >= 4);  // switch, NIC, network, NIC, switch
  QVERIFY(shown().hulls.empty());
  page.select({"b1g3"});
  QCOMPARE(page.panel->symmetry().orbit(), 3);
  QCOMPARE(shown().hulls.size(), 1U);
  QCOMPARE(shown().hulls[0].nodes, (std::set<NodeId>{model.nodeNamed("b0g3"), model.nodeNamed("b1g3")}));
  // A switch of each box, on its tab.
  page.desk().edit([](sketch::Sketch& sketch) { addSwitch(sketch, {0, 2}); });
  QVERIFY(page.settle());
  page.child<QTabWidget>("sketchTabs")->setCurrentIndex(1);
  page.child<QTableWidget>("sketchSwitches")->selectRow(0);
  QCOMPARE(shown().hulls.size(), 1U);
  QCOMPARE(shown().hulls[0].nodes, (std::set<NodeId>{model.nodeNamed("b0g0"), model.nodeNamed("b0g2"),
                                                     model.nodeNamed("b1g0"), model.nodeNamed("b1g2")}));
  // Another dock in front, another drawing.
  page.run("view.routes");
  QTRY_VERIFY_WITH_TIMEOUT(shown().hulls.empty(), coppice::waiting::kPatience);
}

void TestDesignerSketch::synthesizes_data() {
  QTest::addColumn<QString>("collective");
  QTest::newRow("allgather") << "allgather";
  QTest::newRow("reduce_scatter") << "reduce_scatter";
  QTest::newRow("allreduce") << "allreduce";
  QTest::newRow("alltoall") << "alltoall";
  QTest::newRow("broadcast") << "broadcast";
}

void TestDesignerSketch::synthesizes() {
  QFETCH(QString, collective);
  Page page;
  QVERIFY(page.isProposed);
  SearchQuestion question = page.desk().question();
  question.collective = *parseCollective(collective.toStdString());
  question.effort = 200;
  page.desk().setQuestion(question);
  page.child<QPushButton>("sketchRun")->click();
  QVERIFY(page.desk().isRunning());
  QTRY_VERIFY_WITH_TIMEOUT(!page.desk().isRunning(), kLong);
  QVERIFY2(page.desk().answer() != nullptr, qPrintable(page.desk().failure()));
  const SearchAnswer& answer = *page.desk().answer();
  QVERIFY(answer.bound <= answer.makespan);
  QVERIFY(answer.connections > 0);
  QVERIFY(!page.desk().points().empty());
  QCOMPARE(page.desk().points().back().makespan, answer.makespan);
  QVERIFY2(page.panel->search().figures().contains(u"verified"_s), qPrintable(page.panel->search().figures()));
  const SearchChart& chart = page.panel->search().chart();
  QCOMPARE(chart.names(), QStringList({u"best, µs"_s, u"bound, µs"_s}));
  QVERIFY(chart.points(0).size() > 1 && chart.points(1).size() > 1);
  // An ordinary schedule of the document.
  const ScheduleEntry* entry = page.book().current();
  QVERIFY(entry != nullptr && entry->result == answer.schedule);
  QTRY_VERIFY_WITH_TIMEOUT(page.book().isFresh(*entry), kLong);
  QVERIFY(verify::verifySteps(*entry->result->fabric, *entry->result->stepSchedule())->ok);
  QCOMPARE(entry->result->options.method, "taccl");
  auto* transfers = page.window->findChild<TransferPanel*>();
  QCOMPARE(transfers->model().result(), entry->result);
  // Generate Again searches within the same sketch, and finds the same.
  page.run("schedule.rerun");
  QTRY_VERIFY_WITH_TIMEOUT(!page.book().isRunning(), kLong);
  QCOMPARE(page.book().failure(), QString());
  QCOMPARE(page.book().entries().size(), 1U);
}

void TestDesignerSketch::stopKeepsTheBest() {
  // Where links within boxes and between them are alike, no bound is reached soon.
  Page page({{"boxes", "4"}, {"nic", "50"}, {"pcie", "50"}});
  QVERIFY(page.isProposed);
  page.desk().edit([](sketch::Sketch& sketch) {
    sketch.chunksPerGpu = 5;
    sketch.symmetryOffsets.clear();
  });
  QVERIFY(page.settle());
  SearchQuestion question = page.desk().question();
  question.seconds = 86400;
  page.desk().setQuestion(question);
  page.run("sketch.start");
  QTRY_VERIFY_WITH_TIMEOUT(!page.desk().points().empty(), kLong);
  QVERIFY(page.desk().isRunning());
  page.run("sketch.stop");
  QTRY_VERIFY_WITH_TIMEOUT(!page.desk().isRunning(), kLong);
  QVERIFY2(page.desk().answer() != nullptr, qPrintable(page.desk().failure()));
  QVERIFY(page.desk().answer()->isStopped);
  QCOMPARE(page.desk().answer()->makespan, page.desk().points().back().makespan);
  QCOMPARE(page.book().entries().size(), 1U);
}

void TestDesignerSketch::followsTheFabric() {
  Page page;
  QVERIFY(page.isProposed);
  const Rational before = *page.desk().fit()->fit.topology.remoteBeta;
  // The network of half the bandwidth.
  const Model& model = page.editor()->model();
  std::set<ElementId> links;
  for (const LinkId id : model.linksOf(model.nodeNamed("ib"))) {
    links.insert(id);
  }
  page.editor()->document().edit(u"Bandwidth"_s, [&](Edit& edit) {
    for (const ElementId& id : links) {
      edit.change(id.link(), [](Link& link) { link.bandwidth = "6.25"; });
    }
  });
  QTRY_VERIFY_WITH_TIMEOUT(page.desk().fit() && *page.desk().fit()->fit.topology.remoteBeta != before, kLong);
  QCOMPARE(*page.desk().fit()->fit.topology.remoteBeta, before * Rational(2));
}

void TestDesignerSketch::coloursOrbits() {
  Page page;
  QVERIFY(page.isProposed);
  page.child<QTabWidget>("sketchTabs")->setCurrentWidget(&page.panel->symmetry());
  const auto shown = [&] { return page.editor()->canvas().overlay(); };
  QTRY_COMPARE_WITH_TIMEOUT(shown().trees.size(), 8U, coppice::waiting::kPatience);
  const Model& model = page.editor()->model();
  std::set<int> categories;
  for (const TreeMark& mark : shown().trees) {
    QCOMPARE(mark.roots.size(), 2U);
    categories.insert(mark.category);
  }
  QCOMPARE(categories.size(), 8U);
  QCOMPARE(shown().trees[3].roots, (std::set<NodeId>{model.nodeNamed("b0g3"), model.nodeNamed("b1g3")}));
  page.child<QTabWidget>("sketchTabs")->setCurrentWidget(&page.panel->relays());
  QTRY_COMPARE_WITH_TIMEOUT(shown().trees.size(), 2U, coppice::waiting::kPatience);
}

void TestDesignerSketch::isSavedWithTheDocument() {
  Page page;
  QVERIFY(page.isProposed);
  page.answers->saveTo = page.dir.filePath(u"cluster.fabric.json"_s);
  page.run("file.save");
  // A proposal can be made again; what a person drew cannot.
  QVERIFY(!page.editor()->file().isModified());
  page.desk().edit([](sketch::Sketch& sketch) { sketch.chunksPerGpu = 3; });
  QVERIFY(page.editor()->file().isModified());
  page.desk().undo();
  QVERIFY(!page.editor()->file().isModified());
  page.desk().edit([](sketch::Sketch& sketch) { sketch.chunksPerGpu = 3; });
  page.run("file.save");
  QVERIFY(!page.editor()->file().isModified());
  QCOMPARE(page.desk().path(), page.dir.filePath(u"cluster.sketch.json"_s));
  const sketch::Sketch saved = page.now();
  const auto read = io::readTacclSketch(*io::readFile(page.desk().path().toStdString()));
  QVERIFY(read && read->value == saved);
  // It comes back with the document.
  page.run("file.close");
  page.answers->open = {page.dir.filePath(u"cluster.fabric.json"_s)};
  page.run("file.open");
  QVERIFY(page.desk().current() != nullptr);
  QCOMPARE(page.now(), saved);
  QVERIFY(page.settle());
  QVERIFY(!page.editor()->file().isModified());
}

void TestDesignerSketch::unsavedSketchIsAskedFor() {
  Page page;
  QVERIFY(page.isProposed);
  page.answers->saveTo = page.dir.filePath(u"cluster.fabric.json"_s);
  page.run("file.save");
  page.desk().edit([](sketch::Sketch& sketch) { sketch.chunksPerGpu = 3; });
  page.answers->unsaved = Prompts::Unsaved::cancel;
  page.answers->asked = 0;
  page.window->close();
  QCOMPARE(page.answers->asked, 1);
  QVERIFY(page.window->isVisible());
  page.answers->unsaved = Prompts::Unsaved::save;
  page.run("file.close");
  QCOMPARE(page.answers->asked, 2);
  QVERIFY(QFile::exists(page.dir.filePath(u"cluster.sketch.json"_s)));
}

/// What a crash left: the journal of the document, and the sketch in its folder.
void TestDesignerSketch::isRecovered() {
  QTemporaryDir dir;
  const QString folder = dir.filePath(u"recovery"_s);
  sketch::Sketch drawn;
  {
    DocumentFile file(folder);
    file.adopt(readArranged(*presets::make("azure-ndv2", {{"boxes", "2"}})).model, {});
    SketchDesk& desk = SketchDesk::of(file);
    desk.propose();
    QTRY_VERIFY_WITH_TIMEOUT(desk.fit() != nullptr, kLong);
    desk.edit([](sketch::Sketch& sketch) { sketch.chunksPerGpu = 3; });
    drawn = *desk.current();
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(file.workFolder() + u"/sketch.json"_s), coppice::waiting::kPatience);
    QVERIFY(file.isModified());
  }
  // Another thread may hold it until it is on the disk.
  QTRY_COMPARE_WITH_TIMEOUT(DocumentFile::abandonedJournals(folder).size(), 1U, coppice::waiting::kPatience);
  const auto left = DocumentFile::abandonedJournals(folder);
  auto recovered = recover(left.front());
  QVERIFY(recovered);
  QVERIFY(QFile::remove(left.front()));
  DocumentFile file(folder);
  file.restore(*std::move(recovered));
  SketchDesk& desk = SketchDesk::of(file);
  QVERIFY(desk.current() != nullptr);
  QCOMPARE(*desk.current(), drawn);
  QVERIFY(desk.isModified() && file.isModified());
  QTRY_VERIFY_WITH_TIMEOUT(desk.fit() != nullptr, kLong);
  QVERIFY(desk.save(dir.filePath(u"kept.json"_s)));
  QVERIFY(!QFile::exists(file.workFolder() + u"/sketch.json"_s));
}

void TestDesignerSketch::stagesNeedTheirSolver() {
  Page page;
  QVERIFY(page.isProposed);
  const QByteArray path = qgetenv("PATH");
  qputenv("PATH", "/nowhere");
  auto* engine = page.child<QComboBox>("sketchEngine");
  engine->setCurrentIndex(1);
  Q_EMIT engine->activated(1);
  qputenv("PATH", path);
  QVERIFY2(page.panel->problem().contains(u"coinor-cbc"_s), qPrintable(page.panel->problem()));
  QCOMPARE(engine->currentIndex(), 0);
  QCOMPARE(page.desk().question().engine, taccl::Engine::search);
}

void TestDesignerSketch::stagesAreOneOfTheEngines() {
  if (!lp::findMixedSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  Page page;
  QVERIFY(page.isProposed);
  auto* engine = page.child<QComboBox>("sketchEngine");
  engine->setCurrentIndex(1);
  Q_EMIT engine->activated(1);
  SearchQuestion question = page.desk().question();
  QCOMPARE(question.engine, taccl::Engine::stages);
  question.collective = Collective::broadcast;
  question.seconds = 30;
  page.desk().setQuestion(question);
  page.run("sketch.start");
  QTRY_VERIFY_WITH_TIMEOUT(!page.desk().isRunning(), 2 * kLong);
  QVERIFY2(page.desk().answer() != nullptr, qPrintable(page.desk().failure()));
  QCOMPARE(page.book().current()->result->options.methodOptions.at("search-engine"), "milp");
}

void TestDesignerSketch::opensTopologiesAndSketches() {
  Fixture f;
  const QString folder = QStringLiteral(COPPICE_EXAMPLES "/taccl/");
  // A sketch alone is not a fabric.
  f.answers->open = {folder + u"sketch-ndv2-relay-n2.json"_s};
  f.run("file.open");
  QCOMPARE(f.answers->failures.size(), 1);
  QVERIFY2(f.answers->failures.front().contains(u"communication sketch"_s), qPrintable(f.answers->failures.front()));
  // Boxes and the unit of time are asked for.
  f.answers->importer = [](QWidget* parent, const ForeignText& text) {
    ImportDialog dialog(text, parent);
    dialog.findChild<QSpinBox*>(u"import-boxes"_s)->setValue(2);
    dialog.findChild<QLineEdit*>(u"import-time-unit"_s)->setText(u"2"_s);
    dialog.findChild<QPushButton*>(u"importAccept"_s)->click();
    [[maybe_unused]] const bool isReady =
        QTest::qWaitFor([&] { return !dialog.isWorking() && dialog.fabric(); }, kLong);
    return dialog.fabric();
  };
  f.answers->open = {folder + u"topology-ndv2-1mb.json"_s};
  f.run("file.open");
  QCOMPARE(f.answers->imports.size(), 1);
  QVERIFY(f.editor() != nullptr);
  QCOMPARE(sizeOf(f.editor()->model()).gpus, 16);
  const Link* link =
      f.editor()->model().find(f.editor()->model().linksOf(f.editor()->model().nodeNamed("nic0.0")).front());
  QCOMPARE(Rational::parse(link->bandwidth)->toDouble(), 1048.576 / 105 / 2);
  // Now the sketch has a fabric.
  f.answers->open = {folder + u"sketch-ndv2-relay-n2.json"_s};
  f.run("file.open");
  QCOMPARE(f.answers->failures.size(), 1);
  SketchDesk& desk = SketchDesk::of(f.editor()->file());
  QVERIFY(desk.current() != nullptr);
  QTRY_VERIFY_WITH_TIMEOUT(desk.fit() != nullptr, kLong);
  QCOMPARE(sendersOf(*desk.current(), 8), std::set<int>{0});
  QCOMPARE(f.window->workspace().contexts().size(), 1U);
}

/// What was inferred from copies, beside what the system of that machine states.
void TestDesignerSketch::opensInferredFabrics() {
  Fixture f;
  const auto fabric = [](const char* rate) {
    fabric::Description made;
    made.name = "machine";
    made.nodes = {{.id = "gpu0"}, {.id = "gpu1"}, {.id = "pcie0", .kind = "switch"}};
    made.links = {{"gpu0", "pcie0", rate, true, 1}, {"gpu1", "pcie0", "12", true, 1}};
    return QString::fromStdString(io::writeFabricJson(made));
  };
  const auto write = [&](const QString& name, const QString& text) {
    const QString path = f.dir.filePath(name);
    return io::saveFile(path.toStdString(), text.toStdString()) ? QStringList{path} : QStringList();
  };
  f.answers->open = write(u"inferred.json"_s,
                          u"{\"t\":\"inference\",\"format\":1,\"findings\":[{\"text\":\"NIC 0 is undecided\",\"fix\":"
                          u"\"measure again\"}],\"fabric\":%1,\"machine\":%2}"_s.arg(fabric("12"), fabric("24")));
  f.run("file.open");
  QVERIFY2(f.answers->failures.isEmpty(), qPrintable(f.answers->failures.join(u'\n')));
  QVERIFY(f.editor() != nullptr);
  QCOMPARE(sizeOf(f.editor()->model()).gpus, 2);
  QCOMPARE(f.editor()->file().findings().size(), 1U);
  auto* differences = f.window->findChild<DifferencesPanel*>();
  QVERIFY(differences != nullptr);
  QVERIFY(differences->isVisible());
  QVERIFY(!differences->differences().empty());
  QVERIFY2(differences->differences().front().found.contains(u"24"_s),
           qPrintable(differences->differences().front().found));
  // The record itself is to be worked on first.
  f.answers->open = write(u"record.json"_s, u"{\"t\": \"contention\", \"format\": 1, \"alone\": [[1]]}"_s);
  f.run("file.open");
  QCOMPARE(f.answers->failures.size(), 1);
  QVERIFY2(f.answers->failures.front().contains(u"coppice-exec infer record.json"_s),
           qPrintable(f.answers->failures.front()));
}

QTEST_MAIN(TestDesignerSketch)
#include "tst_designer_sketch.moc"
