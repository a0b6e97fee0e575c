// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/dock_layouts.hpp"

#include <QLayout>
#include <QMainWindow>
#include <QScreen>
#include <QSettings>
#include <QTabBar>
#include <QTimer>
#include <QVariantMap>
#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Layouts of other versions are ignored.
constexpr int kLayoutVersion = 4;
constexpr QSize kUsualSize(1440, 900);
constexpr QSize kSmallBelow(1400, 820);
/// What a window manager takes for its frame, about.
constexpr QSize kFrame(8, 40);

/// Sizes of docks in pixels of 1x.
struct Sizes {
  int left;
  int right;
  int bottom;
  int bottomOfSchedules;  ///< with timelines, matrices and charts
};
constexpr Sizes kUsual{236, 312, 220, 290};
constexpr Sizes kSmall{200, 280, 168, 240};

QString groupOf(bool isSmall) {
  return isSmall ? u"window/layouts/small/"_s : u"window/layouts/"_s;
}

}  // namespace

/// Tells of drags of the lines between docks, which the window itself gets the mouse of.
class DockLayouts::DragWatch : public QObject {
public:
  DragWatch(DockLayouts& layouts, QMainWindow& window) : QObject(&window), m_layouts(layouts) {
    window.installEventFilter(this);
  }

protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::MouseButtonPress) {
      m_layouts.startDrag();
    } else if (event->type() == QEvent::MouseButtonRelease) {
      // The window moves the line after the mouse.
      QTimer::singleShot(0, this, [this] { m_layouts.endDrag(); });
    }
    return QObject::eventFilter(watched, event);
  }

private:
  DockLayouts& m_layouts;
};

/// Waits for the mouse to leave the tabs, once.
class DockLayouts::LeaveWatch : public QObject {
public:
  LeaveWatch(DockLayouts& layouts, QTabBar& tabs) : QObject(&tabs), m_layouts(layouts) {
    tabs.installEventFilter(this);
    tabs.setProperty(kWatched, true);
  }

  static constexpr const char* kWatched = "isWatchedForLeave";

protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Leave || event->type() == QEvent::Hide) {
      watched->removeEventFilter(this);
      watched->setProperty(kWatched, {});
      QTimer::singleShot(0, watched, [&layouts = m_layouts] { layouts.fitFront(); });
      deleteLater();
    }
    return QObject::eventFilter(watched, event);
  }

private:
  DockLayouts& m_layouts;
};

DockLayouts::DockLayouts(QMainWindow& window) : m_window(window) {
  new DragWatch(*this, window);
  QObject::connect(&m_window, &QMainWindow::tabifiedDockWidgetActivated, &m_window,
                   [this](QDockWidget* dock) { turnTo(dock); });
}

void DockLayouts::add(Place place) {
  m_window.addDockWidget(place.area, place.dock);
  if (place.area == Qt::BottomDockWidgetArea) {
    // The area is as high as the highest of its tabs needs, seen or not. A minimum takes precedence over what a
    // content asks for: with one of a pixel those behind the front ask for nothing.
    QWidget* content = place.dock->widget();
    place.contentHeight = content->minimumHeight();
    const auto follow = [this, content, own = place.contentHeight](bool isSeen) {
      content->setMinimumHeight(isSeen && tabsUnderMouse() == nullptr ? own : 1);
    };
    follow(false);
    QObject::connect(place.dock, &QDockWidget::visibilityChanged, content, follow);
  }
  m_places.push_back(std::move(place));
}

QRect DockLayouts::available() const {
  return m_window.screen()->availableGeometry();
}

bool DockLayouts::isSmall() const {
  const QSize size = available().size();
  return size.width() < kSmallBelow.width() || size.height() < kSmallBelow.height();
}

std::vector<QDockWidget*> DockLayouts::docksOf(Mode mode) const {
  std::vector<QDockWidget*> docks;
  for (const Place& place : m_places) {
    const bool isIn = std::find(place.modes.begin(), place.modes.end(), mode) != place.modes.end();
    if (isIn && (place.isOnSmallScreens || !isSmall())) {
      docks.push_back(place.dock);
    }
  }
  return docks;
}

void DockLayouts::setMode(Mode mode) {
  if (mode == m_mode) {
    return;
  }
  showDocksAgain();
  if (m_isAway) {
    m_mode = mode;
    return;
  }
  m_window.setUpdatesEnabled(false);
  capture();
  m_mode = mode;
  bring();
  m_window.setUpdatesEnabled(true);
}

void DockLayouts::setAway(bool isAway) {
  m_window.setUpdatesEnabled(false);
  if (isAway) {
    showDocksAgain();
    capture();
    m_isAway = true;
    for (const Place& place : m_places) {
      place.dock->hide();
    }
  } else if (m_isAway) {
    m_isAway = false;
    bring();
  }
  m_window.setUpdatesEnabled(true);
}

void DockLayouts::hideDocks() {
  if (m_isAway || isAlone()) {
    return;
  }
  m_besideAlone = m_window.saveState(kLayoutVersion);
  m_window.setUpdatesEnabled(false);
  for (const Place& place : m_places) {
    if (!place.dock->isFloating()) {
      place.dock->hide();
    }
  }
  m_window.setUpdatesEnabled(true);
}

void DockLayouts::showDocksAgain() {
  if (isAlone()) {
    m_window.restoreState(std::exchange(m_besideAlone, {}), kLayoutVersion);
    setUpAreas();
  }
}

void DockLayouts::reset() {
  m_saved.clear();
  m_heights.clear();
  m_besideAlone.clear();
  if (!m_isAway) {
    m_window.setUpdatesEnabled(false);
    arrange();
    m_window.setUpdatesEnabled(true);
    fitToScreen();
  }
}

void DockLayouts::capture() {
  if (m_isAway) {
    return;
  }
  Saved now{m_window.saveState(kLayoutVersion), {}};
  const std::vector<QDockWidget*> own = docksOf(m_mode);
  for (const Place& place : m_places) {
    if (!place.dock->isHidden() && std::find(own.begin(), own.end(), place.dock) == own.end()) {
      now.guests << place.dock->objectName();
    }
  }
  m_saved[m_mode] = std::move(now);
}

int DockLayouts::heightOf(const Place& place) const {
  if (const auto known = m_heights.find(place.dock->objectName()); known != m_heights.end()) {
    return known->second;
  }
  const Sizes& sizes = isSmall() ? kSmall : kUsual;
  // A large window has room for more rows.
  constexpr double kShare = 0.28;
  const double share = isSmall() ? place.height : std::max(place.height, kShare);
  const int usual = std::max(m_mode == Mode::schedule ? sizes.bottomOfSchedules : sizes.bottom,
                             static_cast<int>(share * m_window.height()));
  const QWidget* content = place.dock->widget();
  if (!content->property("fitsContent").toBool()) {
    return usual;
  }
  const int width = std::max(place.dock->width(), content->minimumWidth());
  const int wanted = content->hasHeightForWidth() ? content->heightForWidth(width) : content->sizeHint().height();
  return std::min(usual, wanted + heightBelow(*place.dock) - place.dock->height());
}

int DockLayouts::heightBelow(const QDockWidget& dock) const {
  int tabs = 0;
  if (!m_window.tabifiedDockWidgets(const_cast<QDockWidget*>(&dock)).isEmpty()) {
    for (const QTabBar* bar : m_window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
      tabs = std::max(tabs, bar->sizeHint().height());
    }
  }
  return dock.height() + tabs;
}

void DockLayouts::startDrag() {
  m_dragged = m_front ? heightBelow(*m_front) : 0;
}

void DockLayouts::endDrag() {
  if (m_front && m_dragged != 0 && heightBelow(*m_front) != m_dragged) {
    m_heights[m_front->objectName()] = heightBelow(*m_front);
  }
}

void DockLayouts::turnTo(QDockWidget* dock) {
  const auto place = std::ranges::find(m_places, dock, &Place::dock);
  if (m_isAway || place == m_places.end() || m_window.dockWidgetArea(dock) != Qt::BottomDockWidgetArea) {
    return;
  }
  m_front = dock;
  // The tab has its place a moment later.
  QTimer::singleShot(0, dock, [this, dock] {
    if (m_front == dock) {
      fitFront();
    }
  });
}

void DockLayouts::fitFront() {
  if (!m_front || m_isAway || isAlone() || !m_front->isVisible()) {
    return;
  }
  if (QTabBar* tabs = tabsUnderMouse()) {
    if (!tabs->property(LeaveWatch::kWatched).toBool()) {
      new LeaveWatch(*this, *tabs);
    }
    return;
  }
  const auto place = std::ranges::find(m_places, m_front.data(), &Place::dock);
  m_front->widget()->setMinimumHeight(place->contentHeight);
  m_window.resizeDocks({m_front}, {heightOf(*place)}, Qt::Vertical);
}

QTabBar* DockLayouts::tabsUnderMouse() const {
  for (QTabBar* tabs : m_window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (tabs->isVisible() && tabs->rect().contains(tabs->mapFromGlobal(QCursor::pos()))) {
      return tabs;
    }
  }
  return nullptr;
}

void DockLayouts::bring() {
  m_front.clear();
  const auto known = m_saved.find(m_mode);
  if (known == m_saved.end()) {
    arrange();
  } else if (apply(known->second)) {
    // Docks behind the front lie outside of the window.
    const auto front = std::ranges::find_if(m_places, [this](const Place& place) {
      return m_window.dockWidgetArea(place.dock) == Qt::BottomDockWidgetArea && place.dock->isVisible() &&
             m_window.rect().intersects(place.dock->geometry());
    });
    m_front = front != m_places.end() ? front->dock : nullptr;
  } else {
    arrange();
    // The window may have grown with what was refused.
    fitToScreen();
  }
}

bool DockLayouts::apply(const Saved& saved) {
  if (!m_window.restoreState(saved.state, kLayoutVersion)) {
    return false;
  }
  setUpAreas();
  const std::vector<QDockWidget*> own = docksOf(m_mode);
  const bool hasStrangers = std::any_of(m_places.begin(), m_places.end(), [&](const Place& place) {
    return !place.dock->isHidden() && std::find(own.begin(), own.end(), place.dock) == own.end() &&
           !saved.guests.contains(place.dock->objectName());
  });
  if (hasStrangers) {
    return false;
  }
  m_window.layout()->invalidate();
  const QSize needed = m_window.minimumSizeHint();
  const QSize room = available().size();
  return needed.width() <= room.width() && needed.height() <= room.height();
}

void DockLayouts::setUpAreas() {
  m_window.setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks |
                          QMainWindow::GroupedDragging);
  m_window.setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  m_window.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  m_window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

void DockLayouts::arrange() {
  setUpAreas();
  const Sizes& sizes = isSmall() ? kSmall : kUsual;
  const std::vector<QDockWidget*> own = docksOf(m_mode);
  const auto isShown = [&](const Place& place) { return std::find(own.begin(), own.end(), place.dock) != own.end(); };
  for (const Place& place : m_places) {
    place.dock->setFloating(false);
    m_window.removeDockWidget(place.dock);
  }
  // What belongs to this mode alone comes first; drawing begins with what is wrong.
  std::vector<Place> order = m_places;
  if (m_mode != Mode::draw) {
    std::stable_partition(order.begin(), order.end(),
                          [&](const Place& place) { return isShown(place) && place.modes.size() == 1; });
  }
  QDockWidget* firstBelow = nullptr;
  QDockWidget* front = nullptr;
  QList<QDockWidget*> left;
  QList<QDockWidget*> right;
  for (const Place& place : order) {
    m_window.addDockWidget(place.area, place.dock);
    if (place.area == Qt::BottomDockWidgetArea) {
      if (firstBelow != nullptr) {
        m_window.tabifyDockWidget(firstBelow, place.dock);
      } else {
        firstBelow = place.dock;
      }
      if (isShown(place) && front == nullptr) {
        front = place.dock;
      }
    } else if (isShown(place)) {
      (place.area == Qt::LeftDockWidgetArea ? left : right).append(place.dock);
    }
    place.dock->setVisible(isShown(place));
  }
  if (front != nullptr) {
    front->raise();
    m_front = front;
    m_window.resizeDocks({front}, {heightOf(*std::ranges::find(m_places, front, &Place::dock))}, Qt::Vertical);
  }
  // The uppermost gets the most room, the minimap as little as it can do with.
  const auto stack = [this](const QList<QDockWidget*>& docks, int width) {
    QList<int> heights;
    for (const QDockWidget* dock : docks) {
      constexpr int kMax = 460;
      constexpr int kSome = 220;
      constexpr int kLittle = 130;
      heights << (dock == docks.front() ? kMax : (dock->objectName() == u"minimapDock"_s ? kLittle : kSome));
    }
    if (!docks.isEmpty()) {
      m_window.resizeDocks(docks, heights, Qt::Vertical);
      m_window.resizeDocks({docks.front()}, {width}, Qt::Horizontal);
    }
  };
  stack(left, sizes.left);
  stack(right, sizes.right);
}

void DockLayouts::fitToScreen() {
  const QRect room = available();
  const QSize frame = m_window.isVisible() ? m_window.frameGeometry().size() - m_window.size() : kFrame;
  const QSize max = room.size() - frame;
  if (m_window.width() > max.width() || m_window.height() > max.height()) {
    m_window.resize(m_window.size().boundedTo(max));
    m_window.move(room.topLeft());
  }
}

void DockLayouts::restoreDefaultSize() {
  m_window.resize(kUsualSize.boundedTo(available().size() - kFrame));
  // A small screen has nothing to give away.
  if (isSmall()) {
    m_window.setWindowState(m_window.windowState() | Qt::WindowMaximized);
  }
}

void DockLayouts::restore(const QSettings& settings) {
  if (!m_window.restoreGeometry(settings.value(u"window/geometry"_s).toByteArray())) {
    restoreDefaultSize();
  }
  fitToScreen();
  for (const Mode mode : kModes) {
    const QString key = groupOf(isSmall()) + nameOf(mode);
    const QByteArray state = settings.value(key).toByteArray();
    if (!state.isEmpty()) {
      m_saved[mode] = {state, settings.value(key + u"-guests"_s).toStringList()};
    }
  }
  const QVariantMap heights = settings.value(u"window/heights"_s).toMap();
  for (auto height = heights.begin(); height != heights.end(); ++height) {
    m_heights[height.key()] = height.value().toInt();
  }
  const QString last = settings.value(u"window/mode"_s).toString();
  for (const Mode mode : kModes) {
    if (nameOf(mode) == last) {
      setMode(mode);
    }
  }
}

void DockLayouts::save(QSettings& settings) {
  showDocksAgain();
  capture();
  settings.setValue(u"window/geometry"_s, m_window.saveGeometry());
  settings.setValue(u"window/mode"_s, nameOf(m_mode));
  QVariantMap heights;
  for (const auto& [name, height] : m_heights) {
    heights[name] = height;
  }
  settings.setValue(u"window/heights"_s, heights);
  for (const Mode mode : kModes) {
    const QString key = groupOf(isSmall()) + nameOf(mode);
    const auto known = m_saved.find(mode);
    if (known == m_saved.end()) {
      settings.remove(key);
      settings.remove(key + u"-guests"_s);
    } else {
      settings.setValue(key, known->second.state);
      settings.setValue(key + u"-guests"_s, known->second.guests);
    }
  }
}

}  // namespace coppice::designer
