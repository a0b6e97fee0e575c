// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>

#include "designer/schedule/schedule_activity.hpp"
#include "designer/schedule/transfer_panel.hpp"
#include "designer/sketch/sketch_edits.hpp"
#include "designer/sketch/sketch_overlay.hpp"
#include "designer/sketch/sketch_panel.hpp"
#include "designer/window/window_fixture.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "presets/presets.hpp"
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
  [[nodiscard]] ScheduleBook& book() const { return *ScheduleActivity::bookOf(editor()->file(), editor()->bound()); }

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
      "gpus_to_sender_rev_map", "below a sender", 0);
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
    addSwitch(sketch, {0, 1, 2, 3});
    sketch.policies[0] = "uc-max";
    sketch.chunksPerGpu = 2;
    sketch.inputSize = "2MiB";
    sketch.unknown.emplace_back("coppice_note", "\"mine\"");
  });
  QVERIFY(page.settle());
  QVERIFY2(page.desk().fit(), qPrintable(page.panel->problem()));
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
  QTRY_VERIFY(!page.editor()->canvas().overlay().trees.empty());
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
  page.run("view.transfers");
  QTRY_VERIFY(shown().hulls.empty());
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
  QVERIFY(page.panel->search().chart().best().count() > 1);
  QVERIFY(page.panel->search().chart().bound().count() > 1);
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

QTEST_MAIN(TestDesignerSketch)
#include "tst_designer_sketch.moc"
