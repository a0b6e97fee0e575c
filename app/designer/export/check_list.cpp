// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/export/check_list.hpp"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QTimer>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kNarrow = 560;

}  // namespace

CheckList::CheckList(QWidget* parent) : QScrollArea(parent) {
  setObjectName(u"checkList"_s);
  setAccessibleName(tr("Checklist"));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  connect(&Theme::instance(), &Theme::changed, this, &CheckList::build);
}

void CheckList::setRows(const std::vector<CheckRow>& rows) {
  m_rows = rows;
  build();
}

void CheckList::setStale(bool isStale) {
  if (widget() != nullptr) {
    widget()->setEnabled(!isStale);
  }
}

void CheckList::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  if ((width() < kNarrow) != m_isNarrow) {
    // Not while the area lays out what is replaced.
    QTimer::singleShot(0, this, &CheckList::build);
  }
}

void CheckList::build() {
  const Theme& theme = Theme::instance();
  auto* body = new QWidget(this);
  body->setProperty("role", u"panel"_s);
  body->setAttribute(Qt::WA_StyledBackground);
  auto* grid = new QGridLayout(body);
  constexpr int kMargin = 10;
  grid->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  grid->setHorizontalSpacing(kMargin);
  constexpr int kRowGap = 7;
  grid->setVerticalSpacing(kRowGap);
  enum { kMark, kName, kValue, kLimit, kDetail };
  // What explains a row stands below it where there is no room beside it.
  m_isNarrow = width() < kNarrow;
  grid->setColumnStretch(kDetail, 1);
  int line = 0;
  for (const CheckRow& row : m_rows) {
    const Token token = row.state == CheckState::good       ? Token::accent
                        : row.state == CheckState::doubtful ? Token::warning
                                                            : Token::error;
    const QString shape = row.state == CheckState::good       ? u"check"_s
                          : row.state == CheckState::doubtful ? u"warning"_s
                                                              : u"error"_s;
    const QString word = row.state == CheckState::good       ? tr("fine")
                         : row.state == CheckState::doubtful ? tr("notice")
                                                             : tr("refused");
    const QString color = u"color: %1"_s.arg(theme.color(token).name());
    auto* mark = new QLabel(body);
    constexpr int kIcon = 16;
    mark->setPixmap(iconPixmap(shape, kIcon, devicePixelRatioF(), theme.color(token)));
    mark->setToolTip(word);
    mark->setAccessibleName(word);
    auto* name = new QLabel(row.name, body);
    name->setFont(uiFont(13, QFont::DemiBold));
    auto* value = new QLabel(row.value, body);
    value->setFont(figureFont(12.5));
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* limit = new QLabel(row.limit, body);
    limit->setProperty("role", u"muted"_s);
    auto* detail = new QLabel(row.detail, body);
    detail->setWordWrap(true);
    detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
    if (row.state == CheckState::good) {
      detail->setProperty("role", u"muted"_s);
    } else {
      name->setStyleSheet(color);
    }
    const Qt::Alignment top = Qt::AlignTop | Qt::AlignLeft;
    grid->addWidget(mark, line, kMark, top);
    grid->addWidget(name, line, kName, top);
    grid->addWidget(value, line, kValue, top);
    grid->addWidget(limit, line, kLimit, top);
    if (m_isNarrow) {
      grid->addWidget(detail, ++line, kName, 1, kDetail - kName + 1);
    } else {
      grid->addWidget(detail, line, kDetail);
    }
    ++line;
    if (!row.fixes.empty()) {
      auto* buttons = new QWidget(body);
      auto* layout = new QHBoxLayout(buttons);
      layout->setContentsMargins({});
      for (const CheckFix& fix : row.fixes) {
        auto* button = new QPushButton(fix.label, buttons);
        button->setObjectName(u"checkFix"_s);
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, [this, fix] { Q_EMIT fixWanted(fix); });
        layout->addWidget(button);
      }
      layout->addStretch(1);
      grid->addWidget(buttons, line, kName, 1, kDetail - kName + 1);
      ++line;
    }
  }
  grid->setRowStretch(line, 1);
  setWidget(body);
}

}  // namespace coppice::designer
