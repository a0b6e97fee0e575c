// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/second_drawing.hpp"

#include <QFontMetrics>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/compare/side_letter.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

DrawingCaption::DrawingCaption(int side, QWidget* parent) : QLabel(parent), m_side(side) {
  setObjectName(side == 0 ? u"captionA"_s : u"captionB"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  setTextFormat(Qt::RichText);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  constexpr QMargins kMargins(12, 5, 12, 5);
  setContentsMargins(kMargins);
  connect(&Theme::instance(), &Theme::changed, this, &DrawingCaption::refresh);
}

void DrawingCaption::setCaption(const QString& name, const QString& numbers) {
  if (m_name != name || m_numbers != numbers) {
    m_name = name;
    m_numbers = numbers;
    refresh();
  }
}

void DrawingCaption::resizeEvent(QResizeEvent* event) {
  QLabel::resizeEvent(event);
  refresh();
}

void DrawingCaption::refresh() {
  const Theme& theme = Theme::instance();
  // The figures end in dots where there is too little room beside the name.
  QFont bold = font();
  bold.setBold(true);
  const int beside =
      QFontMetrics(bold).horizontalAdvance(u"● A  "_s) + fontMetrics().horizontalAdvance(m_name + u"    "_s);
  const QString numbers =
      fontMetrics().elidedText(m_numbers, Qt::ElideRight, std::max(0, contentsRect().width() - beside));
  setText(u"<b><span style='color:%1'>●</span> %2</b> &nbsp;%3 &nbsp;<span style='color:%4'>%5</span>"_s.arg(
      category(m_side, theme.scheme()).name(), sideLetter(m_side), m_name.toHtmlEscaped(),
      theme.color(Token::muted).name(), numbers.toHtmlEscaped()));
  setToolTip(sideLetter(m_side) + u": "_s + m_name + u'\n' + m_numbers);
}

SecondDrawing::SecondDrawing(CanvasView& first, QWidget* parent)
    : QWidget(parent),
      m_first(&first),
      m_caption(new DrawingCaption(1, this)),
      m_canvas(new CanvasView(first.document(), first.selection(), this)) {
  setObjectName(u"secondDrawing"_s);
  m_canvas->setAccessibleName(tr("Canvas of schedule B"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_caption);
  layout->addWidget(m_canvas, 1);
  connect(m_first, &CanvasView::viewChanged, this, [this] { follow(*m_first, *m_canvas); });
  connect(m_canvas, &CanvasView::viewChanged, this, [this] {
    if (m_first) {
      follow(*m_canvas, *m_first);
    }
  });
  // What the first one offers on its elements is offered here too.
  connect(m_canvas, &CanvasView::contextMenuWanted, m_first, &CanvasView::contextMenuWanted);
  connect(m_canvas, &CanvasView::messageRaised, m_first, &CanvasView::messageRaised);
  connect(m_canvas, &CanvasView::activated, m_first, &CanvasView::activated);
}

SecondDrawing::~SecondDrawing() = default;

void SecondDrawing::follow(const CanvasView& leader, CanvasView& follower) {
  // While the whole drawing is shown each fits it into its own half.
  if (m_isFollowing || (leader.keepsFit() && follower.keepsFit()) || !follower.isVisible()) {
    return;
  }
  m_isFollowing = true;
  follower.setViewState(leader.viewState());
  m_isFollowing = false;
}

}  // namespace coppice::designer
