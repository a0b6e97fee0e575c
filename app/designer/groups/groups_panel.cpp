// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/groups_panel.hpp"

#include <QSignalBlocker>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr const char* kCollective = "collective";

/// With the collective of a mesh, which the command line has among other options.
std::vector<workflow::Option> optionsOfPanel() {
  workflow::Option collective{.name = kCollective,
                              .title = "Collective of a mesh",
                              .help = "What all groups of a mesh do; a file names it for each group",
                              .kind = workflow::OptionKind::choice,
                              .defaultText = "allgather"};
  for (const Collective each : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                Collective::alltoall, Collective::broadcast, Collective::reduce}) {
    collective.words.emplace_back(toString(each));
  }
  std::vector<workflow::Option> options = workflow::groupOptions();
  options.insert(std::find_if(options.begin(), options.end(),
                              [](const workflow::Option& option) { return option.name == "relay"; }),
                 std::move(collective));
  // What most people ask first.
  std::rotate(options.begin(), options.begin() + 1, options.begin() + 4);
  return options;
}

Outcome compute(GroupsAnswer& answer, workflow::Values values, const Progress& progress) {
  std::string collective = "allgather";
  if (const auto given = values.extract(kCollective)) {
    collective = given.mapped();
  }
  auto text = workflow::readGroupOptions(values);
  if (!text) {
    return text.error();
  }
  text->demand.collective = collective;
  auto fabric = fabric::Fabric::build(*answer.snapshot.facts);
  if (!fabric) {
    return fabric.error();
  }
  auto demand = workflow::readConcurrent(*answer.snapshot.facts, *fabric, *text);
  if (!demand) {
    return demand.error();
  }
  auto optimum = workflow::provedConcurrent(*fabric, *demand, progress);
  if (!optimum) {
    return optimum.error();
  }
  answer.alike = workflow::alikeGroups(*demand, *optimum);
  answer.cut = workflow::sharedCut(*fabric, *optimum);
  answer.fabric = *std::move(fabric);
  answer.demand = *std::move(demand);
  answer.optimum = *std::move(optimum);
  return Done{};
}

QString collectiveOf(const schedule::ConcurrentGroup& group) {
  return QString::fromUtf8(toString(group.collective).data());
}

}  // namespace

GroupsPanel::GroupsPanel(QWidget* parent)
    : QuestionPanel(
          {.name = u"groups"_s,
           .noDocument = tr("Open a fabric to see how fast several collectives at once can be on it."),
           .invitation = tr("How fast are collectives of several groups of GPUs that run at the same time, "
                            "and which links do they share? Give the sizes of a mesh, for example 4x8, or a "
                            "file of groups."),
           .action = tr("Compute"),
           .working = tr("Computing the rate of all groups…"),
           .command = u"optimum"_s},
          optionsOfPanel(),
          [](const Snapshot& snapshot, const workflow::Values& values, const Progress& progress) {
            return answered<GroupsAnswer>([&](GroupsAnswer& answer) {
              answer.snapshot = snapshot;
              return compute(answer, values, progress);
            });
          },
          parent),
      m_headline(new QLabel(this)),
      m_groups(new QTableWidget(this)),
      m_cut(new QTableWidget(this)) {
  m_headline->setObjectName(u"groupsHeadline"_s);
  m_headline->setWordWrap(true);
  m_headline->setTextInteractionFlags(Qt::TextSelectableByMouse);
  setUpRowTable(*m_groups, u"groupsTable"_s, tr("Groups"));
  setHeads(*m_groups, {tr("Groups"), tr("Collective"), tr("GPUs"), tr("GB/s each"), tr("Of the cut"), tr("Ranks")}, 5);
  setUpRowTable(*m_cut, u"groupsCut"_s, tr("Links that the groups share"));
  setHeads(*m_cut, {tr("Links"), tr("GB/s each"), tr("+1 GB/s adds"), tr("Such as")}, 3);
  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  tabs->addTab(m_groups, tr("Groups"));
  tabs->addTab(m_cut, tr("Shared Cut"));
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  constexpr int kMargin = 10;
  constexpr int kGap = 6;
  layout->setContentsMargins(kMargin, kGap, kMargin, 0);
  layout->setSpacing(kGap);
  layout->addWidget(m_headline);
  layout->addWidget(state());
  layout->addWidget(tabs, 1);
  connect(m_groups, &QTableWidget::itemSelectionChanged, this, &GroupsPanel::marksChanged);
  setContent(content);
}

void GroupsPanel::showAnswer(const PanelAnswerPtr& answer) {
  m_answer = std::static_pointer_cast<const GroupsAnswer>(answer);
  m_headline->clear();
  fillGroups();
  fillCut();
  if (!m_answer || !m_answer->optimum) {
    return;
  }
  const groups::Optimum& optimum = *m_answer->optimum;
  const QString count = counted(static_cast<qsizetype>(m_answer->demand.groups.size()), tr("group"), tr("groups"));
  const QString each = QString::fromStdString(workflow::eachWords(m_answer->demand));
  m_headline->setText(
      optimum.isExact()
          ? tr("<b>%1 at once: %2 GB/s%3.</b> No schedule is faster.").arg(count, exactly(optimum.upper), each)
          : tr("<b>%1 at once: at most %2%3.</b> Trees are known for %4.")
                .arg(count, gigabytes(optimum.upper), each, gigabytes(optimum.lower)));
}

void GroupsPanel::fillGroups() {
  const QSignalBlocker quiet(m_groups);
  m_groups->setRowCount(0);
  if (!m_answer) {
    return;
  }
  m_groups->setRowCount(static_cast<int>(m_answer->alike.size()));
  for (std::size_t i = 0; i < m_answer->alike.size(); ++i) {
    const workflow::AlikeGroups& alike = m_answer->alike[i];
    const schedule::ConcurrentGroup& first = m_answer->demand.groups[alike.groups.front()];
    const int row = static_cast<int>(i);
    QStringList ranks;
    for (const fabric::Rank rank : first.ranks) {
      ranks << QString::number(rank);
    }
    const Bandwidth rate = m_answer->optimum->upper * first.weight;
    setCell(*m_groups, row, 0, QString::number(alike.groups.size()), true);
    setCell(*m_groups, row, 1, collectiveOf(first), false);
    setCell(*m_groups, row, 2, QString::number(first.ranks.size()), true);
    setCell(*m_groups, row, 3, decimal(rate), true, exactly(rate));
    setCell(*m_groups, row, 4, percentOf(alike.demand, Rational(1)), true, exactly(alike.demand));
    setCell(*m_groups, row, 5, ranks.join(u", "_s) + (alike.groups.size() > 1 ? u"; …"_s : QString()), false);
  }
  if (m_groups->rowCount() > 0) {
    m_groups->selectRow(0);
  }
}

void GroupsPanel::fillCut() {
  m_cut->setRowCount(0);
  if (!m_answer || !m_answer->fabric) {
    return;
  }
  m_cut->setRowCount(static_cast<int>(m_answer->cut.size()));
  for (std::size_t i = 0; i < m_answer->cut.size(); ++i) {
    const workflow::CutLinks& links = m_answer->cut[i];
    const fabric::Arc& arc = m_answer->fabric->arcs()[static_cast<std::size_t>(links.arcs.front())];
    const auto name = [&](fabric::NodeIndex node) {
      return QString::fromStdString(m_answer->fabric->nodes()[static_cast<std::size_t>(node)].id);
    };
    const int row = static_cast<int>(i);
    setCell(*m_cut, row, 0, QString::number(links.arcs.size()), true);
    setCell(*m_cut, row, 1, decimal(links.bandwidth), true, exactly(links.bandwidth));
    setCell(*m_cut, row, 2, decimal(links.price, 4), true, exactly(links.price));
    setCell(*m_cut, row, 3, name(arc.tail) + u" → "_s + name(arc.head), false);
  }
}

QString GroupsPanel::stateOf(const PanelAnswer& answer) const {
  return tr("Proved on both sides in %1.").arg(duration(answer.seconds));
}

Overlay GroupsPanel::marks() const {
  Overlay overlay;
  const int row = m_groups->selectedItems().isEmpty() ? -1 : m_groups->currentRow();
  if (!context() || !isVisible() || !isCurrent() || !m_answer->fabric || row < 0) {
    return overlay;
  }
  const workflow::AlikeGroups& alike = m_answer->alike[static_cast<std::size_t>(row)];
  const schedule::ConcurrentGroup& group = m_answer->demand.groups[alike.groups.front()];
  Hull hull;
  for (const fabric::Rank rank : group.ranks) {
    hull.nodes.insert(m_answer->snapshot.nodes[m_answer->fabric->gpus()[static_cast<std::size_t>(rank)]]);
  }
  hull.line = Token::accent;
  hull.fill = Token::accentSoft;
  hull.label = collectiveOf(group) + u", "_s + gigabytes(m_answer->optimum->upper * group.weight);
  if (alike.groups.size() > 1) {
    hull.label += tr(", one of %1 groups").arg(alike.groups.size());
  }
  overlay.hulls.push_back(std::move(hull));
  overlay.marks = linkMarks(*context(), m_answer->snapshot, *m_answer->fabric, m_answer->cut);
  return overlay;
}

}  // namespace coppice::designer
