// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/connection_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QScrollBar>
#include <QSplitter>
#include <QVBoxLayout>

#include "designer/run/panel_parts.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

enum Column { kStep, kState, kTime, kResult, kColumns };

QString word(ConnectStep::State state) {
  switch (state) {
    case ConnectStep::State::waiting:
      return {};
    case ConnectStep::State::running:
      return ConnectionPanel::tr("…");
    case ConnectStep::State::done:
      return ConnectionPanel::tr("✓");
    case ConnectStep::State::failed:
      return ConnectionPanel::tr("✗");
    case ConnectStep::State::skipped:
      return ConnectionPanel::tr("–");
  }
  return {};
}

}  // namespace

ConnectionPanel::ConnectionPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_empty(emptyLabel(tr("Choose a machine and press Connect: each step appears here with its time, its command and "
                            "its output."),
                         this)),
      m_steps(new QTreeWidget(this)),
      m_raw(new QPlainTextEdit(this)),
      m_question(new QWidget(this)),
      m_questionText(new QLabel(m_question)) {
  setUpPanel(this, u"connection"_s, tr("Connection"));
  setFocusProxy(m_steps);
  m_steps->setObjectName(u"connectionSteps"_s);
  m_steps->setAccessibleName(tr("Steps"));
  m_steps->setColumnCount(kColumns);
  m_steps->setHeaderLabels({tr("Step"), {}, tr("Time"), tr("Result")});
  m_steps->setRootIsDecorated(false);
  m_steps->setUniformRowHeights(true);
  m_steps->setFrameShape(QFrame::NoFrame);
  m_steps->header()->setStretchLastSection(true);
  for (const int column : {kStep, kState, kTime}) {
    m_steps->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
  }
  m_raw->setObjectName(u"connectionOutput"_s);
  m_raw->setAccessibleName(tr("Command and raw output"));
  m_raw->setReadOnly(true);
  m_raw->setFont(figureFont());
  m_raw->setFrameShape(QFrame::NoFrame);
  m_raw->setLineWrapMode(QPlainTextEdit::WidgetWidth);
  auto* accept = new QPushButton(tr("Accept the Key and Connect"), m_question);
  accept->setObjectName(u"acceptHostKey"_s);
  m_questionText->setWordWrap(true);
  m_questionText->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* ask = new QHBoxLayout(m_question);
  ask->addWidget(m_questionText, 1);
  ask->addWidget(accept);
  m_question->hide();
  auto* splitter = new QSplitter(this);
  splitter->addWidget(m_steps);
  splitter->addWidget(m_raw);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  splitter->setChildrenCollapsible(false);
  m_pages->addWidget(m_empty);
  m_pages->addWidget(splitter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_question);
  layout->addWidget(m_pages, 1);
  connect(accept, &QPushButton::clicked, this, [this] {
    if (m_connection) {
      m_connection->acceptHostKey();
    }
  });
  connect(m_steps, &QTreeWidget::itemClicked, this, [this] { m_isChosen = true; });
  connect(m_steps, &QTreeWidget::currentItemChanged, this, &ConnectionPanel::showStep);
  connect(&Theme::instance(), &Theme::changed, this, &ConnectionPanel::refresh);
}

void ConnectionPanel::setConnection(Connection* connection) {
  if (m_connection == connection) {
    return;
  }
  m_followed.clear();
  m_connection = connection;
  m_isChosen = false;
  m_steps->clear();
  if (m_connection) {
    m_followed.connect(m_connection, &Connection::changed, [this] { refresh(); });
  }
  refresh();
}

void ConnectionPanel::refresh() {
  const bool hasSteps = m_connection && !m_connection->steps().empty();
  m_pages->setCurrentIndex(hasSteps ? 1 : 0);
  const bool isAsking = m_connection && m_connection->state() == Connection::State::needsConsent;
  m_question->setVisible(isAsking);
  if (!hasSteps) {
    return;
  }
  if (isAsking) {
    m_questionText->setText(
        tr("First connection to %1. It presents the key %2. Accept the key only if the owner of the "
           "machine gives you the same fingerprint.")
            .arg(m_connection->machine().title(), m_connection->fingerprints().join(u", "_s)));
  }
  const std::vector<ConnectStep>& steps = m_connection->steps();
  const Theme& theme = Theme::instance();
  const QSignalBlocker quiet(m_steps);
  while (m_steps->topLevelItemCount() < static_cast<int>(steps.size())) {
    new QTreeWidgetItem(m_steps);
  }
  int newest = 0;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const ConnectStep& step = steps[i];
    QTreeWidgetItem* item = m_steps->topLevelItem(i);
    item->setText(kStep, step.title);
    item->setText(kState, word(step.state));
    item->setText(kTime, step.seconds > 0 ? QLocale().toString(step.seconds, 'f', 2) + u" s"_s : QString());
    item->setTextAlignment(kTime, Qt::AlignRight | Qt::AlignVCenter);
    item->setText(kResult, step.fix.isEmpty() ? step.message : step.message + u" — "_s + step.fix);
    item->setToolTip(kResult, step.message + u'\n' + step.fix);
    const bool isQuiet = step.state == ConnectStep::State::waiting || step.state == ConnectStep::State::skipped;
    const Token token =
        step.state == ConnectStep::State::failed ? Token::error : (isQuiet ? Token::muted : Token::text);
    for (int column = 0; column < kColumns; ++column) {
      item->setForeground(column, theme.color(token));
    }
    if (step.state == ConnectStep::State::done) {
      item->setForeground(kState, theme.color(Token::accent));
    }
    if (step.state == ConnectStep::State::failed || step.state == ConnectStep::State::running ||
        (step.state == ConnectStep::State::done)) {
      newest = i;
    }
  }
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    if (steps[i].state == ConnectStep::State::failed) {
      newest = i;
    }
  }
  if (m_connection->state() == Connection::State::connecting && newest == 0) {
    m_isChosen = false;
  }
  if (!m_isChosen || m_steps->currentItem() == nullptr) {
    m_steps->setCurrentItem(m_steps->topLevelItem(newest));
  }
  showStep();
}

void ConnectionPanel::showStep() {
  const int row = m_steps->indexOfTopLevelItem(m_steps->currentItem());
  if (!m_connection || row < 0 || row >= static_cast<int>(m_connection->steps().size())) {
    m_raw->clear();
    return;
  }
  const ConnectStep& step = m_connection->steps()[row];
  QString text;
  // The column of results is too narrow for a whole message.
  if (step.state == ConnectStep::State::failed) {
    for (const QString& line : {step.message, adviceOf(step)}) {
      text += line.isEmpty() ? QString() : line + u'\n';
    }
    text += u'\n';
  }
  if (!step.command.isEmpty()) {
    text += u"$ "_s + step.command + u"\n\n"_s;
  }
  text += step.output;
  if (text != m_raw->toPlainText()) {
    m_raw->setPlainText(text);
  }
}

}  // namespace coppice::designer
