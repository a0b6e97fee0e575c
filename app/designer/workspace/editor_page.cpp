// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/editor_page.hpp"

#include <QEvent>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/legend_placement.hpp"
#include "designer/theme/theme.hpp"
#include "designer/workspace/editor_context.hpp"

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;

namespace coppice::designer {

EditorPage::EditorPage(EditorContext& context)
    : m_context(context),
      m_notice(new NoticeBar(this)),
      m_canvas(new CanvasView(context.document(), context.selection(), this)),
      m_chip(new QPushButton(this)),
      m_end(new QShortcut(Qt::Key_Escape, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_notice);
  layout->addWidget(m_canvas, 1);
  setFocusProxy(m_canvas);
  // Either settles what a notice asks.
  m_chip->setObjectName(u"assumptionChip"_s);
  m_chip->setProperty("role", u"chip"_s);
  m_chip->setCursor(Qt::PointingHandCursor);
  m_chip->setFocusPolicy(Qt::TabFocus);
  m_chip->setToolTip(tr("Bound and cut are as if this were so. A click, or Esc, goes back to the fabric as it is."));
  m_chip->hide();
  m_canvas->installEventFilter(this);
  auto* placing = new QTimer(this);
  placing->setSingleShot(true);
  placing->setInterval(250ms);
  connect(placing, &QTimer::timeout, this, [this] {
    if (m_chip->isVisible() && !m_chip->underMouse()) {
      placeChip();
    }
  });
  connect(m_canvas, &CanvasView::viewChanged, placing, qOverload<>(&QTimer::start));
  const auto end = [this] { m_context.assume({}); };
  connect(m_chip, &QPushButton::clicked, this, end);
  connect(m_end, &QShortcut::activated, this, end);
  m_end->setEnabled(false);
  connect(&context, &EditorContext::assumptionChanged, this, &EditorPage::showAssumption);
  connect(&context.file(), &DocumentFile::saved, m_notice, &NoticeBar::withdraw);
  connect(&context.file(), &DocumentFile::pathChanged, m_notice, &NoticeBar::withdraw);
}

bool EditorPage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_canvas && (event->type() == QEvent::Resize || event->type() == QEvent::Move)) {
    placeChip();
  }
  return QWidget::eventFilter(watched, event);
}

void EditorPage::showAssumption() {
  const auto& assumption = m_context.assumption();
  m_chip->setVisible(assumption.has_value());
  m_end->setEnabled(assumption.has_value());
  if (assumption) {
    m_chip->setText(QString(assumption->title).replace(u'&', u"&&"_s) + u"  ×"_s);
    m_chip->setAccessibleName(tr("End: %1").arg(assumption->title));
    placeChip();
    m_chip->raise();
  }
}

void EditorPage::placeChip() {
  constexpr int kMargin = 12;
  m_chip->adjustSize();
  m_chip->resize(std::min(m_chip->width(), m_canvas->width() - 2 * kMargin), m_chip->height());
  // Off nodes and names, where there is room.
  const CanvasScene& scene = m_canvas->scene();
  const Viewpoint viewpoint{m_canvas->zoom(), m_canvas->toView({0, 0})};
  const Detail detail = detailAt(viewpoint.scale, scene.lines().size(), scene.bounds());
  CanvasPainter painter(scene, Theme::instance().colors(), m_canvas->state());
  m_chip->move(m_canvas->pos() + placeBar(m_chip->size(), scene, painter.titleRects(viewpoint.scale, detail), {},
                                          viewpoint, m_canvas->size()));
}

}  // namespace coppice::designer
