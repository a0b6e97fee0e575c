// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/document_file.hpp"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QThreadPool>
#include <QUuid>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/fabric_file.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using namespace std::chrono_literals;

constexpr auto kSyncDelay = 800ms;
constexpr auto kDiskDelay = 200ms;
const QString kJournalSuffix = u".coppice-journal"_s;
const QString kNoteSuffix = u".open"_s;
const QString kWorkSuffix = u".schedules"_s;

std::filesystem::path toPath(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

QByteArray digest(std::string_view text) {
  return QCryptographicHash::hash(QByteArrayView(text.data(), static_cast<qsizetype>(text.size())),
                                  QCryptographicHash::Sha256);
}

}  // namespace

DocumentFile::DocumentFile(QString recoveryFolder, QObject* parent)
    : QObject(parent),
      m_recoveryFolder(std::move(recoveryFolder)),
      m_identity(QUuid::createUuid().toString(QUuid::WithoutBraces)),
      m_untitledName(tr("Untitled")) {
  connect(&m_document, &Document::patched, this, &DocumentFile::onPatched);
  m_syncTimer.setSingleShot(true);
  m_syncTimer.setInterval(kSyncDelay);
  connect(&m_syncTimer, &QTimer::timeout, this, [this] {
    // The disk may take its time; the journal stays alive until it has.
    if (m_journal && m_journal->isUnsynced()) {
      QThreadPool::globalInstance()->start([journal = m_journal] { journal->sync(); });
    }
  });
  m_diskTimer.setSingleShot(true);
  m_diskTimer.setInterval(kDiskDelay);
  connect(&m_diskTimer, &QTimer::timeout, this, &DocumentFile::checkDisk);
  for (const auto signal : {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged}) {
    connect(&m_watcher, signal, this, [this] { m_diskTimer.start(); });
  }
}

DocumentFile::~DocumentFile() {
  // Unsaved work stays in its journal, unless it was discarded before.
  if (m_journal && !isModified()) {
    dropJournal();
  }
}

QString DocumentFile::workFolderOf(const QString& recoveryFolder, const QString& identity) {
  return recoveryFolder.isEmpty() || identity.isEmpty() ? QString() : recoveryFolder + u'/' + identity + kWorkSuffix;
}

QString DocumentFile::workFolder() const {
  return workFolderOf(m_recoveryFolder, m_identity);
}

void DocumentFile::setUnsavedParts(bool hasUnsavedParts, const QString& part) {
  if (m_isExample && hasUnsavedParts) {
    return;
  }
  const bool isNew = hasUnsavedParts ? m_unsavedParts.insert(part).second : m_unsavedParts.erase(part) > 0;
  if (!m_unsavedParts.empty() && !m_journal && !m_hasJournalFailed) {
    startJournal();
  } else if (m_journal && !isModified()) {
    dropJournal();
  }
  if (isNew) {
    Q_EMIT stateChanged();
  }
}

void DocumentFile::checkAccess() {
  const QFileInfo file(m_path);
  // The superuser may write every file, and still wants to know of one that was protected.
  constexpr auto kAnyWrite = QFile::WriteOwner | QFile::WriteGroup | QFile::WriteOther;
  const bool isReadOnly =
      !m_path.isEmpty() && file.exists() && (!file.isWritable() || (file.permissions() & kAnyWrite) == 0);
  if (isReadOnly != m_isReadOnly) {
    m_isReadOnly = isReadOnly;
    Q_EMIT stateChanged();
  }
}

QString DocumentFile::displayName() const {
  return m_path.isEmpty() ? m_untitledName : QFileInfo(m_path).fileName();
}

Outcome DocumentFile::open(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  const auto text = io::readFile(toPath(absolute));
  if (!text) {
    return text.error();
  }
  auto read = readFabricFile(*text, absolute.toStdString());
  if (!read) {
    return read.error();
  }
  dropJournal();
  m_findings = std::move(read->findings);
  m_path = absolute;
  m_knownDigest = digest(*text);
  m_toldDigest = m_knownDigest;
  m_savedAt = QFileInfo(absolute).lastModified();
  m_document.reset(std::move(read->model), true);
  watch();
  Q_EMIT pathChanged();
  return Done{};
}

void DocumentFile::adopt(Model model, std::vector<Finding> findings, const QString& path) {
  dropJournal();
  m_findings = std::move(findings);
  m_path = path.isEmpty() ? QString() : QFileInfo(path).absoluteFilePath();
  m_knownDigest = m_path.isEmpty() ? QByteArray() : digestOnDisk();
  m_toldDigest = m_knownDigest;
  m_savedAt = {};
  m_document.reset(std::move(model), false);
  startJournal();
  watch();
  Q_EMIT pathChanged();
}

void DocumentFile::restore(Recovered recovered) {
  dropJournal();
  m_findings.clear();
  m_path =
      recovered.head.documentPath.isEmpty() ? QString() : QFileInfo(recovered.head.documentPath).absoluteFilePath();
  if (!recovered.head.name.isEmpty()) {
    m_untitledName = recovered.head.name;
  }
  if (!recovered.head.identity.isEmpty()) {
    m_identity = recovered.head.identity;
  }
  m_knownDigest = m_path.isEmpty() ? QByteArray() : digestOnDisk();
  m_toldDigest = m_knownDigest;
  m_savedAt = {};
  m_document.restore(std::move(recovered.model), recovered.history);
  startJournal();
  watch();
  Q_EMIT pathChanged();
}

Outcome DocumentFile::save() {
  const std::string text = writeFabricFile(m_document.model());
  if (Outcome written = io::saveFile(toPath(m_path), text); !written) {
    return written;
  }
  m_knownDigest = digest(text);
  m_toldDigest = m_knownDigest;
  m_savedAt = QDateTime::currentDateTime();
  m_document.undoStack()->setClean();
  dropJournal();
  watch();
  Q_EMIT saved();
  return Done{};
}

Outcome DocumentFile::saveAs(const QString& path) {
  const QString before = std::exchange(m_path, QFileInfo(path).absoluteFilePath());
  if (Outcome written = save(); !written) {
    m_path = before;
    return written;
  }
  Q_EMIT pathChanged();
  return Done{};
}

QByteArray DocumentFile::digestOnDisk() const {
  const auto text = io::readFile(toPath(m_path));
  return text ? digest(*text) : QByteArray();
}

bool DocumentFile::isChangedOnDisk() const {
  return !m_path.isEmpty() && digestOnDisk() != m_knownDigest;
}

void DocumentFile::markUnsaved() {
  m_document.undoStack()->resetClean();
  if (!m_journal) {
    startJournal();
  }
}

void DocumentFile::discardChanges() {
  dropJournal();
  if (const QString work = workFolder(); !work.isEmpty()) {
    QDir(work).removeRecursively();
  }
  Q_EMIT discarded();
}

void DocumentFile::watch() {
  checkAccess();
  if (const QStringList watched = m_watcher.files() + m_watcher.directories(); !watched.isEmpty()) {
    m_watcher.removePaths(watched);
  }
  if (!m_path.isEmpty()) {
    // A file that is replaced by renaming drops out of the watcher; its folder tells of the new one.
    m_watcher.addPath(QFileInfo(m_path).absolutePath());
    if (QFileInfo::exists(m_path)) {
      m_watcher.addPath(m_path);
    }
  }
}

void DocumentFile::checkDisk() {
  checkAccess();
  if (m_path.isEmpty()) {
    return;
  }
  if (!m_watcher.files().contains(m_path) && QFileInfo::exists(m_path)) {
    m_watcher.addPath(m_path);
  }
  const QByteArray now = digestOnDisk();
  if (now != m_knownDigest && now != m_toldDigest) {
    m_toldDigest = now;
    Q_EMIT changedOnDisk();
  }
}

QString DocumentFile::journalBeside(const QString& path) {
  const QFileInfo info(path);
  return info.absolutePath() + u"/."_s + info.fileName() + kJournalSuffix;
}

void DocumentFile::onPatched(const Patch& patch, const HistoryStep& step) {
  if (m_recoveryFolder.isEmpty()) {
    return;
  }
  if (!m_journal && (m_hasJournalFailed || step.kind == HistoryStep::Kind::view)) {
    return;  // told already, and the next save tries again; or nothing that would be lost
  }
  if (!m_journal) {
    startJournal(&patch, step);
  } else if (const Outcome written = m_journal->append(patch, step); !written && !m_hasJournalFailed) {
    m_hasJournalFailed = true;
    Q_EMIT journalFailed(errorText(written.error()));
  }
  if (!m_syncTimer.isActive()) {
    m_syncTimer.start();
  }
}

void DocumentFile::startJournal(const Patch* first, const HistoryStep& step) {
  if (m_recoveryFolder.isEmpty()) {
    return;
  }
  QDir().mkpath(m_recoveryFolder);
  const QString fallback = m_recoveryFolder + u'/' + m_identity + kJournalSuffix;
  QString path = m_path.isEmpty() || QFile::exists(journalBeside(m_path)) ? fallback : journalBeside(m_path);
  // The note first: a journal without one would not be found by the next start.
  m_journalNote = m_recoveryFolder + u'/' + m_identity + kNoteSuffix;
  // Back to before the first command, whose patch the model holds already.
  History history = m_document.history();
  int saved = m_document.undoStack()->cleanIndex();
  Model base = m_document.model();
  if (first != nullptr) {
    base.applyTrusted(first->reversed());
  }
  // A long past is cut off: it is written down with each first change after a save.
  constexpr int kMaxEntries = 300;
  const int forgotten = std::max(0, history.done - kMaxEntries);
  for (auto i = static_cast<std::size_t>(history.done); i-- > static_cast<std::size_t>(forgotten);) {
    Patch& patch = history.entries[i].patch;
    patch = withFoldsOfResult(std::move(patch), base);
    base.applyTrusted(patch.reversed());
  }
  history.entries.erase(history.entries.begin(), history.entries.begin() + forgotten);
  history.done -= forgotten;
  saved = saved >= forgotten ? saved - forgotten : -1;
  const JournalHead head{m_path, m_path.isEmpty() ? m_untitledName : QString(), m_identity};
  const auto start = [&]() -> Result<std::unique_ptr<Journal>> {
    if (const Outcome noted = io::saveFile(toPath(m_journalNote), path.toStdString() + "\n"); !noted) {
      return noted.error();
    }
    auto journal = Journal::create(path, head, base, history, saved);
    if (journal && first != nullptr) {
      if (const Outcome written = (*journal)->append(*first, step); !written) {
        (*journal)->discard();
        return written.error();
      }
    }
    return journal;
  };
  Result<std::unique_ptr<Journal>> journal = start();
  if (!journal && path != fallback) {
    // The folder of the file may be read-only.
    path = fallback;
    journal = start();
  }
  if (!journal) {
    dropJournal();
    m_hasJournalFailed = true;
    Q_EMIT journalFailed(errorText(journal.error()));
    return;
  }
  m_hasJournalFailed = false;
  m_journal = std::shared_ptr<Journal>(std::move(*journal));
}

void DocumentFile::dropJournal() {
  m_syncTimer.stop();
  if (m_journal) {
    m_journal->discard();
    m_journal.reset();
  }
  if (!m_journalNote.isEmpty()) {
    QFile::remove(m_journalNote);
    m_journalNote.clear();
  }
  m_hasJournalFailed = false;
}

std::vector<QString> DocumentFile::abandonedJournals(const QString& recoveryFolder) {
  std::vector<QString> result;
  const QDir folder(recoveryFolder);
  for (const QFileInfo& note : folder.entryInfoList({u"*"_s + kNoteSuffix}, QDir::Files, QDir::Time)) {
    const auto text = io::readFile(toPath(note.filePath()), std::size_t{1} << 16);
    const QString path = text ? QString::fromStdString(*text).trimmed() : QString();
    if (path.isEmpty() || !QFileInfo::exists(path)) {
      // A younger note may be of a journal that is just being made.
      constexpr qint64 kSecondsToWait = 60;
      if (note.lastModified().secsTo(QDateTime::currentDateTime()) > kSecondsToWait) {
        QFile::remove(note.filePath());
      }
    } else if (!isJournalHeld(path) && std::find(result.begin(), result.end(), path) == result.end()) {
      result.push_back(path);
    }
  }
  // Of documents that were saved just before the program ended.
  for (const QFileInfo& work : folder.entryInfoList({u"*"_s + kWorkSuffix}, QDir::Dirs | QDir::NoDotAndDotDot)) {
    constexpr qint64 kDay = 24 * 60 * 60;
    if (!QFileInfo::exists(folder.filePath(work.completeBaseName() + kNoteSuffix)) &&
        !QFileInfo::exists(folder.filePath(work.completeBaseName() + kJournalSuffix)) &&
        work.lastModified().secsTo(QDateTime::currentDateTime()) > kDay) {
      QDir(work.filePath()).removeRecursively();
    }
  }
  // A program that was stopped between a journal and its note.
  for (const QFileInfo& journal : folder.entryInfoList({u"*"_s + kJournalSuffix}, QDir::Files, QDir::Time)) {
    const QString path = journal.filePath();
    if (!isJournalHeld(path) && std::find(result.begin(), result.end(), path) == result.end()) {
      result.push_back(path);
    }
  }
  return result;
}

}  // namespace coppice::designer
