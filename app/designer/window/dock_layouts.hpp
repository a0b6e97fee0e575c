// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QDockWidget>
#include <QPointer>
#include <QRect>
#include <QString>
#include <QStringList>
#include <map>
#include <vector>

#include "designer/workspace/mode.hpp"

class QMainWindow;
class QSettings;
class QTabBar;

namespace coppice::designer {

/// Which docks each mode shows, and where. Each mode remembers how it was left; small screens have layouts of their
/// own. A saved layout that cannot be right is replaced by the default of its mode.
class DockLayouts {
public:
  struct Place {
    QDockWidget* dock;
    Qt::DockWidgetArea area;
    std::vector<Mode> modes;
    bool isOnSmallScreens = true;
    double height = 0;      ///< of the window that it begins with below the drawing; 0 = as the others
    int contentHeight = 0;  ///< that its content was bound to when it was added
  };

  explicit DockLayouts(QMainWindow& window);

  /// A content below the drawing with the property "fitsContent" begins no higher than it asks for.
  void add(Place place);
  [[nodiscard]] const std::vector<Place>& places() const { return m_places; }
  /// The docks that the mode shows by default on this screen.
  [[nodiscard]] std::vector<QDockWidget*> docksOf(Mode mode) const;
  /// The screen has less than 1400 x 820 pixels (of 1x) for the window.
  [[nodiscard]] bool isSmall() const;

  [[nodiscard]] Mode mode() const { return m_mode; }
  void setMode(Mode mode);

  /// The start page has the window to itself: all docks go away, and come back.
  void setAway(bool isAway);
  [[nodiscard]] bool isAway() const { return m_isAway; }

  /// Only the drawing; floating docks stay.
  void hideDocks();
  void showDocksAgain();
  [[nodiscard]] bool isAlone() const { return !m_besideAlone.isEmpty(); }

  /// Default layouts in all modes.
  void reset();

  /// Size, place and layouts of the last session; a window of a first start fits the screen.
  void restore(const QSettings& settings);
  void restoreDefaultSize();
  void save(QSettings& settings);

private:
  struct Saved {
    QByteArray state;
    QStringList guests;  ///< docks of other modes that were opened on purpose
  };

  [[nodiscard]] QRect available() const;
  void fitToScreen();
  /// Options that saveState() does not hold.
  void setUpAreas();
  void capture();
  /// Shows the mode as it was left, or by default.
  void bring();
  bool apply(const Saved& saved);
  void arrange();
  /// Docks below the drawing share one place. Each has the height that it was given by hand last.
  void turnTo(QDockWidget* dock);
  /// Gives the dock in front its height. Waits while the mouse is on the tabs: they would move away from under it.
  void fitFront();
  /// nullptr: none.
  [[nodiscard]] QTabBar* tabsUnderMouse() const;
  /// A line between docks is dragged, or was.
  void startDrag();
  void endDrag();
  /// Of the tabs and the dock in front of them.
  [[nodiscard]] int heightBelow(const QDockWidget& dock) const;
  [[nodiscard]] int heightOf(const Place& place) const;

  class DragWatch;
  class LeaveWatch;

  QMainWindow& m_window;
  std::vector<Place> m_places;
  Mode m_mode = Mode::draw;
  /// Nothing was arranged so far, or the start page is shown: what the docks are like now is not a layout of the mode.
  bool m_isAway = true;
  std::map<Mode, Saved> m_saved;
  QPointer<QDockWidget> m_front;     ///< below the drawing; nullptr: not known
  int m_dragged = 0;                 ///< height before the drag
  std::map<QString, int> m_heights;  ///< by the name of the dock
  QByteArray m_besideAlone;          ///< while the docks are hidden
};

}  // namespace coppice::designer
