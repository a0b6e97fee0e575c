// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/upgrade_bars.hpp"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/analysis/link_groups.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"
#include "live/prices.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kShown = 4;

}  // namespace

UpgradeBars upgradeBars(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
                        const std::set<LinkId>& cut, const QString& cutName, std::stop_token stop) {
  UpgradeBars result;
  result.question = question;
  result.factRevision = snapshot.factRevision;
  result.cut = cut;
  try {
    if (!hasCutBound(question.collective)) {
      result.why = noCutBoundText(question.collective);
      return result;
    }
    const std::optional<live::CutBound> cutBound = solver.cutBoundOf(snapshot.factRevision, question);
    if (!cutBound) {
      result.isAnswered = false;
      return result;
    }
    std::vector<PricedLinks> groups = linkClassesOf(snapshot);
    // Links in a row (GPU to NIC to switch) gain nothing one class at a time: those of one speed also go together.
    std::vector<QString> titles;
    std::map<Bandwidth, std::set<LinkId>> bySpeed;
    std::map<Bandwidth, int> classesOf;
    for (const PricedLinks& group : groups) {
      titles.push_back(QString::fromStdString(group.group.name));
      bySpeed[group.bandwidth].insert(group.ids.begin(), group.ids.end());
      ++classesOf[group.bandwidth];
    }
    for (const auto& [speed, links] : bySpeed) {
      if (classesOf[speed] > 1) {
        groups.push_back(linksTogether(snapshot, links));
        titles.push_back(QCoreApplication::translate("UpgradeBars", "every link of %1 GB/s").arg(decimal(speed)));
      }
    }
    PricedLinks across = linksTogether(snapshot, cut);
    const bool isClass = std::any_of(groups.begin(), groups.end(), [&](const PricedLinks& group) {
      return std::set<LinkId>(group.ids.begin(), group.ids.end()) == cut;
    });
    if (!across.ids.empty() && !isClass) {
      groups.push_back(std::move(across));
      // Links that limit an allreduce are no cut with a name.
      titles.push_back(cutName.isEmpty()
                           ? QCoreApplication::translate("UpgradeBars", "the limiting links alone")
                           : QCoreApplication::translate("UpgradeBars", "links of %1 alone").arg(cutName));
    }
    if (groups.empty()) {
      result.why = QCoreApplication::translate("UpgradeBars", "There are no classes of links to compare.");
      return result;
    }
    std::vector<live::LinkGroup> asked;
    for (const PricedLinks& group : groups) {
      asked.push_back(group.group);
    }
    Progress progress;
    progress.stop = std::move(stop);
    const auto prices = live::rankPrices(*cutBound, asked, progress);
    if (!prices) {
      result.why = QString::fromStdString(prices.error().message);
      return result;
    }
    for (const live::RankedPrice& ranked : *prices) {
      const PricedLinks& group = groups[ranked.group];
      UpgradeBar bar;
      bar.title = titles[ranked.group];
      bar.links.insert(group.ids.begin(), group.ids.end());
      bar.bandwidth = group.bandwidth;
      bar.raise = ranked.price.raise;
      if (ranked.price.nextAbove && ranked.price.raise.isPositive()) {
        bar.until = group.bandwidth + *ranked.price.nextAbove;
      }
      result.bars.push_back(std::move(bar));
    }
  } catch (const OverflowError&) {
    result.why =
        QCoreApplication::translate("UpgradeBars", "The numbers leave the range in which results are proven exact.");
  } catch (const std::exception& exception) {
    result.why = QString::fromUtf8(exception.what());
  }
  return result;
}

/// Name, gain, and a bar under both.
class UpgradeBarsView::Row : public QWidget {
public:
  explicit Row(UpgradeBarsView* view) : QWidget(view), m_view(view) {
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::TabFocus);
    setObjectName(u"upgradeBar"_s);
  }
  void setBar(UpgradeBar bar, double share) {
    m_bar = std::move(bar);
    m_share = share;
    const QString gain = m_bar.raise.isPositive() ? u"+"_s + decimal(m_bar.raise) : u"0"_s;
    setAccessibleName(tr("%1: %2 GB/s").arg(m_bar.title, gain));
    setToolTip(m_bar.raise.isPositive()
                   ? tr("One more GB/s per direction on every one of these links raises the bound by %1 GB/s%2. "
                        "Now %3 GB/s. Click to select them.")
                         .arg(exactly(m_bar.raise),
                              m_bar.until ? tr(", up to %1 GB/s").arg(exactly(*m_bar.until)) : QString(),
                              exactly(m_bar.bandwidth))
                   : tr("More bandwidth here alone gains nothing, because the bottleneck is elsewhere too. "
                        "Click to select the links."));
    update();
  }
  [[nodiscard]] QSize sizeHint() const override {
    constexpr int kWidth = 120;
    constexpr int kRowHeight = 32;
    return {kWidth, kRowHeight};
  }

protected:
  void paintEvent(QPaintEvent*) override {
    const Colors& colors = Theme::instance().colors();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool isOn = isEnabled();
    constexpr double kFigure = 12;
    constexpr int kBar = 4;
    constexpr int kInset = 4;
    const QRect words = rect().adjusted(0, 0, -kInset, -kBar - 6);
    painter.setFont(figureFont(kFigure));
    const QString gain = m_bar.raise.isPositive() ? u"+"_s + decimal(m_bar.raise) : u"0"_s;
    painter.setPen(colors[isOn ? Token::text : Token::faint]);
    painter.drawText(words, Qt::AlignRight | Qt::AlignVCenter, gain);
    constexpr int kGap = 12;
    const int room = words.width() - painter.fontMetrics().horizontalAdvance(gain) - kGap;
    constexpr double kText = 12.5;
    painter.setFont(uiFont(kText));
    painter.drawText(QRect(words.left(), words.top(), room, words.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(m_bar.title, Qt::ElideRight, room));
    const QRectF track(0, height() - kBar - 3, width(), kBar);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors[Token::hover]);
    painter.drawRoundedRect(track, kBar / 2.0, kBar / 2.0);
    painter.setBrush(colors[isOn ? Token::accent : Token::faint]);
    painter.drawRoundedRect(QRectF(track.left(), track.top(), std::max<double>(kBar, track.width() * m_share), kBar),
                            kBar / 2.0, kBar / 2.0);
    if (hasFocus()) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(colors[Token::accent], 1));
      painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
  }
  void mouseReleaseEvent(QMouseEvent* event) override {
    if (event->button() == Qt::LeftButton && rect().contains(event->position().toPoint())) {
      Q_EMIT m_view->linksChosen(m_bar.links);
    }
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space) {
      Q_EMIT m_view->linksChosen(m_bar.links);
      return;
    }
    QWidget::keyPressEvent(event);
  }

private:
  UpgradeBarsView* m_view;
  UpgradeBar m_bar;
  double m_share = 0;
};

UpgradeBarsView::UpgradeBarsView(QWidget* parent)
    : QWidget(parent),
      m_note(new QLabel(this)),
      m_job([this](std::shared_ptr<const UpgradeBars> bars) { show(*bars); }, 0ms) {
  setObjectName(u"upgradeBars"_s);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(2);
  for (std::size_t i = 0; i < kShown; ++i) {
    m_rows.push_back(new Row(this));
    m_rows.back()->hide();
    layout->addWidget(m_rows.back());
  }
  m_note->setObjectName(u"upgradeNote"_s);
  m_note->setWordWrap(true);
  m_note->setProperty("role", u"muted"_s);
  layout->addWidget(m_note);
  // Rankings wait until the user stops typing.
  m_timer.setSingleShot(true);
  m_timer.setInterval(250ms);
  connect(&m_timer, &QTimer::timeout, this, &UpgradeBarsView::submit);
}

UpgradeBarsView::~UpgradeBarsView() = default;

void UpgradeBarsView::setSubject(Document* document, LiveBound* bound) {
  if (m_document == document && m_bound == bound) {
    return;
  }
  m_followed.clear();
  m_job.cancel();
  m_bars = {};
  m_document = document;
  m_bound = bound;
  m_cut.clear();
  for (Row* row : m_rows) {
    row->hide();
  }
  m_note->clear();
  if (m_bound) {
    m_followed.connect(m_bound, &LiveBound::changed, [this] { follow(); });
  }
  follow();
}

void UpgradeBarsView::setCut(const std::set<LinkId>& links, const QString& name) {
  if (links != m_cut) {
    m_cut = links;
    m_cutName = name;
    follow();
  }
}

bool UpgradeBarsView::isCurrent() const {
  return m_document && m_bound && m_bound->isCurrent() && !m_bars.bars.empty() &&
         m_bars.factRevision == m_document->factRevision() && m_bars.question == m_bound->question() &&
         m_bars.cut == m_cut;
}

void UpgradeBarsView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  follow();
}

void UpgradeBarsView::follow() {
  const bool isNow = isCurrent();
  for (Row* row : m_rows) {
    row->setEnabled(isNow);
  }
  m_note->setEnabled(isNow);
  if (!isNow) {
    m_job.cancel();
    m_timer.start();
  }
}

void UpgradeBarsView::submit() {
  if (!m_document || !m_bound || !m_bound->isCurrent() || !m_bound->bound()->algbw || !isVisible() || isCurrent()) {
    return;
  }
  m_job.submit([solver = m_bound->solver(), snapshot = Snapshot::of(*m_document), question = m_bound->question(),
                cut = m_cut, name = m_cutName](std::stop_token stop) {
    return std::make_shared<const UpgradeBars>(upgradeBars(*solver, snapshot, question, cut, name, std::move(stop)));
  });
}

void UpgradeBarsView::show(UpgradeBars bars) {
  if (!bars.isAnswered) {
    return;  // a new bound follows
  }
  m_bars = std::move(bars);
  const double best = m_bars.bars.empty() ? 0 : m_bars.bars.front().raise.toDouble();
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    const bool isUsed = i < m_bars.bars.size();
    m_rows[i]->setVisible(isUsed);
    if (isUsed) {
      m_rows[i]->setBar(m_bars.bars[i], best > 0 ? m_bars.bars[i].raise.toDouble() / best : 0);
    }
  }
  if (m_bars.bars.empty()) {
    m_note->setText(m_bars.why);
  } else if (best <= 0) {
    m_note->setText(tr("Several cuts are equally tight: no class of links alone can raise the bound."));
  } else if (m_bars.bars.front().until) {
    m_note->setText(tr("The first helps up to %1 GB/s, then another cut becomes the limit.")
                        .arg(exactly(*m_bars.bars.front().until)));
  } else {
    m_note->setText(tr("The first keeps helping at any bandwidth."));
  }
  follow();
}

}  // namespace coppice::designer
