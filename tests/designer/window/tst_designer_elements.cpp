// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDialog>
#include <QDropEvent>
#include <QLabel>
#include <QLayout>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QTest>
#include <QToolBar>
#include <algorithm>

#include "designer/document/fabric_file.hpp"
#include "designer/features/palette/part_names.hpp"
#include "designer/help/tour.hpp"
#include "designer/palette/card_list.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/pane_frame.hpp"
#include "presets/presets.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;

/// What is done to elements where they are, and what the window says by itself.
class TestDesignerElements : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void aNewBoxIsSelectedAndNamed();
  void menusOfElements_data();
  void menusOfElements();
  void menusByKeys();
  void menusOfRows();
  void bandwidthFromTheMenu();
  void aTemplateAsksWhereItGoes();
  void boxesAreNumberedOn();
  void anEmptyFabricIsNoMistake();
  void placingByNameLeadsToTheDrawing();
  void thePaneWithTheFocusHasARim();
  void listsShowAllTheirEntries();
  void nothingMovesInTheToolBar();
  void theToolBarFollowsTheSchedule();
  void anOpenFileIsMentioned();
  void theTourIsWhole();
  void commandRowsAreEven();
  void menuTextsAreEven();
  void zoomKeys();
  void fourBoxesInTwelveActions();
};

namespace {

QMenu* openMenu() {
  auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
  return menu != nullptr && menu->objectName() == u"contextMenu"_s ? menu : nullptr;
}

QStringList idsOf(const QMenu* menu) {
  QStringList ids;
  for (const QAction* action : menu->actions()) {
    if (!action->isSeparator()) {
      ids << ActionRegistry::idOf(action);
    }
  }
  return ids;
}

QPoint viewPoint(const Fixture& f, const ElementId& id) {
  CanvasView& canvas = f.editor()->canvas();
  const LineItem* line = canvas.scene().line(id.link());
  return canvas.toView(line != nullptr ? line->curve.at(0.5) : canvas.scene().rectOf(id).center()).toPoint();
}

void typeInto(QWidget* parent, const QString& text) {
  QLineEdit* field = nullptr;
  QTRY_VERIFY_WITH_TIMEOUT(
      [&] {
        const QList<QLineEdit*> fields = parent->findChildren<QLineEdit*>();
        field = fields.isEmpty() ? nullptr : fields.back();
        return field != nullptr && field->isVisible();
      }(),
      30000);
  field->selectAll();
  QTest::keyClicks(field, text);
  const QPointer<QLineEdit> open = field;
  QTest::keyClick(field, Qt::Key_Return);
  QTRY_VERIFY_WITH_TIMEOUT(open.isNull() || !open->isVisible(), 30000);
}

}  // namespace

void TestDesignerElements::initTestCase() {
  designer::test::prepareApplication("elements");
}

void TestDesignerElements::aNewBoxIsSelectedAndNamed() {
  const Fixture f;
  f.run("file.new");
  f.run("insert.gpu");
  f.run("insert.nic");
  f.run("select.all");
  const int steps = f.editor()->document().undoStack()->count();
  f.run("arrange.box");
  const Model& model = f.editor()->model();
  QCOMPARE(model.boxes().size(), std::size_t(1));
  const BoxId box = model.boxesIn({}).front();
  QCOMPARE(f.editor()->selection().elements(), std::set<ElementId>{box});
  auto* name = f.editor()->canvas().findChild<QLineEdit*>(u"canvasName"_s);
  QVERIFY(name != nullptr && name->isVisible());
  QCOMPARE(name->selectedText(), u"box"_s);
  // A name that cannot be is not taken.
  name->setText(u"a/b"_s);
  QTest::keyClick(name, Qt::Key_Return);
  QCOMPARE(model.find(box)->name, std::string("box"));
  typeInto(&f.editor()->canvas(), u"node0"_s);
  QCOMPARE(model.find(box)->name, std::string("node0"));
  QVERIFY(f.editor()->canvas().hasFocus());
  // Box and name are one step.
  QCOMPARE(f.editor()->document().undoStack()->count(), steps + 1);
  f.run("edit.undo");
  QCOMPARE(model.boxes().size(), std::size_t(0));
  // Esc leaves the name that it has.
  f.run("select.all");
  f.run("arrange.box");
  name = f.editor()->canvas().findChild<QLineEdit*>(u"canvasName"_s);
  name->setText(u"other"_s);
  QTest::keyClick(name, Qt::Key_Escape);
  QCOMPARE(model.find(model.boxesIn({}).front())->name, std::string("box"));
}

void TestDesignerElements::menusOfElements_data() {
  QTest::addColumn<ElementId>("id");
  QTest::addColumn<QStringList>("expected");
  QTest::newRow("node") << ElementId(NodeId{1})
                        << QStringList{u"edit.rename"_s, u"edit.array"_s, u"edit.delete"_s, u"select.same-kind"_s};
  QTest::newRow("link") << ElementId(LinkId{1}) << QStringList{u"edit.bandwidth"_s, u"edit.delete"_s};
  QTest::newRow("box") << ElementId(BoxId{1}) << QStringList{u"arrange.fold"_s, u"arrange.unbox"_s, u"edit.array"_s};
  QTest::newRow("nothing") << ElementId() << QStringList{u"edit.paste"_s, u"insert.gpu"_s, u"zoom.fit"_s};
}

void TestDesignerElements::menusOfElements() {
  QFETCH(ElementId, id);
  QFETCH(QStringList, expected);
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  CanvasView& canvas = f.editor()->canvas();
  canvas.complete();
  QPoint place(4, 4);
  if (id.kind == ElementKind::box && id.isValid()) {
    // Where it can be hit: at its rim, or at its title.
    const QRect rect(canvas.toView(canvas.scene().rectOf(id).topLeft()).toPoint(),
                     canvas.toView(canvas.scene().rectOf(id).bottomRight()).toPoint());
    for (int y = rect.top(); y <= rect.bottom() && canvas.hit(canvas.toScene(place)) != id; ++y) {
      place = QPoint(rect.left() + 12, y);
    }
  } else if (id.isValid()) {
    place = viewPoint(f, id);
  }
  QTest::mouseClick(&canvas, Qt::RightButton, {}, place);
  QMenu* menu = openMenu();
  QVERIFY(menu != nullptr);
  const QStringList ids = idsOf(menu);
  for (const QString& action : expected) {
    QVERIFY2(ids.contains(action), qPrintable(action + u" in "_s + ids.join(u' ')));
  }
  QVERIFY(id.isValid() ? f.editor()->selection().contains(id) : f.editor()->selection().isEmpty());
  menu->close();
}

void TestDesignerElements::menusByKeys() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  CanvasView& canvas = f.editor()->canvas();
  canvas.setFocus();
  f.editor()->selection().set({NodeId{1}});
  f.editor()->selection().setCurrent(NodeId{1});
  f.run("view.context-menu");
  QVERIFY(openMenu() != nullptr);
  QVERIFY(idsOf(openMenu()).contains(u"edit.rename"_s));
  openMenu()->close();
  QCOMPARE(f.window->actions()[u"view.context-menu"_s]->shortcut(), QKeySequence(u"Shift+F10"_s));
  // What the platform sends for the Menu key.
  QContextMenuEvent event(QContextMenuEvent::Keyboard, canvas.rect().center(),
                          canvas.mapToGlobal(canvas.rect().center()));
  QCoreApplication::sendEvent(&canvas, &event);
  QVERIFY(openMenu() != nullptr);
  openMenu()->close();
}

void TestDesignerElements::menusOfRows() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  for (const char* name : {"outlineTree", "nodesTable", "linksTable"}) {
    auto* view = f.window->findChild<QAbstractItemView*>(QLatin1String(name));
    f.run(name == QByteArray("outlineTree") ? "view.outline"
                                            : (name == QByteArray("nodesTable") ? "view.nodes" : "view.links"));
    QTRY_VERIFY_WITH_TIMEOUT(view->isVisible() && view->model()->rowCount() > 0, 30000);
    f.editor()->selection().clear();
    const QModelIndex first = view->model()->index(0, 0);
    const QPoint place = view->visualRect(first).center();
    QContextMenuEvent event(QContextMenuEvent::Mouse, place, view->viewport()->mapToGlobal(place));
    QCoreApplication::sendEvent(view->viewport(), &event);
    QVERIFY2(openMenu() != nullptr, name);
    QVERIFY(idsOf(openMenu()).contains(u"edit.delete"_s));
    QCOMPARE(f.editor()->selection().elements().size(), std::size_t(1));
    openMenu()->close();
  }
}

void TestDesignerElements::bandwidthFromTheMenu() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  QVERIFY(!f.window->actions()[u"edit.bandwidth"_s]->isEnabled());
  f.editor()->selection().set({LinkId{1}, LinkId{2}});
  f.run("edit.bandwidth");
  typeInto(&f.editor()->canvas(), u"77"_s);
  QCOMPARE(f.editor()->model().find(LinkId{1})->bandwidth, std::string("77"));
  QCOMPARE(f.editor()->model().find(LinkId{2})->bandwidth, std::string("77"));
}

void TestDesignerElements::aTemplateAsksWhereItGoes() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  EditorContext* first = f.editor();
  const std::size_t nodes = first->model().nodes().size();
  auto* clusters = f.window->findChild<CardList*>(u"palette-Devices"_s);
  QVERIFY(clusters != nullptr);
  auto* start = f.window->findChild<CardList*>(u"startFabrics"_s);
  const auto open = [&] {
    Q_EMIT start->chosen(u"preset/dgx-a100?boxes=4"_s);
    auto* dialog = f.window->findChild<QDialog*>(u"templateDialog"_s);
    return dialog;
  };
  QDialog* dialog = open();
  QVERIFY(dialog->findChild<QPushButton*>(u"templateAdd"_s)->isVisible());
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"templateCreate"_s), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(f.editor() != first, 30000);
  QCOMPARE(first->model().nodes().size(), nodes);
  // Into the one that is open only where that was asked for.
  dialog = open();
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"templateAdd"_s), Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(f.editor()->model().boxes().size(), std::size_t(8), 30000);
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(2));
  // Into an empty one without a question.
  f.run("file.new");
  EditorContext* empty = f.editor();
  dialog = open();
  QVERIFY(!dialog->findChild<QPushButton*>(u"templateAdd"_s)->isVisible());
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"templateCreate"_s), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(!empty->model().nodes().isEmpty(), 30000);
}

void TestDesignerElements::boxesAreNumberedOn() {
  const Model part = readModel(*presets::make("dgx-a100", {})).model;
  Model here = part;
  const Model next = numberedOn(part, here);
  QVERIFY(next.boxAtPath("b2").isValid());
  QVERIFY(next.boxAtPath("b3").isValid());
  QVERIFY(!next.boxAtPath("b0").isValid());
  for (const BoxId box : next.boxesIn({})) {
    for (const NodeId id : next.allNodesIn(box)) {
      QVERIFY2(next.find(id)->facts.name.starts_with(next.find(box)->name + "g") ||
                   next.find(id)->facts.name.starts_with(next.find(box)->name + "n"),
               next.find(id)->facts.name.c_str());
    }
  }
  // Where nothing is taken nothing changes.
  const Model alone = numberedOn(part, Model());
  QVERIFY(alone.boxAtPath("b0").isValid());
  // Placed, no name is taken twice, and titles of boxes lie apart.
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  auto* start = f.window->findChild<CardList*>(u"startFabrics"_s);
  Q_EMIT start->chosen(u"preset/dgx-a100?boxes=4"_s);
  auto* dialog = f.window->findChild<QDialog*>(u"templateDialog"_s);
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"templateAdd"_s), Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(f.editor()->model().boxes().size(), std::size_t(6), 30000);
  for (int i = 0; i < 6; ++i) {
    QVERIFY(f.editor()->model().boxAtPath("b" + std::to_string(i)).isValid());
    QVERIFY(f.editor()->model().nodeNamed("b" + std::to_string(i) + "g7").isValid());
  }
  const auto& boxes = f.editor()->canvas().scene().boxes();
  for (const BoxItem& a : boxes) {
    for (const BoxItem& b : boxes) {
      constexpr double kTitle = 24;
      QVERIFY(a.id == b.id || !a.rect.adjusted(0, -kTitle, 0, 0).intersects(b.rect));
    }
  }
}

void TestDesignerElements::anEmptyFabricIsNoMistake() {
  const Fixture f;
  f.run("file.new");
  QVERIFY(f.editor()->canvas().hasFocus());
  QVERIFY(f.waitForBound());
  QCOMPARE(f.strip("statusProblems"), u"empty"_s);
  QVERIFY(f.editor()->problems().problems().empty());
  auto* page = f.editor()->canvas().findChild<QWidget*>(u"emptyCanvas"_s);
  QVERIFY(page->isVisible());
  QVERIFY(page->findChild<QPushButton*>(u"empty-insert.search"_s) != nullptr);
  QVERIFY(f.window->findChild<QLabel*>(u"propertiesHint"_s) != nullptr);
  f.run("insert.gpu");
  QVERIFY(!page->isVisible());
  QVERIFY(f.waitForBound());
  QVERIFY(f.strip("statusProblems") != u"empty"_s);
  f.run("edit.undo");
  QVERIFY(page->isVisible());
}

void TestDesignerElements::placingByNameLeadsToTheDrawing() {
  const Fixture f;
  f.run("file.new");
  CanvasView& canvas = f.editor()->canvas();
  for (int i = 0; i < 12; ++i) {
    f.run("insert.search");
    auto* search = f.window->findChild<QLineEdit*>(u"paletteSearch"_s);
    QVERIFY(search->hasFocus());
    QTest::keyClicks(search, u"gpu"_s);
    QTest::keyClick(search, Qt::Key_Return);
    QVERIFY(canvas.hasFocus());
    QCOMPARE(f.editor()->model().nodes().size(), std::size_t(i + 1));
    QVERIFY(canvas.visibleScene().contains(canvas.scene().rectOf(f.editor()->selection().current())));
  }
  QTest::keyClick(&canvas, Qt::Key_L);
  QCOMPARE(canvas.tool(), ToolKind::link);
}

void TestDesignerElements::thePaneWithTheFocusHasARim() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.editor()->canvas().setFocus();
  const auto* rim = f.window->findChild<PaneFrame*>(u"paneFrame"_s);
  QCOMPARE(rim->pane(), nullptr);
  for (int i = 0; i < 10; ++i) {
    f.run("view.next-pane");
    QVERIFY(rim->pane() != nullptr);
    QVERIFY(rim->isVisible());
    QVERIFY(rim->pane() == QApplication::focusWidget() || rim->pane()->isAncestorOf(QApplication::focusWidget()));
    QCOMPARE(rim->geometry(), QRect(rim->pane()->mapTo(f.window.get(), QPoint()), rim->pane()->size()));
  }
  QTest::mouseClick(&f.editor()->canvas(), Qt::LeftButton, {}, {5, 5});
  QCOMPARE(rim->pane(), nullptr);
}

void TestDesignerElements::listsShowAllTheirEntries() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  auto* collective = f.window->findChild<QComboBox*>(u"collective"_s);
  auto* root = f.window->findChild<QComboBox*>(u"root"_s);
  const int at = collective->findData(static_cast<int>(Collective::broadcast));
  collective->setCurrentIndex(at);
  Q_EMIT collective->activated(at);
  for (QComboBox* list : {collective, root}) {
    QTRY_VERIFY_WITH_TIMEOUT(list->isVisible(), 30000);
    list->showPopup();
    QTRY_VERIFY_WITH_TIMEOUT(list->view()->isVisible(), 30000);
    const int rows = std::min(list->count(), list->maxVisibleItems());
    QVERIFY(rows >= 5);
    const QRect last = list->view()->visualRect(list->model()->index(rows - 1, 0));
    QVERIFY2(list->view()->viewport()->rect().contains(last),
             qPrintable(u"%1 of %2"_s.arg(last.bottom()).arg(list->view()->viewport()->height())));
    list->hidePopup();
  }
}

void TestDesignerElements::nothingMovesInTheToolBar() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.window->setWindowState(Qt::WindowNoState);
  f.window->resize(1440, 900);
  auto* collective = f.window->findChild<QComboBox*>(u"collective"_s);
  auto* bar = f.window->findChild<QToolBar*>(u"mainToolBar"_s);
  const QWidget* generate = bar->widgetForAction(f.window->actions()[u"schedule.generate"_s]);
  QTRY_COMPARE_WITH_TIMEOUT(bar->width(), 1440, 30000);
  bar->layout()->activate();
  const QPoint before = collective->pos();
  const QPoint button = generate->pos();
  const int at = collective->findData(static_cast<int>(Collective::broadcast));
  collective->setCurrentIndex(at);
  Q_EMIT collective->activated(at);
  QTRY_VERIFY_WITH_TIMEOUT(f.window->findChild<QComboBox*>(u"root"_s)->isVisible(), 30000);
  QTRY_COMPARE_WITH_TIMEOUT(collective->pos(), before, 30000);
  QTRY_COMPARE_WITH_TIMEOUT(generate->pos(), button, 30000);
}

void TestDesignerElements::theToolBarFollowsTheSchedule() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  const auto generate = [&](Collective collective) {
    Question question = f.editor()->bound().question();
    question.collective = collective;
    f.editor()->bound().setQuestion(question);
    f.run("schedule.generate");
  };
  ScheduleBook* book = ScheduleBook::of(f.editor()->file(), f.editor()->bound());
  generate(Collective::allgather);
  QTRY_COMPARE_WITH_TIMEOUT(book->entries().size(), std::size_t(1), 60000);
  generate(Collective::broadcast);
  QTRY_COMPARE_WITH_TIMEOUT(book->entries().size(), std::size_t(2), 60000);
  const auto* collective = f.window->findChild<QComboBox*>(u"collective"_s);
  book->setCurrent(book->entries().front().id);
  QCOMPARE(collective->currentData().toInt(), static_cast<int>(Collective::allgather));
  QVERIFY(f.waitForBound());
  QVERIFY2(f.strip("statusBound").startsWith(u"AllGather"_s), qPrintable(f.strip("statusBound")));
  book->setCurrent(book->entries().back().id);
  QCOMPARE(collective->currentData().toInt(), static_cast<int>(Collective::broadcast));
  QVERIFY(f.waitForBound());
  QVERIFY2(f.strip("statusBound").startsWith(u"Broadcast"_s), qPrintable(f.strip("statusBound")));
}

void TestDesignerElements::anOpenFileIsMentioned() {
  const Fixture f;
  const QString path = f.example("2x-dgx-a100.fabric.json");
  EditorContext* editor = f.window->files().openFile(path);
  f.run("file.new");
  QCOMPARE(f.window->files().openFile(path), editor);
  QCOMPARE(f.editor(), editor);
  QCOMPARE(f.window->findChild<QLabel*>(u"statusHint"_s)->toolTip(), u"2x-dgx-a100.fabric.json is open already"_s);
}

void TestDesignerElements::theTourIsWhole() {
  const Fixture f;
  f.run("help.tour");
  auto* tour = f.window->findChild<Tour*>();
  QVERIFY(tour != nullptr);
  for (int step = 0; step < tour->stepCount(); ++step) {
    QCOMPARE(tour->step(), step);
    QCoreApplication::processEvents();
    const auto* bubble = tour->findChild<QFrame*>(u"tourBubble"_s);
    QVERIFY(tour->rect().contains(bubble->geometry()));
    for (const auto* label : bubble->findChildren<QLabel*>()) {
      const int needed = label->wordWrap() ? label->heightForWidth(label->width()) : label->sizeHint().height();
      QVERIFY2(
          label->height() >= needed,
          qPrintable(
              u"step %1: %2 of %3 for \"%4\""_s.arg(step + 1).arg(label->height()).arg(needed).arg(label->text())));
      QVERIFY(bubble->contentsRect().contains(label->geometry()));
    }
    if (step + 1 < tour->stepCount()) {
      QTest::mouseClick(tour->findChild<QPushButton*>(u"tourNext"_s), Qt::LeftButton);
    }
  }
}

void TestDesignerElements::commandRowsAreEven() {
  const Fixture f;
  f.run("view.palette");
  const auto* dialog = f.window->findChild<QDialog*>(u"commandPalette"_s);
  QVERIFY(dialog != nullptr);
  const auto* list = dialog->findChild<QListWidget*>();
  const int height = list->visualItemRect(list->item(0)).height();
  for (int row = 1; row < list->count(); ++row) {
    QCOMPARE(list->visualItemRect(list->item(row)).height(), height);
    QVERIFY(!list->item(row)->text().contains(u"Ctrl+"_s));
  }
}

void TestDesignerElements::menuTextsAreEven() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  // A text beside an icon begins elsewhere than one without.
  for (const QAction* top : f.window->menuBar()->actions()) {
    const QList<QAction*> actions = top->menu()->actions();
    const auto hasPlace = [](const QAction* action) { return action->isSeparator() || !action->icon().isNull(); };
    if (std::any_of(actions.begin(), actions.end(), [](const QAction* action) { return !action->icon().isNull(); })) {
      const auto bare = std::find_if_not(actions.begin(), actions.end(), hasPlace);
      QVERIFY2(bare == actions.end(), bare != actions.end() ? qPrintable((*bare)->text()) : "");
    }
  }
}

void TestDesignerElements::zoomKeys() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  CanvasView& canvas = f.editor()->canvas();
  canvas.complete();
  canvas.setFocus();
  canvas.setZoom(4);
  QTest::keyClick(&canvas, Qt::Key_1, Qt::ShiftModifier);
  QVERIFY(canvas.keepsFit());
  f.editor()->selection().set({NodeId{1}});
  const double whole = canvas.zoom();
  QTest::keyClick(&canvas, Qt::Key_2, Qt::ShiftModifier);
  QVERIFY(canvas.zoom() > whole);
  // No action has two shortcuts that are one press of keys.
  for (const QAction* action : f.window->actions().all()) {
    for (const QKeySequence& keys : action->shortcuts()) {
      QVERIFY2(keys.toString() != u"!"_s && keys.toString() != u"@"_s, qPrintable(ActionRegistry::idOf(action)));
    }
  }
}

void TestDesignerElements::fourBoxesInTwelveActions() {
  // The recipe of the manual (Drawing a fabric). An action is one command or gesture, with what is typed into it.
  const Fixture f;
  f.window->resize(1440, 900);
  int actions = 0;
  const Model* model = nullptr;
  const auto drag = [&](const char* id, const QPointF& scene) {
    ++actions;
    QMimeData data;
    data.setData(entryMimeType(), id);
    const QPointF place = f.editor()->canvas().mapTo(f.window.get(), f.editor()->canvas().toView(scene));
    QDragEnterEvent enter(place.toPoint(), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(f.window.get(), &enter);
    QDropEvent drop(place, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(f.window.get(), &drop);
  };
  const auto dialogOf = [&](const QString& name) {
    QDialog* found = nullptr;
    for (auto* dialog : f.window->findChildren<QDialog*>(name)) {
      found = dialog->isVisible() ? dialog : found;
    }
    return found;
  };
  const auto array = [&](int count) {
    ++actions;
    QTest::keyClick(f.window.get(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
    QDialog* dialog = dialogOf(u"arrayDialog"_s);
    QVERIFY(dialog != nullptr);
    QTest::keyClicks(dialog->findChild<QWidget*>(u"arrayCount"_s), QString::number(count));
    QTest::keyClick(dialog, Qt::Key_Return);
    f.activate();
  };
  const auto link = [&](const QString& bandwidth) {
    ++actions;
    QTest::keyClick(f.window.get(), Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    QDialog* dialog = dialogOf(u"linkDialog"_s);
    QVERIFY(dialog != nullptr);
    auto* field = dialog->findChild<QLineEdit*>(u"linkDialogBandwidth"_s);
    QCOMPARE(dialog->focusWidget(), static_cast<QWidget*>(field));
    QTest::keyClicks(field, bandwidth);
    QVERIFY2(dialog->findChild<QPushButton*>(u"linkCreate"_s)->isEnabled(),
             qPrintable(dialog->findChild<QLabel*>(u"linkSummary"_s)->text()));
    QTest::keyClick(field, Qt::Key_Return);
    f.activate();
  };
  QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
  model = &f.editor()->model();
  drag("device/gpu", {0, 0});     // 1
  array(8);                       // 2
  drag("device/nic", {0, -100});  // 3
  array(8);                       // 4
  link(u"50"_s);                  // 5: each NIC to its GPU
  QCOMPARE(model->links().size(), std::size_t(8));
  drag("device/nvswitch", {360, 140});  // 6
  link(u"450"_s);                       // 7: all GPUs to it
  QCOMPARE(model->links().size(), std::size_t(16));
  ++actions;  // 8
  QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier);
  ++actions;  // 9
  QTest::keyClick(f.window.get(), Qt::Key_G, Qt::ControlModifier);
  array(4);  // 10
  QCOMPARE(model->boxes().size(), std::size_t(4));
  const QRectF all = f.editor()->canvas().scene().bounds();
  drag("device/switch", {all.center().x(), all.top() - 60});  // 11
  link(u"50"_s);                                              // 12: all NICs to it
  QCOMPARE(model->links().size(), std::size_t(4 * 16 + 32));
  QVERIFY(actions <= 12);
  QVERIFY(f.waitForBound());
  QCOMPARE(f.strip("statusProblems"), u"no problems"_s);
  const Bound drawn = *f.editor()->bound().bound();
  f.window->workspace().adopt(readModel(*presets::make("dgx-h100", {{"boxes", "4"}})).model, {}, u"ready made"_s);
  QVERIFY(f.waitForBound());
  QVERIFY(drawn.algbw.has_value());
  QCOMPARE(*f.editor()->bound().bound()->algbw, *drawn.algbw);
}

QTEST_MAIN(TestDesignerElements)
#include "tst_designer_elements.moc"
