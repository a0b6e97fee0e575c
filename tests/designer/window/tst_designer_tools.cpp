// SPDX-License-Identifier: Apache-2.0
#include <QAccessible>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QTest>
#include <QUndoStack>
#include <map>
#include <set>
#include <string>

#include "designer/features/order/order_dialog.hpp"
#include "designer/features/report/cables_dialog.hpp"
#include "designer/help/tour.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/preferences_dialog.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;

namespace {

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void adopt(const Fixture& f, const char* preset, const std::map<std::string, std::string>& values,
           const QString& name) {
  const auto made = presets::make(preset, values);
  QVERIFY(made);
  f.window->workspace().adopt(readArranged(*made).model, {}, name);
}

template <typename Dialog>
Dialog* opened(const Fixture& f, const char* action) {
  f.run(action);
  const QList<Dialog*> dialogs = f.window->findChildren<Dialog*>();
  return dialogs.isEmpty() ? nullptr : dialogs.back();
}

}  // namespace

/// What stands beside the drawing: preferences, lists of cables, print, replays, explanations, and what assistive
/// technology sees.
class TestDesignerTools : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void preferences();
  void severalDevices();
  void cables();
  void rankOrder();
  void patchTable();
  void printed();
  void replay();
  void explained();
  void accessible();
};

void TestDesignerTools::initTestCase() {
  designer::test::prepareApplication("tools");
}

void TestDesignerTools::preferences() {
  const Fixture f;
  adopt(f, "dgx-a100", {}, u"one"_s);
  auto* dialog = opened<PreferencesDialog>(f, "edit.preferences");
  QVERIFY(dialog != nullptr);
  auto* theme = dialog->findChild<QComboBox*>(u"preferencesTheme"_s);
  theme->setCurrentIndex(2);
  Q_EMIT theme->activated(2);
  QCOMPARE(Theme::instance().scheme(), Scheme::dark);
  theme->setCurrentIndex(1);
  Q_EMIT theme->activated(1);
  QCOMPARE(Theme::instance().scheme(), Scheme::light);
  auto* wheel = dialog->findChild<QComboBox*>(u"preferencesWheel"_s);
  QCOMPARE(wheel->currentIndex(), 0);
  Q_EMIT wheel->activated(1);
  QVERIFY(f.window->actions()[u"view.wheel-scrolls"_s]->isChecked());
  Q_EMIT wheel->activated(0);
  QVERIFY(!f.window->actions()[u"view.wheel-scrolls"_s]->isChecked());
  // A folder that is not chosen leaves the box as it was.
  auto* folder = dialog->findChild<QCheckBox*>(u"schedule.folder"_s);
  folder->click();
  QVERIFY(!folder->isChecked());
  f.answers->folderChosen = f.dir.path();
  folder->click();
  QVERIFY(folder->isChecked());
  folder->click();
  QVERIFY(!folder->isChecked());
}

/// "4 gpu" in the search of the palette is a row of four.
void TestDesignerTools::severalDevices() {
  const Fixture f;
  f.run("file.new");
  for (const QString& typed : {u"4 gpu"_s, u"2 nic"_s}) {
    f.run("insert.search");
    auto* search = f.window->findChild<QLineEdit*>(u"paletteSearch"_s);
    search->setText(typed);
    QTest::keyClick(search, Qt::Key_Return);
  }
  QCOMPARE(f.editor()->model().nodes().size(), 6);
  QCOMPARE(f.editor()->document().undoStack()->count(), 2);
  QCOMPARE(f.editor()->document().undoStack()->text(0), u"Place 4 GPUs"_s);
  QCOMPARE(f.editor()->document().undoStack()->text(1), u"Place 2 NICs"_s);
  std::map<double, std::set<double>> rows;
  for (const auto& [id, node] : f.editor()->model().nodes()) {
    rows[node.drawing.position.y].insert(node.drawing.position.x);
  }
  QCOMPARE(rows.size(), std::size_t{2});
  QCOMPARE(rows.begin()->second.size(), std::size_t{4});
  QCOMPARE(rows.rbegin()->second.size(), std::size_t{2});
  // The last ones are selected, for what is done with them next.
  QCOMPARE(f.editor()->selection().elements().size(), std::size_t{2});
}

void TestDesignerTools::cables() {
  const Fixture f;
  adopt(f, "dgx-h100", {{"boxes", "2"}}, u"two"_s);
  auto* dialog = opened<CablesDialog>(f, "file.cables");
  QVERIFY(dialog != nullptr);
  // Each GPU has one link to the network; those to the NVSwitch stay inside.
  QCOMPARE(dialog->model().rowCount(), 16);
  QVERIFY2(dialog->summary().startsWith(u"16 cables"_s), qPrintable(dialog->summary()));
  dialog->findChild<QCheckBox*>(u"cablesBetweenBoxes"_s)->setChecked(false);
  QCOMPARE(dialog->model().rowCount(), 32);
  dialog->findChild<QPushButton*>(u"cablesCopy"_s)->click();
  const QString csv = QGuiApplication::clipboard()->text();
  QCOMPARE(csv.count(u'\n'), 33);
  QVERIFY(csv.contains(u"b0g0,b0,ib,,50,1,both ways\n"_s));
  f.answers->saveTo = f.dir.filePath(u"cables.csv"_s);
  dialog->findChild<QPushButton*>(u"cablesSave"_s)->click();
  QCOMPARE(QString::fromUtf8(read(f.answers->saveTo)), csv);
  // A network with switches has no patch panels.
  dialog->findChild<QComboBox*>(u"cablesWhat"_s)->setCurrentIndex(1);
  QCOMPARE(dialog->model().rowCount(), 0);
  QVERIFY2(dialog->summary().contains(u"patch panels join GPUs directly"_s), qPrintable(dialog->summary()));
}

/// The same as the command line: a plain ring leaves boxes on another rail than it enters them.
void TestDesignerTools::rankOrder() {
  const Fixture f;
  adopt(f, "rail-optimised", {{"boxes", "6"}, {"gpus", "4"}, {"oversubscription", "3"}}, u"rails"_s);
  auto* dialog = opened<OrderDialog>(f, "analyse.rank-order");
  QVERIFY(dialog != nullptr);
  QTRY_VERIFY_WITH_TIMEOUT(dialog->isSettled(), 30'000);
  QVERIFY2(dialog->summary().contains(u"Gain: none, no order is faster"_s), qPrintable(dialog->summary()));
  auto* algorithm = dialog->findChild<QComboBox*>(u"orderAlgorithm"_s);
  algorithm->setCurrentIndex(algorithm->findData(u"ring"_s));
  QTRY_VERIFY_WITH_TIMEOUT(dialog->isSettled(), 30'000);
  QVERIFY2(dialog->summary().contains(u"Gain: 400/23 = 17.39 GB/s"_s), qPrintable(dialog->summary()));
  QCOMPARE(dialog->ranks().topLevelItemCount(), 24);
  std::set<QString> gpus;
  for (int rank = 0; rank < 24; ++rank) {
    gpus.insert(dialog->ranks().topLevelItem(rank)->text(3));
  }
  QCOMPARE(gpus.size(), std::size_t{24});
  f.answers->folderChosen = f.dir.path();
  dialog->findChild<QPushButton*>(u"orderSave"_s)->click();
  QVERIFY(QFile::exists(f.dir.filePath(u"rails-order/hostfile"_s)));
  // A second time the folder is in use.
  f.answers->folderChosen = f.dir.path();
  dialog->findChild<QPushButton*>(u"orderSave"_s)->click();
  QCOMPARE(f.answers->failures.size(), 1);
  // 24 is no power of two.
  algorithm->setCurrentIndex(algorithm->findData(u"recursive-halving"_s));
  QTRY_VERIFY_WITH_TIMEOUT(dialog->isSettled(), 30'000);
  QVERIFY2(dialog->summary().contains(u"power of two"_s), qPrintable(dialog->summary()));
  QVERIFY(!dialog->findChild<QPushButton*>(u"orderSave"_s)->isEnabled());
}

void TestDesignerTools::patchTable() {
  const Fixture f;
  adopt(f, "ring", {{"gpus", "8"}}, u"ring"_s);
  adopt(f, "torus", {{"dims", "2x4"}}, u"torus"_s);
  auto* dialog = opened<CablesDialog>(f, "file.cables");
  QVERIFY(dialog != nullptr);
  auto* what = dialog->findChild<QComboBox*>(u"cablesWhat"_s);
  QCOMPARE(what->count(), 3);
  what->setCurrentIndex(1);
  QVERIFY2(dialog->model().rowCount() > 0, qPrintable(dialog->summary()));
  // No port of a GPU takes two cables.
  std::set<QString> plugs;
  for (int row = 0; row < dialog->model().rowCount(); ++row) {
    const auto cell = [&](int column) {
      return dialog->model().data(dialog->model().index(row, column), Qt::DisplayRole).toString();
    };
    QVERIFY(plugs.insert(u"out "_s + cell(1) + u' ' + cell(2)).second);
    QVERIFY(plugs.insert(u"in "_s + cell(3) + u' ' + cell(4)).second);
  }
  what->setCurrentIndex(2);
  QVERIFY2(dialog->summary().contains(u"stay"_s) || dialog->model().rowCount() == 0, qPrintable(dialog->summary()));
}

void TestDesignerTools::printed() {
  const Fixture f;
  adopt(f, "dgx-a100", {}, u"one"_s);
  f.run("file.print");  // cancelled
  f.answers->printTo = f.dir.filePath(u"page.pdf"_s);
  f.run("file.print");
  const QByteArray pdf = read(f.answers->printTo);
  QVERIFY(pdf.startsWith("%PDF"));
  constexpr qsizetype kDrawn = 4000;  // an empty page is smaller
  QVERIFY2(pdf.size() > kDrawn, QByteArray::number(pdf.size()).constData());
  // In the font whose widths the labels have.
  QVERIFY(pdf.contains("/Inter-"));
  // The page lies as the drawing does, which is wide.
  static const QRegularExpression kBox(u"/MediaBox \\[0 0 ([\\d.]+) ([\\d.]+)"_s);
  const QRegularExpressionMatch box = kBox.match(QString::fromLatin1(pdf));
  QVERIFY2(box.captured(1).toDouble() > box.captured(2).toDouble() && box.hasMatch(), qPrintable(box.captured(0)));
  QVERIFY(f.answers->failures.isEmpty());
}

void TestDesignerTools::replay() {
  const Fixture f;
  adopt(f, "dgx-a100", {}, u"one"_s);
  const QAction* action = f.window->actions()[u"file.export-replay"_s];
  QVERIFY(!action->isEnabled());
  f.run("schedule.generate");
  QVERIFY(QTest::qWaitFor([&] { return action->isEnabled(); }, waiting::kPatience));
  f.answers->saveTo = f.dir.filePath(u"run.html"_s);
  const TimelinePanel* panel = f.window->findChild<TimelinePanel*>();
  f.run("file.export-replay");  // begins to play where nothing has been simulated
  QVERIFY(QTest::qWaitFor([&] { return panel->playback() != nullptr; }, waiting::kPatience));
  f.run("file.export-replay");
  QVERIFY(read(f.answers->saveTo).contains("<svg"));
  QVERIFY(f.answers->failures.isEmpty());
}

/// Four pictures of the fabric that is open, in the modes that they are of; the schedule is generated on the way.
void TestDesignerTools::explained() {
  const Fixture f;
  adopt(f, "dgx-a100", {{"boxes", "2"}}, u"two"_s);
  QVERIFY(f.waitForBound());
  f.run("help.explain");
  auto* tour = f.window->findChild<Tour*>();
  QVERIFY(tour != nullptr);
  QCOMPARE(tour->stepCount(), 4);
  QCOMPARE(f.window->workspace().mode(), Mode::analyse);
  QTest::keyClick(tour, Qt::Key_Return);
  QCOMPARE(tour->step(), 1);
  const QString sentence = f.editor()->bound().bound()->cuts.front().sentence;
  bool isTold = false;
  for (const QLabel* label : tour->findChildren<QLabel*>()) {
    isTold = isTold || label->text() == sentence;
  }
  QVERIFY(isTold);
  QTest::keyClick(tour, Qt::Key_Return);
  QCOMPARE(f.window->workspace().mode(), Mode::schedule);
  const ScheduleBook* book = ScheduleBook::of(f.editor()->file(), f.editor()->bound());
  QVERIFY(QTest::qWaitFor([&] { return book->current() != nullptr && book->current()->result; }, waiting::kPatience));
  QTest::keyClick(tour, Qt::Key_Return);
  QCOMPARE(tour->step(), 3);
  const QPointer<Tour> ended(tour);
  QTest::keyClick(tour, Qt::Key_Return);
  QVERIFY(QTest::qWaitFor([&] { return ended.isNull(); }, waiting::kPatience));
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t{1});
}

void TestDesignerTools::accessible() {
  const Fixture f;
  adopt(f, "dgx-a100", {}, u"one"_s);
  CanvasView& canvas = f.editor()->canvas();
  QAccessibleInterface* view = QAccessible::queryAccessibleInterface(&canvas);
  QVERIFY(view != nullptr);
  const int nodes = static_cast<int>(canvas.scene().nodes().size());
  const int first = view->childCount() - nodes;
  QVERIFY(nodes > 8 && first >= 0);
  QAccessibleInterface* gpu = nullptr;
  for (int i = first; i < view->childCount(); ++i) {
    QAccessibleInterface* child = view->child(i);
    QVERIFY(child != nullptr && child->isValid());
    QCOMPARE(view->indexOfChild(child), i);
    QCOMPARE(child->parent(), view);
    if (child->text(QAccessible::Description).startsWith(u"gpu"_s)) {
      gpu = child;
    }
  }
  QVERIFY(gpu != nullptr);
  QVERIFY(gpu->text(QAccessible::Description).contains(u"link"_s));
  QVERIFY(!gpu->text(QAccessible::Name).isEmpty());
  const QPoint middle = gpu->rect().center();
  QCOMPARE(view->childAt(middle.x(), middle.y()), gpu);
  QVERIFY(!gpu->state().selected);
  gpu->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  QVERIFY(gpu->state().selected);
  QCOMPARE(f.editor()->selection().elements().size(), std::size_t{1});
  // What is deleted is no longer there.
  f.run("edit.delete");
  QVERIFY(!gpu->isValid());
  QCOMPARE(view->childCount(), first + nodes - 1);
}

QTEST_MAIN(TestDesignerTools)
#include "tst_designer_tools.moc"
