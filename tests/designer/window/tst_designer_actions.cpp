// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QHash>
#include <QLineEdit>
#include <QTest>
#include <QThreadPool>

#include "designer/document/fabric_file.hpp"
#include "designer/models/fuzzy_score.hpp"
#include "designer/window/main_window.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

using test::Fixture;

/// All commands: their keys, the palette that finds them, and each of them on documents of all kinds.
class TestDesignerActions : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { test::prepareApplication("actions"); }
  void cleanup();
  void shortcutsCanBeChanged();
  void theShortcutsAreDistinct();
  void fuzzyScores_data();
  void fuzzyScores();
  void thePaletteRunsCommands();
  void everyAction_data();
  void everyAction();
};

/// Jobs end with their window.
void TestDesignerActions::cleanup() {
  QVERIFY(QThreadPool::globalInstance()->waitForDone(coppice::waiting::kPatience));
}

void TestDesignerActions::shortcutsCanBeChanged() {
  const Fixture f;
  ActionRegistry& actions = f.window->actions();
  QAction* box = actions[u"arrange.box"_s];
  actions.setShortcut(box, QKeySequence(u"Ctrl+D"_s));
  QVERIFY(!actions[u"edit.duplicate"_s]->shortcuts().contains(QKeySequence(u"Ctrl+D"_s)));
  {
    const Fixture again;
    QCOMPARE(again.window->actions()[u"arrange.box"_s]->shortcut(), QKeySequence(u"Ctrl+D"_s));
  }
  actions.resetShortcuts();
  QCOMPARE(box->shortcut(), QKeySequence(u"Ctrl+G"_s));
  QCOMPARE(actions[u"edit.duplicate"_s]->shortcut(), QKeySequence(u"Ctrl+D"_s));
}

void TestDesignerActions::theShortcutsAreDistinct() {
  const Fixture f;
  QHash<QString, QString> seen;
  for (const QAction* action : f.window->actions().all()) {
    QVERIFY(!ActionRegistry::idOf(action).isEmpty());
    QVERIFY(!ActionRegistry::plainText(action).isEmpty());
    for (const QKeySequence& keys : action->shortcuts()) {
      QVERIFY2(!seen.contains(keys.toString()),
               qPrintable(keys.toString() + u": "_s + ActionRegistry::idOf(action) + u' ' + seen[keys.toString()]));
      seen[keys.toString()] = ActionRegistry::idOf(action);
    }
  }
}

void TestDesignerActions::fuzzyScores_data() {
  QTest::addColumn<QString>("typed");
  QTest::addColumn<QString>("better");
  QTest::addColumn<QString>("worse");
  QTest::newRow("initials") << "al"
                            << "Arrange: Align Left"
                            << "Edit: Delete All";
  QTest::newRow("in a row") << "dup"
                            << "Edit: Duplicate"
                            << "Select: Add Neighbours, Up";
  QTest::newRow("case") << "FOLD"
                        << "Arrange: Fold"
                        << "File: Open Old";
  QTest::newRow("words in another order") << "rank order"
                                          << "View: Order of Ranks"
                                          << "Arrange: Fold";
  QTest::newRow("absent") << "xyz"
                          << "xyz"
                          << "Arrange: Fold";
}

void TestDesignerActions::fuzzyScores() {
  QFETCH(QString, typed);
  QFETCH(QString, better);
  QFETCH(QString, worse);
  QVERIFY(fuzzyScore(typed, better) > fuzzyScore(typed, worse));
  QVERIFY(fuzzyScore(typed, better) >= 0);
}

void TestDesignerActions::thePaletteRunsCommands() {
  const Fixture f;
  f.window->files().openFile(f.example("2x-dgx-a100.fabric.json"));
  QTest::keyClick(f.window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  auto* palette = f.window->findChild<QDialog*>(u"commandPalette"_s);
  QVERIFY(palette != nullptr);
  auto* input = palette->findChild<QLineEdit*>();
  QTest::keyClicks(input, u"select all"_s);
  QTest::keyClick(input, Qt::Key_Return);
  QVERIFY(QTest::qWaitFor([&] { return !f.editor()->selection().isEmpty(); }, coppice::waiting::kPatience));
}

void TestDesignerActions::everyAction_data() {
  QTest::addColumn<QString>("content");
  QTest::newRow("no document") << "none";
  QTest::newRow("empty") << "empty";
  QTest::newRow("faulty") << "faulty";
  QTest::newRow("ordinary") << "ordinary";
  QTest::newRow("large") << "large";
}

void TestDesignerActions::everyAction() {
  QFETCH(QString, content);
  const Fixture f;
  f.answers->typed = u"0"_s;
  f.answers->saveTo = f.dir.filePath(u"out.fabric.json"_s);
  QGuiApplication::clipboard()->clear();
  const auto load = [&] {
    if (content == u"none"_s) {
      return;
    }
    Model model;
    if (content == u"faulty"_s) {
      model = readFabricFile(R"({"nodes":[{"id":"a","kind":"?"},{"id":"a","kind":"gpu","box":"/x"}],
        "links":[{"src":"a","dst":"zz","bandwidth":"none"}]})",
                             "")
                  ->model;
    } else if (content == u"ordinary"_s) {
      model = readModel(*presets::make("dgx-a100", {{"boxes", "2"}})).model;
    } else if (content == u"large"_s) {
      model = readModel(*presets::make("dgx-a100", {{"boxes", "128"}})).model;
    }
    f.window->workspace().adopt(std::move(model), {}, u"x"_s);
    f.editor()->selection().selectAll();
  };
  load();
  for (QAction* action : f.window->actions().all()) {
    if (ActionRegistry::idOf(action) == u"file.quit"_s) {
      continue;
    }
    if (f.editor() == nullptr) {
      load();
    }
    if (f.editor() != nullptr) {
      f.editor()->selection().selectAll();
    }
    action->trigger();
    for (QWidget* top : QApplication::topLevelWidgets()) {
      if (top != f.window.get() && top->isVisible()) {
        top->close();
      }
    }
    QCoreApplication::processEvents();
    // What an action did can be undone.
    if (EditorContext* editor = f.editor(); editor != nullptr && content != u"large"_s) {
      const std::string after = writeFabricFile(editor->model());
      if (editor->document().undoStack()->canUndo()) {
        editor->document().undoStack()->undo();
        editor->document().undoStack()->redo();
      }
      QVERIFY2(writeFabricFile(editor->model()) == after, qPrintable(ActionRegistry::idOf(action)));
      editor->document().undoStack()->undo();
    } else if (editor != nullptr) {
      editor->document().undoStack()->undo();
    }
  }
}

QTEST_MAIN(TestDesignerActions)
#include "tst_designer_actions.moc"
