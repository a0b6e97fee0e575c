// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDialog>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <algorithm>

#include "designer/analysis/what_if_panel.hpp"
#include "designer/canvas/canvas_painter.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

using test::Answers;
using test::Fixture;

class TestDesignerWindow : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void startsOnTheStartPage();
  void theStripTellsTheBound();
  void theStripFitsItsWidth();
  void staleIsNeverShownAsCurrent();
  void buildsABoxWithTheKeyboard();
  void propertiesOfMany();
  void propertiesRefuse();
  void tablesEditTheDocument();
  void problemsLeadToThePlace();
  void copyAndPasteBetweenDocuments();
  void pasteATableOfLinks();
  void saveAndReopen();
  void unsavedWorkIsAskedFor_data();
  void unsavedWorkIsAskedFor();
  void oneQuestionForAll();
  void theQuestionForAll_data();
  void theQuestionForAll();
  void wordsBelongToTheirDocument();
  void recoveryAfterACrash();
  void aFileWithoutFabricIsRefused();
  void importedFormats();
  void dropAFile();
  void tiedCuts();
  void countOfTiedCuts();
  void failureIsShown();
  void switchesOnlyForward();
  void shownElementMovesNothing();
  void triedBandwidthIsShown();
  void cutLens();
};

void TestDesignerWindow::initTestCase() {
  QCoreApplication::setOrganizationName(u"coppice-test"_s);
  QCoreApplication::setApplicationName(u"coppice-test-%1"_s.arg(QCoreApplication::applicationPid()));
  Theme::instance().applyTo(*qobject_cast<QApplication*>(QCoreApplication::instance()));
}

void TestDesignerWindow::startsOnTheStartPage() {
  const Fixture f;
  QCOMPARE(f.editor(), nullptr);
  QVERIFY(f.window->findChild<QWidget*>(u"startPage"_s)->isVisible());
  f.run("file.new");
  QVERIFY(f.editor() != nullptr);
  QVERIFY(!f.window->findChild<QWidget*>(u"startPage"_s)->isVisible());
  f.run("file.close");
  QCOMPARE(f.editor(), nullptr);
  QCOMPARE(f.answers->asked, 0);
}

void TestDesignerWindow::theStripTellsTheBound() {
  const Fixture f;
  QVERIFY(f.window->files().openFile(f.example("2x-dgx-a100.fabric.json")) != nullptr);
  QVERIFY(f.waitForBound());
  QCOMPARE(f.strip("statusBound"), u"AllGather 346.67 GB/s = 1040/3"_s);
  QVERIFY2(f.strip("statusCut").startsWith(u"cut: "_s), qPrintable(f.strip("statusCut")));
  QVERIFY2(f.strip("statusCut").contains(u"GB/s"_s), qPrintable(f.strip("statusCut")));
  QCOMPARE(f.strip("statusProblems"), u"no problems"_s);
  QVERIFY(f.strip("statusSaved").startsWith(u"saved "_s));
  QCOMPARE(f.window->findChild<QLabel*>(u"boundNumber"_s)->text(), u"346.67"_s);
  QTest::mouseClick(f.window->findChild<QToolButton*>(u"statusBound"_s), Qt::LeftButton);
  QCOMPARE(f.window->workspace().mode(), Mode::analyse);
}

void TestDesignerWindow::theStripFitsItsWidth() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  const auto shown = [&](int width) {
    f.window->resize(width, f.window->height());
    coppice::waiting::settle();
    return f.strip("statusCounts");
  };
  const QString longest = shown(2400);
  QVERIFY2(longest.startsWith(u"GB/s per direction · "_s), qPrintable(longest));
  const QString shortest = shown(f.window->minimumSizeHint().width());
  QCOMPARE(shortest, u"16 GPUs"_s);
  QVERIFY(longest.contains(shortest));
  QVERIFY(f.window->findChild<QWidget*>(u"statusCounts"_s)->toolTip().contains(u"GB/s per direction"_s));
  // All of it again; the drawing has another size since.
  const QString again = shown(2400);
  const QString counts = longest.section(u" · "_s, -1);
  QVERIFY2(again.startsWith(u"GB/s per direction · "_s) && again.endsWith(counts), qPrintable(again));
}

void TestDesignerWindow::staleIsNeverShownAsCurrent() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  auto* part = f.window->findChild<QToolButton*>(u"statusBound"_s);
  QVERIFY(!part->property("stale").toBool());
  EditorContext* editor = f.editor();
  editor->document().edit(u"x"_s, [](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{17}}, [](Link& link) { link.bandwidth = "5"; });
  });
  // Before any event is handled the old number is greyed.
  QVERIFY(!editor->bound().isCurrent());
  QVERIFY(part->property("stale").toBool());
  QVERIFY(f.waitForBound());
  QVERIFY(!part->property("stale").toBool());
  QVERIFY(part->text() != u"AllGather 346.67 GB/s = 1040/3"_s);
  f.run("edit.undo");
  QVERIFY(part->property("stale").toBool());
  QVERIFY(f.waitForBound());
  QCOMPARE(part->text(), u"AllGather 346.67 GB/s = 1040/3"_s);
  // Moving leaves it current.
  editor->document().edit(u"x"_s, [](Edit& edit) { edits::move(edit, {NodeId{1}}, {5, 5}); });
  QVERIFY(editor->bound().isCurrent());
}

void TestDesignerWindow::buildsABoxWithTheKeyboard() {
  const Fixture f;
  QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
  QVERIFY(f.editor() != nullptr);
  f.run("insert.gpu");
  f.run("insert.nic");
  QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier);
  QCOMPARE(f.editor()->selection().nodes().size(), std::size_t(2));
  QTest::keyClick(f.window.get(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
  auto* array = f.window->findChild<QDialog*>(u"arrayDialog"_s);
  QVERIFY(array != nullptr);
  QTest::keyClick(array->findChild<QWidget*>(u"arrayCount"_s), Qt::Key_8);
  QTest::keyClick(array, Qt::Key_Return);
  QCOMPARE(f.editor()->model().nodes().size(), std::size_t(16));
  QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(f.window.get(), Qt::Key_G, Qt::ControlModifier);
  QCOMPARE(f.editor()->model().boxes().size(), std::size_t(1));
  QTest::keyClick(f.window.get(), Qt::Key_Z, Qt::ControlModifier);
  QCOMPARE(f.editor()->model().boxes().size(), std::size_t(0));
  QTest::keyClick(f.window.get(), Qt::Key_Y, Qt::ControlModifier);
  QCOMPARE(f.editor()->model().boxes().size(), std::size_t(1));
  QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(f.window.get(), Qt::Key_Delete);
  QVERIFY(f.editor()->model().nodes().isEmpty());
}

void TestDesignerWindow::propertiesOfMany() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  EditorContext* editor = f.editor();
  std::set<ElementId> links;
  for (const auto& [id, link] : editor->model().links()) {
    links.insert(id);
  }
  editor->selection().set(links);
  auto* field = [&] {
    QLineEdit* found = nullptr;
    [[maybe_unused]] const bool isThere = QTest::qWaitFor(
        [&] {
          found = f.window->findChild<QLineEdit*>(u"linkBandwidth"_s);
          return found != nullptr;
        },
        coppice::waiting::kPatience);
    return found;
  }();
  QVERIFY(field != nullptr);
  QCOMPARE(field->placeholderText(), u"mixed"_s);
  QVERIFY(field->text().isEmpty());
  field->setFocus();
  QTest::keyClicks(field, u"400Gb/s"_s);
  QTest::keyClick(field, Qt::Key_Return);
  for (const auto& [id, link] : editor->model().links()) {
    QCOMPARE(link.bandwidth, std::string("400Gb/s"));
  }
  QCOMPARE(editor->document().undoStack()->count(), 1);
  QCOMPARE(editor->document().undoStack()->undoText(), u"Set bandwidth of %1 links"_s.arg(links.size()));
}

void TestDesignerWindow::propertiesRefuse() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  EditorContext* editor = f.editor();
  editor->selection().set({LinkId{1}});
  QVERIFY(QTest::qWaitFor([&] { return f.window->findChild<QLineEdit*>(u"linkBandwidth"_s) != nullptr; },
                          coppice::waiting::kPatience));
  auto* field = f.window->findChild<QLineEdit*>(u"linkBandwidth"_s);
  auto* fault = f.window->findChild<QLabel*>(u"linkBandwidthFault"_s);
  field->setFocus();
  field->selectAll();
  QTest::keyClicks(field, u"12 parsec"_s);
  QVERIFY(!fault->isHidden());
  QVERIFY(!fault->text().isEmpty());
  QTest::keyClick(field, Qt::Key_Return);
  QCOMPARE(editor->document().undoStack()->count(), 0);
  field->selectAll();
  QTest::keyClicks(field, u"0"_s);
  QVERIFY(!fault->isHidden());
  field->selectAll();
  QTest::keyClicks(field, u"12x25 GB/s"_s);
  QVERIFY(fault->isHidden());
  QTest::keyClick(field, Qt::Key_Return);
  QCOMPARE(editor->document().undoStack()->count(), 1);
}

void TestDesignerWindow::tablesEditTheDocument() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  EditorContext* editor = f.editor();
  auto* view = f.window->findChild<QTableView*>(u"linksTable"_s);
  QCOMPARE(view->model()->rowCount(), static_cast<int>(editor->model().links().size()));
  const QModelIndex cell = view->model()->index(0, LinkTableModel::kBandwidth);
  QVERIFY(view->model()->setData(cell, u"77"_s));
  QCOMPARE(editor->model().find(LinkId{1})->bandwidth, std::string("77"));
  QVERIFY(!view->model()->setData(cell, u"many"_s));
  QVERIFY(!view->model()->setData(cell, u"-3"_s));
  QCOMPARE(editor->document().undoStack()->count(), 1);
  auto* nodes = f.window->findChild<QTableView*>(u"nodesTable"_s);
  QVERIFY(!nodes->model()->setData(nodes->model()->index(0, NodeTableModel::kName), u"b0g1"_s));
  QVERIFY(nodes->model()->setData(nodes->model()->index(0, NodeTableModel::kName), u"first"_s));
  QCOMPARE(cell.siblingAtColumn(LinkTableModel::kTail).data().toString(), u"first"_s);
  editor->document().edit(u"del"_s, [](Edit& edit) { edits::remove(edit, {NodeId{1}}); });
  QCOMPARE(nodes->model()->rowCount(), static_cast<int>(editor->model().nodes().size()));
  QCOMPARE(view->model()->rowCount(), static_cast<int>(editor->model().links().size()));
}

void TestDesignerWindow::problemsLeadToThePlace() {
  const Fixture f;
  const QString path = f.dir.filePath(u"bad.fabric.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"a","kind":"gpu"},
    {"id":"b","kind":"gpu"}],"links":[{"src":"a","dst":"b","bandwidth":10},{"src":"b","dst":"gone","bandwidth":0}]})"));
  QVERIFY(f.window->files().openFile(path) != nullptr);
  QVERIFY(f.waitForBound());
  auto* view = f.window->findChild<QTableView*>(u"problemsTable"_s);
  QVERIFY(view->model()->rowCount() >= 2);
  QVERIFY2(f.strip("statusProblems").contains(u"error"_s), qPrintable(f.strip("statusProblems")));
  bool hasLink = false;
  for (int row = 0; row < view->model()->rowCount(); ++row) {
    Q_EMIT view->clicked(view->model()->index(row, 0));
    hasLink = hasLink || f.editor()->selection().contains(LinkId{2});
  }
  QVERIFY(hasLink);
  QVERIFY(f.strip("statusBound").contains(u"no bound"_s));
}

void TestDesignerWindow::copyAndPasteBetweenDocuments() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  EditorContext* first = f.editor();
  first->selection().set({first->model().boxAtPath("b0")});
  f.run("edit.copy");
  const QString text = QGuiApplication::clipboard()->text();
  QVERIFY(readFabricFile(text.toStdString(), ""));
  f.run("file.new");
  f.run("edit.paste");
  QCOMPARE(f.editor()->model().nodes().size(), first->model().allNodesIn(first->model().boxAtPath("b0")).size());
  QVERIFY(f.editor()->model().boxAtPath("b0").isValid());
  f.run("edit.paste");
  QVERIFY(f.editor()->model().boxAtPath("b1").isValid());
  QCOMPARE(f.editor()->document().undoStack()->count(), 2);
}

void TestDesignerWindow::pasteATableOfLinks() {
  const Fixture f;
  f.run("file.new");
  QGuiApplication::clipboard()->setText(u"tail\thead\tbandwidth\ngpu0\tsw\t25\ngpu1\tsw\t400Gb/s\n"_s);
  f.run("edit.paste");
  QCOMPARE(f.editor()->model().nodes().size(), std::size_t(3));
  QCOMPARE(f.editor()->model().links().size(), std::size_t(2));
  // Between nodes that are there the table means these.
  f.run("edit.paste");
  QCOMPARE(f.editor()->model().nodes().size(), std::size_t(3));
  QCOMPARE(f.editor()->model().links().size(), std::size_t(4));
  QGuiApplication::clipboard()->setText(u"what is this"_s);
  f.run("edit.paste");
  QCOMPARE(f.editor()->document().undoStack()->count(), 2);
}

void TestDesignerWindow::saveAndReopen() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  QVERIFY(f.editor()->file().isModified());
  f.answers->saveTo = f.dir.filePath(u"mine"_s);
  QTest::keyClick(f.window.get(), Qt::Key_S, Qt::ControlModifier);
  const QString path = f.dir.filePath(u"mine.fabric.json"_s);
  QVERIFY(QFileInfo::exists(path));
  QVERIFY(!f.editor()->file().isModified());
  const std::string saved = writeFabricFile(f.editor()->model());
  f.run("file.close");
  QVERIFY(f.window->files().openFile(path) != nullptr);
  QCOMPARE(writeFabricFile(f.editor()->model()), saved);
  // The same file twice is one tab.
  f.window->files().openFile(path);
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(1));
}

void TestDesignerWindow::unsavedWorkIsAskedFor_data() {
  QTest::addColumn<int>("answer");
  QTest::newRow("save") << static_cast<int>(Prompts::Unsaved::save);
  QTest::newRow("discard") << static_cast<int>(Prompts::Unsaved::discard);
  QTest::newRow("cancel") << static_cast<int>(Prompts::Unsaved::cancel);
}

void TestDesignerWindow::unsavedWorkIsAskedFor() {
  QFETCH(int, answer);
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.answers->unsaved = static_cast<Prompts::Unsaved>(answer);
  f.answers->saveTo = f.dir.filePath(u"a.fabric.json"_s);
  const bool isClosed = f.window->close();
  QCOMPARE(f.answers->asked, 1);
  QCOMPARE(isClosed, f.answers->unsaved != Prompts::Unsaved::cancel);
  QCOMPARE(QFileInfo::exists(f.answers->saveTo), f.answers->unsaved == Prompts::Unsaved::save);
  if (isClosed) {
    QVERIFY(DocumentFile::abandonedJournals(f.dir.filePath(u"recovery"_s)).empty());
  }
}

/// One question for all of them, not one for each.
void TestDesignerWindow::oneQuestionForAll() {
  const Fixture f;
  for (const char* preset : {"dgx-a100", "dgx-h100", "mi250"}) {
    test::openPreset(*f.window, QLatin1String(preset));
  }
  f.answers->unsaved = Prompts::Unsaved::cancel;
  QVERIFY(!f.window->close());
  QCOMPARE(f.answers->asked, 1);
  f.answers->unsaved = Prompts::Unsaved::discard;
  QVERIFY(f.window->close());
  QCOMPARE(f.answers->asked, 2);
}

void TestDesignerWindow::theQuestionForAll_data() {
  QTest::addColumn<QString>("button");
  QTest::addColumn<bool>("isFirstUnchecked");
  QTest::addColumn<QList<bool>>("saved");
  QTest::newRow("save all") << u"unsavedSave"_s << false << QList<bool>{true, true, true};
  QTest::newRow("save some") << u"unsavedSave"_s << true << QList<bool>{false, true, true};
  QTest::newRow("discard all") << u"unsavedDiscard"_s << false << QList<bool>{false, false, false};
  QTest::newRow("cancel") << QString() << false << QList<bool>{};
}

void TestDesignerWindow::theQuestionForAll() {
  QFETCH(QString, button);
  QFETCH(bool, isFirstUnchecked);
  QFETCH(QList<bool>, saved);
  QWidget parent;
  QTimer::singleShot(0, &parent, [&] {
    auto* dialog = parent.findChild<QDialog*>(u"unsavedDialog"_s);
    QVERIFY(dialog != nullptr);
    auto* list = dialog->findChild<QListWidget*>(u"unsavedList"_s);
    auto* save = dialog->findChild<QPushButton*>(u"unsavedSave"_s);
    QVERIFY(save->text().contains(u"All"_s) && save->isDefault());
    if (isFirstUnchecked) {
      list->item(0)->setCheckState(Qt::Unchecked);
      QVERIFY(!save->text().contains(u"All"_s));
    }
    if (button.isEmpty()) {
      dialog->reject();
    } else {
      dialog->findChild<QPushButton*>(button)->click();
    }
  });
  Prompts prompts;
  const auto answer = prompts.unsavedDocuments(&parent, {u"a"_s, u"b"_s, u"c"_s});
  QCOMPARE(answer.has_value(), !saved.isEmpty());
  QVERIFY(!answer || std::equal(saved.begin(), saved.end(), answer->begin(), answer->end()));
}

/// What is said of one document does not stand under another, and goes after a while.
void TestDesignerWindow::wordsBelongToTheirDocument() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  EditorContext* first = f.editor();
  test::openPreset(*f.window, u"dgx-h100"_s);
  const auto* hint = f.window->findChild<QLabel*>(u"statusHint"_s);
  f.window->workspace().say(u"AllGather, 16 trees: verified"_s);
  QCOMPARE(hint->toolTip(), u"AllGather, 16 trees: verified"_s);
  f.window->workspace().activate(first);
  QCOMPARE(hint->toolTip(), QString());
  // Nor does what a document in another tab has to say.
  Q_EMIT f.window->workspace().contexts().back()->refused(u"This cannot be done"_s);
  QCOMPARE(hint->toolTip(), QString());
  Q_EMIT first->refused(u"This cannot be done"_s);
  QCOMPARE(hint->toolTip(), u"This cannot be done"_s);
  auto* expiry = f.window->findChild<QTimer*>(u"statusExpiry"_s);
  QVERIFY(expiry->isActive());
  expiry->start(0);
  QTRY_COMPARE_WITH_TIMEOUT(hint->toolTip(), QString(), coppice::waiting::kPatience);
}

void TestDesignerWindow::recoveryAfterACrash() {
  const Fixture f;
  const QString folder = f.dir.filePath(u"recovery"_s);
  const QString path = f.dir.filePath(u"a.fabric.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), writeFabricFile(readModel(*presets::make("dgx-a100", {})).model)));
  std::string lost;
  {
    // What a killed program leaves: a journal that nobody holds and nobody gave up.
    DocumentFile file(folder);
    QVERIFY(file.open(path));
    file.document().edit(u"x"_s, [](Edit& edit) { edits::addNote(edit, "lost?", {}); });
    lost = writeFabricFile(file.document().model());
  }
  f.answers->recover = RecoveryChoice::restore;
  f.window->files().session().offerRecovery();
  QCOMPARE(f.answers->asked, 1);
  QVERIFY(f.editor() != nullptr);
  QCOMPARE(writeFabricFile(f.editor()->model()), lost);
  QCOMPARE(f.editor()->file().path(), path);
  QVERIFY(f.editor()->file().isModified());
  // It is in a journal again until it is saved.
  QVERIFY(isJournalHeld(DocumentFile::journalBeside(path)));
  f.run("file.save");
  QCOMPARE(*io::readFile(path.toStdString()), lost);
  QVERIFY(DocumentFile::abandonedJournals(folder).empty());
}

void TestDesignerWindow::aFileWithoutFabricIsRefused() {
  const Fixture f;
  const QString path = f.dir.filePath(u"x.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), "{\"nodes\": 3}"));
  QCOMPARE(f.window->files().openFile(path), nullptr);
  QCOMPARE(f.answers->failures.size(), 1);
  QVERIFY(f.window->files().openFile(f.dir.filePath(u"absent.fabric.json"_s)) == nullptr);
  QCOMPARE(f.answers->failures.size(), 2);
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t(0));
}

void TestDesignerWindow::importedFormats() {
  const Fixture f;
  const QString path = f.dir.filePath(u"links.csv"_s);
  QVERIFY(io::saveFile(path.toStdString(), "from,to,bandwidth\ngpu0,leaf,25\ngpu1,leaf,25\n"));
  QVERIFY(f.window->files().openFile(path) != nullptr);
  QVERIFY(f.editor()->file().path().isEmpty());
  QVERIFY(f.editor()->file().isModified());
  QVERIFY(f.waitForBound());
  QCOMPARE(f.strip("statusBound"), u"AllGather 50 GB/s"_s);
  // What was guessed is listed.
  QCOMPARE(f.window->findChild<QTableView*>(u"problemsTable"_s)->model()->rowCount(), 1);
  f.answers->saveTo = f.dir.filePath(u"out.csv"_s);
  f.run("file.export");
  QCOMPARE(*io::readFile(f.answers->saveTo.toStdString()),
           std::string("tail,head,bandwidth,count,direction\ngpu0,leaf,25,1,both\ngpu1,leaf,25,1,both\n"));
}

void TestDesignerWindow::dropAFile() {
  const Fixture f;
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(f.example("torus-4x4x4.fabric.json"))});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(f.window.get(), &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(f.window.get(), &drop);
  QVERIFY(QTest::qWaitFor([&] { return f.editor() != nullptr; }, coppice::waiting::kPatience));
  QCOMPARE(f.editor()->model().nodes().size(), std::size_t(64));
}

void TestDesignerWindow::tiedCuts() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  f.run("mode.analyse");
  const auto* list = f.window->findChild<QListWidget*>(u"boundCuts"_s);
  QCOMPARE(list->count(), 16);
  QCOMPARE(list->currentRow(), 0);
  // C goes round; the row, the canvas and the words agree.
  std::set<std::size_t> shown;
  for (int i = 0; i < list->count(); ++i) {
    shown.insert(f.editor()->shownCut());
    QCOMPARE(list->currentRow(), i);
    QVERIFY(f.strip("statusCut").endsWith(list->item(i)->text()));
    QTest::keyClick(&f.editor()->canvas(), Qt::Key_C);
  }
  QCOMPARE(shown.size(), std::size_t{16});
  QCOMPARE(list->currentRow(), 0);
  const QRect third = list->visualItemRect(list->item(2));
  QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, third.center());
  const Bound& bound = *f.editor()->bound().bound();
  QCOMPARE(bound.cuts[f.editor()->shownCut()].words, list->item(2)->text());
  // A new bound begins with its first cut.
  f.editor()->document().edit(u"x"_s, [&](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{1}}, [](Link& link) { link.bandwidth = "7"; });
  });
  QVERIFY(f.waitForBound());
  QCOMPARE(f.editor()->shownCut(), std::size_t{0});
  QCOMPARE(list->count(), 1);
  f.run("analyse.next-cut");
  QCOMPARE(f.editor()->shownCut(), std::size_t{0});
}

/// More cuts than are listed: the card says how many there are.
void TestDesignerWindow::countOfTiedCuts() {
  const Fixture f;
  f.window->workspace().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "128"}})).model, {}, u"128 boxes"_s);
  QVERIFY(f.waitForBound());
  QCOMPARE(f.window->findChild<QLabel*>(u"boundCutsCount"_s)->text(), u"first 64 of 128"_s);
  const auto* list = f.window->findChild<QListWidget*>(u"boundCuts"_s);
  QCOMPARE(list->count(), 64);
  QVERIFY(list->isRowHidden(63));
  f.window->findChild<QPushButton*>(u"boundMoreCuts"_s)->click();
  QVERIFY(!list->isRowHidden(63));
}

/// A failure that is chosen is crossed out, and the card and the cut are those without it, until something else is
/// selected.
void TestDesignerWindow::failureIsShown() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  f.run("mode.analyse");
  f.run("view.damage");
  auto* table = f.window->findChild<QTableView*>(u"damageTable"_s);
  QTRY_VERIFY_WITH_TIMEOUT(table->isEnabled() && table->model()->rowCount() > 0, 60000);
  const auto* number = f.window->findChild<QLabel*>(u"boundNumber"_s);
  const auto* state = f.window->findChild<QLabel*>(u"boundState"_s);
  const auto* title = f.window->findChild<QLabel*>(u"boundAssumption"_s);
  const QString before = number->text();
  QCOMPARE(state->text(), u"exact"_s);
  QVERIFY(title->isHidden());
  Q_EMIT table->clicked(table->model()->index(0, 0));
  const QString name = table->model()->index(0, 0).data().toString();
  const QString left = table->model()->index(0, 3).data().toString();
  QCOMPARE(title->text(), u"If %1 fails"_s.arg(name));
  QVERIFY(!f.editor()->canvas().overlay().failed.empty());
  QTRY_COMPARE_WITH_TIMEOUT(state->text(), u"what if"_s, 60000);
  QCOMPARE(number->text(), left);
  QVERIFY(number->text() != before);
  QVERIFY(!f.editor()->canvas().overlay().hulls.empty());
  QCOMPARE(f.editor()->canvas().overlay().hulls.front().label, f.editor()->shownBound()->cuts.front().words);
  // One thought at a time: the status bar says the same, and a chip on the drawing says why.
  QVERIFY2(f.strip("statusBound").startsWith(u"If it fails"_s), qPrintable(f.strip("statusBound")));
  QVERIFY(f.strip("statusBound").contains(left));
  auto* chip = f.editor()->page().findChild<QPushButton*>(u"assumptionChip"_s);
  QVERIFY(chip->isVisible() && chip->text().contains(name));
  const CanvasView& canvas = f.editor()->canvas();
  const Detail detail = detailAt(canvas.zoom(), canvas.scene().lines().size(), canvas.scene().bounds());
  CanvasPainter painter(canvas.scene(), Theme::instance().colors(), canvas.state());
  for (const QRectF& box : painter.titleRects(canvas.zoom(), detail)) {
    const QRectF shown(canvas.toView(box.topLeft()), box.size() * canvas.zoom());
    QVERIFY2(!shown.translated(canvas.pos()).intersects(chip->geometry()), "the chip lies on the name of a box");
  }
  // Esc ends it, wherever the keyboard is; so does a click on the chip.
  table->setFocus();
  QTest::keyClick(table, Qt::Key_Escape);
  QVERIFY(!f.editor()->assumption() && chip->isHidden());
  QVERIFY(f.strip("statusBound").contains(before));
  Q_EMIT table->clicked(table->model()->index(0, 0));
  QVERIFY(f.editor()->assumption());
  QTest::mouseClick(chip, Qt::LeftButton);
  QVERIFY(!f.editor()->assumption());
  Q_EMIT table->clicked(table->model()->index(0, 0));
  QVERIFY(f.editor()->assumption());
  f.editor()->selection().clear();
  QVERIFY(!f.editor()->assumption());
  QVERIFY(f.editor()->canvas().overlay().failed.empty());
  QCOMPARE(number->text(), before);
  QCOMPARE(state->text(), u"exact"_s);
  QVERIFY(title->isHidden());
}

/// The tick shows the bound without what switches copy and sum, and is there only where that changes something: for an
/// allreduce, on a fabric with such a switch.
void TestDesignerWindow::switchesOnlyForward() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-h100.fabric.json"));
  QVERIFY(f.waitForBound());
  f.run("mode.analyse");
  auto* tick = f.window->findChild<QCheckBox*>(u"boundPlainSwitches"_s);
  const auto* number = f.window->findChild<QLabel*>(u"boundNumber"_s);
  const auto* title = f.window->findChild<QLabel*>(u"boundAssumption"_s);
  const auto ask = [&](Collective collective) {
    Question question = f.editor()->bound().question();
    question.collective = collective;
    f.editor()->bound().setQuestion(question);
  };
  ask(Collective::allgather);
  QVERIFY(f.waitForBound());
  QVERIFY(tick->isHidden());
  ask(Collective::allreduce);
  QTRY_COMPARE_WITH_TIMEOUT(number->text(), u"400"_s, 60000);
  QVERIFY(!tick->isHidden() && !tick->isChecked());
  tick->click();
  QTRY_COMPARE_WITH_TIMEOUT(number->text(), u"266.67"_s, 60000);
  QVERIFY(tick->isChecked() && !title->isHidden());
  QCOMPARE(title->text(), u"If switches only forward"_s);
  // Esc ends it as it ends every assumption.
  QTest::keyClick(f.window.get(), Qt::Key_Escape);
  QTRY_COMPARE_WITH_TIMEOUT(number->text(), u"400"_s, 60000);
  QVERIFY(!tick->isChecked() && title->isHidden());
  tick->click();
  tick->click();
  QVERIFY(!f.editor()->assumption() && !tick->isChecked());

  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  ask(Collective::allreduce);
  QVERIFY(f.waitForBound());
  QVERIFY(tick->isHidden());
}

/// Visible area is selected where it stands; what is not is brought into view.
void TestDesignerWindow::shownElementMovesNothing() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  CanvasView& canvas = f.editor()->canvas();
  const ElementId id = f.editor()->model().boxAt({}, "b1");
  canvas.zoomToFit();
  QTRY_VERIFY_WITH_TIMEOUT(canvas.isInView(id), 30000);
  const QRectF before = canvas.visibleScene();
  f.editor()->showElement(id);
  QCOMPARE(f.editor()->selection().elements(), std::set<ElementId>{id});
  QCOMPARE(canvas.visibleScene(), before);
  canvas.panBy(QPointF(-5000, 0));
  QVERIFY(!canvas.isInView(id));
  f.editor()->showElement(id);
  QTRY_VERIFY_WITH_TIMEOUT(canvas.isInView(id), 30000);
}

/// So is another bandwidth that is tried.
void TestDesignerWindow::triedBandwidthIsShown() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  f.run("mode.analyse");
  f.run("view.what-if");
  f.editor()->selection().set({LinkId{1}, LinkId{2}, LinkId{3}, LinkId{4}});
  auto* whatIf = f.window->findChild<WhatIfPanel*>();
  QTRY_VERIFY_WITH_TIMEOUT(whatIf->isCurrent(), 60000);
  const auto* number = f.window->findChild<QLabel*>(u"boundNumber"_s);
  const auto* state = f.window->findChild<QLabel*>(u"boundState"_s);
  const QString before = number->text();
  whatIf->setChange(Bandwidth(-90));
  QTRY_COMPARE_WITH_TIMEOUT(state->text(), u"what if"_s, 60000);
  const QString result = f.window->findChild<QLabel*>(u"whatIfResult"_s)->text();
  QVERIFY2(result.startsWith(number->text()), qPrintable(result + u" / "_s + number->text()));
  QVERIFY(number->text() != before);
  QVERIFY(f.window->findChild<QLabel*>(u"boundAssumption"_s)->text().startsWith(u"What if: 4 links at "_s));
  whatIf->setChange(Bandwidth(0));
  QTRY_COMPARE_WITH_TIMEOUT(state->text(), u"exact"_s, 60000);
  QCOMPARE(number->text(), before);
}

void TestDesignerWindow::cutLens() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QVERIFY(f.waitForBound());
  const auto* lens = f.window->findChild<QLabel*>(u"cutLens"_s);
  QVERIFY(lens->isHidden());
  f.editor()->selection().set({f.editor()->model().nodeNamed("b0g0")});
  QVERIFY(!lens->isHidden());
  // One GPU takes in what 15 have: the bound itself.
  QVERIFY2(lens->text().contains(u"15 GPUs through 325 GB/s → 346.67 GB/s = 1040/3"_s), qPrintable(lens->text()));
  f.editor()->selection().selectAll();
  QVERIFY(lens->isHidden());
}

QTEST_MAIN(TestDesignerWindow)
#include "tst_designer_window.moc"
