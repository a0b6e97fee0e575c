// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/block_view.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using program::StepPlace;

constexpr int kName = 112;
constexpr int kColumn = 76;
constexpr int kLane = 40;
constexpr QSize kBox(60, 26);
constexpr int kTop = 8;

}  // namespace

BlockView::BlockView(QWidget* parent) : QAbstractScrollArea(parent) {
  setObjectName(u"programBlocks"_s);
  setAccessibleName(tr("Threadblocks of a rank"));
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void BlockView::setReading(ProgramReadingPtr reading) {
  m_reading = std::move(reading);
  m_rank = 0;
  m_current.reset();
  m_faulty.clear();
  if (m_reading) {
    for (const verify::RingStep& step : m_reading->study().ring) {
      m_faulty.insert(step.place);
    }
    if (const auto& wrong = m_reading->study().firstWrong; wrong && wrong->place) {
      m_faulty.insert(*wrong->place);
    }
  }
  arrange();
}

void BlockView::setRank(int rank) {
  if (rank != m_rank) {
    m_rank = rank;
    arrange();
  }
}

void BlockView::setTrees(std::set<TreeRef> trees) {
  m_trees = std::move(trees);
  viewport()->update();
}

void BlockView::setCurrent(std::optional<StepPlace> place) {
  m_current = place;
  if (place) {
    setRank(place->rank);
  }
  bringIntoView();
  viewport()->update();
}

void BlockView::bringIntoView() {
  if (m_current && m_current->rank == m_rank) {
    const QRect box = boxOf(*m_current);
    const QRect room(kName, 0, viewport()->width() - kName, viewport()->height());
    const auto by = [](int from, int to, int min, int max) {
      return from < min ? from - min : to > max ? to - max : 0;
    };
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() +
                                    by(box.left() - kTop, box.right() + kTop, room.left(), room.right()));
    verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                  by(box.top() - kTop, box.bottom() + kTop, room.top(), room.bottom()));
  }
}

void BlockView::arrange() {
  m_columns.clear();
  m_arrows.clear();
  m_columnCount = 0;
  if (m_reading && m_rank < static_cast<int>(m_reading->program().ranks.size())) {
    const auto& blocks = m_reading->program().ranks[m_rank].threadBlocks;
    const auto& study = m_reading->study();
    const auto& replay = study.inPlace ? study.inPlace : study.outOfPlace;
    // Where a step never happens, or nothing is known, it follows the one before.
    std::set<std::uint32_t> rounds;
    std::vector<std::vector<std::optional<std::uint32_t>>> roundOf(blocks.size());
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      for (std::size_t step = 0; step < blocks[block].steps.size(); ++step) {
        const StepPlace place{m_rank, static_cast<int>(block), static_cast<int>(step)};
        std::optional<std::uint32_t> round;
        if (const auto position = replay ? replay->positionAfter(place) : std::nullopt) {
          round = replay->events()[*position - 1].round;
          rounds.insert(*round);
        }
        roundOf[block].push_back(round);
        for (const program::StepLink& link : m_reading->links.waitsFor(place)) {
          if (link.reason == program::WaitReason::flag) {
            m_arrows.push_back({link.place, place});
          }
        }
      }
    }
    const std::vector<std::uint32_t> sorted(rounds.begin(), rounds.end());
    for (const auto& lane : roundOf) {
      std::vector<int>& columns = m_columns.emplace_back();
      for (const auto& round : lane) {
        const int next = columns.empty() ? 0 : columns.back() + 1;
        columns.push_back(
            round ? std::max(next,
                             static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), *round) - sorted.begin()))
                  : next);
        m_columnCount = std::max(m_columnCount, columns.back() + 1);
      }
    }
  }
  updateBars();
  viewport()->update();
}

void BlockView::updateBars() {
  const int wide = kName + m_columnCount * kColumn + kTop;
  const int high = 2 * kTop + static_cast<int>(m_columns.size()) * kLane;
  horizontalScrollBar()->setRange(0, std::max(0, wide - viewport()->width()));
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setSingleStep(kColumn);
  verticalScrollBar()->setRange(0, std::max(0, high - viewport()->height()));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(kLane);
}

void BlockView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  updateBars();
  bringIntoView();
}

QRect BlockView::boxOf(const StepPlace& place) const {
  if (place.rank != m_rank || static_cast<std::size_t>(place.threadBlock) >= m_columns.size() ||
      static_cast<std::size_t>(place.step) >= m_columns[place.threadBlock].size()) {
    return {};
  }
  const int column = m_columns[place.threadBlock][place.step];
  return {QPoint(kName + column * kColumn - horizontalScrollBar()->value(),
                 kTop + place.threadBlock * kLane + (kLane - kBox.height()) / 2 - verticalScrollBar()->value()),
          kBox};
}

std::optional<StepPlace> BlockView::stepAt(const QPoint& position) const {
  const int block = (position.y() + verticalScrollBar()->value() - kTop) / kLane;
  if (position.x() < kName || position.y() + verticalScrollBar()->value() < kTop || block < 0 ||
      block >= static_cast<int>(m_columns.size())) {
    return std::nullopt;
  }
  const auto& columns = m_columns[block];
  const int column = (position.x() - kName + horizontalScrollBar()->value()) / kColumn;
  const auto found = std::lower_bound(columns.begin(), columns.end(), column);
  const StepPlace place{m_rank, block, static_cast<int>(found - columns.begin())};
  return found != columns.end() && boxOf(place).contains(position) ? std::optional(place) : std::nullopt;
}

void BlockView::paintStep(QPainter& painter, const StepPlace& place) const {
  const Theme& theme = Theme::instance();
  const program::ThreadBlock& block = m_reading->program().ranks[place.rank].threadBlocks[place.threadBlock];
  const program::StepType type = block.steps[place.step].type;
  const QRect box = boxOf(place);
  const bool isCurrent = m_current == place;
  const bool isFaulty = m_faulty.count(place) != 0;
  const bool isServing = m_reading->serves(place, m_trees);
  painter.setBrush(isCurrent || isServing ? theme.color(Token::accentSoft) : theme.color(Token::field));
  painter.setPen(QPen(isFaulty                 ? theme.color(Token::error)
                      : isCurrent || isServing ? theme.color(Token::accent)
                                               : theme.color(Token::line),
                      isCurrent || isFaulty ? 2 : 1));
  painter.drawRoundedRect(box, 4, 4);
  painter.setPen(theme.color(Token::text));
  const std::string_view name = program::toString(type);
  painter.drawText(box.adjusted(0, 1, 0, -box.height() / 2 + 1), Qt::AlignCenter,
                   QString::number(place.step) + u' ' + QString::fromUtf8(name.data(), static_cast<int>(name.size())));
  QString peers;
  if (program::receives(type)) {
    peers = u"%1→"_s.arg(block.recvPeer);
  }
  if (program::sends(type)) {
    peers += u"→%1"_s.arg(block.sendPeer);
  }
  painter.setPen(theme.color(Token::muted));
  painter.drawText(box.adjusted(0, box.height() / 2 - 1, 0, -1), Qt::AlignCenter, peers.replace(u"→→"_s, u"→ →"_s));
}

void BlockView::paintArrows(QPainter& painter) const {
  const Theme& theme = Theme::instance();
  for (const Arrow& arrow : m_arrows) {
    const QRect from = boxOf(arrow.from);
    const QRect to = boxOf(arrow.to);
    if (!viewport()->rect().intersects(from.united(to))) {
      continue;
    }
    const bool isOfCurrent = m_current == arrow.from || m_current == arrow.to;
    painter.setPen(QPen(theme.color(isOfCurrent ? Token::accent : Token::muted), isOfCurrent ? 2 : 1));
    painter.setBrush(Qt::NoBrush);
    const bool isDown = to.center().y() >= from.center().y();
    const QPointF start(from.right() - 8, isDown ? from.bottom() : from.top());
    const QPointF end(to.left() + 8, isDown ? to.top() - 1 : to.bottom() + 1);
    const double reach = std::min(60.0, std::abs(end.y() - start.y()) / 2 + 6) * (isDown ? 1 : -1);
    QPainterPath path(start);
    path.cubicTo(start + QPointF(0, reach), end - QPointF(0, reach), end);
    painter.drawPath(path);
    constexpr double kHead = 6;
    const double back = isDown ? -kHead : kHead;
    painter.setBrush(painter.pen().color());
    painter.drawPolygon(QPolygonF{end, end + QPointF(-kHead / 2, back), end + QPointF(kHead / 2, back)});
  }
}

void BlockView::paintEvent(QPaintEvent* /*event*/) {
  const Theme& theme = Theme::instance();
  QPainter painter(viewport());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(viewport()->rect(), theme.color(Token::canvas));
  painter.setFont(figureFont(10.5));
  if (!m_reading || m_columns.empty()) {
    painter.setPen(theme.color(Token::muted));
    painter.drawText(viewport()->rect(), Qt::AlignCenter, tr("This rank has no threadblocks"));
    return;
  }
  const auto& blocks = m_reading->program().ranks[m_rank].threadBlocks;
  const int scroll = verticalScrollBar()->value();
  const int first = std::max(0, (scroll - kTop) / kLane);
  const int last = std::min(static_cast<int>(blocks.size()) - 1, (scroll + viewport()->height()) / kLane);
  painter.setClipRect(QRect(kName - 4, 0, viewport()->width(), viewport()->height()));
  for (int block = first; block <= last; ++block) {
    const auto& columns = m_columns[block];
    const int y = kTop + block * kLane + kLane / 2 - scroll;
    painter.setPen(theme.color(Token::grid));
    painter.drawLine(kName, y, viewport()->width(), y);
    const int left = horizontalScrollBar()->value() / kColumn;
    const int right = (horizontalScrollBar()->value() + viewport()->width()) / kColumn;
    for (auto at = std::lower_bound(columns.begin(), columns.end(), left); at != columns.end() && *at <= right; ++at) {
      paintStep(painter, {m_rank, block, static_cast<int>(at - columns.begin())});
    }
  }
  paintArrows(painter);
  painter.setClipping(false);
  for (int block = first; block <= last; ++block) {
    const program::ThreadBlock& one = blocks[block];
    const QRect name(8, kTop + block * kLane - scroll, kName - 16, kLane);
    painter.setPen(theme.color(Token::text));
    painter.drawText(name.adjusted(0, 4, 0, -kLane / 2), Qt::AlignVCenter | Qt::AlignLeft, tr("tb %1").arg(block));
    painter.setPen(theme.color(Token::muted));
    painter.drawText(name.adjusted(0, kLane / 2 - 2, 0, -4), Qt::AlignVCenter | Qt::AlignLeft,
                     tr("channel %1").arg(one.channel));
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void BlockView::mousePressEvent(QMouseEvent* event) {
  if (const auto place = stepAt(event->position().toPoint())) {
    Q_EMIT chosen(*place);
  }
}

void BlockView::keyPressEvent(QKeyEvent* event) {
  const int along = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  const int across = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
  if ((along == 0 && across == 0) || m_columns.empty()) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  StepPlace place = m_current && m_current->rank == m_rank ? *m_current : StepPlace{m_rank, 0, 0};
  if (m_current == place) {
    place.threadBlock = std::clamp(place.threadBlock + across, 0, static_cast<int>(m_columns.size()) - 1);
    const int steps = static_cast<int>(m_columns[place.threadBlock].size());
    place.step = std::clamp(place.step + along, 0, std::max(0, steps - 1));
  }
  if (program::exists(m_reading->program(), place)) {
    Q_EMIT chosen(place);
  }
}

bool BlockView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto place = stepAt(help->pos())) {
      QToolTip::showText(
          help->globalPos(),
          QString::fromStdString(placeText(*place) + ": " + program::operationText(m_reading->program(), *place)),
          viewport(), boxOf(*place));
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace coppice::designer
