// SPDX-License-Identifier: GPL-3.0-or-later
#include <QMenu>

#include "designer/layout/layout_job.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

/// Automatic layout.
namespace coppice::designer {

void MainWindow::createLayoutActions() {
  m_layout = new LayoutJob(this);
  connect(m_layout, &LayoutJob::statusMessage, this, [this](const QString& words) { m_strip->setHint(words); });
  connect(m_layout, &LayoutJob::aboutToMove, this, [this](Document* document) {
    for (Editor* editor : editors()) {
      if (&editor->document() == document) {
        editor->canvas().animateNextMove();
      }
    }
  });
  connect(m_layout, &LayoutJob::finished, this, [this] { updateLayoutActions(currentEditor() != nullptr); });
  const auto add = [this](const QString& id, const QString& text, const QString& tip, LayoutKind kind,
                          const QList<QKeySequence>& keys = {}, const QString& icon = {}) {
    m_actions.add({id, text, tip, keys, icon}, [this, kind](bool) {
      if (Editor* editor = currentEditor()) {
        m_layout->submit(editor->document(), editor->selection().elements(), kind);
        updateLayoutActions(true);
      }
    });
  };
  add(u"layout.best"_s, tr("&Best Layout"),
      tr("Place the selection, or everything, by the structure of the fabric; pinned nodes stay"), LayoutKind::best,
      {QKeySequence(u"Ctrl+L"_s)}, u"grid"_s);
  add(u"layout.rails"_s, tr("&Rail Grid"), tr("Boxes under each other, a rail switch above each column"),
      LayoutKind::rails);
  add(u"layout.circle"_s, tr("&Circle"), tr("Boxes and nodes on one circle"), LayoutKind::circle);
  add(u"layout.grid"_s, tr("&Grid"), tr("Boxes and nodes row by row, switches above"), LayoutKind::grid);
  add(u"layout.layered"_s, tr("&Layered (Graphviz)"), tr("Layers along the links, switches above GPUs"),
      LayoutKind::layered);
  add(u"layout.force"_s, tr("&Force (Graphviz)"), tr("Place nodes as if links were springs"), LayoutKind::force);
  add(u"layout.circular"_s, tr("C&ircular (Graphviz)"), tr("Place connected parts on circles"), LayoutKind::circular);
  m_actions.add({u"layout.stop"_s, tr("&Stop Layout"), tr("Keep all positions"), {QKeySequence(u"Ctrl+."_s)}},
                [this](bool) { m_layout->cancel(); });
}

void MainWindow::updateLayoutActions(bool isOpen) {
  for (QAction* action : m_actions.all()) {
    if (ActionRegistry::idOf(action).startsWith(u"layout."_s)) {
      action->setEnabled(isOpen);
    }
  }
  m_actions[u"layout.stop"_s]->setEnabled(m_layout->isRunning());
}

void MainWindow::createLayoutMenu(QMenu* arrange) {
  QMenu* menu = arrange->addMenu(tr("&Layout"));
  for (const QString& id :
       {u"layout.best"_s, u"layout.rails"_s, u"layout.circle"_s, u"layout.grid"_s, QString(), u"layout.layered"_s,
        u"layout.force"_s, u"layout.circular"_s, QString(), u"layout.stop"_s}) {
    if (id.isEmpty()) {
      menu->addSeparator();
    } else {
      menu->addAction(m_actions[id]);
    }
  }
}

}  // namespace coppice::designer
