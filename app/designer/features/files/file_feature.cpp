// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/files/file_feature.hpp"

#include <QClipboard>
#include <QFile>
#include <QFileInfo>
#include <QGuiApplication>
#include <QPointer>
#include <QSettings>
#include <QTimer>
#include <QUndoStack>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "designer/document/exchange.hpp"
#include "designer/workspace/view_link.hpp"
#include "io/files.hpp"
#include "workflow/fabric_source.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMaxRecent = 12;

/// The file says where a node is drawn.
bool hasPlaces(const Model& model) {
  for (const auto& [id, node] : model.nodes()) {
    if (node.drawing.isPlaced) {
      return true;
    }
  }
  return false;
}

std::filesystem::path toPath(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

/// Nothing was ever done in it.
bool isUntouched(EditorContext& context) {
  return context.file().path().isEmpty() && !context.file().isModified() &&
         context.document().undoStack()->count() == 0 && context.model().nodes().isEmpty();
}

ExportFormat exportFormatOf(const QString& path) {
  const QString lower = path.toLower();
  if (lower.endsWith(u".dot"_s) || lower.endsWith(u".gv"_s)) {
    return ExportFormat::dot;
  }
  if (lower.endsWith(u".adj.json"_s) || lower.endsWith(u".adj"_s)) {
    return ExportFormat::adjacency;
  }
  return lower.endsWith(u".csv"_s) ? ExportFormat::linkCsv : ExportFormat::fabricJson;
}

}  // namespace

FileFeature::FileFeature(const FeatureHost& host)
    : Feature(host),
      m_keepsSettings(host.options.keepsSettings),
      m_session(m_workspace, m_prompts, m_window, m_keepsSettings,
                [this](const QString& path) { return openFile(path); }) {
  addOpenActions();
  addSaveActions();
  if (m_keepsSettings) {
    m_recent = QSettings().value(u"recent"_s).toStringList();
  }
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) { attach(*context); });
  connect(&m_workspace, &Workspace::stateChanged, this, &FileFeature::updateActions);
}

void FileFeature::addOpenActions() {
  m_actions.add({u"file.new"_s, tr("&New"), tr("Open an empty fabric in a new tab"), {QKeySequence::New}, u"new"_s},
                [this](bool) { m_workspace.newDocument(); });
  m_actions.add({u"file.open"_s,
                 tr("&Open…"),
                 tr("Open fabrics, or import them from another format"),
                 {QKeySequence::Open},
                 u"open"_s},
                [this](bool) {
                  openFiles(m_prompts.filesToOpen(m_window, {},
                                                  tr("Fabrics, schedules, programs and sketches (*.fabric.json *.json "
                                                     "*.xml *.txt *.dot *.gv *.csv *.adj *.conf *.yaml *.yml "
                                                     "*.topo);;All files (*)")));
                });
}

void FileFeature::addSaveActions() {
  addForCurrent({u"file.save"_s, tr("&Save"), tr("Write the file"), {QKeySequence::Save}, u"save"_s},
                [this](EditorContext& context) { save(context); });
  addForCurrent(
      {u"file.save-as"_s, tr("Save &As…"), tr("Save the file under another name"), {QKeySequence(u"Ctrl+Shift+S"_s)}},
      [this](EditorContext& context) { saveAs(context); });
  addForCurrent({u"file.export"_s, tr("&Export Fabric…"), tr("Write the fabric in another format"), {}, u"export"_s},
                [this](EditorContext& context) { exportAs(context); });
  addForCurrent({u"file.copy-link"_s,
                 tr("Copy Lin&k to This View"),
                 tr("Copy what opens this file in this mode, at this cut and zoom: coppice FILE#mode=…"),
                 {},
                 u"copy"_s},
                [this](EditorContext& context) {
                  if (context.file().path().isEmpty()) {
                    m_workspace.say(tr("Save the fabric first"));
                    return;
                  }
                  QGuiApplication::clipboard()->setText(ViewLink::to(context, m_workspace.mode()).text());
                  m_workspace.say(tr("Copied the link"));
                });
  addForCurrent({u"file.close"_s, tr("&Close"), tr("Close this tab"), {QKeySequence::Close}, u"close"_s},
                [this](EditorContext& context) { close(context); });
}

void FileFeature::attach(EditorContext& context) {
  connect(
      &context.file(), &DocumentFile::changedOnDisk, this,
      [this, asked = QPointer<EditorContext>(&context)] {
        if (asked) {
          tellOfChangeOnDisk(*asked);
        }
      },
      Qt::QueuedConnection);
}

void FileFeature::updateActions() {
  EditorContext* context = current();
  enable({"file.save-as", "file.export", "file.copy-link", "file.close"}, context != nullptr);
  enable({"file.save"}, context != nullptr && (context->file().isModified() || context->file().path().isEmpty()));
}

// ---- open

EditorContext* FileFeature::openFile(const QString& path) {
  const auto opened = open(path);
  if (!opened) {
    m_prompts.failure(m_window, tr("Open"), failureText(path, opened.error()));
    return nullptr;
  }
  return *opened;
}

bool FileFeature::openCluster(const QStringList& paths) {
  std::vector<std::string> names;
  for (const QString& path : paths) {
    names.push_back(QFileInfo(path).absoluteFilePath().toStdString());
  }
  const auto cluster = asCluster(names);
  if (!cluster) {
    return false;
  }
  if (auto chosen = m_prompts.import(m_window, *cluster)) {
    for (const std::string& name : names) {
      addRecent(QString::fromStdString(name));
    }
    m_workspace.adopt(std::move(chosen->model), std::move(chosen->findings),
                      QFileInfo(QString::fromStdString(cluster->fileName)).completeBaseName());
  }
  return true;
}

void FileFeature::openFiles(const QStringList& paths) {
  if (openCluster(paths)) {
    return;
  }
  QStringList failures;
  for (const QString& path : m_runTaker ? m_runTaker(paths) : paths) {
    if (const auto opened = open(path); !opened) {
      failures << failureText(path, opened.error());
    }
  }
  if (failures.size() == 1) {
    m_prompts.failure(m_window, tr("Open"), failures.front());
  } else if (!failures.isEmpty()) {
    // As many as fit on a screen.
    constexpr qsizetype kMaxShown = 8;
    QString text = tr("%1 of %2 files could not be opened.").arg(failures.size()).arg(paths.size());
    for (const QString& failure : failures.mid(0, kMaxShown)) {
      text += u"\n\n"_s + failure;
    }
    if (failures.size() > kMaxShown) {
      text += u"\n\n"_s + tr("And %1 more.").arg(failures.size() - kMaxShown);
    }
    m_prompts.failure(m_window, tr("Open"), text);
  }
}

QString FileFeature::failureText(const QString& path, const Error& error) const {
  const QString name = QFileInfo(path).fileName();
  return tr("%1 could not be opened.").arg(name.isEmpty() ? path : name) + u"\n\n"_s +
         QString::fromStdString(describe(error));
}

EditorContext* FileFeature::openAlready(const QString& path) const {
  const QFileInfo info(path);
  for (EditorContext* context : m_workspace.contexts()) {
    // Under whatever name.
    const QString& other = context->file().path();
    if (other == info.absoluteFilePath() || (info.exists() && QFileInfo(other) == info)) {
      return context;
    }
  }
  return nullptr;
}

Result<EditorContext*> FileFeature::open(const QString& path) {
  const auto link = ViewLink::of(path);
  if (!link) {
    return link.error();
  }
  if (*link) {
    const auto opened = open((*link)->path);
    if (opened && *opened != nullptr) {
      (*link)->show(**opened, m_workspace);
    }
    return opened;
  }
  if (const std::string source = path.toStdString(); source.starts_with(workflow::kPresetPrefix)) {
    const auto made = workflow::loadDescription({.source = source}, {});
    if (!made) {
      return made.error();
    }
    ReadModel read = readArranged(made->description);
    return m_workspace.adopt(std::move(read.model), std::move(read.findings),
                             QString::fromStdString(made->description.name));
  }
  if (EditorContext* context = openAlready(path)) {
    m_workspace.activate(context);
    m_workspace.say(tr("%1 is open already").arg(context->file().displayName()));
    return context;
  }
  const QFileInfo info(path);
  const QString absolute = info.absoluteFilePath();
  const Place place{.file = absolute.toStdString()};
  if (!info.exists()) {
    forgetRecent(absolute);
    return Error{ErrorCode::io, "there is no such file", "it may have been moved or renamed; search for it with Open",
                 place};
  }
  if (info.isDir()) {
    return Error{ErrorCode::io, "this is a folder", "open the files in it", place};
  }
  if (!info.isFile()) {
    // A pipe would keep the window waiting.
    return Error{ErrorCode::io, "this is not a regular file", "save its content to a file first", place};
  }
  if ((m_opener && m_opener(absolute)) || (m_runTaker && m_runTaker({absolute}).isEmpty())) {
    addRecent(absolute);
    return static_cast<EditorContext*>(nullptr);
  }
  const auto text = io::readFile(toPath(absolute));
  if (!text) {
    return text.error();
  }
  const auto format = io::detectFormat(toPath(absolute), *text);
  return format && *format == io::FabricFormat::json ? openFabric(absolute) : importText(absolute, *text);
}

Result<EditorContext*> FileFeature::importText(const QString& absolute, const std::string& text) {
  auto read = readAnyFabric(text, absolute.toStdString());
  if (!read) {
    return read.error();
  }
  if (const auto choices = withOpenChoices(text, absolute.toStdString())) {
    auto chosen = m_prompts.import(m_window, *choices);
    if (!chosen) {
      return static_cast<EditorContext*>(nullptr);
    }
    read = *std::move(chosen);
  }
  addRecent(absolute);
  return m_workspace.adopt(std::move(read->model), std::move(read->findings), QFileInfo(absolute).completeBaseName());
}

Result<EditorContext*> FileFeature::openFabric(const QString& absolute) {
  const QString name = QFileInfo(absolute).fileName();
  const QString journal = DocumentFile::journalBeside(absolute);
  if (QFileInfo::exists(journal) && !isJournalHeld(journal)) {
    auto recovered = recover(journal);
    const std::optional<bool> isWanted =
        recovered ? m_prompts.choice(m_window, tr("Restore Changes"),
                                     tr("Coppice closed unexpectedly. %1.")
                                         .arg(RecoveryDialog::lossOf(m_session.recoveryItem(*recovered, journal))),
                                     tr("Restore"), tr("Discard"))
                  : std::optional(false);
    if (!isWanted) {
      return static_cast<EditorContext*>(nullptr);
    }
    if (*isWanted) {
      addRecent(absolute);
      return m_session.recoverInto(*std::move(recovered), journal);
    }
    m_session.discard(journal, recovered ? recovered->head.identity : QString());
  }
  const bool isHeldElsewhere = QFileInfo::exists(journal) && isJournalHeld(journal);
  auto context = std::make_unique<EditorContext>(m_workspace.recoveryFolder());
  if (const Outcome opened = context->file().open(absolute); !opened) {
    return opened.error();
  }
  // A drawing that was saved is shown as it was left.
  if (!hasPlaces(context->model())) {
    context->foldEqualBoxes();
  }
  // An untouched new document makes way.
  EditorContext* blank = current() != nullptr && isUntouched(*current()) ? current() : nullptr;
  EditorContext* added = m_workspace.add(std::move(context));
  if (blank != nullptr) {
    m_workspace.remove(*blank);
  }
  addRecent(absolute);
  if (isHeldElsewhere) {
    m_workspace.say(tr("%1 has unsaved changes in another window of Coppice").arg(name));
  }
  return added;
}

// ---- save and close

bool FileFeature::save(EditorContext& context) {
  DocumentFile& file = context.file();
  if (file.path().isEmpty()) {
    return saveAs(context);
  }
  // A file that is gone is simply written again.
  if (file.isChangedOnDisk() && QFileInfo::exists(file.path())) {
    const auto isElsewhere =
        m_prompts.choice(m_window, tr("Save"), tr("%1 was changed by another program.").arg(file.displayName()),
                         tr("Save Under Another Name…"), tr("Overwrite"));
    if (!isElsewhere) {
      return false;
    }
    if (*isElsewhere) {
      return saveAs(context);
    }
  }
  for (Outcome saved = file.save(); !saved; saved = file.save()) {
    const auto isElsewhere =
        m_prompts.choice(m_window, tr("Save"),
                         tr("%1 could not be saved. Your changes are still here.").arg(file.displayName()) + u"\n\n"_s +
                             QString::fromStdString(describe(saved.error())),
                         tr("Save Under Another Name…"), tr("Try Again"));
    if (!isElsewhere) {
      return false;
    }
    if (*isElsewhere) {
      return saveAs(context);
    }
  }
  addRecent(file.path());
  return true;
}

/// A fabric without a name takes that of its file, so that other programs and people see the same.
void FileFeature::nameAfterFile(EditorContext& context, const QString& path) {
  if (!context.model().header().name.empty()) {
    return;
  }
  QString name = QFileInfo(path).fileName();
  for (const QString& suffix : {u".json"_s, u".fabric"_s}) {
    name = name.endsWith(suffix) ? name.chopped(suffix.size()) : name;
  }
  context.document().edit(tr("Name fabric after its file"), [&](Edit& edit) {
    Header header = edit.header();
    header.name = name.toStdString();
    edit.setHeader(std::move(header));
  });
}

bool FileFeature::saveAs(EditorContext& context) {
  DocumentFile& file = context.file();
  const QString suggestion = file.path().isEmpty() ? file.displayName() + u".fabric.json"_s : file.path();
  QString path = m_prompts.fileToSave(m_window, suggestion, tr("Fabrics (*.fabric.json)"));
  if (path.isEmpty()) {
    return false;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += u".fabric.json"_s;
  }
  nameAfterFile(context, path);
  if (const Outcome saved = file.saveAs(path); !saved) {
    m_prompts.failure(m_window, tr("Save"), QString::fromStdString(describe(saved.error())));
    return false;
  }
  addRecent(file.path());
  m_session.remember();
  return true;
}

bool FileFeature::settle(EditorContext& context) {
  m_workspace.activate(&context);
  switch (m_prompts.unsavedChanges(m_window, context.file().displayName())) {
    case Prompts::Unsaved::cancel:
      return false;
    case Prompts::Unsaved::save:
      return save(context);
    case Prompts::Unsaved::discard:
      break;
  }
  context.file().discardChanges();
  return true;
}

bool FileFeature::close(EditorContext& context) {
  if (context.file().isModified() && !settle(context)) {
    return false;
  }
  m_workspace.remove(context);
  m_session.remember();
  return true;
}

bool FileFeature::prepareToCloseAll() {
  // Nothing is dropped before the question is answered.
  std::vector<EditorContext*> modified = m_workspace.contexts();
  std::erase_if(modified, [](EditorContext* context) { return !context->file().isModified(); });
  if (modified.size() == 1) {
    return settle(*modified.front());
  }
  std::vector<EditorContext*> toSave;
  std::vector<EditorContext*> toDiscard;
  if (!modified.empty()) {
    QStringList names;
    for (EditorContext* context : modified) {
      names << context->file().displayName();
    }
    const auto saved = m_prompts.unsavedDocuments(m_window, names);
    if (!saved) {
      return false;
    }
    for (std::size_t i = 0; i < modified.size(); ++i) {
      ((*saved)[i] ? toSave : toDiscard).push_back(modified[i]);
    }
  }
  if (!std::all_of(toSave.begin(), toSave.end(), [this](EditorContext* context) { return save(*context); })) {
    return false;
  }
  for (EditorContext* context : toDiscard) {
    context->file().discardChanges();
  }
  return true;
}

void FileFeature::exportAs(EditorContext& context) {
  const QString path = m_prompts.fileToSave(
      m_window, QFileInfo(context.file().displayName()).baseName() + u".csv"_s,
      tr("Table of links (*.csv);;Graphviz (*.dot *.gv);;ForestColl adjacency (*.adj.json);;Fabric (*.fabric.json)"));
  if (path.isEmpty()) {
    return;
  }
  const auto text = writeFabricAs(context.model(), exportFormatOf(path));
  const Outcome written = text ? io::saveFile(toPath(path), *text) : Outcome(text.error());
  if (!written) {
    m_prompts.failure(m_window, tr("Export"), QString::fromStdString(describe(written.error())));
  } else {
    m_workspace.say(tr("Exported %1").arg(QFileInfo(path).fileName()));
  }
}

// ---- recent files

void FileFeature::addRecent(const QString& path) {
  m_recent.removeAll(path);
  m_recent.prepend(path);
  m_recent = m_recent.mid(0, kMaxRecent);
  if (m_keepsSettings) {
    QSettings().setValue(u"recent"_s, m_recent);
  }
  Q_EMIT recentChanged();
}

void FileFeature::forgetRecent(const QString& path) {
  if (m_recent.removeAll(path) == 0) {
    return;
  }
  if (m_keepsSettings) {
    QSettings().setValue(u"recent"_s, m_recent);
  }
  // The menu entry that was chosen must not be deleted while its signal is handled.
  QTimer::singleShot(0, this, &FileFeature::recentChanged);
}

// ---- changes on disk

void FileFeature::tellOfChangeOnDisk(EditorContext& context) {
  const QString name = context.file().displayName();
  if (!QFileInfo::exists(context.file().path())) {
    // What is here is all that is left of it.
    context.notice().withdraw();
    context.file().markUnsaved();
    m_workspace.say(tr("%1 was deleted from disk. Save writes it again.").arg(name));
    return;
  }
  context.notice().tell(
      tr("%1 was changed by another program.").arg(name) +
          (context.file().isModified() ? u' ' + tr("Reloading discards your unsaved changes.") : QString()),
      {{tr("&Reload"), u"noticeReload"_s, [this, &context] { reloadFromDisk(context); }},
       {tr("&Keep Mine"), u"noticeKeep"_s, [&context] {
          context.file().markUnsaved();
          context.canvas().setFocus();
        }}});
}

void FileFeature::reloadFromDisk(EditorContext& context) {
  const QPointer<EditorContext> watched(&context);
  if (const Outcome opened = context.file().open(context.file().path()); !opened && watched) {
    context.file().markUnsaved();
    m_prompts.failure(m_window, tr("Open"),
                      tr("%1 could not be reloaded. The document is unchanged.").arg(context.file().displayName()) +
                          u"\n\n"_s + QString::fromStdString(describe(opened.error())));
  }
  if (watched) {
    context.canvas().setFocus();
  }
}

}  // namespace coppice::designer
