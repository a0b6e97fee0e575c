// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/buffer_view.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <utility>

#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using program::Buffer;
using verify::SlotContent;

constexpr int kBufferBox = 26;
constexpr int kStep = 30;
constexpr int kMargin = 10;
constexpr int kTitle = 20;

QString titleOf(Buffer buffer, bool isShared) {
  switch (buffer) {
    case Buffer::input:
      return isShared ? BufferView::tr("Input and output, in place") : BufferView::tr("Input");
    case Buffer::output:
      return isShared ? BufferView::tr("Output and input, in place") : BufferView::tr("Output");
    case Buffer::scratch:
      return BufferView::tr("Scratch");
  }
  return {};
}

}  // namespace

BufferView::BufferView(QWidget* parent) : QAbstractScrollArea(parent) {
  setObjectName(u"programBuffers"_s);
  setAccessibleName(tr("Chunks in the buffers"));
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void BufferView::setReplay(std::shared_ptr<const verify::ProgramReplay> replay, int ranks) {
  m_replay = std::move(replay);
  m_ranks = ranks;
  m_slots.clear();
  m_sections.clear();
  m_chosen = -1;
  arrange();
}

void BufferView::showMoment(int rank, std::size_t position) {
  const bool isOther = rank != m_rank;
  m_rank = rank;
  m_position = position;
  m_slots.clear();
  m_sections.clear();
  if (m_replay) {
    std::vector<Buffer> buffers{Buffer::input, Buffer::output, Buffer::scratch};
    if (m_replay->inPlace()) {
      // One memory: the longer buffer holds the other.
      const bool isInput = m_replay->size(rank, Buffer::input) > m_replay->size(rank, Buffer::output);
      buffers.erase(buffers.begin() + (isInput ? 1 : 0));
    }
    for (const Buffer buffer : buffers) {
      const auto contents = m_replay->contents(rank, buffer, position);
      if (contents.empty()) {
        continue;
      }
      m_sections.push_back({titleOf(buffer, m_replay->inPlace() && buffer != Buffer::scratch),
                            static_cast<int>(m_slots.size()), static_cast<int>(contents.size())});
      for (std::size_t at = 0; at < contents.size(); ++at) {
        m_slots.push_back({buffer, static_cast<int>(at), contents[at]});
      }
    }
  }
  if (isOther || m_chosen >= slotCount()) {
    m_chosen = -1;
  }
  for (int slot = 0; slot < slotCount() && m_chosen < 0; ++slot) {
    const auto& writer = contentOf(slot).writer;
    m_chosen = writer && *writer + 1 == position ? slot : -1;
  }
  arrange();
  Q_EMIT chosenChanged(chosenText());
}

void BufferView::arrange() {
  m_columns = std::max(1, (viewport()->width() - 2 * kMargin) / kStep);
  int top = kMargin / 2;
  for (Section& section : m_sections) {
    section.top = top;
    top += kTitle + (section.count + m_columns - 1) / m_columns * kStep + kMargin;
  }
  verticalScrollBar()->setRange(0, std::max(0, top - viewport()->height()));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(kStep);
  viewport()->update();
}

void BufferView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  arrange();
}

QRect BufferView::boxOf(int slot) const {
  for (const Section& section : m_sections) {
    if (slot >= section.first && slot < section.first + section.count) {
      const int at = slot - section.first;
      return {kMargin + at % m_columns * kStep,
              section.top + kTitle + at / m_columns * kStep - verticalScrollBar()->value(), kBufferBox, kBufferBox};
    }
  }
  return {};
}

int BufferView::slotAt(const QPoint& position) const {
  const int column = (position.x() - kMargin) / kStep;
  for (const Section& section : m_sections) {
    const int row = (position.y() + verticalScrollBar()->value() - section.top - kTitle) / kStep;
    const int at = row * m_columns + column;
    if (position.x() >= kMargin && row >= 0 && column < m_columns && at < section.count &&
        boxOf(section.first + at).contains(position)) {
      return section.first + at;
    }
  }
  return -1;
}

QString BufferView::nameOf(int slot) const {
  const Slot& one = m_slots[slot];
  return QString::fromStdString(program::slotText({one.buffer, one.offset}, 1));
}

QString BufferView::textOf(int slot) const {
  const SlotContent& content = contentOf(slot);
  QString text = tr("%1 of rank %2 holds %3").arg(nameOf(slot)).arg(m_rank).arg(QString::fromStdString(content.text));
  if (content.writer) {
    text += tr(", written by %1").arg(QString::fromStdString(placeText(m_replay->events()[*content.writer].place)));
  }
  if (content.isFinal) {
    text += tr(". That is its result");
  } else if (!content.wanted.empty()) {
    text += tr(". Its result is %1").arg(QString::fromStdString(content.wanted));
  }
  return text + u'.';
}

QString BufferView::chosenText() const {
  return m_chosen >= 0 && m_chosen < slotCount() ? textOf(m_chosen) : QString();
}

void BufferView::choose(int slot) {
  m_chosen = slot >= 0 && slot < slotCount() ? slot : -1;
  if (m_chosen >= 0) {
    const QRect box = boxOf(m_chosen);
    if (box.top() < 0) {
      verticalScrollBar()->setValue(verticalScrollBar()->value() + box.top() - kMargin);
    } else if (box.bottom() > viewport()->height()) {
      verticalScrollBar()->setValue(verticalScrollBar()->value() + box.bottom() - viewport()->height() + kMargin);
    }
  }
  viewport()->update();
  Q_EMIT chosenChanged(chosenText());
}

void BufferView::paintSlot(QPainter& painter, int slot) const {
  const Theme& theme = Theme::instance();
  const SlotContent& content = contentOf(slot);
  const QRectF box = QRectF(boxOf(slot)).adjusted(0.5, 0.5, -0.5, -0.5);
  QColor fill = theme.color(Token::field);
  QString text;
  painter.setPen(Qt::NoPen);
  painter.setBrush(fill);
  painter.drawRoundedRect(box, 3, 3);
  if (content.kind == SlotContent::Kind::one || content.kind == SlotContent::Kind::sum) {
    const bool isSum = content.kind == SlotContent::Kind::sum;
    const double share = isSum ? static_cast<double>(content.ranks.size()) / m_ranks : 1.0;
    const QColor color = isSum ? theme.color(Token::accent) : category(content.ranks.front(), theme.scheme());
    QRectF filled = box;
    filled.setTop(box.bottom() - share * box.height());
    painter.setBrush(color);
    painter.drawRoundedRect(filled, 3, 3);
    text = QString::number(isSum ? static_cast<int>(content.ranks.size()) : content.ranks.front());
    if (isSum) {
      text.prepend(u'Σ');
    }
    constexpr double kHalf = 0.5;
    fill = share > kHalf ? color : fill;
  } else if (content.kind == SlotContent::Kind::flawed) {
    painter.setBrush(theme.color(Token::error));
    painter.drawRoundedRect(box, 3, 3);
    fill = theme.color(Token::error);
    text = u"!"_s;
  }
  if (!text.isEmpty()) {
    constexpr double kReadable = 3;
    painter.setPen(contrast(fill, QColor(Qt::white)) > kReadable ? QColor(Qt::white) : QColor(Qt::black));
    painter.drawText(box, Qt::AlignCenter, text);
  }
  // What was written by the very last event stands out.
  const bool isNew = content.writer && *content.writer + 1 == m_position;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.color(slot == m_chosen ? Token::text
                                  : isNew          ? Token::accent
                                                   : Token::line),
                      slot == m_chosen || isNew ? 2 : 1));
  painter.drawRoundedRect(box, 3, 3);
  if (content.isFinal) {  // a small square in the corner: as it must be in the end
    painter.setPen(QPen(theme.color(Token::field), 1));
    painter.setBrush(theme.color(Token::text));
    painter.drawRect(QRectF(box.right() - 7, box.top() + 2, 5, 5));
  }
}

void BufferView::paintEvent(QPaintEvent* /*event*/) {
  const Theme& theme = Theme::instance();
  QPainter painter(viewport());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(viewport()->rect(), theme.color(Token::canvas));
  for (const Section& section : m_sections) {
    const int top = section.top - verticalScrollBar()->value();
    painter.setFont(uiFont(12, QFont::DemiBold));
    painter.setPen(theme.color(Token::muted));
    painter.drawText(QRect(kMargin, top, viewport()->width() - 2 * kMargin, kTitle), Qt::AlignVCenter | Qt::AlignLeft,
                     section.title);
    painter.setFont(figureFont(10.5));
    // Only the rows in view.
    const int above = std::max(0, -(top + kTitle) / kStep);
    const int below = (viewport()->height() - top - kTitle) / kStep + 1;
    const int past = std::min(section.count, std::max(0, below) * m_columns);
    for (int at = above * m_columns; at < past; ++at) {
      paintSlot(painter, section.first + at);
    }
  }
  if (m_slots.empty()) {
    painter.setPen(theme.color(Token::muted));
    painter.drawText(viewport()->rect(), Qt::AlignCenter, tr("The program cannot be played"));
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void BufferView::mousePressEvent(QMouseEvent* event) {
  choose(slotAt(event->position().toPoint()));
}

void BufferView::mouseDoubleClickEvent(QMouseEvent* event) {
  choose(slotAt(event->position().toPoint()));
  goToWriter();
}

void BufferView::goToWriter() {
  if (m_chosen >= 0 && contentOf(m_chosen).writer) {
    Q_EMIT writerWanted(m_replay->events()[*contentOf(m_chosen).writer].place);
  }
}

void BufferView::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Right  ? 1
                 : event->key() == Qt::Key_Left ? -1
                 : event->key() == Qt::Key_Down ? m_columns
                 : event->key() == Qt::Key_Up   ? -m_columns
                                                : 0;
  if (by != 0 && slotCount() > 0) {
    choose(m_chosen < 0 ? 0 : std::clamp(m_chosen + by, 0, slotCount() - 1));
  } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    goToWriter();
  } else {
    QAbstractScrollArea::keyPressEvent(event);
  }
}

bool BufferView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int slot = slotAt(help->pos());
    if (slot >= 0) {
      QToolTip::showText(help->globalPos(), textOf(slot), viewport(), boxOf(slot));
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace coppice::designer
