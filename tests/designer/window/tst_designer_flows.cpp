// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDropEvent>
#include <QListWidget>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTableView>
#include <QTest>

#include "designer/document/fabric_file.hpp"
#include "designer/features/edit/link_patterns.hpp"
#include "designer/features/find/find_bar.hpp"
#include "designer/features/report/fabrics_dialog.hpp"
#include "designer/palette/card_list.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;
using test::typeBandwidth;

namespace {

QPoint viewPoint(const Fixture& f, const QPointF& scene) {
  return f.editor()->canvas().toView(scene).toPoint();
}

/// What a drag out of the palette ends with: the window sees where it enters and where it is let go.
void dropEntry(const Fixture& f, const char* id, const QPointF& scene) {
  QMimeData data;
  data.setData(entryMimeType(), id);
  const QPointF place = f.editor()->canvas().mapTo(f.window.get(), viewPoint(f, scene));
  QDragEnterEvent enter(place.toPoint(), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(f.window.get(), &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent drop(place, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(f.window.get(), &drop);
}

void clickOn(const Fixture& f, const ElementId& id) {
  CanvasView& canvas = f.editor()->canvas();
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, viewPoint(f, canvas.scene().rectOf(id).center()));
}

std::vector<NodeId> nodesOfKind(const Model& model, fabric::NodeKind kind) {
  std::vector<NodeId> nodes;
  for (const auto& [id, node] : model.nodes()) {
    if (node.kind() == kind) {
      nodes.push_back(id);
    }
  }
  return nodes;
}

}  // namespace

/// Building a fabric: templates, arrays, patterns, and finding things in it.
class TestDesignerFlows : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void cleanup();
  void fourBoxesOfEight();
  void threeClicksFromATemplate();
  void theStartPageOffersFabricsAndFiles();
  void placeByClickAndByKey();
  void aTemplateIsOneStepWithFreeNames();
  void aSelectionBecomesATemplate();
  void arrayKeepsOnlyTheChosenLinks();
  void arrayIsThrownAway();
  void linkByPattern();
  void pairsByNames_data();
  void pairsByNames();
  void findCountsGoesAndSelects();
  void findTellsWhatIsWrong();
  void theTableIsFiltered();
  void goToANode();
  void problemsInTurn();
  void nothingThatIsPastedDisturbs();
  void aReportOfOnePage();
  void openFabricsInOneTable();
  void aLinkOpensTheView();
};

void TestDesignerFlows::initTestCase() {
  designer::test::prepareApplication("flows");
}

void TestDesignerFlows::cleanup() {
  QSettings().clear();
}

void TestDesignerFlows::aReportOfOnePage() {
  const Fixture f;
  f.window->workspace().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "4"}})).model, {}, u"four <boxes>"_s);
  QVERIFY(f.waitForBound());
  for (const char* name : {"report.html", "report.pdf"}) {
    f.answers->saveTo = f.dir.filePath(QLatin1String(name));
    f.run("file.report");
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(f.answers->saveTo), coppice::waiting::kPatience);
  }
  const std::string html = *io::readFile(f.dir.filePath(u"report.html"_s).toStdString());
  const CutView& cut = f.editor()->bound().bound()->cuts.front();
  for (const QString& said : {u"266.67 GB/s"_s, u"800/3"_s, u"four &lt;boxes&gt;"_s, u"data:image/png;base64,"_s,
                              cut.sentence.toHtmlEscaped(), u"32 GPUs"_s, u"any of 64 like b0g0 – b0nic0"_s}) {
    QVERIFY2(html.find(said.toStdString()) != std::string::npos, qPrintable(said));
  }
  const std::string pdf = *io::readFile(f.dir.filePath(u"report.pdf"_s).toStdString());
  QVERIFY(pdf.starts_with("%PDF"));
  QVERIFY2(pdf.find("/Count 1\n") != std::string::npos, "the report has more than one page");
  // The drawing is as before: the cut was drawn for the picture alone.
  QVERIFY(f.editor()->canvas().overlay().isEmpty());
}

void TestDesignerFlows::openFabricsInOneTable() {
  const Fixture f;
  for (const char* boxes : {"2", "4"}) {
    f.window->workspace().adopt(readModel(*presets::make("dgx-a100", {{"boxes", boxes}})).model, {},
                                QLatin1String(boxes) + u" boxes"_s);
  }
  f.run("analyse.fabrics");
  auto* dialog = f.window->findChild<FabricsDialog*>();
  QTRY_VERIFY_WITH_TIMEOUT(dialog->isSettled(), coppice::waiting::kPatience);
  QCOMPARE(dialog->table().item(0, 2)->text(), u"32"_s);
  QCOMPARE(dialog->table().item(1, 1)->text(), u"346.67"_s);
  QVERIFY(dialog->table().item(1, 2)->text().startsWith(u"266.67  (76.9"_s));
  QVERIFY2(dialog->csv().contains(u"AllGather,1040/3,800/3"_s), qPrintable(dialog->csv()));
  dialog->close();
}

void TestDesignerFlows::aLinkOpensTheView() {
  const Fixture f;
  f.window->files().openFiles({f.example("2x-dgx-a100.fabric.json") + u"#mode=analyse&cut=2&zoom=80"_s});
  QVERIFY(f.editor() != nullptr);
  QCOMPARE(f.window->workspace().mode(), Mode::analyse);
  QTRY_COMPARE_WITH_TIMEOUT(f.editor()->shownCut(), std::size_t{1}, coppice::waiting::kPatience);
  QTRY_COMPARE_WITH_TIMEOUT(f.editor()->canvas().zoom(), 0.8, coppice::waiting::kPatience);
  f.run("file.copy-link");
  QVERIFY(QGuiApplication::clipboard()->text().endsWith(u"#mode=analyse&collective=allgather&cut=2&zoom=80"_s));
}

void TestDesignerFlows::fourBoxesOfEight() {
  using fabric::NodeKind;
  const Fixture f;
  f.window->resize(1440, 900);
  f.run("file.new");
  CanvasView& canvas = f.editor()->canvas();
  const Model& model = f.editor()->model();
  QCoreApplication::processEvents();
  // 1, 2: a GPU and its NIC.
  dropEntry(f, "device/gpu", {0, 0});
  dropEntry(f, "device/nic", {0, -100});
  QCOMPARE(model.nodes().size(), std::size_t(2));
  const NodeId gpu = nodesOfKind(model, NodeKind::gpu).front();
  const NodeId nic = nodesOfKind(model, NodeKind::nic).front();
  QCOMPARE(model.find(gpu)->drawing.position, (Point{0, 0}));
  // 3: linked by a drag.
  QTest::keyClick(&canvas, Qt::Key_L);
  const QPoint from = viewPoint(f, canvas.scene().rectOf(gpu).center());
  const QPoint to = viewPoint(f, canvas.scene().rectOf(nic).center());
  QTest::mousePress(&canvas, Qt::LeftButton, {}, from);
  QTest::mouseMove(&canvas, (from + to) / 2);
  QTest::mouseMove(&canvas, to);
  QTest::mouseRelease(&canvas, Qt::LeftButton, {}, to);
  QCOMPARE(model.links().size(), std::size_t(1));
  typeBandwidth(f, u"400Gb/s"_s);
  // 4: eight of them.
  QTest::keyClick(&canvas, Qt::Key_Escape);
  QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(f.window.get(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
  auto* array = f.window->findChild<QDialog*>(u"arrayDialog"_s);
  QVERIFY(array != nullptr);
  QTest::keyClick(array->findChild<QWidget*>(u"arrayCount"_s), Qt::Key_8);
  QTest::keyClick(array, Qt::Key_Return);
  f.activate();
  QCOMPARE(nodesOfKind(model, NodeKind::gpu).size(), std::size_t(8));
  QCOMPARE(model.links().size(), std::size_t(8));
  // 5: the switch of the box.
  dropEntry(f, "device/nvswitch", {360, 140});
  const NodeId inner = nodesOfKind(model, NodeKind::switchNode).front();
  // 6: all GPUs to it.
  clickOn(f, gpu);
  f.run("select.same-kind");
  QCOMPARE(f.editor()->selection().nodes().size(), std::size_t(8));
  QTest::keyClick(&canvas, Qt::Key_L);
  clickOn(f, inner);
  typeBandwidth(f, u"450 GB/s"_s);
  QCOMPARE(model.links().size(), std::size_t(16));
  // 7: a box around all.
  QTest::keyClick(&canvas, Qt::Key_Escape);
  QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(f.window.get(), Qt::Key_G, Qt::ControlModifier);
  QCOMPARE(model.boxes().size(), std::size_t(1));
  // 8: four boxes.
  f.editor()->selection().set({model.boxesIn({}).front()});
  QTest::keyClick(f.window.get(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
  array = nullptr;
  for (auto* dialog : f.window->findChildren<QDialog*>(u"arrayDialog"_s)) {
    array = dialog->isVisible() ? dialog : array;
  }
  QVERIFY(array != nullptr);
  QTest::keyClick(array->findChild<QWidget*>(u"arrayCount"_s), Qt::Key_4);
  QTest::keyClick(array, Qt::Key_Return);
  f.activate();
  QCOMPARE(model.boxes().size(), std::size_t(4));
  QCOMPARE(nodesOfKind(model, NodeKind::gpu).size(), std::size_t(32));
  QCOMPARE(model.links().size(), std::size_t(64));
  // 9: the switch between the boxes.
  f.run("zoom.fit");
  const QRectF all = canvas.scene().bounds();
  dropEntry(f, "device/switch", {all.center().x(), all.top() - 60});
  const NodeId outer = model.nodeNamed("switch0").isValid() ? model.nodeNamed("switch0")
                                                            : nodesOfKind(model, NodeKind::switchNode).back();
  QVERIFY(!model.find(outer)->facts.box.isValid());
  // 10: all NICs to it.
  f.editor()->selection().set({nic});
  f.run("select.same-kind");
  QCOMPARE(f.editor()->selection().nodes().size(), std::size_t(32));
  QTest::keyClick(&canvas, Qt::Key_L);
  clickOn(f, outer);
  typeBandwidth(f, u"400Gb/s"_s);
  QCOMPARE(model.links().size(), std::size_t(96));
  // 11 is the layout. The bound is that of four DGX H100 on one switch.
  QTest::keyClick(&canvas, Qt::Key_Escape);
  QVERIFY(f.waitForBound());
  QCOMPARE(f.strip("statusProblems"), u"no problems"_s);
  const Bound expected = *f.editor()->bound().bound();
  f.window->workspace().adopt(readModel(*presets::make("dgx-h100", {{"boxes", "4"}})).model, {}, u"ready made"_s);
  QVERIFY(f.waitForBound());
  QVERIFY(expected.algbw.has_value());
  QCOMPARE(*f.editor()->bound().bound()->algbw, *expected.algbw);
}

void TestDesignerFlows::threeClicksFromATemplate() {
  const Fixture f;
  f.window->resize(1440, 900);
  QVERIFY(QTest::qWaitFor([&] { return f.window->findChild<QWidget*>(u"startPage"_s)->isVisible(); },
                          coppice::waiting::kPatience));
  auto* cards = f.window->findChild<CardList*>(u"startFabrics"_s);
  QListWidgetItem* card = cards->itemOf(u"preset/dgx-h100?boxes=4&network=rails"_s);
  QVERIFY(card != nullptr);
  QTest::mouseClick(cards->viewport(), Qt::LeftButton, {}, cards->visualItemRect(card).center());
  auto* dialog = f.window->findChild<QDialog*>(u"templateDialog"_s);
  QVERIFY(dialog != nullptr && dialog->isVisible());
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"chip-boxes-8"_s), Qt::LeftButton);
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"templateCreate"_s), Qt::LeftButton);
  QVERIFY(QTest::qWaitFor([&] { return f.editor() != nullptr; }, coppice::waiting::kPatience));
  QCOMPARE(f.editor()->model().boxes().size(), std::size_t(8));
  QVERIFY(f.editor()->file().path().isEmpty());
  QVERIFY(f.waitForBound());
  QVERIFY(f.editor()->bound().bound()->algbw.has_value());
}

void TestDesignerFlows::theStartPageOffersFabricsAndFiles() {
  const Fixture f;
  auto* cards = f.window->findChild<CardList*>(u"startFabrics"_s);
  QVERIFY(cards->count() >= 10);
  QVERIFY(QTest::qWaitFor(
      [&] {
        for (int row = 0; row < cards->count(); ++row) {
          const CardFacts* facts = cards->factsOf(*cards->item(row));
          if (facts == nullptr || !facts->hasPicture || facts->picture.light.isNull() || facts->bound.isEmpty()) {
            return false;
          }
        }
        return true;
      },
      20000));
  const QString path = f.example("2x-dgx-a100.fabric.json");
  QVERIFY(f.window->files().openFile(path) != nullptr);
  f.run("file.close");
  auto* recent = f.window->findChild<CardList*>(u"startRecent"_s);
  QCOMPARE(recent->count(), 1);
  QVERIFY(QTest::qWaitFor(
      [&] {
        const CardFacts* facts = recent->factsOf(*recent->item(0));
        return facts != nullptr && !facts->picture.light.isNull() && facts->bound == u"346.67 GB/s"_s;
      },
      coppice::waiting::kPatience));
  recent->setFocus();
  recent->setCurrentRow(0);
  QTest::keyClick(recent, Qt::Key_Return);
  QVERIFY(f.editor() != nullptr);
  QCOMPARE(f.editor()->file().path(), path);
}

void TestDesignerFlows::placeByClickAndByKey() {
  const Fixture f;
  f.run("file.new");
  const Model& model = f.editor()->model();
  auto* tiles = f.window->findChild<CardList*>(u"palette-Devices"_s);
  QTest::mouseClick(tiles->viewport(), Qt::LeftButton, {}, tiles->visualItemRect(tiles->item(0)).center());
  QCOMPARE(f.editor()->canvas().tool(), ToolKind::place);
  QTest::mouseClick(&f.editor()->canvas(), Qt::LeftButton, {}, viewPoint(f, {40, 40}));
  QCOMPARE(model.nodes().size(), std::size_t(1));
  QTest::keyClick(&f.editor()->canvas(), Qt::Key_Escape);
  // By keys two stand side by side.
  tiles->setFocus();
  tiles->setCurrentRow(3);
  QTest::keyClick(tiles, Qt::Key_Return);
  QTest::keyClick(tiles, Qt::Key_Return);
  QCOMPARE(nodesOfKind(model, fabric::NodeKind::nic).size(), std::size_t(2));
  const auto nics = nodesOfKind(model, fabric::NodeKind::nic);
  QVERIFY(model.find(nics[0])->drawing.position != model.find(nics[1])->drawing.position);
  for (const auto& [id, node] : model.nodes()) {
    QCOMPARE(std::fmod(node.drawing.position.x, 20), 0.0);
  }
}

void TestDesignerFlows::aTemplateIsOneStepWithFreeNames() {
  const Fixture f;
  f.run("file.new");
  const Model& model = f.editor()->model();
  for (int i = 1; i <= 2; ++i) {
    dropEntry(f, "preset/dgx-a100?boxes=1", {1200.0 * i, 0});
    QCOMPARE(f.editor()->document().undoStack()->count(), i);
    QCOMPARE(model.boxes().size(), std::size_t(i));
  }
  std::set<std::string> names;
  for (const auto& [id, node] : model.nodes()) {
    QVERIFY(names.insert(node.facts.name).second);
  }
  f.run("edit.undo");
  QCOMPARE(model.boxes().size(), std::size_t(1));
  // Into a box it goes as a part of that box.
  f.run("zoom.fit");
  const QPointF inside = f.editor()->canvas().scene().boxes().front().rect.center();
  dropEntry(f, "device/gpu", inside);
  QVERIFY(model.find(*f.editor()->selection().nodes().begin())->facts.box.isValid());
}

void TestDesignerFlows::aSelectionBecomesATemplate() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.editor()->selection().set({f.editor()->model().boxAtPath("b0")});
  f.answers->typed = u"my box"_s;
  f.run("edit.save-template");
  QVERIFY(f.answers->failures.isEmpty());
  auto* own = f.window->findChild<CardList*>(u"palette-Yours"_s);
  QCOMPARE(own->count(), 1);
  f.run("file.new");
  dropEntry(f, "own/my box", {0, 0});
  QCOMPARE(f.editor()->model().boxes().size(), std::size_t(1));
  f.answers->typed = u"/"_s;
  f.editor()->selection().selectAll();
  f.run("edit.save-template");
  QVERIFY(f.answers->failures.isEmpty());  // "/" becomes "_"
  QCOMPARE(own->count(), 2);
}

void TestDesignerFlows::arrayKeepsOnlyTheChosenLinks() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  const Model& model = f.editor()->model();
  const std::size_t before = model.links().size();
  f.editor()->selection().set({model.boxAtPath("b0")});
  f.run("edit.array");
  auto* dialog = f.window->findChild<QDialog*>(u"arrayDialog"_s);
  auto* outer = dialog->findChild<QListWidget*>(u"arrayOuter"_s);
  QCOMPARE(outer->count(), 2);
  outer->item(1)->setCheckState(Qt::Unchecked);
  dialog->findChild<QSpinBox*>(u"arrayCount"_s)->setValue(3);
  const QString summary = dialog->findChild<QLabel*>(u"arraySummary"_s)->text();
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"arrayCreate"_s), Qt::LeftButton);
  QCOMPARE(model.boxes().size(), std::size_t(4));
  // 16 links in each of the two boxes, and 4 of its 8 NICs' links.
  QCOMPARE(model.links().size(), before + 2 * (16 + 4));
  QVERIFY2(summary.contains(u"40 links"_s), qPrintable(summary));
  QCOMPARE(f.editor()->document().undoStack()->count(), 1);
}

void TestDesignerFlows::arrayIsThrownAway() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  const std::string before = writeFabricFile(f.editor()->model());
  f.editor()->selection().selectAll();
  f.run("edit.array");
  auto* dialog = f.window->findChild<QDialog*>(u"arrayDialog"_s);
  dialog->findChild<QSpinBox*>(u"arrayCount"_s)->setValue(50);
  QTest::keyClick(dialog, Qt::Key_Escape);
  QVERIFY(QTest::qWaitFor([&] { return f.window->findChild<QDialog*>(u"arrayDialog"_s) == nullptr; },
                          coppice::waiting::kPatience));
  QCOMPARE(writeFabricFile(f.editor()->model()), before);
  QCOMPARE(f.editor()->document().undoStack()->count(), 0);
}

void TestDesignerFlows::linkByPattern() {
  const Fixture f;
  f.run("file.new");
  f.editor()->document().edit(u"x"_s, [](Edit& edit) {
    for (int i = 0; i < 4; ++i) {
      edits::addNode(edit, fabric::NodeKind::nic, {100.0 * i, 0}, {}, "nic0");
    }
    for (int i = 0; i < 2; ++i) {
      edits::addNode(edit, fabric::NodeKind::switchNode, {200.0 * i, -100}, {}, "rail0");
    }
  });
  f.run("edit.link-pattern");
  auto* dialog = f.window->findChild<QDialog*>(u"linkDialog"_s);
  auto* summary = dialog->findChild<QLabel*>(u"linkSummary"_s);
  auto* pattern = dialog->findChild<QComboBox*>(u"linkPattern"_s);
  QVERIFY2(summary->text().contains(u"8 links"_s), qPrintable(summary->text()));
  pattern->setCurrentIndex(pattern->findData(static_cast<int>(edits::LinkPattern::roundRobin)));
  QVERIFY2(summary->text().contains(u"4 links"_s), qPrintable(summary->text()));
  pattern->setCurrentIndex(pattern->findData(static_cast<int>(edits::LinkPattern::oneToOne)));
  auto* create = dialog->findChild<QPushButton*>(u"linkCreate"_s);
  QVERIFY(!create->isEnabled());
  dialog->findChild<QTabWidget*>(u"linkTabs"_s)->setCurrentIndex(1);
  dialog->findChild<QLineEdit*>(u"linkNames"_s)->setText(u"nic([01])->rail$1"_s);
  dialog->findChild<QLineEdit*>(u"linkDialogBandwidth"_s)->setText(u"400Gb/s"_s);
  QVERIFY2(summary->text().contains(u"2 links"_s), qPrintable(summary->text()));
  QTest::mouseClick(create, Qt::LeftButton);
  QCOMPARE(f.editor()->model().links().size(), std::size_t(2));
  for (const auto& [id, link] : f.editor()->model().links()) {
    QCOMPARE(link.bandwidth, std::string("400Gb/s"));
  }
  QCOMPARE(f.editor()->document().undoStack()->count(), 2);
}

void TestDesignerFlows::pairsByNames_data() {
  QTest::addColumn<QString>("pattern");
  QTest::addColumn<QString>("pairs");  // or what the message holds, after "!"
  QTest::newRow("number") << "leaf(\\d+)->host$1"
                          << "leaf0-host0 leaf1-host1";
  QTest::newRow("swapped") << "host(\\d+) -> leaf$1"
                           << "host0-leaf0 host1-leaf1";
  QTest::newRow("wildcard") << "spine->leaf*"
                            << "spine-leaf0 spine-leaf1";
  QTest::newRow("never itself") << "leaf.->leaf*"
                                << "leaf0-leaf1 leaf1-leaf0";
  QTest::newRow("nobody") << "leaf(\\d+)->rack$1"
                          << "";
  QTest::newRow("no arrow") << "leaf"
                            << "!->";
  QTest::newRow("no side") << "->host"
                           << "!side";
  QTest::newRow("not a regular expression") << "leaf(->host"
                                            << "!regular";
  QTest::newRow("no such bracket") << "leaf(\\d+)->host$2"
                                   << "!$2";
}

void TestDesignerFlows::pairsByNames() {
  QFETCH(QString, pattern);
  QFETCH(QString, pairs);
  Model model;
  Edit edit(model);
  for (const char* name : {"leaf0", "leaf1", "host0", "host1", "spine"}) {
    edits::addNode(edit, fabric::NodeKind::switchNode, {}, {}, name);
  }
  model.applyTrusted(edit.patch());
  const auto found = pairsByName(model, pattern);
  if (pairs.startsWith(u'!')) {
    QVERIFY(!found);
    QVERIFY2(QString::fromStdString(found.error().message).contains(pairs.mid(1)), found.error().message.c_str());
    return;
  }
  QVERIFY(found);
  QStringList texts;
  for (const auto& [tail, head] : found->pairs) {
    texts << QString::fromStdString(model.find(tail)->facts.name + "-" + model.find(head)->facts.name);
  }
  QCOMPARE(texts.join(u' '), pairs);
}

void TestDesignerFlows::findCountsGoesAndSelects() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  QTest::keyClick(f.window.get(), Qt::Key_F, Qt::ControlModifier);
  auto* bar = f.window->findChild<FindBar*>(u"findBar"_s);
  auto* input = bar->findChild<QLineEdit*>(u"findInput"_s);
  const auto* state = bar->findChild<QLabel*>(u"findState"_s);
  QVERIFY(bar->isVisible());
  QTest::keyClicks(input, u"kind = gpu and box = b1"_s);
  QCOMPARE(state->text(), u"8 matches"_s);
  QTest::keyClick(input, Qt::Key_Return);
  QCOMPARE(state->text(), u"1 of 8"_s);
  QCOMPARE(f.editor()->selection().elements().size(), std::size_t(1));
  const ElementId first = f.editor()->selection().current();
  const QPointF middle = f.editor()->canvas().visibleScene().center();
  QVERIFY(QLineF(middle, f.editor()->canvas().scene().rectOf(first).center()).length() < 2);
  QTest::keyClick(input, Qt::Key_Return, Qt::ShiftModifier);
  QCOMPARE(state->text(), u"8 of 8"_s);
  f.run("edit.find-next");
  QCOMPARE(f.editor()->selection().current(), first);
  QTest::mouseClick(bar->findChild<QToolButton*>(u"findAll"_s), Qt::LeftButton);
  QCOMPARE(f.editor()->selection().nodes().size(), std::size_t(8));
  // The document changes, and so do the hits.
  f.run("edit.delete");
  QTRY_COMPARE_WITH_TIMEOUT(state->text(), u"no match"_s, coppice::waiting::kPatience);
  input->setFocus();
  QTest::keyClick(input, Qt::Key_Escape);
  QVERIFY(!bar->isVisible());
}

void TestDesignerFlows::findTellsWhatIsWrong() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.run("edit.find");
  auto* bar = f.window->findChild<FindBar*>(u"findBar"_s);
  bar->setText(u"speed > 3"_s);
  const auto* state = bar->findChild<QLabel*>(u"findState"_s);
  QVERIFY2(state->text().contains(u"bandwidth"_s), qPrintable(state->text()));
  QVERIFY(!bar->findChild<QToolButton*>(u"findNext"_s)->isEnabled());
  bar->setText(u"in cut and kind = gpu"_s);
  QVERIFY(f.waitForBound());
  bar->setText(u"in cut and kind = link"_s);
  QVERIFY(!bar->hits().empty());
}

void TestDesignerFlows::theTableIsFiltered() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.run("view.links");
  auto* table = f.window->findChild<QTableView*>(u"linksTable"_s);
  auto* filter = f.window->findChild<QLineEdit*>(u"linksTableFilter"_s);
  const int all = table->model()->rowCount();
  filter->setText(u"bandwidth < 50"_s);
  QCOMPARE(table->model()->rowCount(), 32);
  QVERIFY(table->model()->rowCount() < all);
  filter->setText(u"bandwidth <"_s);
  QCOMPARE(table->model()->rowCount(), 32);
  QVERIFY(filter->property("invalid").toBool());
  filter->setText(u"b0g3"_s);
  QCOMPARE(table->model()->rowCount(), 2);
  filter->clear();
  QCOMPARE(table->model()->rowCount(), all);
}

void TestDesignerFlows::goToANode() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  QTest::keyClick(f.window.get(), Qt::Key_P, Qt::ControlModifier);
  auto* popup = f.window->findChild<QDialog*>(u"goTo"_s);
  QVERIFY(popup != nullptr);
  auto* input = popup->findChild<QLineEdit*>();
  QTest::keyClicks(input, u"b1nvs"_s);
  QTest::keyClick(input, Qt::Key_Return);
  QCOMPARE(f.editor()->selection().current(), ElementId(f.editor()->model().nodeNamed("b1nvs")));
}

void TestDesignerFlows::problemsInTurn() {
  const Fixture f;
  const QString path = f.dir.filePath(u"bad.fabric.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"robot"},
    {"id":"c","kind":"gpu"}],"links":[{"src":"a","dst":"b","bandwidth":0},{"src":"b","dst":"c","bandwidth":"x"}]})"));
  QVERIFY(f.window->files().openFile(path) != nullptr);
  QVERIFY(f.waitForBound());
  std::set<ElementId> visited;
  for (int i = 0; i < 6; ++i) {
    QTest::keyClick(f.window.get(), Qt::Key_F8);
    visited.insert(f.editor()->selection().current());
  }
  QVERIFY(visited.contains(NodeId{2}));
  QVERIFY(visited.contains(LinkId{1}));
  QVERIFY(visited.contains(LinkId{2}));
}

void TestDesignerFlows::nothingThatIsPastedDisturbs() {
  const Fixture f;
  const auto* hint = f.window->findChild<QLabel*>(u"statusHint"_s);
  for (const QString& text : {QString(), u"   \n"_s, u"lorem ipsum dolor"_s, u"{\"nodes\":"_s, u"<system"_s,
                              QString(QChar(0)), u"a,b\n1"_s, QString(100000, u'{')}) {
    QGuiApplication::clipboard()->setText(text);
    f.run("edit.paste");
    QVERIFY2(f.window->workspace().contexts().empty(), qPrintable(text.left(20)));
    QVERIFY2(hint->toolTip().startsWith(u"Nothing to paste"_s), qPrintable(hint->toolTip()));
  }
}

QTEST_MAIN(TestDesignerFlows)
#include "tst_designer_flows.moc"
