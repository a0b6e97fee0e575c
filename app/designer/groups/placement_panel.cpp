// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/placement_panel.hpp"

#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <set>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr const char* kJobCollective = "collective";
constexpr const char* kRelay = "relay-gpus";

std::vector<workflow::Option> placementFields() {
  std::vector<workflow::Option> options = workflow::placementOptions();
  workflow::Option collective{.name = kJobCollective,
                              .title = "Collective",
                              .help = "What the job does; its GPUs are chosen for that",
                              .kind = workflow::OptionKind::choice,
                              .defaultText = "allgather"};
  for (const Collective each :
       {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::alltoall}) {
    collective.words.emplace_back(toString(each));
  }
  options.push_back(std::move(collective));
  options.push_back({.name = kRelay,
                     .title = "Other GPUs relay",
                     .help = "GPUs that are not chosen pass data on",
                     .kind = workflow::OptionKind::flag});
  return options;
}

Outcome compute(PlacementAnswer& answer, workflow::Values values, const Progress& progress) {
  std::string collective = "allgather";
  if (const auto given = values.extract(kJobCollective)) {
    collective = given.mapped();
  }
  const bool relay = !values.extract(kRelay).empty();
  if (!values.contains("place")) {
    return workflow::optionError("place", "it is not said how many GPUs the job needs", "give a number of 2 or more");
  }
  auto fabric = fabric::Fabric::build(*answer.snapshot.facts);
  if (!fabric) {
    return fabric.error();
  }
  auto question = workflow::readPlacement(*answer.snapshot.facts, *fabric, values, collective, relay);
  if (!question) {
    return question.error();
  }
  auto placement = workflow::provedPlacement(*fabric, *question, progress);
  if (!placement) {
    return placement.error();
  }
  answer.cut = workflow::sharedCut(*fabric, placement->optimum);
  answer.fabric = *std::move(fabric);
  answer.question = *std::move(question);
  answer.placement = *std::move(placement);
  return Done{};
}

}  // namespace

PlacementPanel::PlacementPanel(QWidget* parent)
    : QuestionPanel(
          {.name = u"placement"_s,
           .noDocument = tr("Open a fabric to see which of its GPUs a job should get."),
           .invitation = tr("Which of the free GPUs should a job get? Give their number, and which GPUs are free."),
           .action = tr("Place"),
           .working = tr("Looking for the best choice…"),
           .command = u"optimum"_s},
          placementFields(),
          [](const Snapshot& snapshot, const workflow::Values& values, const Progress& progress) {
            return answered<PlacementAnswer>([&](PlacementAnswer& answer) {
              answer.snapshot = snapshot;
              return compute(answer, values, progress);
            });
          },
          parent),
      m_headline(new QLabel(this)),
      m_boxes(new QTableWidget(this)) {
  form().setValues({{"place", "8"}});
  m_headline->setObjectName(u"placementHeadline"_s);
  m_headline->setWordWrap(true);
  m_headline->setTextInteractionFlags(Qt::TextSelectableByMouse);
  setUpRowTable(*m_boxes, u"placementBoxes"_s, tr("Boxes with chosen GPUs"));
  setHeads(*m_boxes, {tr("Box"), tr("Chosen"), tr("Free"), tr("Ranks")}, 3);
  auto* select = new QPushButton(tr("Select These GPUs"), this);
  select->setObjectName(u"placementSelect"_s);
  connect(select, &QPushButton::clicked, this, &PlacementPanel::selectChosen);
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  constexpr int kMargin = 10;
  constexpr int kGap = 6;
  layout->setContentsMargins(kMargin, kGap, kMargin, kGap);
  layout->setSpacing(kGap);
  layout->addWidget(m_headline);
  layout->addWidget(state());
  layout->addWidget(m_boxes, 1);
  layout->addWidget(select, 0, Qt::AlignLeft);
  setContent(content);
}

void PlacementPanel::showAnswer(const PanelAnswerPtr& answer) {
  m_answer = std::static_pointer_cast<const PlacementAnswer>(answer);
  m_headline->clear();
  fillBoxes();
  if (!m_answer || !m_answer->placement) {
    return;
  }
  const groups::Placement& placement = *m_answer->placement;
  const auto free = std::count(m_answer->question.isFree.begin(), m_answer->question.isFree.end(), true);
  const QString count = tr("%1 of %2 GPUs").arg(m_answer->question.size).arg(free);
  m_headline->setText(placement.isExact()
                          ? tr("<b>%1: %2.</b> No choice is faster.").arg(count, gigabytes(placement.optimum.lower))
                          : tr("<b>%1: %2.</b> No choice is above %3.")
                                .arg(count, gigabytes(placement.optimum.lower), gigabytes(placement.upper)));
}

void PlacementPanel::fillBoxes() {
  m_boxes->setRowCount(0);
  if (!m_answer || !m_answer->placement) {
    return;
  }
  struct Row {
    int free = 0;
    std::vector<fabric::Rank> ranks;
  };
  std::map<std::string, Row> rows;
  const std::vector<fabric::Rank>& ranks = m_answer->placement->ranks;
  for (fabric::Rank rank = 0; rank < m_answer->fabric->gpuCount(); ++rank) {
    const auto node = static_cast<std::size_t>(m_answer->fabric->gpus()[static_cast<std::size_t>(rank)]);
    Row& row = rows[m_answer->fabric->nodes()[node].box];
    row.free += m_answer->question.isFree[static_cast<std::size_t>(rank)] ? 1 : 0;
    if (std::binary_search(ranks.begin(), ranks.end(), rank)) {
      row.ranks.push_back(rank);
    }
  }
  std::vector<std::pair<std::string, Row>> used;
  for (auto& [box, row] : rows) {
    if (!row.ranks.empty()) {
      used.emplace_back(box, std::move(row));
    }
  }
  std::sort(used.begin(), used.end(),
            [](const auto& a, const auto& b) { return a.second.ranks.front() < b.second.ranks.front(); });
  m_boxes->setRowCount(static_cast<int>(used.size()));
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto& [box, row] = used[i];
    const int at = static_cast<int>(i);
    setCell(*m_boxes, at, 0, box.empty() ? tr("none") : QString::fromStdString(box), false);
    setCell(*m_boxes, at, 1, QString::number(row.ranks.size()), true);
    setCell(*m_boxes, at, 2, QString::number(row.free), true);
    setCell(*m_boxes, at, 3, QString::fromStdString(workflow::rankList(row.ranks)), false);
  }
}

std::vector<NodeId> PlacementPanel::chosenNodes() const {
  std::vector<NodeId> nodes;
  for (const fabric::Rank rank : m_answer->placement->ranks) {
    nodes.push_back(
        m_answer->snapshot.nodes[static_cast<std::size_t>(m_answer->fabric->gpus()[static_cast<std::size_t>(rank)])]);
  }
  return nodes;
}

void PlacementPanel::selectChosen() {
  if (isCurrent() && m_answer->placement) {
    const std::vector<NodeId> nodes = chosenNodes();
    context()->selection().set({nodes.begin(), nodes.end()});
  }
}

QString PlacementPanel::stateOf(const PanelAnswer& answer) const {
  const auto& own = static_cast<const PlacementAnswer&>(answer);
  return tr("Bound %1. %2 tried in %3.")
      .arg(QString::fromStdString(workflow::boundWords(*own.placement)),
           counted(own.placement->tried, tr("choice"), tr("choices")), duration(own.seconds));
}

Overlay PlacementPanel::marks() const {
  Overlay overlay;
  if (!context() || !isSeen() || !isCurrent() || !m_answer->placement) {
    return overlay;
  }
  const std::vector<NodeId> nodes = chosenNodes();
  overlay.hulls.push_back({.nodes = {nodes.begin(), nodes.end()},
                           .line = Token::accent,
                           .fill = Token::accentSoft,
                           .label = tr("Place here: %1").arg(gigabytes(m_answer->placement->optimum.lower))});
  overlay.marks = linkMarks(*context(), m_answer->snapshot, *m_answer->fabric, m_answer->cut);
  return overlay;
}

}  // namespace coppice::designer
