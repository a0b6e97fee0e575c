// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/log_panel.hpp"

#include <QHBoxLayout>
#include <QScrollBar>
#include <QTextBlock>
#include <QVBoxLayout>
#include <utility>

#include "designer/run/panel_parts.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

LogPanel::LogPanel(QWidget* parent)
    : QWidget(parent),
      m_filter(new QLineEdit(this)),
      m_severity(new QComboBox(this)),
      m_follows(new QCheckBox(tr("Follow"), this)),
      m_text(new QPlainTextEdit(this)) {
  setUpPanel(this, u"runLog"_s, tr("Run log"));
  m_filter->setObjectName(u"logFilter"_s);
  m_filter->setPlaceholderText(tr("Only lines with…"));
  m_filter->setAccessibleName(tr("Filter"));
  m_filter->setClearButtonEnabled(true);
  m_severity->addItem(tr("everything"), static_cast<int>(Severity::note));
  m_severity->addItem(tr("warnings and errors"), static_cast<int>(Severity::warning));
  m_severity->addItem(tr("errors"), static_cast<int>(Severity::error));
  m_severity->setAccessibleName(tr("Severity"));
  m_follows->setChecked(true);
  m_follows->setToolTip(tr("Keep the newest line visible"));
  m_text->setObjectName(u"logText"_s);
  m_text->setAccessibleName(tr("Log"));
  m_text->setReadOnly(true);
  m_text->setUndoRedoEnabled(false);
  m_text->setFont(figureFont());
  m_text->setFrameShape(QFrame::NoFrame);
  constexpr int kMaxBlocks = 20'000;
  m_text->setMaximumBlockCount(kMaxBlocks);
  auto* save = plainButton(u"logSave"_s, tr("Save…"), tr("The lines shown, as a text file"), this);
  auto* error = plainButton(u"logError"_s, tr("Next Error"), tr("Go to the next line that is an error"), this);
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  head->setContentsMargins(kMargin, kSmall, kMargin, kSmall);
  head->setSpacing(kSmall);
  head->addWidget(m_filter, 1);
  head->addWidget(m_severity);
  head->addWidget(m_follows);
  head->addWidget(error);
  head->addWidget(save);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(head);
  layout->addWidget(m_text, 1);
  connect(m_filter, &QLineEdit::textChanged, this, &LogPanel::rebuild);
  connect(m_severity, &QComboBox::currentIndexChanged, this, &LogPanel::rebuild);
  connect(save, &QToolButton::clicked, this,
          [this] { Q_EMIT saveWanted(u"run.log"_s, m_text->toPlainText().toUtf8()); });
  connect(error, &QToolButton::clicked, this, [this] {
    m_follows->setChecked(false);
    QTextBlock block = m_text->textCursor().block().next();
    for (int i = 0; i <= m_text->blockCount(); ++i) {
      if (!block.isValid()) {
        block = m_text->document()->begin();
      }
      if (block.userState() == static_cast<int>(Severity::error)) {
        QTextCursor cursor(block);
        cursor.select(QTextCursor::LineUnderCursor);
        m_text->setTextCursor(cursor);
        m_text->centerCursor();
        return;
      }
      block = block.next();
    }
  });
  connect(&Theme::instance(), &Theme::changed, this, &LogPanel::rebuild);
  rebuild();
}

void LogPanel::setRun(std::shared_ptr<const RunData> run) {
  if (m_data == run) {
    follow();
    return;
  }
  m_data = std::move(run);
  rebuild();
}

bool LogPanel::isShown(const LogLine& line) const {
  return static_cast<int>(line.severity) >= m_severity->currentData().toInt() &&
         (m_filter->text().isEmpty() || plain(line).contains(m_filter->text(), Qt::CaseInsensitive));
}

QString LogPanel::plain(const LogLine& line) {
  return line.source.isEmpty() ? line.text : line.source + u": "_s + line.text;
}

void LogPanel::append(const LogLine& line) {
  if (!isShown(line)) {
    return;
  }
  QTextCharFormat format;
  const Token token = line.severity == Severity::error     ? Token::error
                      : line.severity == Severity::warning ? Token::warning
                                                           : Token::text;
  format.setForeground(Theme::instance().color(token));
  QTextCursor cursor(m_text->document());
  cursor.movePosition(QTextCursor::End);
  if (!m_text->document()->isEmpty()) {
    cursor.insertBlock();
  }
  cursor.block().setUserState(static_cast<int>(line.severity));
  cursor.insertText(plain(line), format);
}

void LogPanel::rebuild() {
  m_text->clear();
  m_text->setPlaceholderText(m_data ? tr("This run has written no messages. Its times are under Results.")
                                    : tr("The output of a run and its machine appears here."));
  m_next = m_data ? m_data->forgottenLines() : 0;
  follow();
}

void LogPanel::follow() {
  if (!m_data) {
    return;
  }
  const qint64 first = m_data->forgottenLines();
  const qint64 past = first + static_cast<qint64>(m_data->log().size());
  QScrollBar* bar = m_text->verticalScrollBar();
  const int at = bar->value();
  for (qint64 i = qMax(first, m_next); i < past; ++i) {
    append(m_data->log()[i - first]);
  }
  m_next = past;
  bar->setValue(m_follows->isChecked() ? bar->maximum() : at);
}

}  // namespace coppice::designer
