// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/schedule_activity.hpp"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QThreadPool>
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/checked.hpp"
#include "designer/charts/picture_file.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedule/command_text.hpp"
#include "designer/schedule/export_dialog.hpp"
#include "designer/schedule/generate_dialog.hpp"
#include "designer/schedule/transfer_panel.hpp"
#include "designer/schedule/tree_drawing.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

ScheduleActivity::ScheduleActivity(SchedulePrompts prompts, QWidget* window)
    : QObject(window),
      m_prompts(std::move(prompts)),
      m_window(window),
      m_panel(new SchedulePanel(window)),
      m_trees(new TreePanel(window)),
      m_transfers(new TransferPanel(window)),
      m_loads(new LoadsPanel(window)),
      m_charts(new ChartPanel(window)),
      m_drawing(new TreeDrawing(window)),
      m_options(new GenerateDialog(window)),
      m_treesJob(
          [this](const FoundTrees& found) {
            if (found.trees && found.result == m_trees->model().result()) {
              showTreesOfLink(found.link, *found.trees);
            }
          },
          0ms),
      m_opener([this](const std::shared_ptr<const OpenedSchedule>& opened) { receive(*opened); }, 0ms) {
  // The bound, which follows each edit, must not wait behind schedules, scans and files that take long.
  constexpr int kThreads = 12;
  QThreadPool* pool = QThreadPool::globalInstance();
  pool->setMaxThreadCount(std::max(pool->maxThreadCount(), kThreads));
  connect(m_panel, &SchedulePanel::generateWanted, this, &ScheduleActivity::generate);
  connect(m_options, &GenerateDialog::started, this, &ScheduleActivity::modeWanted);
  connect(m_panel, &SchedulePanel::exportWanted, this, &ScheduleActivity::exportCurrent);
  connect(m_panel, &SchedulePanel::renameWanted, this, &ScheduleActivity::rename);
  connect(m_panel, &SchedulePanel::removeWanted, this, &ScheduleActivity::remove);
  connect(m_panel, &SchedulePanel::rerunWanted, this, &ScheduleActivity::rerun);
  connect(m_trees, &TreePanel::generateWanted, this, &ScheduleActivity::generate);
  connect(m_trees, &TreePanel::chosenChanged, this, [this] {
    const std::vector<TreeRef> chosen = m_trees->chosenTrees();
    m_drawing->setTree(m_trees->model().result(),
                       chosen.empty() ? std::nullopt : std::optional<TreeRef>(chosen.front()));
    showOverlay();
  });
  connect(m_trees, &TreePanel::hovered, this, [this](const std::optional<TreeRef>& tree) {
    if (m_hovered != tree) {
      m_hovered = tree;
      showOverlay();
    }
  });
  const auto show = [this](const QString& tail, const QString& head) { goToLink(tail, head); };
  connect(m_trees, &TreePanel::endsActivated, this, show);
  connect(m_trees, &TreePanel::transfersWanted, this, &ScheduleActivity::transfersWanted);
  connect(m_transfers, &TransferPanel::generateWanted, this, &ScheduleActivity::generate);
  connect(m_transfers, &TransferPanel::endsActivated, this, show);
  connect(m_transfers, &TransferPanel::chosenChanged, this, [this] {
    m_loads->setStep(m_transfers->step());
    showOverlay();
  });
  connect(m_loads, &LoadsPanel::generateWanted, this, &ScheduleActivity::generate);
  connect(m_loads, &LoadsPanel::heatToggled, this, &ScheduleActivity::showOverlay);
  connect(m_loads, &LoadsPanel::linkChosen, this, show);
  connect(m_charts, &ChartPanel::generateWanted, this, &ScheduleActivity::generate);
  connect(m_charts, &ChartPanel::pictureWanted, this, &ScheduleActivity::savePicture);
}

ScheduleActivity::~ScheduleActivity() = default;

ScheduleBook* ScheduleActivity::bookOf(DocumentFile& file, LiveBound& bound) {
  auto* book = file.findChild<ScheduleBook*>(QString(), Qt::FindDirectChildrenOnly);
  return book != nullptr ? book : new ScheduleBook(file, bound, &file);
}

void ScheduleActivity::setSubject(const ScheduleSubject& subject) {
  if (m_file == subject.file) {
    return;
  }
  m_followed.clear();
  m_treesJob.cancel();
  if (m_canvas && m_hasOverlay) {
    m_canvas->setOverlay({});
    m_hasOverlay = false;
  }
  m_file = subject.file;
  m_selection = subject.selection;
  m_bound = subject.bound;
  m_canvas = subject.canvas;
  if (m_canvas) {
    m_followed.connect(m_canvas, &CanvasView::hovered, [this](const ElementId& id) { lookAtLink(id); });
  }
  m_book = m_file ? bookOf(*m_file, *m_bound) : nullptr;
  m_hovered.reset();
  m_map.reset();
  m_mapResult.reset();
  if (m_book) {
    m_followed.connect(m_book, &ScheduleBook::changed, [this] { follow(); });
    m_followed.connect(m_book, &ScheduleBook::currentChanged, [this] { follow(); });
    m_followed.connect(m_book, &ScheduleBook::runningChanged, [this] { Q_EMIT runningChanged(); });
    m_followed.connect(m_book, &ScheduleBook::finished, [this](int id) {
      const ScheduleEntry* entry = m_book->find(id);
      if (entry != nullptr && entry->result) {
        Q_EMIT message(entry->name + u": "_s + entry->result->verdictText());
      }
    });
    m_followed.connect(m_book, &ScheduleBook::runningChanged, [this] {
      if (!m_book->isRunning() && !m_book->failure().isEmpty()) {
        Q_EMIT message(m_book->failure());
      }
    });
    // A link may have gone, or come back, under a tree that is drawn.
    m_followed.connect(&m_file->document(), &Document::changed, [this] { showOverlay(); });
  }
  m_panel->setBook(m_book);
  m_options->setSubject(m_book, m_file, m_selection, m_bound);
  follow();
  Q_EMIT runningChanged();
}

void ScheduleActivity::setActive(bool isActive) {
  m_isActive = isActive;
  if (isActive) {
    showOverlay();
  } else {
    // The canvas is the next mode's already.
    m_hasOverlay = false;
  }
}

void ScheduleActivity::setPlayed(const QObject* player, bool isPlayed) {
  const QObject* before = m_player;
  if (isPlayed) {
    m_player = player;
  } else if (m_player == player) {
    m_player = nullptr;
  }
  if (m_player == before) {
    return;
  }
  if (m_player != nullptr && before != nullptr) {
    Q_EMIT playedBy(m_player);
  } else {
    showOverlay();
  }
}

void ScheduleActivity::setGuest(const QObject* guest, std::optional<Overlay> overlay) {
  const bool hadGuest = m_guest.has_value();
  if (!overlay && m_guestOwner != guest) {
    return;
  }
  m_guest = std::move(overlay);
  m_guestOwner = m_guest ? guest : nullptr;
  if (hadGuest || m_guest) {
    showOverlay();
  }
}

void ScheduleActivity::follow() {
  const ScheduleEntry* entry = m_book ? m_book->current() : nullptr;
  const ScheduleResultPtr result = entry != nullptr ? entry->result : nullptr;
  m_hovered.reset();
  m_result = result;
  m_trees->setResult(result);
  m_loads->setResult(result);
  m_charts->setResult(result);
  m_transfers->setResult(result);
  if (!result || result->forests() == nullptr) {
    m_drawing->setTree(nullptr, std::nullopt);
  }
  showOverlay();
  Q_EMIT currentChanged();
}

const FabricMap* ScheduleActivity::map() {
  const ScheduleResultPtr& result = m_result;
  if (!result || !m_file) {
    return nullptr;
  }
  const std::uint64_t revision = m_file->document().factRevision();
  if (!m_map || m_mapResult != result || m_mapRevision != revision) {
    m_map = std::make_unique<FabricMap>(*result, m_file->document().model());
    m_mapResult = result;
    m_mapRevision = revision;
  }
  return m_map.get();
}

std::vector<TreeMark> ScheduleActivity::treeMarks(const ScheduleResult& result, const QString& note) {
  std::vector<TreeRef> trees = m_trees->chosenTrees();
  if (m_hovered && std::find(trees.begin(), trees.end(), *m_hovered) == trees.end()) {
    trees.push_back(*m_hovered);
  }
  std::vector<TreeMark> marks;
  for (const TreeRef& tree : trees) {
    schedule::TreeReader* reader = m_trees->model().readerOf(tree.half);
    TreeMark mark = markOf(result, *reader, tree, *map());
    mark.category = static_cast<int>(marks.size());
    mark.label = m_trees->model().titleOf(tree) + note;
    marks.push_back(std::move(mark));
  }
  return marks;
}

void ScheduleActivity::showOverlay() {
  if (!m_canvas || !m_isActive) {
    return;
  }
  Overlay overlay;
  const ScheduleEntry* entry = m_book ? m_book->current() : nullptr;
  if (m_guest && m_player == nullptr) {
    overlay = *m_guest;
  } else if (m_player == nullptr && entry != nullptr && entry->result && entry->result == m_result) {
    const ScheduleResult& result = *entry->result;
    const bool isFresh = m_book->isFresh(*entry);
    const QString note = isFresh ? QString() : u' ' + tr("(stale)");
    overlay.trees = result.forests() != nullptr
                        ? treeMarks(result, note)
                        : transferMarks(m_transfers->model(), m_transfers->chosenTransfers(), *map(), note);
    if (!overlay.trees.empty()) {
      overlay.isRestDimmed = true;
    } else if (m_loads->isHeatWanted() && isFresh) {
      // Loads of a fabric that has changed would be a lie.
      overlay.heat = heatOf(result, *map());
    }
  }
  if (overlay.isEmpty() && !m_hasOverlay) {
    return;
  }
  m_hasOverlay = !overlay.isEmpty();
  m_canvas->setOverlay(std::move(overlay));
}

void ScheduleActivity::lookAtLink(const ElementId& id) {
  m_treesJob.cancel();
  const ScheduleEntry* entry = m_book ? m_book->current() : nullptr;
  if (!m_isActive || !id.link().isValid() || entry == nullptr || !entry->result || entry->result != m_result ||
      m_result->forests() == nullptr) {
    return;
  }
  const LineItem* line = m_canvas->scene().line(id.link());
  if (line == nullptr) {
    return;
  }
  // All links that are one line on the drawing.
  const std::set<LinkId> links(line->links.begin(), line->links.end());
  std::set<std::pair<fabric::NodeIndex, fabric::NodeIndex>> arcs;
  const ScheduleResult& result = *entry->result;
  for (std::size_t arc = 0; arc < result.loads.size(); ++arc) {
    const std::vector<LinkStep>& steps = map()->stepsOf(arc);
    if (std::any_of(steps.begin(), steps.end(), [&](const LinkStep& step) { return links.contains(step.link); })) {
      arcs.emplace(result.loads[arc].tail, result.loads[arc].head);
    }
  }
  constexpr std::size_t kMaxTold = 8;
  m_treesJob.submit([id, shared = entry->result, arcs = std::move(arcs)](const std::stop_token& stop) {
    FoundTrees found{id, shared, nullptr};
    try {
      found.trees = std::make_shared<const TreesOnLink>(treesOn(*shared, arcs, kMaxTold, stop));
    } catch (const OverflowError&) {
      // Amounts beyond the exact range are left out.
    }
    return found;
  });
}

void ScheduleActivity::showTreesOfLink(const ElementId& id, const TreesOnLink& trees) {
  if (!m_canvas || !m_isActive) {
    return;
  }
  HoverNote note;
  note.title =
      trees.different == 0
          ? tr("No tree uses this link")
          : counted(trees.copies, tr("tree"), tr("trees")) +
                (trees.different < trees.copies ? u", "_s + tr("%1 different").arg(trees.different) : QString());
  for (const TreeOnLink& each : trees.first) {
    note.rows.emplace_back(
        m_trees->model().titleOf(each.tree) + (each.copies > 1 ? u" ×"_s + QString::number(each.copies) : QString()),
        decimal(each.rate) + u" GB/s"_s);
  }
  if (trees.different > static_cast<std::int64_t>(trees.first.size())) {
    note.rows.emplace_back(tr("and %1 more").arg(trees.different - static_cast<std::int64_t>(trees.first.size())),
                           QString());
  }
  m_canvas->setHoverNote(id, std::move(note));
}

void ScheduleActivity::setCompared(const QObject* from, std::vector<ComparedSchedule> compared) {
  std::vector<ComparedSchedule>& known = m_compared[from];
  if (known != compared) {
    known = std::move(compared);
    Q_EMIT comparedChanged();
  }
}

std::vector<ComparedSchedule> ScheduleActivity::compared() const {
  std::vector<ComparedSchedule> all;
  for (const auto& [from, some] : m_compared) {
    all.insert(all.end(), some.begin(), some.end());
  }
  // Not by what happens to lie first in memory.
  std::sort(all.begin(), all.end(), [](const ComparedSchedule& a, const ComparedSchedule& b) { return a.id > b.id; });
  return all;
}

void ScheduleActivity::goToLink(const QString& tail, const QString& head, Reveal reveal) {
  if (!m_file || !m_canvas) {
    return;
  }
  const Model& model = m_file->document().model();
  const NodeId a = model.nodeNamed(tail.toStdString());
  const NodeId b = model.nodeNamed(head.toStdString());
  std::set<ElementId> links;
  if (a.isValid()) {
    for (const LinkId id : model.linksOf(a)) {
      const Link& link = *model.find(id);
      const bool runs = link.tail.node == a && link.head.node == b;
      const bool runsBack = link.duplex && link.tail.node == b && link.head.node == a;
      if (runs || runsBack) {
        links.insert(id);
      }
    }
  }
  if (links.empty()) {
    if (a.isValid() && b.isValid()) {
      m_selection->set({a, b});
      m_canvas->centreOn(ElementId(a));
    } else {
      Q_EMIT message(tr("%1 → %2 is no longer in the drawing").arg(tail, head));
    }
    return;
  }
  const ElementId first = *links.begin();
  m_selection->set(std::move(links));
  m_selection->setCurrent(first);
  if (reveal == Reveal::always || !m_canvas->isInView(first)) {
    m_canvas->centreOn(first);
  }
}

// ---- commands

void ScheduleActivity::generate() {
  if (m_book) {
    m_book->generate();
  }
}

void ScheduleActivity::showOptions() {
  m_options->show();
  m_options->raise();
  m_options->activateWindow();
}

void ScheduleActivity::cancel() {
  if (m_book) {
    m_book->cancel();
  }
}

ExportDialog* ScheduleActivity::exportCurrent() {
  const ScheduleEntry* entry = m_book ? m_book->current() : nullptr;
  if (entry == nullptr || !entry->result) {
    Q_EMIT message(tr("There is no schedule to export yet. Press F5 to generate one."));
    return nullptr;
  }
  delete m_export;
  m_export = new ExportDialog(entry->result, entry->name, m_book->isUnsaved(*entry) ? QString() : entry->path,
                              m_file->path(), m_prompts.fileToSave, m_window);
  m_export->setAttribute(Qt::WA_DeleteOnClose);
  connect(m_export, &ExportDialog::failed, this, [this](const QString& why) { m_prompts.failure(tr("Export"), why); });
  connect(m_export, &ExportDialog::saved, this,
          [this](const QString& path) { Q_EMIT message(tr("Saved %1").arg(QFileInfo(path).fileName())); });
  connect(m_export, &ExportDialog::regenerated, this, [this, book = m_book](const ScheduleResultPtr& result) {
    if (book && m_export) {
      const ScheduleEntry* made = book->find(book->add(result, ScheduleBook::nameFor(*result)));
      m_export->setSchedule(made->name, made->path);
    }
  });
  m_export->show();
  return m_export;
}

void ScheduleActivity::copyCommand() {
  if (m_book) {
    ScheduleOptions options = m_book->options();
    options.collective = m_book->collective();
    QGuiApplication::clipboard()->setText(
        generateCommand(m_file->path(), options, u"schedule"_s + fileSuffix(options)));
    Q_EMIT message(tr("Copied the command line"));
  }
}

void ScheduleActivity::rename(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (entry == nullptr) {
    return;
  }
  const auto name = m_prompts.text(tr("Rename Schedule"), tr("New name:"), entry->name);
  if (name && m_book) {
    if (const Outcome renamed = m_book->rename(id, *name); !renamed) {
      Q_EMIT message(sentence(renamed.error()));
    }
  }
}

void ScheduleActivity::remove(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (entry == nullptr) {
    return;
  }
  const bool isWanted =
      m_prompts.confirm(tr("Delete Schedule"),
                        m_book->isUnsaved(*entry)
                            ? tr("Delete “%1”?").arg(entry->name)
                            : tr("Delete “%1” and its file %2?").arg(entry->name, QFileInfo(entry->path).fileName()),
                        tr("Delete"), tr("Keep"));
  if (isWanted && m_book) {
    if (const Outcome removed = m_book->remove(id); !removed) {
      m_prompts.failure(tr("Delete Schedule"), sentence(removed.error()));
    }
  }
}

void ScheduleActivity::rerun(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (entry != nullptr && entry->result) {
    m_book->generate(ScheduleOptions(entry->result->options));
  }
}

void ScheduleActivity::showRootOfSelection() {
  const ScheduleResultPtr& result = m_trees->model().result();
  if (!result || !m_selection) {
    return;
  }
  for (const NodeId id : m_selection->nodes()) {
    const auto node = result->fabric->find(m_file->document().model().find(id)->facts.name);
    if (node && result->fabric->nodes()[*node].rank >= 0) {
      m_trees->showRoot(result->fabric->nodes()[*node].rank);
      return;
    }
  }
  Q_EMIT message(tr("Select a GPU to see its trees"));
}

void ScheduleActivity::clearTrees() {
  m_trees->clearChoice();
  m_transfers->clearChoice();
}

void ScheduleActivity::savePicture(ChartPanel::Which which) {
  const QString path = m_prompts.fileToSave(
      which == ChartPanel::Which::treeCount ? u"throughput.svg"_s : u"loads.svg"_s, pictureFilter());
  if (path.isEmpty()) {
    return;
  }
  if (const Outcome saved = m_charts->savePicture(which, path); !saved) {
    m_prompts.failure(tr("Save Picture"), errorText(saved.error()));
  } else {
    Q_EMIT message(tr("Saved %1").arg(QFileInfo(path).fileName()));
  }
}

// ---- files

bool ScheduleActivity::open(const QString& path) {
  if (scheduleFileKindOf(path) == ScheduleFileKind::none) {
    return false;
  }
  m_waiting << path;
  openNext();
  return true;
}

void ScheduleActivity::openNext() {
  if (m_isOpening || m_waiting.isEmpty()) {
    return;
  }
  m_isOpening = true;
  const QString path = m_waiting.takeFirst();
  Q_EMIT message(tr("Verifying %1…").arg(QFileInfo(path).fileName()));
  const bool hasNodes = m_file && !m_file->document().model().nodes().isEmpty();
  m_opener.submit([path, kind = scheduleFileKindOf(path), facts = hasNodes ? m_file->document().facts() : nullptr,
                   collective = m_book ? m_book->collective() : Collective::allgather](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return std::make_shared<const OpenedSchedule>(openSchedule(path, kind, facts, collective, progress));
  });
}

void ScheduleActivity::receive(const OpenedSchedule& opened) {
  m_isOpening = false;
  const QString name = QFileInfo(opened.path).fileName();
  if (opened.error) {
    Q_EMIT message(tr("%1 was rejected").arg(name));
    m_prompts.failure(tr("Open"), tr("%1 could not be opened.").arg(name) + u"\n\n"_s + errorText(*opened.error));
  } else if (opened.kind == ScheduleFileKind::program) {
    Q_EMIT message({});
    Q_EMIT programOpened(opened.path, opened.xml);
  } else {
    Q_EMIT message(name + u": "_s + opened.result->verdictText());
    Q_EMIT forestOpened(opened.result, opened.path, opened.isInferred);
  }
  openNext();
}

}  // namespace coppice::designer
