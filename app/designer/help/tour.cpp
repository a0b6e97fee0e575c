// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/help/tour.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kBubbleWidth = 340;
constexpr int kGap = 14;
constexpr int kHoleMargin = 4;

}  // namespace

Tour::Tour(QWidget* window, std::vector<TourStep> steps, const QString& leave)
    : QWidget(window),
      m_steps(std::move(steps)),
      m_bubble(new QFrame(this)),
      m_title(new QLabel(m_bubble)),
      m_text(new QLabel(m_bubble)),
      m_count(new QLabel(m_bubble)),
      m_skip(new QPushButton(leave, m_bubble)),
      m_back(new QPushButton(tr("&Back"), m_bubble)),
      m_next(new QPushButton(tr("&Next"), m_bubble)) {
  setObjectName(u"tour"_s);
  setFocusPolicy(Qt::StrongFocus);
  hide();
  m_bubble->setObjectName(u"tourBubble"_s);
  m_bubble->setFixedWidth(kBubbleWidth);
  constexpr double kTitlePixels = 16;
  m_title->setFont(uiFont(kTitlePixels, QFont::DemiBold));
  m_title->setWordWrap(true);
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_count->setProperty("role", u"muted"_s);
  m_next->setObjectName(u"tourNext"_s);
  m_back->setObjectName(u"tourBack"_s);
  m_skip->setObjectName(u"tourSkip"_s);
  m_next->setProperty("role", u"primary"_s);
  for (QPushButton* button : {m_skip, m_back, m_next}) {
    button->setAutoDefault(false);
  }
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_skip);
  buttons->addStretch();
  buttons->addWidget(m_count);
  buttons->addWidget(m_back);
  buttons->addWidget(m_next);
  auto* layout = new QVBoxLayout(m_bubble);
  constexpr int kMargin = 18;
  layout->setContentsMargins(kMargin, kMargin - 2, kMargin, kMargin - 4);
  layout->addWidget(m_title);
  layout->addWidget(m_text);
  layout->addSpacing(6);
  layout->addLayout(buttons);
  const auto color = [this] {
    const Colors& colors = Theme::instance().colors();
    m_bubble->setStyleSheet(u"#tourBubble { background: %1; border: 1px solid %2; border-radius: 10px; }"_s.arg(
        colors[Token::panel].name(), colors[Token::accent].name()));
  };
  color();
  connect(&Theme::instance(), &Theme::changed, this, color);
  connect(m_skip, &QPushButton::clicked, this, [this] { end(false); });
  connect(m_back, &QPushButton::clicked, this, [this] { goTo(m_step - 1); });
  connect(m_next, &QPushButton::clicked, this, [this] { goTo(m_step + 1); });
  window->installEventFilter(this);
}

void Tour::start() {
  setGeometry(parentWidget()->rect());
  raise();
  show();
  goTo(0);
}

void Tour::end(bool isComplete) {
  parentWidget()->removeEventFilter(this);
  hide();
  Q_EMIT finished(isComplete);
  deleteLater();
}

void Tour::goTo(int step) {
  if (step < 0) {
    return;
  }
  if (step >= stepCount()) {
    end(true);
    return;
  }
  m_step = step;
  const TourStep& now = m_steps[step];
  if (now.enter) {
    now.enter();
  }
  m_title->setText(now.title);
  m_text->setText(now.text);
  m_count->setText(tr("%1 of %2").arg(step + 1).arg(stepCount()));
  m_bubble->setAccessibleName(now.title);
  m_bubble->setAccessibleDescription(now.text);
  m_back->setEnabled(step > 0);
  const bool isLast = step + 1 == stepCount();
  m_next->setText(isLast ? tr("&Done") : tr("&Next"));
  m_skip->setVisible(!isLast);
  place();
  m_next->setFocus();
  // What enter() has set going, docks for instance, takes its place when events have been handled.
  QTimer::singleShot(0, this, &Tour::place);
}

void Tour::place() {
  if (m_step < 0) {
    return;
  }
  setGeometry(parentWidget()->rect());
  raise();
  const TourStep& now = m_steps[m_step];
  const QWidget* target = now.target ? now.target() : nullptr;
  m_hole = {};
  if (target != nullptr && target->isVisible() && target->window() == window()) {
    m_hole = QRect(target->mapTo(window(), QPoint()), target->size())
                 .adjusted(-kHoleMargin, -kHoleMargin, kHoleMargin, kHoleMargin)
                 .intersected(rect());
  }
  // With the frame's own border, which leaves the text less width, and with its font, which is set by a style sheet.
  for (QWidget* widget : m_bubble->findChildren<QWidget*>()) {
    widget->ensurePolished();
  }
  m_bubble->ensurePolished();
  m_bubble->layout()->invalidate();
  m_bubble->setFixedHeight(m_bubble->layout()->totalHeightForWidth(kBubbleWidth));
  const QSize size = m_bubble->size();
  // The side with the most room; inside, where there is none beside.
  const std::array<std::pair<int, QPoint>, 4> sides{{
      {width() - m_hole.right() - size.width(), QPoint(m_hole.right() + kGap, m_hole.center().y() - size.height() / 2)},
      {m_hole.left() - size.width(),
       QPoint(m_hole.left() - kGap - size.width(), m_hole.center().y() - size.height() / 2)},
      {height() - m_hole.bottom() - size.height(),
       QPoint(m_hole.center().x() - size.width() / 2, m_hole.bottom() + kGap)},
      {m_hole.top() - size.height(),
       QPoint(m_hole.center().x() - size.width() / 2, m_hole.top() - kGap - size.height())},
  }};
  const auto best =
      std::max_element(sides.begin(), sides.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  QPoint at = rect().center() - QPoint(size.width() / 2, size.height() / 2);
  if (!m_hole.isEmpty()) {
    at = best->first > 2 * kGap
             ? best->second
             : QPoint(m_hole.right() - size.width() - 2 * kGap, m_hole.bottom() - size.height() - 2 * kGap);
  }
  at.setX(std::clamp(at.x(), kGap, std::max(kGap, width() - size.width() - kGap)));
  at.setY(std::clamp(at.y(), kGap, std::max(kGap, height() - size.height() - kGap)));
  m_bubble->move(at);
  // What is not covered can be used.
  setMask(QRegion(rect()) - QRegion(m_hole) + QRegion(m_bubble->geometry()));
  update();
}

void Tour::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const Colors& colors = Theme::instance().colors();
  QPainterPath dim;
  dim.addRect(rect());
  if (!m_hole.isEmpty()) {
    dim.addRect(m_hole);
  }
  QColor shade(colors.isDark() ? colors[Token::canvas] : colors[Token::text]);
  shade.setAlphaF(colors.isDark() ? 0.62F : 0.34F);
  painter.fillPath(dim, shade);
  if (!m_hole.isEmpty()) {
    painter.setPen(QPen(colors[Token::accent], 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(m_hole).adjusted(-1, -1, 1, 1));
  }
}

bool Tour::event(QEvent* event) {
  // Keys that steer the tour are not shortcuts of the window meanwhile.
  if (event->type() == QEvent::ShortcutOverride) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape || key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Return ||
        key == Qt::Key_Enter || key == Qt::Key_Tab || key == Qt::Key_Backtab) {
      event->accept();
      return true;
    }
  }
  return QWidget::event(event);
}

bool Tour::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest)) {
    QTimer::singleShot(0, this, &Tour::place);
  }
  return QWidget::eventFilter(watched, event);
}

void Tour::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:
      end(false);
      break;
    case Qt::Key_Left:
      goTo(m_step - 1);
      break;
    case Qt::Key_Right:
      goTo(m_step + 1);
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (auto* button = qobject_cast<QPushButton*>(focusWidget())) {
        button->click();
      } else {
        goTo(m_step + 1);
      }
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool Tour::focusNextPrevChild(bool isNext) {
  // Round among the buttons; what is dimmed is not for the keyboard either.
  std::vector<QPushButton*> buttons;
  for (QPushButton* button : {m_skip, m_back, m_next}) {
    if (button->isEnabled() && button->isVisible()) {
      buttons.push_back(button);
    }
  }
  if (buttons.empty()) {
    // The tour is over, and the keyboard goes back to the window.
    return QWidget::focusNextPrevChild(isNext);
  }
  const auto found = std::find(buttons.begin(), buttons.end(), focusWidget());
  const std::ptrdiff_t at = found == buttons.end() ? 0 : found - buttons.begin();
  const auto count = static_cast<std::ptrdiff_t>(buttons.size());
  buttons[(at + (isNext ? 1 : count - 1)) % count]->setFocus(Qt::TabFocusReason);
  return true;
}

}  // namespace coppice::designer
