// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QDockWidget>
#include <QTimer>
#include <QToolBar>
#include <algorithm>

#include "designer/window/dock_title.hpp"
#include "designer/window/dock_views.hpp"
#include "designer/window/main_window.hpp"
#include "designer/window/pane_frame.hpp"

using namespace Qt::StringLiterals;

/// Docks, and the panes that the keyboard goes to.
namespace coppice::designer {
namespace {

/// The first widget in the tree that takes the keyboard.
QWidget* firstFocusable(QWidget* root) {
  if (QWidget* first = root->focusProxy();
      first != nullptr && first->isEnabled() && first->isVisible() && (first->focusPolicy() & Qt::TabFocus) != 0) {
    return first;
  }
  if (root->isEnabled() && root->isVisible() && (root->focusPolicy() & Qt::TabFocus) != 0) {
    return root;
  }
  const QList<QWidget*> children = root->findChildren<QWidget*>();
  const auto found = std::find_if(children.begin(), children.end(), [](const QWidget* child) {
    return child->isEnabled() && child->isVisible() && (child->focusPolicy() & Qt::TabFocus) != 0;
  });
  return found != children.end() ? *found : nullptr;
}

}  // namespace

void MainWindow::addDock(const DockSpec& spec) {
  if (spec.group.id.isEmpty()) {
    makeDock(spec);
    return;
  }
  auto* dock = findChild<QDockWidget*>(spec.group.id + u"Dock"_s);
  if (dock == nullptr) {
    auto* views = new DockViews(spec.group.title, this);
    dock = makeDock({spec.group.id, spec.group.title, views, spec.area, spec.modes, spec.isOnSmallScreens});
  }
  auto* views = static_cast<DockViews*>(dock->widget());
  spec.content->setProperty("dockId", spec.id);
  views->add(spec.id, spec.title, spec.content);
  m_actions.add({u"view."_s + spec.id, tr("Show %1: %2").arg(spec.group.title, spec.title), tr("Show this view")},
                [dock, views, view = spec.content](bool) {
                  views->show(view);
                  showDock(*dock, view);
                });
}

void MainWindow::showDock(QDockWidget& dock, QWidget* content) {
  dock.show();
  dock.raise();
  if (QWidget* first = firstFocusable(content)) {
    first->setFocus(Qt::ShortcutFocusReason);
  }
}

QDockWidget* MainWindow::makeDock(const DockSpec& spec) {
  auto* dock = new QDockWidget(spec.title, this);
  dock->setObjectName(spec.id + u"Dock"_s);
  spec.content->setProperty("dockId", spec.id);
  if (spec.area == Qt::BottomDockWidgetArea) {
    // Beside docks at the left and the right the window still fits a screen 1280 pixels wide.
    constexpr int kMinWidth = 480;
    spec.content->setMinimumWidth(kMinWidth);
  }
  dock->setWidget(spec.content);
  dock->setTitleBarWidget(new DockTitle(dock));
  m_layouts.add({dock, spec.area, spec.modes, spec.isOnSmallScreens, spec.height});
  m_actions.add({u"view."_s + spec.id, tr("Show %1").arg(spec.title), tr("Show this dock")},
                [dock](bool) { showDock(*dock, dock->widget()); });
  const auto refresh = [this] {
    QTimer::singleShot(0, this, [this] {
      for (const DockLayouts::Place& place : m_layouts.places()) {
        static_cast<DockTitle*>(place.dock->titleBarWidget())->refresh();
      }
    });
  };
  connect(dock, &QDockWidget::visibilityChanged, this, refresh);
  connect(dock, &QDockWidget::topLevelChanged, this, refresh);
  connect(dock, &QDockWidget::dockLocationChanged, this, refresh);
  return dock;
}

void MainWindow::preserveViewport() {
  EditorContext* context = m_workspace.current();
  // The canvas does this itself while it shows the whole drawing.
  if (context == nullptr || context->canvas().keepsFit()) {
    return;
  }
  const QRectF seen = context->canvas().visibleScene();
  const bool wasWhole = seen.contains(context->canvas().scene().bounds());
  QTimer::singleShot(0, context, [context, seen, wasWhole] {
    CanvasView& canvas = context->canvas();
    canvas.panBy(QPointF(canvas.width(), canvas.height()) / 2 - canvas.toView(seen.center()));
    if (wasWhole && !canvas.visibleScene().contains(canvas.scene().bounds())) {
      canvas.zoomToFit();
    }
  });
}

void MainWindow::toggleDocks() {
  if (m_layouts.isAlone()) {
    m_layouts.showDocksAgain();
    return;
  }
  m_layouts.hideDocks();
  if (EditorContext* context = m_workspace.current()) {
    context->canvas().setFocus();
  }
}

void MainWindow::cyclePanes(int by) {
  std::vector<QWidget*> panes;
  EditorContext* context = m_workspace.current();
  panes.push_back(context != nullptr ? static_cast<QWidget*>(&context->canvas()) : m_pages->currentWidget());
  for (const DockLayouts::Place& place : m_layouts.places()) {
    if (!place.dock->isHidden() && !place.dock->visibleRegion().isEmpty()) {
      panes.push_back(place.dock->widget());
    }
  }
  panes.push_back(findChild<QToolBar*>(u"mainToolBar"_s));
  panes.push_back(m_strip);
  const QWidget* focus = QApplication::focusWidget();
  const auto here = std::find_if(panes.begin(), panes.end(), [&](const QWidget* pane) {
    return focus != nullptr && (pane == focus || pane->isAncestorOf(focus));
  });
  const auto count = static_cast<int>(panes.size());
  const int start = here != panes.end() ? static_cast<int>(here - panes.begin()) : (by > 0 ? -1 : 0);
  for (int step = 1; step <= count; ++step) {
    QWidget* pane = panes[(start + by * step + 2 * count * step) % count];
    if (QWidget* first = firstFocusable(pane)) {
      first->setFocus(Qt::ShortcutFocusReason);
      m_paneFrame->showAround(pane);
      return;
    }
  }
}

}  // namespace coppice::designer
