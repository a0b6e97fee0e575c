// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/question_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHideEvent>
#include <QKeyEvent>
#include <QShowEvent>
#include <QSplitter>
#include <QVBoxLayout>
#include <chrono>
#include <utility>

#include "designer/schedules/command_text.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kMargin = 10;
constexpr int kGap = 6;

/// Tables scroll by themselves: with the height that they would like to have, the whole would scroll around them. They
/// get that of a few rows, and what is left.
class FewRows : public QWidget {
public:
  FewRows(QWidget* content, QWidget* parent) : QWidget(parent) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins({});
    content->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    layout->addWidget(content);
    setMinimumHeight(kHeight);
  }
  [[nodiscard]] QSize sizeHint() const override { return {QWidget::sizeHint().width(), kHeight}; }

private:
  static constexpr int kHeight = 150;
};

}  // namespace

QuestionPanel::QuestionPanel(Texts texts, const std::vector<workflow::Option>& options, Work work, QWidget* parent)
    : QWidget(parent),
      m_texts(std::move(texts)),
      m_work(std::move(work)),
      m_form(new OptionForm(options, this)),
      m_search(new QPushButton(this)),
      m_pages(new QStackedWidget(this)),
      m_message(new QLabel(this)),
      m_state(new QLabel(this)),
      m_bar(new QProgressBar(this)),
      m_job([this](const PanelAnswerPtr& answer) { receive(answer); }, 0ms),
      m_seen(*this, [this](bool isSeen) {
        // What is in front now draws after what went behind it has cleared the drawing.
        QTimer::singleShot(isSeen ? 1ms : 0ms, this, &QuestionPanel::marksChanged);
      }) {
  setObjectName(m_texts.name + u"Panel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_message->setObjectName(m_texts.name + u"Message"_s);
  m_message->setAlignment(Qt::AlignCenter);
  m_message->setWordWrap(true);
  m_message->setProperty("role", u"muted"_s);
  m_message->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  m_state->setObjectName(m_texts.name + u"State"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setWordWrap(true);
  setUpThinProgress(*m_bar, m_texts.name + u"Progress"_s);
  m_pages->addWidget(m_message);
  auto* whole = new QSplitter(Qt::Horizontal, this);
  whole->setChildrenCollapsible(false);
  whole->addWidget(makeAsked());
  whole->addWidget(m_pages);
  whole->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_bar);
  layout->addWidget(whole, 1);
  connect(m_search, &QPushButton::clicked, this, &QuestionPanel::search);
  connect(m_form, &OptionForm::changed, this, [this] {
    refresh();
    Q_EMIT marksChanged();
  });
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, [this] {
    if (m_progress) {
      m_bar->setValue(static_cast<int>(m_progress->state().fraction * kProgressParts));
    }
  });
}

QWidget* QuestionPanel::makeAsked() {
  m_search->setObjectName(m_texts.name + u"Search"_s);
  m_search->setProperty("role", u"primary"_s);
  QToolButton* copy = iconButton(m_texts.name + u"Copy"_s, u"copy"_s, tr("Copy as a command line"), this);
  connect(copy, &QToolButton::clicked, this, &QuestionPanel::copyCommand);
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(kMargin, kGap, kMargin, kGap);
  buttons->addWidget(m_search, 1);
  buttons->addWidget(copy);
  auto* content = new QWidget(this);
  auto* inner = new QVBoxLayout(content);
  inner->setContentsMargins(kMargin, kGap, kMargin, kGap);
  inner->addWidget(m_form);
  inner->addStretch(1);
  auto* asked = new QWidget(this);
  auto* layout = new QVBoxLayout(asked);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(scrolled(content, asked), 1);
  layout->addLayout(buttons);
  constexpr int kMinWidth = 240;
  asked->setMinimumWidth(kMinWidth);
  return asked;
}

void QuestionPanel::setContent(QWidget* content) {
  m_content = content;
  auto* column = static_cast<QBoxLayout*>(content->layout());
  for (int at = 0; at < column->count(); ++at) {
    if (column->stretch(at) > 0) {
      const int stretch = column->stretch(at);
      QWidget* tables = column->itemAt(at)->widget();
      delete column->takeAt(at);
      column->insertWidget(at, new FewRows(tables, content), stretch);
    }
  }
  m_pages->addWidget(scrolled(content, m_pages));  // small windows have little height for it
  refresh();
}

void QuestionPanel::setContext(EditorContext* context) {
  if (m_context == context) {
    return;
  }
  m_followed.clear();
  m_job.cancel();
  m_context = context;
  if (m_context) {
    m_followed.connect(&m_context->document(), &Document::changed, [this](const ChangeEvent& event) {
      if (event.isReset || event.aspects.testFlag(Aspect::facts)) {
        adaptForm();
        followFacts();
      }
    });
    adaptForm();
  }
  receive(nullptr);
}

bool QuestionPanel::isCurrent() const {
  return m_answer && m_context && m_answer->snapshot.factRevision == m_context->document().factRevision() &&
         m_answered == m_form->values();
}

void QuestionPanel::followFacts() {
  constexpr double kQuick = 3;  // seconds: the answer then follows the edits
  const bool wasQuick = m_answer && m_answer->seconds < kQuick;
  m_job.cancel();
  if (wasQuick && isVisible()) {
    search();
  }
  refresh();
  Q_EMIT marksChanged();
}

void QuestionPanel::search() {
  if (isSearching()) {
    m_job.cancel();
    refresh();
    return;
  }
  if (!m_context || !m_form->isValid()) {
    return;
  }
  m_asked = m_form->values();
  m_progress = std::make_shared<JobProgress>();
  m_job.submit([work = m_work, snapshot = Snapshot::of(m_context->document()), values = m_asked,
                progress = m_progress](std::stop_token stop) {
    return work(snapshot, values, JobProgress::forCore(progress, std::move(stop)));
  });
  refresh();
}

void QuestionPanel::receive(const PanelAnswerPtr& answer) {
  m_answer = answer;
  m_answered = m_asked;
  showAnswer(answer);
  refresh();
  Q_EMIT marksChanged();
}

void QuestionPanel::refresh() {
  QString message;
  QString state;
  const bool hasAnswer = m_answer && m_answer->problem.isEmpty();
  if (!m_context) {
    message = m_texts.noDocument;
  } else if (isSearching() && !hasAnswer) {
    message = m_texts.working;
  } else if (!m_answer) {
    message = m_texts.invitation;
  } else if (!hasAnswer) {
    message = m_answer->problem;
  } else if (isSearching()) {
    state = m_texts.working;
  } else if (!isCurrent()) {
    state = tr("The fabric or the options have changed. %1 again to update the answer.").arg(m_texts.action);
  } else {
    state = stateOf(*m_answer);
  }
  m_message->setText(message);
  m_pages->setCurrentIndex(message.isEmpty() && m_content != nullptr ? 1 : 0);
  m_state->setText(state);
  if (m_content != nullptr) {
    m_content->setEnabled(isCurrent());
  }
  m_search->setText(isSearching() ? tr("Stop") : m_texts.action);
  m_search->setEnabled(isSearching() || (m_context && m_form->isValid()));
  m_bar->setVisible(isSearching());
  if (isSearching()) {
    m_tick.start();
  } else {
    m_tick.stop();
  }
}

void QuestionPanel::copyCommand() {
  if (!m_context) {
    return;
  }
  const QString path = m_context->file().path();
  QStringList words{u"coppice-cli"_s, m_texts.command, shellQuoted(path.isEmpty() ? u"fabric.fabric.json"_s : path)};
  for (const auto& [name, value] : m_form->values()) {
    words << u"--"_s + QString::fromStdString(name);
    if (value != "true") {
      words << shellQuoted(QString::fromStdString(value));
    }
  }
  QGuiApplication::clipboard()->setText(words.join(u' '));
}

void QuestionPanel::keyPressEvent(QKeyEvent* event) {
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && !isSearching()) {
    search();
  } else {
    QWidget::keyPressEvent(event);
  }
}

void QuestionPanel::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  Q_EMIT marksChanged();
}

void QuestionPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  Q_EMIT marksChanged();
}

std::vector<LinkMark> linkMarks(const EditorContext& context, const Snapshot& snapshot, const fabric::Fabric& fabric,
                                const std::vector<workflow::CutLinks>& cut) {
  CutView view;
  for (const workflow::CutLinks& links : cut) {
    for (const int at : links.arcs) {
      const fabric::Arc& arc = fabric.arcs()[static_cast<std::size_t>(at)];
      view.crossings.push_back({snapshot.nodes[arc.tail], snapshot.nodes[arc.head], arc.bandwidth});
    }
  }
  std::vector<LinkMark> marks;
  for (const LinkId id : context.linksAcross(view)) {
    marks.push_back({.link = id});
  }
  return marks;
}

}  // namespace coppice::designer
