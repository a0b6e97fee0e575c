// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/find/find_bar.hpp"
#include "designer/document/error_text.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QStyle>
#include <algorithm>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// What a person can copy from.
QStringList examples() {
  return {u"bandwidth < 50"_s, u"kind = nic and degree > 2"_s, u"box = \"b0\" and kind = gpu"_s,
          u"name = b*g0"_s,    u"name ~ \"leaf[0-9]+\""_s,     u"in cut"_s,
          u"not selected"_s};
}

}  // namespace

FindBar::FindBar(QWidget* parent)
    : QFrame(parent),
      m_input(new QLineEdit(this)),
      m_state(new QLabel(this)),
      m_previous(new QToolButton(this)),
      m_next(new QToolButton(this)),
      m_all(new QToolButton(this)) {
  setObjectName(u"findBar"_s);
  setProperty("role", u"findbar"_s);
  m_input->setObjectName(u"findInput"_s);
  m_input->setPlaceholderText(tr("Name, or an expression such as bandwidth < 50 or kind = nic and degree > 2"));
  m_input->setAccessibleName(tr("Find"));
  m_input->setClearButtonEnabled(true);
  QAction* lens = m_input->addAction(icon(u"find"_s), QLineEdit::LeadingPosition);
  lens->setToolTip(tr("Examples"));
  connect(lens, &QAction::triggered, this, [this] {
    QMenu menu(this);
    for (const QString& example : examples()) {
      connect(menu.addAction(example), &QAction::triggered, this, [this, example] {
        m_input->setText(example);
        m_input->setFocus();
      });
    }
    menu.exec(mapToGlobal(QPoint(0, -menu.sizeHint().height())));
  });
  m_input->setToolTip(
      tr("Fields: name, kind, box, from, to, bandwidth, degree, rank, count, latency, gpus\n"
         "Comparisons: = != < <= > >= and ~ for regular expressions; * and ? in names\n"
         "Also: in cut, selected, and, or, not, parentheses\n"
         "Enter: next match · Shift+Enter: previous match · Esc: close"));
  m_state->setObjectName(u"findState"_s);
  const auto button = [&](QToolButton* tool, const QString& name, const QString& picture, const QString& text,
                          const QString& tip) {
    tool->setObjectName(name);
    tool->setAutoRaise(true);
    tool->setAccessibleName(tip);
    tool->setToolTip(tip);
    if (picture.isEmpty()) {
      tool->setText(text);
    } else {
      tool->setIcon(icon(picture));
    }
  };
  button(m_previous, u"findPrevious"_s, u"previous"_s, {}, tr("Previous match (Shift+Enter)"));
  button(m_next, u"findNext"_s, u"next"_s, {}, tr("Next match (Enter)"));
  button(m_all, u"findAll"_s, {}, tr("Select all"), tr("Select all matches (Alt+Enter)"));
  auto* close = new QToolButton(this);
  button(close, u"findClose"_s, u"close"_s, {}, tr("Close (Esc)"));
  auto* layout = new QHBoxLayout(this);
  constexpr QMargins kMargins(10, 6, 8, 6);
  layout->setContentsMargins(kMargins);
  constexpr int kGap = 6;
  layout->setSpacing(kGap);
  constexpr int kInput = 420;
  m_input->setMinimumWidth(kInput / 2);
  layout->addWidget(m_input, 2);
  layout->addWidget(m_state, 1);
  layout->addWidget(m_all);
  layout->addWidget(m_previous);
  layout->addWidget(m_next);
  layout->addWidget(close);
  m_timer.setSingleShot(true);
  m_timer.setInterval(150ms);
  connect(&m_timer, &QTimer::timeout, this, &FindBar::search);
  connect(m_input, &QLineEdit::textChanged, this, [this] { search(); });
  connect(m_previous, &QToolButton::clicked, this, [this] { goNext(-1); });
  connect(m_next, &QToolButton::clicked, this, [this] { goNext(1); });
  connect(m_all, &QToolButton::clicked, this, &FindBar::selectAll);
  connect(close, &QToolButton::clicked, this, &FindBar::finish);
  m_input->installEventFilter(this);
  hide();
}

void FindBar::setContext(EditorContext* editor) {
  m_editor = editor;
  m_followed.clear();
  if (m_editor) {
    m_followed.connect(&m_editor->document(), &Document::changed, [this] {
      if (isVisible()) {
        m_timer.start();
      }
    });
    m_followed.connect(m_editor, &EditorContext::shownCutChanged, [this] {
      if (isVisible()) {
        m_timer.start();
      }
    });
    if (isVisible()) {
      search();
    }
  } else {
    hide();
  }
}

void FindBar::start() {
  show();
  m_input->setFocus(Qt::ShortcutFocusReason);
  m_input->selectAll();
  search();
}

void FindBar::search() {
  m_hits.clear();
  m_at = -1;
  m_fault.clear();
  if (m_editor && !m_input->text().trimmed().isEmpty()) {
    if (const auto query = Query::parse(m_input->text())) {
      m_hits = query->hits(m_editor->queryContext());
      const auto here = std::find(m_hits.begin(), m_hits.end(), m_editor->selection().current());
      m_at = here != m_hits.end() ? here - m_hits.begin() : -1;
    } else {
      m_fault = sentence(query.error());
    }
  }
  refresh();
}

void FindBar::refresh() {
  const bool hasText = !m_input->text().trimmed().isEmpty();
  const auto count = static_cast<qsizetype>(m_hits.size());
  if (!m_fault.isEmpty()) {
    m_state->setText(m_fault);
  } else if (!hasText) {
    m_state->clear();
  } else if (m_at >= 0) {
    m_state->setText(tr("%1 of %2").arg(m_at + 1).arg(count));
  } else {
    m_state->setText(count == 0 ? tr("no match") : counted(count, tr("match"), tr("matches")));
  }
  const bool isFault = !m_fault.isEmpty();
  for (QWidget* widget : {static_cast<QWidget*>(m_input), static_cast<QWidget*>(m_state)}) {
    const char* property = widget == m_input ? "invalid" : "role";
    const QVariant value = widget == m_input ? QVariant(isFault) : QVariant(isFault ? u"error"_s : u"muted"_s);
    if (widget->property(property) != value) {
      widget->setProperty(property, value);
      widget->style()->unpolish(widget);
      widget->style()->polish(widget);
    }
  }
  for (QToolButton* button : {m_previous, m_next, m_all}) {
    button->setEnabled(count > 0);
  }
}

void FindBar::goNext(int by) {
  if (!m_editor || m_hits.empty()) {
    return;
  }
  const auto count = static_cast<qsizetype>(m_hits.size());
  m_at = m_at < 0 ? (by > 0 ? 0 : count - 1) : (m_at + by + count) % count;
  m_editor->goTo(m_hits[m_at]);
  refresh();
}

void FindBar::selectAll() {
  if (m_editor && !m_hits.empty()) {
    m_editor->selection().set({m_hits.begin(), m_hits.end()});
    m_editor->canvas().zoomToSelection();
  }
}

void FindBar::finish() {
  hide();
  Q_EMIT closed();
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    finish();
    return;
  }
  QFrame::keyPressEvent(event);
}

bool FindBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_input && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<const QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      if (m_timer.isActive()) {
        m_timer.stop();
        search();
      }
      if (key->modifiers().testFlag(Qt::AltModifier)) {
        selectAll();
      } else {
        goNext(key->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
      }
      return true;
    }
  }
  return QFrame::eventFilter(watched, event);
}

}  // namespace coppice::designer
