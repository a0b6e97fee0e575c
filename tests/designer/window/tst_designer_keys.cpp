// SPDX-License-Identifier: Apache-2.0
#include <QAccessible>
#include <QApplication>
#include <QDockWidget>
#include <QListWidget>
#include <QMenuBar>
#include <QPointer>
#include <QRadioButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QSettings>
#include <QTest>
#include <functional>

#include "designer/features/find/find_bar.hpp"
#include "designer/palette/card_list.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;
using test::typeBandwidth;

/// The window by keyboard: panes, shortcuts, names for screen readers.
class TestDesignerKeys : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void cleanup();
  void panesInTurn();
  void keysHideTheDocks();
  void modesKeepTheirLayouts();
  void everyActionTakesAShortcut();
  void linkByKeysAlone();
  void everythingIsNamed();
  void dialogsByKeyboard_data();
  void dialogsByKeyboard();
  void shortcutsDoNotClash();
  void menusHaveKeysOfTheirOwn();
};

void TestDesignerKeys::initTestCase() {
  designer::test::prepareApplication("keys");
}

void TestDesignerKeys::cleanup() {
  QSettings().clear();
}

void TestDesignerKeys::panesInTurn() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.editor()->canvas().setFocus();
  std::set<const QWidget*> seen;
  for (int i = 0; i < 20; ++i) {
    QTest::keyClick(f.window.get(), Qt::Key_F6);
    QVERIFY(QApplication::focusWidget() != nullptr);
    seen.insert(QApplication::focusWidget());
    if (QApplication::focusWidget() == &f.editor()->canvas()) {
      break;
    }
  }
  QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&f.editor()->canvas()));
  QVERIFY2(seen.size() >= 6, qPrintable(QString::number(seen.size())));
  QTest::keyClick(f.window.get(), Qt::Key_F6);
  QTest::keyClick(f.window.get(), Qt::Key_F6, Qt::ShiftModifier);
  QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&f.editor()->canvas()));
}

void TestDesignerKeys::keysHideTheDocks() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  auto* bound = f.window->findChild<QDockWidget*>(u"boundDock"_s);
  QVERIFY(bound->isVisible());
  f.editor()->canvas().setFocus();
  // Tab walks on from the drawing as from anything else.
  QTest::keyClick(&f.editor()->canvas(), Qt::Key_Tab);
  QVERIFY(bound->isVisible());
  QVERIFY(!f.editor()->canvas().hasFocus());
  QTest::keyClick(f.window.get(), Qt::Key_Backslash, Qt::ControlModifier);
  for (const QDockWidget* dock : f.window->findChildren<QDockWidget*>()) {
    QVERIFY(!dock->isVisible());
  }
  QVERIFY(f.editor()->canvas().hasFocus());
  QTest::keyClick(f.window.get(), Qt::Key_Backslash, Qt::ControlModifier);
  QVERIFY(bound->isVisible());
  // The link tool walks with Tab.
  f.editor()->canvas().setFocus();
  QTest::keyClick(&f.editor()->canvas(), Qt::Key_L);
  QTest::keyClick(&f.editor()->canvas(), Qt::Key_Tab);
  QVERIFY(f.editor()->canvas().hasFocus());
}

void TestDesignerKeys::modesKeepTheirLayouts() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  auto* palette = f.window->findChild<QDockWidget*>(u"devicesDock"_s);
  auto* upgrades = f.window->findChild<QDockWidget*>(u"upgradesDock"_s);
  auto* outline = f.window->findChild<QDockWidget*>(u"outlineDock"_s);
  QVERIFY(palette->isVisible() && upgrades->isHidden());
  f.editor()->selection().set({NodeId{3}});
  f.editor()->canvas().setZoom(2);
  f.run("mode.analyse");
  QVERIFY(palette->isHidden() && !upgrades->isHidden());
  outline->hide();
  f.run("mode.draw");
  QVERIFY(!outline->isHidden() && palette->isVisible());
  f.run("mode.analyse");
  QVERIFY(outline->isHidden());
  QVERIFY(f.editor()->selection().contains(NodeId{3}));
  QCOMPARE(f.editor()->canvas().zoom(), 2.0);
  f.run("view.reset-layout");
  QVERIFY(!outline->isHidden());
  for (const char* mode : {"mode.schedule", "mode.run", "mode.draw"}) {
    f.run(mode);
    QVERIFY(f.window->actions()[QLatin1String(mode)]->isChecked());
  }
}

void TestDesignerKeys::everyActionTakesAShortcut() {
  const Fixture f;
  ActionRegistry& actions = f.window->actions();
  int number = 0;
  for (QAction* action : actions.all()) {
    const QKeySequence keys(u"Ctrl+Alt+Shift+F%1"_s.arg(1 + number++ % 12));
    actions.setShortcut(action, keys);
    QCOMPARE(action->shortcut(), keys);
    // Tooltip and status text say what it does.
    QVERIFY2(!action->toolTip().isEmpty(), qPrintable(ActionRegistry::idOf(action)));
    QVERIFY2(action->toolTip().contains(keys.toString(QKeySequence::NativeText)), qPrintable(action->toolTip()));
  }
  actions.resetShortcuts();
}

void TestDesignerKeys::linkByKeysAlone() {
  const Fixture f;
  QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
  auto* tiles = f.window->findChild<CardList*>(u"palette-Devices"_s);
  tiles->setFocus();
  for (const int row : {0, 2}) {
    tiles->setCurrentRow(row);
    QTest::keyClick(tiles, Qt::Key_Return);
  }
  CanvasView& canvas = f.editor()->canvas();
  canvas.setFocus();
  f.run("select.none");
  QTest::keyClick(&canvas, Qt::Key_L);
  QTest::keyClick(&canvas, Qt::Key_Tab);
  QTest::keyClick(&canvas, Qt::Key_Return);
  QTest::keyClick(&canvas, Qt::Key_Tab);
  QTest::keyClick(&canvas, Qt::Key_Return);
  QCOMPARE(f.editor()->model().links().size(), std::size_t(1));
  typeBandwidth(f, u"25"_s);
  QCOMPARE(f.editor()->model().links().begin() == f.editor()->model().links().end(), false);
  QCOMPARE((*f.editor()->model().links().begin()).value.bandwidth, std::string("25"));
}

/// Widgets that a screen reader could only call "button".
static QStringList unnamedIn(const QWidget* root) {
  QStringList unnamed;
  for (QWidget* widget : root->findChildren<QWidget*>()) {
    const bool isButton = qobject_cast<const QAbstractButton*>(widget) != nullptr;
    const bool isInner = widget->objectName().startsWith(u"qt_"_s) || widget->inherits("QLineEditIconButton") ||
                         widget->inherits("QTabBar") || widget->inherits("QMenuBar") || widget->inherits("QLabel") ||
                         widget->metaObject()->className() == QByteArray("QScrollArea");
    if (!widget->isVisible() || isInner || (!isButton && (widget->focusPolicy() & Qt::TabFocus) == 0) ||
        (widget->parentWidget() != nullptr && widget->parentWidget()->focusProxy() == widget)) {
      continue;
    }
    const QAccessibleInterface* access = QAccessible::queryAccessibleInterface(widget);
    if (access == nullptr || access->text(QAccessible::Name).trimmed().isEmpty()) {
      unnamed << QString::fromLatin1(widget->metaObject()->className()) + u' ' + widget->objectName() + u" in "_s +
                     (widget->parentWidget() != nullptr ? widget->parentWidget()->objectName() : QString());
    }
  }
  return unnamed;
}

/// What Tab does not come to, or comes to against the order of reading.
static QStringList astrayIn(QWidget* dialog) {
  const auto nameOf = [](const QWidget* widget) {
    return QString::fromLatin1(widget->metaObject()->className()) + u' ' + widget->objectName() + u' ' +
           widget->property("text").toString();
  };
  QStringList astray;
  QList<QWidget*> visited;
  QWidget* widget = QApplication::focusWidget();
  while (widget != nullptr && !visited.contains(widget) && visited.size() < 200) {
    visited << widget;
    // A page with links walks through them first.
    for (int links = 0; links < 100 && QApplication::focusWidget() == widget; ++links) {
      QTest::keyClick(widget, Qt::Key_Tab);
      if (!widget->inherits("QTextBrowser")) {
        break;
      }
    }
    if (QApplication::focusWidget() == widget) {
      return visited.size() > 1 ? QStringList{u"Tab is caught in "_s + nameOf(widget)} : QStringList();
    }
    widget = QApplication::focusWidget();
  }
  for (QWidget* each : dialog->findChildren<QWidget*>()) {
    const auto* radio = qobject_cast<const QRadioButton*>(each);
    if (each->isVisible() && each->isEnabled() && (each->focusPolicy() & Qt::TabFocus) != 0 &&
        each->focusProxy() == nullptr && !visited.contains(each) && !each->inherits("QLabel") &&
        !each->objectName().startsWith(u"qt_"_s) && (radio == nullptr || radio->isChecked())) {
      astray << u"not reached: "_s + nameOf(each);
    }
  }
  if (!astray.isEmpty()) {
    for (const QWidget* each : visited) {
      astray << u"reached: "_s + nameOf(each);
    }
    astray << u"then: "_s + (widget != nullptr ? nameOf(widget) : u"nothing"_s);
    return astray;
  }
  // From the first in the order of reading on; once round it goes back to the top.
  const auto placeOf = [&](const QWidget* each) { return QRect(each->mapTo(dialog, QPoint()), each->size()); };
  int returns = 0;
  for (qsizetype i = 0; i < visited.size(); ++i) {
    const QRect from = placeOf(visited[i]);
    const QRect to = placeOf(visited[(i + 1) % visited.size()]);
    const bool isBack = to.bottom() < from.top() && to.left() <= from.right();
    returns += isBack ? 1 : 0;
    if (isBack && returns > 1) {
      astray << u"back up from "_s + nameOf(visited[i]) + u" to "_s + nameOf(visited[(i + 1) % visited.size()]);
    }
  }
  return astray;
}

void TestDesignerKeys::everythingIsNamed() {
  const Fixture f;
  QStringList unnamed = unnamedIn(f.window.get());
  test::openPreset(*f.window, u"dgx-a100"_s);
  for (const char* mode : {"mode.draw", "mode.analyse", "mode.schedule", "mode.run"}) {
    f.run(mode);
    for (const QDockWidget* dock : f.window->findChildren<QDockWidget*>()) {
      if (!dock->isHidden()) {
        f.window->actions()[u"view."_s + dock->objectName().chopped(4)]->trigger();
        QCoreApplication::processEvents();
        unnamed << unnamedIn(f.window.get());
      }
    }
  }
  unnamed.removeDuplicates();
  QVERIFY2(unnamed.isEmpty(), qPrintable(unnamed.join(u", "_s)));
}

void TestDesignerKeys::dialogsByKeyboard_data() {
  QTest::addColumn<QString>("action");
  for (const char* id :
       {"edit.array", "edit.link-pattern", "edit.go-to", "schedule.export", "file.export-picture", "file.find-topology",
        "file.price-networks", "help.shortcuts", "help.about", "help.contents", "view.palette", "template"}) {
    QTest::newRow(id) << QString::fromLatin1(id);
  }
}

void TestDesignerKeys::dialogsByKeyboard() {
  QFETCH(QString, action);
  const Fixture f;
  if (action == u"template"_s) {
    Q_EMIT f.window->findChild<CardList*>(u"startFabrics"_s)->chosen(u"preset/dgx-a100?boxes=4"_s);
  } else {
    test::openPreset(*f.window, u"dgx-a100"_s);
    f.editor()->selection().selectAll();
    if (action == u"schedule.export"_s) {
      f.run("schedule.generate");
      QVERIFY(QTest::qWaitFor([&] { return f.window->actions()[action]->isEnabled(); }, 30000));
    }
    f.window->actions()[action]->trigger();
  }
  QWidget* dialog = nullptr;
  QVERIFY(QTest::qWaitFor(
      [&] {
        for (QWidget* top : QApplication::topLevelWidgets()) {
          dialog = top->isVisible() && top != f.window.get() && !top->inherits("QMenu") ? top : dialog;
        }
        return dialog != nullptr;
      },
      coppice::waiting::kPatience));
  dialog->activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(dialog));
  coppice::waiting::settle();
  const QStringList unnamed = unnamedIn(dialog);
  QVERIFY2(unnamed.isEmpty(), qPrintable(unnamed.join(u", "_s)));
  QVERIFY(QApplication::focusWidget() != nullptr && dialog->isAncestorOf(QApplication::focusWidget()));
  const QStringList astray = astrayIn(dialog);
  QVERIFY2(astray.isEmpty(), qPrintable(astray.join(u", "_s)));
  // Esc leaves every one of them.
  const QPointer<QWidget> open = dialog;
  QTest::keyClick(dialog, Qt::Key_Escape);
  QVERIFY(QTest::qWaitFor([&] { return open.isNull() || !open->isVisible(); }, coppice::waiting::kPatience));
}

void TestDesignerKeys::shortcutsDoNotClash() {
  const Fixture f;
  QHash<QKeySequence, QString> holders;
  for (const QAction* action : f.window->actions().all()) {
    const QString id = ActionRegistry::idOf(action);
    for (const QKeySequence& keys : f.window->actions().defaultShortcuts(action)) {
      QVERIFY2(!keys.isEmpty(), qPrintable(id));
      QVERIFY2(!holders.contains(keys), qPrintable(keys.toString() + u": "_s + holders.value(keys) + u", "_s + id));
      holders.insert(keys, id);
    }
  }
  QVERIFY(holders.size() > 50);
  // Every command is in the palette, so every one can be reached without a mouse.
  f.run("view.palette");
  const auto* list = f.window->findChild<QListWidget*>();
  for (const QListWidget* each : f.window->findChildren<QListWidget*>()) {
    list = each->window()->objectName() == u"commandPalette"_s ? each : list;
  }
  QCOMPARE(list->count(), static_cast<int>(f.window->actions().all().size()));
}

void TestDesignerKeys::menusHaveKeysOfTheirOwn() {
  const Fixture f;
  QStringList clashes;
  const std::function<void(const QString&, const QList<QAction*>&)> look = [&](const QString& where,
                                                                               const QList<QAction*>& actions) {
    QHash<QChar, QString> holders;
    for (const QAction* action : actions) {
      const qsizetype mark = action->text().indexOf(QRegularExpression(u"&[^&]"_s));
      if (mark >= 0) {
        const QChar key = action->text()[mark + 1].toLower();
        if (holders.contains(key)) {
          clashes << where + u": "_s + holders.value(key) + u" and "_s + action->text();
        }
        holders.insert(key, action->text());
      }
      if (action->menu() != nullptr) {
        look(where + u" > "_s + action->text(), action->menu()->actions());
      }
    }
  };
  look(u"menu bar"_s, f.window->menuBar()->actions());
  QVERIFY2(clashes.isEmpty(), qPrintable(clashes.join(u", "_s)));
}

QTEST_MAIN(TestDesignerKeys)
#include "tst_designer_keys.moc"
