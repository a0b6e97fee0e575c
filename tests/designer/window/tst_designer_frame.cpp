// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QMouseEvent>
#include <QScreen>
#include <QSettings>
#include <QTabBar>
#include <QTest>
#include <QToolBar>
#include <algorithm>
#include <utility>

#include "designer/theme/theme.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;

/// Modes, their docks and what is seen of them, on the screen that the platform has (see CMakeLists.txt).
class TestDesignerFrame : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void cleanup();
  void theFirstWindowFitsTheScreen();
  void restartsAsItWas_data();
  void restartsAsItWas();
  void brokenLayoutsGiveWay();
  void docksOpenedOnPurposeStay();
  void theStartPageHasNoDocks();
  void resetBringsTheDefault();
  void theDrawingRefits();
  void docksFitASmallScreen();
  void theFocusLeavesWithItsPanel();
  void theDrawingStaysWhereItWasPut();
  void tabsBelowTakeWhatTheyNeed();
  void tabsStayUnderTheMouse();
};

namespace {

QString namesOf(const std::vector<QDockWidget*>& docks) {
  QStringList names;
  for (const QDockWidget* dock : docks) {
    names << dock->objectName();
  }
  names.sort();
  return names.join(u' ');
}

/// Empty = the window shows this mode's docks and nothing else, and all of it is on the screen.
QString faultOf(const Fixture& f, Mode mode, const QStringList& guests = {}) {
  QCoreApplication::processEvents();
  std::vector<QDockWidget*> shown;
  for (auto* dock : f.window->findChildren<QDockWidget*>()) {
    if (!dock->isHidden() && !guests.contains(dock->objectName())) {
      shown.push_back(dock);
    }
  }
  const QString expected = namesOf(f.window->layouts().docksOf(mode));
  if (namesOf(shown) != expected) {
    return u"shown: %1; expected: %2"_s.arg(namesOf(shown), expected);
  }
  const QRect screen = f.window->screen()->availableGeometry();
  if (!screen.contains(f.window->frameGeometry())) {
    return u"the window of %1 x %2 is not on the screen"_s.arg(f.window->width()).arg(f.window->height());
  }
  const auto* bar = f.window->findChild<QToolBar*>(u"mainToolBar"_s);
  for (const char* id : {"mode.run", "schedule.generate", "schedule.export", "run.start"}) {
    const QWidget* button = bar->widgetForAction(f.window->actions()[QLatin1String(id)]);
    if (button == nullptr || !button->isVisible() ||
        button->mapTo(f.window.get(), button->rect().bottomRight()).x() >= f.window->width()) {
      return u"%1 is not on the screen"_s.arg(QLatin1String(id));
    }
  }
  // All that the docks are asked to show side by side has its smallest size.
  for (const QDockWidget* dock : shown) {
    if (!dock->visibleRegion().isEmpty() &&
        (dock->width() < dock->minimumSizeHint().width() || dock->height() < dock->minimumSizeHint().height())) {
      return u"%1 has no room"_s.arg(dock->objectName());
    }
  }
  const CanvasView& canvas = f.editor()->canvas();
  if (canvas.width() * 100 < screen.width() * 45 || canvas.height() * 100 < screen.height() * 38) {
    QString text = u"%1 x %2 are left for the drawing; least heights:"_s.arg(canvas.width()).arg(canvas.height());
    for (const QDockWidget* dock : f.window->findChildren<QDockWidget*>()) {
      if (f.window->dockWidgetArea(const_cast<QDockWidget*>(dock)) == Qt::BottomDockWidgetArea) {
        text += u" %1 %2"_s.arg(dock->objectName()).arg(dock->minimumSizeHint().height());
      }
    }
    return text;
  }
  for (const auto* tabs : f.window->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (tabs->isVisible() && tabs->shape() != QTabBar::RoundedNorth) {
      return u"tabs of docks are not on top"_s;
    }
  }
  return {};
}

QString idOf(Mode mode) {
  return u"mode."_s + nameOf(mode);
}

}  // namespace

void TestDesignerFrame::initTestCase() {
  designer::test::prepareApplication("frame");
}

void TestDesignerFrame::cleanup() {
  QSettings().clear();
}

void TestDesignerFrame::theFirstWindowFitsTheScreen() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  for (const Mode mode : kModes) {
    f.window->workspace().setMode(mode);
    const QString fault = faultOf(f, mode);
    QVERIFY2(fault.isEmpty(), qPrintable(nameOf(mode) + u": "_s + fault));
  }
}

void TestDesignerFrame::restartsAsItWas_data() {
  QTest::addColumn<int>("last");
  QTest::addColumn<bool>("isFileOpen");
  for (const Mode mode : kModes) {
    for (const bool isFileOpen : {false, true}) {
      QTest::newRow(qPrintable(nameOf(mode) + (isFileOpen ? u" with a file"_s : u" from the start page"_s)))
          << static_cast<int>(mode) << isFileOpen;
    }
  }
}

void TestDesignerFrame::restartsAsItWas() {
  QFETCH(int, last);
  QFETCH(bool, isFileOpen);
  const Mode mode = static_cast<Mode>(last);
  for (int start = 0; start < 3; ++start) {
    const Fixture f(true);
    if (start > 0) {
      QCOMPARE(nameOf(f.window->workspace().mode()), nameOf(mode));
      QVERIFY(f.window->actions()[idOf(mode)]->isChecked());
    }
    if (isFileOpen || start == 0) {
      test::openPreset(*f.window, u"dgx-a100"_s);
      f.window->actions()[idOf(mode)]->trigger();
      QString fault = faultOf(f, mode);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
      if (start == 2) {
        for (const Mode other : kModes) {
          f.window->actions()[idOf(other)]->trigger();
          fault = faultOf(f, other);
          QVERIFY2(fault.isEmpty(), qPrintable(nameOf(other) + u": "_s + fault));
        }
        f.window->actions()[idOf(mode)]->trigger();
      }
    }
    QVERIFY(f.window->close());
  }
  // Whatever was done before, drawing comes as it should.
  const Fixture f(true);
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.run("mode.draw");
  const QString fault = faultOf(f, Mode::draw);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

void TestDesignerFrame::brokenLayoutsGiveWay() {
  QByteArray allSideBySide;
  QByteArray tooWide;
  {
    const Fixture f;
    test::openPreset(*f.window, u"dgx-a100"_s);
    for (auto* dock : f.window->findChildren<QDockWidget*>()) {
      f.window->removeDockWidget(dock);
      f.window->addDockWidget(Qt::BottomDockWidgetArea, dock, Qt::Horizontal);
      dock->show();
    }
    constexpr int kVersion = 3;  // of the layouts
    allSideBySide = f.window->saveState(kVersion);
    constexpr int kWide = 4579;
    f.window->resize(kWide, 1050);
    tooWide = f.window->saveGeometry();
  }
  for (const QString& group : {u"window/layouts/"_s, u"window/layouts/small/"_s}) {
    for (const Mode mode : kModes) {
      QSettings().setValue(group + nameOf(mode), allSideBySide);
    }
  }
  QSettings().setValue(u"window/geometry"_s, tooWide);
  QSettings().setValue(u"window/mode"_s, u"analyse"_s);
  for (int start = 0; start < 2; ++start) {
    const Fixture f(true);
    test::openPreset(*f.window, u"dgx-a100"_s);
    for (const Mode mode : {Mode::analyse, Mode::draw, Mode::schedule, Mode::run, Mode::draw}) {
      f.window->workspace().setMode(mode);
      const QString fault = faultOf(f, mode);
      QVERIFY2(fault.isEmpty(), qPrintable(nameOf(mode) + u": "_s + fault));
    }
    QVERIFY(f.window->close());
  }
}

void TestDesignerFrame::docksOpenedOnPurposeStay() {
  {
    const Fixture f(true);
    test::openPreset(*f.window, u"dgx-a100"_s);
    f.run("mode.schedule");
    f.run("view.links");
    f.run("mode.draw");
    f.run("mode.schedule");
    QVERIFY(!f.window->findChild<QDockWidget*>(u"linksDock"_s)->isHidden());
    QVERIFY(f.window->close());
  }
  const Fixture f(true);
  test::openPreset(*f.window, u"dgx-a100"_s);
  QVERIFY(!f.window->findChild<QDockWidget*>(u"linksDock"_s)->isHidden());
  const QString fault = faultOf(f, Mode::schedule, {u"linksDock"_s});
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

void TestDesignerFrame::theStartPageHasNoDocks() {
  for (int start = 0; start < 2; ++start) {
    const Fixture f(true);
    for (const auto* dock : f.window->findChildren<QDockWidget*>()) {
      QVERIFY(dock->isHidden());
    }
    f.run("mode.run");
    f.window->close();
  }
}

void TestDesignerFrame::resetBringsTheDefault() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  for (auto* dock : f.window->findChildren<QDockWidget*>()) {
    dock->show();
  }
  f.run("view.reset-layout");
  QString fault = faultOf(f, Mode::draw);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
  // Also after the drawing was alone.
  f.run("view.toggle-docks");
  f.run("mode.analyse");
  fault = faultOf(f, Mode::analyse);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

void TestDesignerFrame::theDrawingRefits() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  CanvasView& canvas = f.editor()->canvas();
  canvas.complete();
  // As large as a fit makes it, whatever changed before.
  const auto isFitted = [&] {
    QCoreApplication::processEvents();
    const QByteArray now = canvas.viewState();
    canvas.zoomToFit();
    return canvas.viewState() == now;
  };
  QVERIFY(isFitted());
  for (const char* change : {"mode.analyse", "mode.schedule", "mode.run", "mode.draw", "view.toggle-docks"}) {
    f.run(change);
    QVERIFY2(isFitted(), change);
  }
  const double large = canvas.zoom();
  f.run("view.toggle-docks");
  QVERIFY(isFitted());
  QVERIFY(canvas.zoom() <= large);
  f.window->setWindowState(Qt::WindowNoState);
  f.window->resize(f.window->minimumSizeHint());
  QVERIFY(isFitted());
}

/// With docks on three sides the window still fits a screen of 1280 by 720.
void TestDesignerFrame::docksFitASmallScreen() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  for (const char* change : {"mode.schedule", "view.methods"}) {
    f.run(change);
    QCoreApplication::processEvents();
    constexpr int kScreen = 1280;
    QVERIFY2(f.window->minimumSizeHint().width() <= kScreen,
             std::to_string(f.window->minimumSizeHint().width()).c_str());
  }
}

/// A frame around "Draw" would say that Draw is the mode.
void TestDesignerFrame::theFocusLeavesWithItsPanel() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  f.run("mode.schedule");
  f.run("view.methods");
  auto* method = f.window->findChild<QWidget*>(u"generateMethod"_s);
  QVERIFY(method->isVisible());
  method->setFocus();
  QCOMPARE(f.window->focusWidget(), method);
  f.run("mode.analyse");
  QVERIFY(!method->isVisible());
  QCOMPARE(f.window->focusWidget(), &f.editor()->canvas());
}

void TestDesignerFrame::theDrawingStaysWhereItWasPut() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  CanvasView& canvas = f.editor()->canvas();
  canvas.complete();
  canvas.setZoom(2);
  QVERIFY(!canvas.keepsFit());
  for (const char* change : {"mode.analyse", "mode.run", "view.toggle-docks"}) {
    f.run(change);
    QCoreApplication::processEvents();
    QCOMPARE(canvas.zoom(), 2.0);
  }
  f.run("zoom.fit");
  QVERIFY(canvas.keepsFit());
  // A session brings back both kinds.
  const QByteArray fitted = canvas.viewState();
  canvas.panBy({30, 0});
  const QByteArray panned = canvas.viewState();
  canvas.setViewState(fitted);
  QVERIFY(canvas.keepsFit());
  canvas.setViewState(panned);
  QVERIFY(!canvas.keepsFit());
}

/// The area below the drawing is as high as its tab in front asks for, not as the highest of all; a height by hand
/// stays.
void TestDesignerFrame::tabsBelowTakeWhatTheyNeed() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  const auto heightOf = [&](const char* view, const QString& dock) {
    f.run(view);
    auto* widget = f.window->findChild<QDockWidget*>(dock);
    int last = -1;
    const bool isSettled = QTest::qWaitFor(
        [&] {
          QTest::qWait(20);
          return widget->isVisible() && std::exchange(last, widget->height()) == widget->height();
        },
        coppice::waiting::kPatience);
    return isSettled ? widget->height() : -1;
  };
  const int nodes = heightOf("view.nodes", u"nodesDock"_s);
  const int problems = heightOf("view.problems", u"problemsDock"_s);
  QVERIFY2(problems > 0 && problems * 5 < nodes * 3, qPrintable(u"%1, %2"_s.arg(problems).arg(nodes)));
  QCOMPARE(heightOf("view.nodes", u"nodesDock"_s), nodes);
  // By hand, the tab alone.
  auto* dock = f.window->findChild<QDockWidget*>(u"nodesDock"_s);
  CanvasView& canvas = f.editor()->canvas();
  const QPoint line = canvas.mapTo(f.window.get(), QPoint(canvas.width() / 2, canvas.height() + 1));
  QTest::mousePress(f.window.get(), Qt::LeftButton, {}, line);
  QMouseEvent move(QEvent::MouseMove, line + QPoint(0, 30), f.window->mapToGlobal(line + QPoint(0, 30)), Qt::NoButton,
                   Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(f.window.get(), &move);
  QVERIFY(QTest::qWaitFor([&] { return dock->height() != nodes; }, coppice::waiting::kPatience));
  const int dragged = dock->height();
  QVERIFY(dragged < nodes);
  QTest::mouseRelease(f.window.get(), Qt::LeftButton, {}, line + QPoint(0, 30));
  QCoreApplication::processEvents();
  QCOMPARE(heightOf("view.problems", u"problemsDock"_s), problems);
  QCOMPARE(heightOf("view.nodes", u"nodesDock"_s), dragged);
}

/// A tab that is clicked gets its height once the mouse has left the tabs: the next one is still where it was.
void TestDesignerFrame::tabsStayUnderTheMouse() {
  const Fixture f;
  test::openPreset(*f.window, u"dgx-a100"_s);
  auto* nodes = f.window->findChild<QDockWidget*>(u"nodesDock"_s);
  QTabBar* tabs = nullptr;
  for (QTabBar* each : f.window->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (each->isVisible() && each->count() > 1) {
      tabs = each;
    }
  }
  QVERIFY(tabs != nullptr);
  int index = 0;
  while (index < tabs->count() && tabs->tabText(index) != nodes->windowTitle()) {
    ++index;
  }
  QVERIFY(index < tabs->count());
  const auto settled = [&] {
    int last = -1;
    return QTest::qWaitFor(
        [&] {
          QTest::qWait(20);
          return std::exchange(last, tabs->y()) == tabs->y();
        },
        coppice::waiting::kPatience);
  };
  QVERIFY(settled());
  const int before = tabs->y();
  const QPoint middle = tabs->tabRect(index).center();
  QCursor::setPos(tabs->mapToGlobal(middle));
  QTest::mouseClick(tabs, Qt::LeftButton, {}, middle);
  QVERIFY(QTest::qWaitFor([&] { return !nodes->visibleRegion().isEmpty(); }, coppice::waiting::kPatience));
  QVERIFY(settled());
  QCOMPARE(tabs->y(), before);
  QCursor::setPos(f.editor()->canvas().mapToGlobal(QPoint(10, 10)));
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(tabs, &leave);
  QVERIFY(QTest::qWaitFor([&] { return tabs->y() < before; }, coppice::waiting::kPatience));
}

QTEST_MAIN(TestDesignerFrame)
#include "tst_designer_frame.moc"
