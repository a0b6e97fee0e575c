// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/groups_panel.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "workflow/concurrent_schedules.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr const char* kCollective = "collective";
/// Hulls that can still be told apart.
constexpr std::size_t kMaxHulls = 16;

/// With the collective of a mesh, which the command line has among other options.
std::vector<workflow::Option> optionsOfPanel() {
  workflow::Option collective{.name = kCollective,
                              .title = "Collective",
                              .help = "What all groups do; a file names it for each group",
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
  std::rotate(options.begin(), options.begin() + 2, options.begin() + 4);
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

/// As `generate --groups -o` does.
Outcome writeInto(WrittenGroups& written, const GroupsAnswer& answer, const Progress& progress) {
  const auto schedules = workflow::scheduleGroups(*answer.fabric, answer.demand, *answer.optimum, progress);
  if (!schedules) {
    return schedules.error();
  }
  written.schedules = schedules->size();
  for (const workflow::GroupSchedule& each : *schedules) {
    written.reached += schedule::algbwOf(each.judged.made.schedule) >= each.wanted ? 1 : 0;
  }
  const auto names = workflow::writeGroups(written.folder.toStdString(), answer.demand, *schedules,
                                           answer.snapshot.facts.get(), progress);
  return names ? Outcome(Done{}) : Outcome(names.error());
}

/// "4x8" of four boxes of eight GPUs: by outermost boxes where they hold equal numbers, else as square as it can be.
QString meshExample(const Model& model) {
  const auto gpusOf = [&](const std::vector<NodeId>& nodes) {
    return std::count_if(nodes.begin(), nodes.end(),
                         [&](NodeId id) { return model.find(id)->kind() == fabric::NodeKind::gpu; });
  };
  std::ptrdiff_t gpus = gpusOf(model.nodesIn({}));
  std::set<std::ptrdiff_t> sizes;
  std::ptrdiff_t boxes = 0;
  if (gpus > 0) {
    sizes.insert(0);  // beside the boxes
  }
  for (const BoxId box : model.boxesIn({})) {
    if (const std::ptrdiff_t inside = gpusOf(model.allNodesIn(box)); inside > 0) {
      sizes.insert(inside);
      gpus += inside;
      ++boxes;
    }
  }
  if (gpus < 2) {
    return {};
  }
  std::ptrdiff_t outer = 1;
  if (sizes.size() == 1 && boxes > 1 && *sizes.begin() > 1) {
    outer = boxes;
  } else {
    for (std::ptrdiff_t each = 2; each * each <= gpus; ++each) {
      outer = gpus % each == 0 ? each : outer;
    }
  }
  return outer == 1 ? QString::number(gpus) : u"%1x%2"_s.arg(outer).arg(gpus / outer);
}

}  // namespace

GroupsPanel::GroupsPanel(QWidget* parent)
    : QuestionPanel(
          {.name = u"groups"_s,
           .noDocument = tr("Open a fabric to see how fast several collectives at once can be on it."),
           .invitation = tr("How fast are collectives of several groups of GPUs that run at the same time, "
                            "and which links do they share? Give the sizes of a mesh, for example 4x8, or a "
                            "file of groups, or select GPUs and add them as a group."),
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
      m_cut(new QTableWidget(this)),
      m_write(new QPushButton(tr("Write Schedules…"), this)),
      m_written(new QLabel(this)),
      m_hint(new QLabel(this)),
      m_writing([this](const WrittenGroupsPtr& written) { showWritten(written); }, std::chrono::milliseconds(0)) {
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
  layout->setContentsMargins(kMargin, kGap, kMargin, kGap);
  layout->setSpacing(kGap);
  layout->addWidget(m_headline);
  layout->addWidget(state());
  layout->addWidget(tabs, 1);
  layout->addWidget(makeButtons());
  auto* add = new QPushButton(tr("Add Selected GPUs"), this);
  add->setObjectName(u"groupsAddSelected"_s);
  add->setToolTip(tr("Makes a group of the GPUs that are selected in the drawing"));
  connect(add, &QPushButton::clicked, this, &GroupsPanel::addSelected);
  form().addBelow("", add);
  m_hint->setObjectName(u"groupsHint"_s);
  m_hint->setProperty("role", u"muted"_s);
  m_hint->setWordWrap(true);
  form().addBelow("", m_hint);
  connect(m_groups, &QTableWidget::itemSelectionChanged, this, &GroupsPanel::marksChanged);
  setContent(content);
}

QWidget* GroupsPanel::makeButtons() {
  m_write->setObjectName(u"groupsWrite"_s);
  m_write->setToolTip(
      tr("Makes a verified schedule for each group, which keeps to its share of the links, and writes "
         "them into a folder"));
  m_written->setObjectName(u"groupsWritten"_s);
  m_written->setProperty("role", u"muted"_s);
  m_written->setWordWrap(true);
  connect(m_write, &QPushButton::clicked, this, [this] {
    if (isWriting()) {
      m_writing.cancel();
      refreshWriting();
    } else {
      Q_EMIT folderAsked();
    }
  });
  auto* buttons = new QWidget(this);
  auto* layout = new QHBoxLayout(buttons);
  layout->setContentsMargins({});
  layout->addWidget(m_write);
  layout->addWidget(m_written, 1);
  return buttons;
}

void GroupsPanel::adaptForm() {
  form().setExample("mesh", meshExample(context()->model()));
}

void GroupsPanel::addSelected() {
  if (context() == nullptr) {
    return;
  }
  const Snapshot snapshot = Snapshot::of(context()->document());
  const std::vector<NodeId> nodes = context()->selection().nodesAndContents();
  const std::set<NodeId> selected(nodes.begin(), nodes.end());
  QStringList ids;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (selected.contains(snapshot.nodes[i]) && snapshot.facts->nodes[i].kind == "gpu") {
      ids << QString::fromStdString(snapshot.facts->nodes[i].id);
    }
  }
  if (ids.size() < 2) {
    m_hint->setText(tr("Select two GPUs or more in the drawing first."));
    return;
  }
  m_hint->clear();
  workflow::Values values = form().values();
  values.erase("mesh");
  values.erase("axis");
  values.erase("groups");
  std::string& lists = values["ranks"];
  lists += (lists.empty() ? "" : ";") + ids.join(u',').toStdString();
  form().setValues(values);
  if (isSearching()) {
    search();  // stops
  }
  search();
}

void GroupsPanel::write(const QString& folder) {
  if (!isCurrent() || !m_answer->optimum) {
    return;
  }
  m_writing.submit([answer = m_answer, folder](std::stop_token stop) -> WrittenGroupsPtr {
    return answered<WrittenGroups>([&](WrittenGroups& written) {
      Progress progress;
      progress.stop = std::move(stop);
      written.folder = folder;
      return writeInto(written, *answer, progress);
    });
  });
  refreshWriting();
}

void GroupsPanel::refreshWriting() {
  m_write->setText(isWriting() ? tr("Stop Writing") : tr("Write Schedules…"));
  m_written->setText(isWriting() ? tr("Generating and verifying a schedule for each group…") : QString());
}

void GroupsPanel::showWritten(const WrittenGroupsPtr& written) {
  refreshWriting();
  if (!written->problem.isEmpty()) {
    m_written->setText(written->problem);
    return;
  }
  const QString count = counted(static_cast<qsizetype>(written->schedules), tr("schedule"), tr("schedules"));
  m_written->setText(written->reached == written->schedules
                         ? tr("%1 in %2. All reach the rate and are verified.").arg(count, written->folder)
                         : tr("%1 in %2. All are verified; %3 reach the rate, the others less within their shares.")
                               .arg(count, written->folder)
                               .arg(written->reached));
}

void GroupsPanel::showAnswer(const PanelAnswerPtr& answer) {
  m_answer = std::static_pointer_cast<const GroupsAnswer>(answer);
  m_writing.cancel();
  refreshWriting();
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
    setCell(*m_groups, row, 1, collectiveName(first.collective), false);
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
  if (!context() || !isSeen() || !isCurrent() || !m_answer->fabric || row < 0) {
    return overlay;
  }
  const workflow::AlikeGroups& chosen = m_answer->alike[static_cast<std::size_t>(row)];
  const std::size_t count = m_answer->demand.groups.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool isChosen = std::binary_search(chosen.groups.begin(), chosen.groups.end(), i);
    if (overlay.hulls.size() == kMaxHulls || (!isChosen && count > kMaxHulls)) {
      continue;
    }
    const schedule::ConcurrentGroup& group = m_answer->demand.groups[i];
    Hull hull;
    for (const fabric::Rank rank : group.ranks) {
      hull.nodes.insert(m_answer->snapshot.nodes[m_answer->fabric->gpus()[static_cast<std::size_t>(rank)]]);
    }
    hull.category = static_cast<int>(i);
    hull.isDashed = !isChosen;
    if (i == chosen.groups.front()) {
      hull.label = collectiveName(group.collective) + u", "_s + gigabytes(m_answer->optimum->upper * group.weight);
      if (chosen.groups.size() > 1) {
        hull.label += tr(", one of %1 groups").arg(chosen.groups.size());
      }
    }
    overlay.hulls.push_back(std::move(hull));
  }
  overlay.marks = linkMarks(*context(), m_answer->snapshot, *m_answer->fabric, m_answer->cut);
  return overlay;
}

}  // namespace coppice::designer
