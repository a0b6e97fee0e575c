// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/bound/bound_card.hpp"

#include <QHBoxLayout>
#include <QLocale>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "base/units.hpp"
#include "designer/analysis/cut_lens.hpp"
#include "designer/analysis/upgrade_bars.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kNumberPixels = 38;
constexpr double kFigurePixels = 12.5;
constexpr int kGap = 8;
constexpr double kNoNumberPixels = 22;

constexpr int kNameRole = Qt::UserRole;
constexpr int kChipHeight = 30;
/// Chips that are shown until all are asked for.
constexpr int kFirstChips = 12;
constexpr double kChipPixels = 12;

/// A tied cut as a round chip; the one that is shown stands out by colour and outline.
class ChipDelegate : public QStyledItemDelegate {
public:
  using QStyledItemDelegate::QStyledItemDelegate;

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    constexpr int kPadding = 28;
    constexpr int kMax = 240;
    const int words =
        QFontMetrics(uiFont(kChipPixels, QFont::Medium)).horizontalAdvance(index.data(kNameRole).toString());
    return {std::min(words + kPadding, kMax), kChipHeight};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Colors& colors = Theme::instance().colors();
    const auto* list = static_cast<const QListWidget*>(option.widget);
    const bool isShown = list->currentRow() == index.row();
    const bool isOn = list->isEnabled();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF chip = QRectF(option.rect).adjusted(0.75, 2.75, -5.25, -2.75);
    painter->setBrush(colors[isShown ? Token::cutSoft : Token::hover]);
    painter->setPen(isShown ? QPen(colors[Token::cut], list->hasFocus() ? 2 : 1.2) : QPen(Qt::NoPen));
    painter->drawRoundedRect(chip, chip.height() / 2, chip.height() / 2);
    painter->setFont(uiFont(kChipPixels, isShown ? QFont::DemiBold : QFont::Medium));
    painter->setPen(colors[!isOn ? Token::faint : (isShown ? Token::cut : Token::muted)]);
    painter->drawText(chip, Qt::AlignCenter,
                      painter->fontMetrics().elidedText(index.data(kNameRole).toString(), Qt::ElideMiddle,
                                                        static_cast<int>(chip.width()) - 14));
    painter->restore();
  }
};

QFrame* hairline(QWidget* parent) {
  auto* line = new QFrame(parent);
  line->setFrameShape(QFrame::NoFrame);
  line->setFixedHeight(1);
  line->setProperty("role", u"hairline"_s);
  return line;
}

QLabel* head(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  constexpr double kHead = 12.5;
  label->setFont(uiFont(kHead, QFont::DemiBold));
  return label;
}

/// The sentence with its nouns as links. They are replaced from the end, so that a noun in an earlier one stays whole.
QString linked(const CutView& cut) {
  QString html = cut.sentence.toHtmlEscaped();
  qsizetype before = html.size();
  const auto link = [&](const QString& noun, const QString& target, bool isLast) {
    const QString text = noun.toHtmlEscaped();
    const qsizetype at = isLast ? html.lastIndexOf(text, before - 1) : html.indexOf(text);
    if (!text.isEmpty() && at >= 0 && at < before) {
      // The colour of the palette would stay that of the scheme in which the label was first laid out.
      const QString anchor = u"<a style=\"text-decoration:none; color:%3\" href=\"%1\">%2</a>"_s.arg(
          target, text, Theme::instance().color(Token::accent).name());
      html.replace(at, text.size(), anchor);
      before = at;
    }
  };
  link(cut.links, u"links"_s, true);
  link(cut.place, u"place"_s, true);
  link(cut.senders, u"senders"_s, false);
  return html;
}

/// "16", "first 64 of 128", "first 64 of at least 10,000"; empty where there is one.
QString cutCountText(const Bound& bound) {
  if (bound.cutCount <= 1 && bound.isCutCountExact) {
    return {};
  }
  const QString count = QLocale(QLocale::English).toString(static_cast<qlonglong>(bound.cutCount));
  const QString all = bound.isCutCountExact ? count : BoundCard::tr("at least %1").arg(count);
  const auto listed = static_cast<std::int64_t>(bound.cuts.size());
  return listed < bound.cutCount ? BoundCard::tr("first %1 of %2").arg(listed).arg(all) : all;
}

}  // namespace

BoundCard::BoundCard(QWidget* parent)
    : QScrollArea(parent),
      m_number(new QLabel),
      m_unit(new QLabel(tr("GB/s"))),
      m_state(new QLabel),
      m_exact(new QLabel),
      m_plain(new QCheckBox(tr("Switches only forward"))),
      m_assumption(new QLabel),
      m_reason(new QWidget),
      m_why(new QLabel),
      m_formula(new QLabel),
      m_cutsHead(head(tr("Tied cuts"), nullptr)),
      m_cutsCount(new QLabel),
      m_cuts(new QListWidget),
      m_moreCuts(new QPushButton),
      m_upgradesHead(head(tr("One more GB/s on … gains"), nullptr)),
      m_upgrades(new UpgradeBarsView),
      m_lensHead(head(tr("Cut around the selection"), nullptr)),
      m_lens(new QLabel) {
  setObjectName(u"boundCard"_s);
  setAccessibleName(tr("Bound"));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* body = new QWidget(this);
  body->setProperty("role", u"panel"_s);
  body->setAttribute(Qt::WA_StyledBackground);
  setUpFigures();
  setUpReasons();
  setUpCuts();
  layOut(body);
  setWidget(body);

  connect(m_cuts, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
    if (m_editor && item != nullptr) {
      m_editor->setShownCut(static_cast<std::size_t>(m_cuts->row(item)));
    }
  });
  connect(m_cuts, &QListWidget::itemActivated, this, [this] { choose(u"inside"_s); });
  connect(m_upgrades, &UpgradeBarsView::linksChosen, this, [this](const std::set<LinkId>& links) {
    if (m_editor) {
      m_editor->selection().set({links.begin(), links.end()});
    }
  });
  connect(&Theme::instance(), &Theme::changed, this, &BoundCard::refresh);
  refresh();
}

void BoundCard::setUpFigures() {
  constexpr double kUnitPixels = 15;
  m_number->setFont(uiFont(kNumberPixels, QFont::Bold));
  m_number->setObjectName(u"boundNumber"_s);
  m_number->setAccessibleName(tr("Bound in GB/s"));
  m_unit->setFont(uiFont(kUnitPixels));
  m_unit->setProperty("role", u"muted"_s);
  m_unit->setContentsMargins(0, 0, 0, 7);
  m_state->setObjectName(u"boundState"_s);
  m_state->setFont(uiFont(11, QFont::DemiBold));
  m_exact->setFont(figureFont(kFigurePixels));
  m_exact->setObjectName(u"boundExact"_s);
  m_exact->setProperty("role", u"muted"_s);
  m_plain->setObjectName(u"boundPlainSwitches"_s);
  m_plain->setToolTip(tr("The bound as if no switch copied or summed: what schedules between GPUs alone can reach"));
  connect(m_plain, &QCheckBox::clicked, this, [this](bool isPlain) {
    if (m_editor) {
      m_editor->assume(isPlain
                           ? std::optional(Assumption{.title = tr("If switches only forward"), .plainSwitches = true})
                           : std::nullopt);
    }
  });
  m_assumption->setObjectName(u"boundAssumption"_s);
  m_assumption->setFont(uiFont(kFigurePixels, QFont::DemiBold));
  m_assumption->setWordWrap(true);
}

void BoundCard::setUpReasons() {
  m_why->setObjectName(u"boundWhy"_s);
  m_why->setTextFormat(Qt::RichText);
  m_why->setAccessibleName(tr("Why the bound is what it is"));
  m_formula->setFont(figureFont(kFigurePixels));
  m_formula->setObjectName(u"boundFormula"_s);
  m_formula->setProperty("role", u"muted"_s);
  m_lens->setObjectName(u"cutLens"_s);
  m_lens->setToolTip(tr("How fast the collective would be if this cut were its only limit"));
  for (QLabel* label : {m_exact, m_why, m_formula, m_lens}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  m_why->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(m_why, &QLabel::linkActivated, this, &BoundCard::choose);
}

void BoundCard::setUpCuts() {
  m_cutsCount->setObjectName(u"boundCutsCount"_s);
  m_moreCuts->setObjectName(u"boundMoreCuts"_s);
  m_moreCuts->setProperty("role", u"quiet"_s);
  connect(m_moreCuts, &QPushButton::clicked, this, &BoundCard::showAllChips);
  m_cutsCount->setProperty("role", u"muted"_s);
  m_cuts->setObjectName(u"boundCuts"_s);
  m_cuts->setAccessibleName(tr("Tied cuts"));
  m_cuts->setToolTip(tr("Click: show this cut (C: the next) · double click: select what is inside"));
  m_cuts->setFrameShape(QFrame::NoFrame);
  m_cuts->setViewMode(QListView::IconMode);
  m_cuts->setFlow(QListView::LeftToRight);
  m_cuts->setWrapping(true);
  m_cuts->setResizeMode(QListView::Adjust);
  m_cuts->setMovement(QListView::Static);
  m_cuts->setSpacing(0);
  m_cuts->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_cuts->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_cuts->setItemDelegate(new ChipDelegate(m_cuts));
  m_cuts->setStyleSheet(u"QListView { background: transparent; } QListView::item { padding: 0; }"_s);
}

void BoundCard::layOut(QWidget* body) {
  auto* layout = new QVBoxLayout(body);
  constexpr QMargins kMargins(14, 0, 14, 10);
  layout->setContentsMargins(kMargins);
  layout->setSpacing(4);
  auto* top = new QHBoxLayout;
  constexpr int kUnitGap = 8;
  top->setSpacing(kUnitGap);
  top->addWidget(m_number);
  top->addWidget(m_unit, 0, Qt::AlignBottom);
  top->addStretch();
  top->addWidget(m_state, 0, Qt::AlignTop);
  layout->addLayout(top);
  layout->addWidget(m_exact);
  layout->addWidget(m_assumption);
  layout->addWidget(m_plain);
  layout->addSpacing(kGap);
  layout->addWidget(hairline(body));
  layout->addSpacing(kGap);
  layout->addWidget(head(tr("Why"), body));
  layout->addWidget(m_why);
  layout->addWidget(m_formula);
  fillReason(body);
  layout->addWidget(m_reason);
  layout->addSpacing(kGap);
  layout->addWidget(m_lensHead);
  layout->addWidget(m_lens);
  layout->addStretch();
}

void BoundCard::fillReason(QWidget* body) {
  m_reason->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  auto* reason = new QVBoxLayout(m_reason);
  reason->setContentsMargins({});
  reason->setSpacing(4);
  auto* cutsTop = new QHBoxLayout;
  cutsTop->addWidget(m_cutsHead, 1);
  cutsTop->addWidget(m_cutsCount);
  reason->addSpacing(kGap);
  reason->addLayout(cutsTop);
  reason->addWidget(m_cuts);
  reason->addWidget(m_moreCuts, 0, Qt::AlignLeft);
  reason->addSpacing(kGap);
  reason->addWidget(hairline(body));
  reason->addSpacing(kGap);
  reason->addWidget(m_upgradesHead);
  reason->addWidget(m_upgrades);
}

void BoundCard::setContext(EditorContext* editor) {
  if (m_editor == editor) {
    return;
  }
  m_editor = editor;
  m_followed.clear();
  m_upgrades->setSubject(editor != nullptr ? &editor->document() : nullptr,
                         editor != nullptr ? &editor->bound() : nullptr);
  if (m_editor) {
    m_followed.connect(&m_editor->bound(), &LiveBound::changed, [this] { refresh(); });
    m_followed.connect(&m_editor->selection(), &Selection::changed, [this] { showLens(); });
    m_followed.connect(m_editor, &EditorContext::shownCutChanged, [this] { showCut(); });
    m_followed.connect(m_editor, &EditorContext::assumptionChanged, [this] { refresh(); });
  }
  refresh();
}

const CutView* BoundCard::shownCut() const {
  return m_editor ? m_editor->shownCutView() : nullptr;
}

void BoundCard::choose(const QString& noun) {
  const CutView* cut = shownCut();
  if (cut == nullptr) {
    return;
  }
  const Model& model = m_editor->model();
  const auto isInside = [&](NodeId id) { return std::binary_search(cut->inside.begin(), cut->inside.end(), id); };
  std::set<ElementId> chosen;
  if (noun == u"links"_s || cut->inside.empty()) {
    const std::set<LinkId> links = m_editor->linksAcross(*cut);
    chosen.insert(links.begin(), links.end());
  } else {
    const bool isOutside = noun == u"place"_s && cut->gpusOutside < cut->gpusInside;
    for (const auto& [id, node] : model.nodes()) {
      const bool isMeant = noun != u"senders"_s || node.kind() == fabric::NodeKind::gpu;
      if (isMeant && isInside(id) != isOutside) {
        chosen.insert(id);
      }
    }
  }
  m_editor->selection().set(std::move(chosen));
  m_editor->canvas().zoomToSelection();
}

void BoundCard::showCut() {
  const CutView* cut = shownCut();
  if (cut == nullptr) {
    return;
  }
  const std::shared_ptr<const Bound> shown = m_editor->shownBound();
  const Bound& bound = *shown;
  const QSignalBlocker quiet(m_cuts);
  const int row = static_cast<int>(m_editor->shownCut());
  if (row >= kFirstChips && row < m_cuts->count() && !m_areAllChipsShown) {
    showAllChips();
  }
  m_cuts->setCurrentRow(row);
  m_why->setText(linked(*cut) + (bound.note.isEmpty() ? QString() : u' ' + bound.note.toHtmlEscaped()));
  const QString width = QString::fromStdString(toExactText(cut->exitBandwidth));
  switch (bound.question.collective) {
    case Collective::allgather:
    case Collective::reduceScatter:
      m_formula->setText(
          tr("algbw = N · B⁺(S) / |S∩Vc|\n      = %1 · %2 / %3").arg(bound.gpuCount).arg(width).arg(cut->demand));
      break;
    case Collective::allreduce:
      if (cut->inside.empty()) {
        m_formula->setText(tr("algbw ≤ Σ(B·y) = %1").arg(exactly(*bound.algbw)));
        break;
      }
      m_formula->setText(tr("1/algbw = 1/RS + 1/AG\nthis half: N · B⁺(S) / |S∩Vc|\n         = %1 · %2 / %3")
                             .arg(bound.gpuCount)
                             .arg(width)
                             .arg(cut->demand));
      break;
    case Collective::gather:
    case Collective::scatter:
      m_formula->setText(
          tr("algbw = N · B⁺(S) / |S∩Vc|\n      = %1 · %2 / %3").arg(bound.gpuCount).arg(width).arg(cut->demand));
      break;
    case Collective::alltoall:
      m_formula->setText(
          tr("algbw ≤ N · Σ(B·l) / Σd") +
          (cut->demand > 0 ? tr("\n      = %1 · %2 / %3").arg(bound.gpuCount).arg(width).arg(cut->demand) : QString()));
      break;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::custom:
      m_formula->setText(tr("algbw = B⁺(S)\n      = %1").arg(width));
      break;
  }
  QStringList crossings;
  constexpr std::size_t kMax = 12;
  for (std::size_t i = 0; i < std::min(kMax, cut->crossings.size()); ++i) {
    const Crossing& crossing = cut->crossings[i];
    crossings << tr("%1 to %2: %3")
                     .arg(m_editor->model().title(crossing.tail), m_editor->model().title(crossing.head),
                          exactly(crossing.bandwidth));
  }
  if (cut->crossings.size() > kMax) {
    crossings << tr("and %1 more").arg(cut->crossings.size() - kMax);
  }
  const bool isExchange = bound.question.collective == Collective::alltoall;
  const bool isPriced = !isExchange && cut->inside.empty();
  m_formula->setToolTip(isPriced ? tr("B·y: bandwidth times price of a link in the proof. The in-tree and the out-tree "
                                      "of any root cost at least 1 together.\n"
                                      "\n"
                                      "%1")
                                       .arg(crossings.join(u'\n'))
                        : isExchange ? tr("N: number of GPUs, %1\n"
                                          "B·l: bandwidth times length of a link in the proof\n"
                                          "d: distance of an ordered pair of GPUs by these lengths\n"
                                          "\n"
                                          "%2")
                                           .arg(bound.gpuCount)
                                           .arg(crossings.join(u'\n'))
                                     : tr("N: number of GPUs, %1\n"
                                          "B⁺(S): GB/s across the cut, exactly %2\n"
                                          "|S∩Vc|: shards that must cross, %3\n"
                                          "\n"
                                          "%4")
                                           .arg(bound.gpuCount)
                                           .arg(exactly(cut->exitBandwidth))
                                           .arg(cut->demand)
                                           .arg(crossings.join(u'\n')));
  if (!m_editor->assumption()) {
    m_upgrades->setCut(m_editor->linksAcross(*cut), cut->place);
  }
}

void BoundCard::showLens() {
  std::optional<CutLens> lens;
  if (m_editor) {
    const std::vector<NodeId> chosen = m_editor->selection().nodesAndContents();
    if (!chosen.empty()) {
      lens = lensOf(m_editor->model(), {chosen.begin(), chosen.end()}, m_editor->bound().question());
    }
  }
  m_lensHead->setVisible(lens.has_value());
  m_lens->setVisible(lens.has_value());
  m_lens->setText(lens ? lensText(*lens, m_editor->bound().question().collective) : QString());
}

void BoundCard::fitChips() {
  m_cuts->doItemsLayout();
  int bottom = 0;
  for (int row = 0; row < m_cuts->count(); ++row) {
    if (!m_cuts->isRowHidden(row)) {
      bottom =
          std::max(bottom, m_cuts->visualItemRect(m_cuts->item(row)).bottom() + m_cuts->verticalScrollBar()->value());
    }
  }
  // All rows: the card scrolls, a list in it does not.
  m_cuts->setFixedHeight(std::max(bottom + 2, kChipHeight));
}

void BoundCard::showAllChips() {
  m_areAllChipsShown = true;
  for (int row = 0; row < m_cuts->count(); ++row) {
    m_cuts->setRowHidden(row, false);
  }
  m_moreCuts->hide();
  fitChips();
}

void BoundCard::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  fitChips();
}

bool BoundCard::hasAbleSwitch() const {
  if (m_editor) {
    for (const auto& [id, node] : m_editor->model().nodes()) {
      if (node.facts.multicast || node.facts.aggregation) {
        return true;
      }
    }
  }
  return false;
}

void BoundCard::refresh() {
  showLens();
  const bool isAssumed = m_editor && m_editor->assumption();
  const std::shared_ptr<const Bound> known = isAssumed ? m_editor->shownBound() : nullptr;
  const bool isStale = m_editor && (isAssumed ? known == nullptr : !m_editor->bound().isCurrent());
  // While another answer is computed the last one stays, greyed.
  const std::shared_ptr<const Bound> bound = known ? known : m_editor ? m_editor->bound().bound() : nullptr;
  for (QLabel* label : {m_number, m_unit, m_exact, m_why, m_formula, m_cutsHead, m_cutsCount}) {
    label->setEnabled(!isStale);
  }
  m_cuts->setEnabled(!isStale);
  m_state->setText(isStale                                                        ? tr("computing…")
                   : isAssumed                                                    ? tr("what if")
                   : bound && bound->reached                                      ? tr("at most")
                   : bound && bound->scope == schedule::BoundScope::plainSwitches ? tr("plain switches")
                   : bound && bound->algbw                                        ? tr("exact")
                                                                                  : QString());
  QPalette palette = m_state->palette();
  palette.setColor(QPalette::WindowText, Theme::instance().color(isStale     ? Token::muted
                                                                 : isAssumed ? Token::warning
                                                                             : Token::accent));
  m_state->setPalette(palette);
  m_assumption->setVisible(isAssumed);
  m_assumption->setText(isAssumed ? m_editor->assumption()->title : QString());
  m_plain->setVisible(bound && bound->question.collective == Collective::allreduce && hasAbleSwitch());
  m_plain->setChecked(isAssumed && m_editor->assumption()->plainSwitches);
  if (isStale && bound) {
    return;  // the old answer, greyed, until the new one is there
  }
  const QSignalBlocker quiet(m_cuts);
  m_cuts->clear();
  const bool hasBound = bound && bound->algbw;
  m_reason->setVisible(hasBound);
  // What more bandwidth gains is about the fabric as it is.
  const bool hasUpgrades = !isAssumed && (!bound || hasCutBound(bound->question.collective));
  m_upgradesHead->setVisible(hasUpgrades);
  m_upgrades->setVisible(hasUpgrades);
  m_formula->setVisible(hasBound);
  m_unit->setVisible(hasBound);
  m_exact->setVisible(hasBound);
  if (!hasBound) {
    m_number->setFont(uiFont(kNoNumberPixels, QFont::DemiBold));
    m_number->setText(tr("No bound"));
    m_number->setToolTip({});
    m_why->setText(!m_editor ? tr("Open a fabric to see its maximum throughput.")
                             : (bound ? bound->why.toHtmlEscaped() : tr("Computing…")));
    return;
  }
  m_number->setFont(uiFont(kNumberPixels, QFont::Bold));
  m_number->setText(QString::fromStdString(toDecimal(*bound->algbw)));
  const QString exact = QString::fromStdString(toFraction(*bound->algbw));
  m_number->setToolTip(bound->reached
                           ? tr("No schedule of this collective is faster on this fabric; routes are known for %1 GB/s")
                                 .arg(exactly(*bound->reached))
                           : tr("Exactly %1 GB/s. %2").arg(exact, bound->claim()));
  m_exact->setText(u"= %1 · %2 · %3"_s.arg(exact, collectiveName(bound->question.collective),
                                           counted(bound->gpuCount, tr("GPU"), tr("GPUs"))));
  for (const CutView& cut : bound->cuts) {
    auto* item = new QListWidgetItem(cut.words, m_cuts);
    item->setToolTip(cut.sentence);
    item->setData(kNameRole, cut.place.isEmpty() ? cut.links : cut.place);
  }
  m_areAllChipsShown = m_cuts->count() <= kFirstChips + 2;
  for (int row = kFirstChips; row < m_cuts->count() && !m_areAllChipsShown; ++row) {
    m_cuts->setRowHidden(row, true);
  }
  m_moreCuts->setVisible(!m_areAllChipsShown);
  m_moreCuts->setText(tr("Show %1 more").arg(m_cuts->count() - kFirstChips));
  m_cutsHead->setVisible(m_cuts->count() > 0);
  const bool isCut = !bound->cuts.empty() && !bound->cuts.front().inside.empty();
  m_cutsHead->setText(!isCut                                           ? tr("Limiting links")
                      : bound->cutCount == 1 && bound->isCutCountExact ? tr("Only tight cut")
                                                                       : tr("Tied cuts"));
  m_cutsCount->setText(cutCountText(*bound));
  m_cutsCount->setToolTip(
      tr("Cuts that separate the GPUs differently. A set of GPUs and its complement are two cuts: "
         "what leaves one is not what leaves the other."));
  fitChips();
  showCut();
}

}  // namespace coppice::designer
