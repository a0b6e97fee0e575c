// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/popups.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>
#include <array>

#include "base/units.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {

Popup::Popup(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("canvasPopup"));
  setAttribute(Qt::WA_DeleteOnClose);
  const Colors& colors = Theme::instance().colors();
  setStyleSheet(QStringLiteral("QFrame#canvasPopup { background: %1; border: 1px solid %2; border-radius: 8px; }")
                    .arg(colors[Token::panel].name(), colors[Token::boxLine].name()));
}

void Popup::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    finish();
    return;
  }
  QFrame::keyPressEvent(event);
}

void Popup::finish() {
  if (parentWidget() != nullptr) {
    parentWidget()->setFocus();
  }
  close();
}

BandwidthPopup::BandwidthPopup(const QString& initial, std::function<void(const std::string&)> done, QWidget* parent)
    : Popup(parent), m_field(new QLineEdit(initial, this)), m_meaning(new QLabel(this)), m_done(std::move(done)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->setSpacing(4);
  layout->addWidget(m_field);
  layout->addWidget(m_meaning);
  m_field->setAccessibleName(tr("Bandwidth"));
  m_field->setPlaceholderText(tr("400Gb/s, 12x25 GB/s, 50"));
  m_field->setMinimumWidth(190);
  m_field->selectAll();
  setFocusProxy(m_field);
  connect(m_field, &QLineEdit::textChanged, this, &BandwidthPopup::check);
  connect(m_field, &QLineEdit::returnPressed, this, &BandwidthPopup::take);
  check();
}

void BandwidthPopup::check() {
  const auto parsed = Bandwidth::parse(m_field->text().trimmed().toStdString());
  const bool isGood = parsed && parsed->isPositive();
  m_meaning->setProperty("role", isGood ? "muted" : "error");
  m_meaning->style()->polish(m_meaning);
  m_meaning->setText(isGood    ? tr("= %1 GB/s per direction").arg(QString::fromStdString(toExactText(*parsed)))
                     : !parsed ? QString::fromStdString(parsed.error().message)
                               : tr("Must be above 0"));
  adjustSize();
}

void BandwidthPopup::take() {
  const std::string text = m_field->text().trimmed().toStdString();
  const auto parsed = Bandwidth::parse(text);
  if (!parsed || !parsed->isPositive()) {
    return;
  }
  const auto done = m_done;
  finish();
  done(text);
}

NamePopup::NamePopup(const QString& initial, std::function<QString(const QString&)> fault,
                     std::function<void(const QString&)> done, QWidget* parent)
    : Popup(parent),
      m_field(new QLineEdit(initial, this)),
      m_wrong(new QLabel(this)),
      m_initial(initial),
      m_fault(std::move(fault)),
      m_taken(std::move(done)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->setSpacing(4);
  layout->addWidget(m_field);
  layout->addWidget(m_wrong);
  m_field->setObjectName(QStringLiteral("canvasName"));
  m_field->setAccessibleName(tr("Name"));
  m_field->setMinimumWidth(190);
  m_field->selectAll();
  m_wrong->setProperty("role", "error");
  m_wrong->hide();
  setFocusProxy(m_field);
  connect(m_field, &QLineEdit::textChanged, this, [this](const QString& text) {
    m_wrong->setText(text == m_initial ? QString() : m_fault(text.trimmed()));
    m_wrong->setVisible(!m_wrong->text().isEmpty());
    adjustSize();
  });
  connect(m_field, &QLineEdit::returnPressed, this, &NamePopup::take);
  m_field->installEventFilter(this);
}

bool NamePopup::eventFilter(QObject* object, QEvent* event) {
  if (object == m_field && event->type() == QEvent::FocusOut) {
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    if (reason == Qt::ActiveWindowFocusReason && parentWidget() != nullptr) {
      // A dialog opens; when it has closed, the keys are for the canvas.
      parentWidget()->setFocus();
    }
    if (reason != Qt::PopupFocusReason) {
      m_wrong->text().isEmpty() ? take() : static_cast<void>(close());
    }
  }
  return Popup::eventFilter(object, event);
}

void NamePopup::keyPressEvent(QKeyEvent* event) {
  m_isDone = m_isDone || event->key() == Qt::Key_Escape;
  Popup::keyPressEvent(event);
}

void NamePopup::take() {
  if (m_isDone || !m_wrong->text().isEmpty()) {
    return;
  }
  m_isDone = true;
  const QString name = m_field->text().trimmed();
  const bool isNew = name != m_initial;
  const auto taken = m_taken;
  // Where the focus has gone elsewhere it stays there.
  if (m_field->hasFocus()) {
    finish();
  } else {
    close();
  }
  if (isNew) {
    taken(name);
  }
}

PatternPopup::PatternPopup(std::function<void(edits::LinkPattern)> done, QWidget* parent)
    : Popup(parent), m_done(std::move(done)) {
  struct Choice {
    edits::LinkPattern pattern;
    const char* icon;
    QString text;
  };
  const std::array<Choice, 5> choices{{{edits::LinkPattern::allToAll, "all-to-all", tr("All to all")},
                                       {edits::LinkPattern::oneToOne, "one-to-one", tr("One to one")},
                                       {edits::LinkPattern::roundRobin, "round-robin", tr("Round robin")},
                                       {edits::LinkPattern::rail, "rail", tr("Rail")},
                                       {edits::LinkPattern::ring, "ring", tr("Ring")}}};
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->setSpacing(2);
  for (const Choice& choice : choices) {
    auto* button = new QToolButton(this);
    button->setIcon(icon(QLatin1String(choice.icon)));
    button->setIconSize(QSize(24, 24));
    button->setText(choice.text);
    button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::StrongFocus);
    connect(button, &QToolButton::clicked, this, [this, pattern = choice.pattern] {
      const auto chosen = m_done;
      finish();
      chosen(pattern);
    });
    layout->addWidget(button);
    if (focusProxy() == nullptr) {
      setFocusProxy(button);
    }
  }
}

TextPopup::TextPopup(const QString& initial, std::function<void(const QString&)> done, QWidget* parent)
    : Popup(parent), m_field(new QPlainTextEdit(initial, this)), m_initial(initial), m_done(std::move(done)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(m_field);
  m_field->setAccessibleName(tr("Note"));
  m_field->setPlaceholderText(tr("Text of the note"));
  m_field->setFixedSize(240, 90);
  m_field->selectAll();
  m_field->installEventFilter(this);
  setFocusProxy(m_field);
}

TextPopup::~TextPopup() {
  const QString text = m_field->toPlainText().trimmed();
  if (!m_isDropped && text != m_initial.trimmed()) {
    m_done(text);
  }
}

bool TextPopup::eventFilter(QObject* object, QEvent* event) {
  if (object == m_field && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Escape) {
      m_isDropped = true;
      finish();
      return true;
    }
    if ((key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) &&
        key->modifiers().testFlag(Qt::ControlModifier)) {
      finish();
      return true;
    }
  }
  return Popup::eventFilter(object, event);
}

}  // namespace coppice::designer
