// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/schedule_book.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/threads.hpp"
#include "workflow/method.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

const std::array<QString, 2> kSuffixes{kForestSuffix, kStepsSuffix};
constexpr int kMaxFiles = 500;
constexpr qsizetype kMaxScheduleName = 80;

/// A name that every file system takes.
QString asFileName(const QString& name) {
  QString result;
  for (const QChar c : name.simplified().left(kMaxScheduleName)) {
    const bool isPlain = c.isLetterOrNumber() || c == u' ' || c == u'-' || c == u'_' || c == u'.' || c == u'=' ||
                         c == u'+' || c == u'(' || c == u')' || c == u',';
    result += isPlain ? c : u'_';
  }
  while (result.startsWith(u'.')) {
    result.remove(0, 1);
  }
  return result.trimmed();
}

/// Of a file of the list; empty where it is none of ours.
QString suffixOf(const QString& path) {
  const auto found = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                  [&](const QString& suffix) { return path.endsWith(suffix, Qt::CaseInsensitive); });
  return found != kSuffixes.end() ? *found : QString();
}

/// Of the file that an entry has, or will have.
QString suffixOf(const ScheduleEntry& entry) {
  return entry.result ? fileSuffix(*entry.result) : suffixOf(entry.path);
}

bool isTakenIn(const QString& folder, const QString& name) {
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](const QString& suffix) { return QFileInfo::exists(folder + u'/' + name + suffix); });
}

bool isSame(const QString& a, const QString& b) {
  return a.compare(b, Qt::CaseInsensitive) == 0;
}

Error folderError(const QString& folder) {
  return {ErrorCode::io,
          ScheduleBook::tr("the folder %1 cannot be created").arg(QDir::toNativeSeparators(folder)).toStdString()};
}

}  // namespace

ScheduleBook::ScheduleBook(DocumentFile& file, LiveBound& bound, QString sharedFolder, QObject* parent)
    : QObject(parent),
      m_file(file),
      m_bound(bound),
      m_sharedFolder(std::move(sharedFolder)),
      m_job([this](const Generated& generated) { receive(generated.answer, generated.factRevision); }, 0ms),
      m_reader([this](const std::shared_ptr<const Read>& read) { receiveRead(*read); }, 0ms),
      m_writer([this](const std::shared_ptr<const Written>& written) { receiveWritten(*written); }, 0ms,
               writingThreads()),
      m_saver([this](const std::shared_ptr<const AllWritten>& all) { receiveSaved(*all); }, 0ms, writingThreads()),
      m_digester(
          [this](const FoundDigests& found) {
            m_digests = found.digests;
            m_digestRevision = found.factRevision;
            Q_EMIT changed();
          },
          0ms) {
  m_digestTimer.setSingleShot(true);
  m_digestTimer.setInterval(0);
  connect(&m_digestTimer, &QTimer::timeout, this, &ScheduleBook::refreshDigests);
  connect(&file.document(), &Document::changed, this, [this](const ChangeEvent& event) {
    if (event.isReset || event.aspects.testFlag(Aspect::facts)) {
      m_digestTimer.start();
      Q_EMIT changed();
    }
  });
  connect(&file, &DocumentFile::pathChanged, this, &ScheduleBook::readFolder);
  connect(&file, &DocumentFile::saved, this, [this] {
    for (ScheduleEntry& each : m_entries) {
      each.problem = each.result ? QString() : each.problem;
    }
    saveAll();
  });
  readFolder();
}

void ScheduleBook::receiveRead(const Read& read) {
  m_reading = 0;
  if (ScheduleEntry* found = entry(read.id)) {
    if (read.result) {
      found->result = *read.result;
      found->problem.clear();
    } else {
      found->problem = errorText(read.result.error());
    }
    if (current() == nullptr && found->result) {
      m_current = found->id;
      Q_EMIT currentChanged();
    }
    refreshDigests();
    Q_EMIT changed();
  }
  readNext();
}

void ScheduleBook::noteWritten(const Written& written) {
  ScheduleEntry* found = entry(written.id);
  if (found != nullptr && written.outcome) {
    found->path = written.path;
  } else if (found != nullptr) {
    found->problem = tr("Not saved: %1").arg(errorText(written.outcome.error()));
  } else if (written.outcome) {
    QFile::remove(written.path);  // deleted in the meantime
  }
}

void ScheduleBook::receiveWritten(const Written& written) {
  m_writing = 0;
  noteWritten(written);
  Q_EMIT changed();
  if (std::exchange(m_isSaveWanted, false)) {
    saveAll();
  }
  writeNext();
}

void ScheduleBook::receiveSaved(const AllWritten& all) {
  m_isSaving = false;
  for (const Written& written : all) {
    noteWritten(written);
  }
  followUnsaved();
  Q_EMIT changed();
  if (std::exchange(m_isSaveWanted, false)) {
    saveAll();
  }
  readNext();
  writeNext();
}

ScheduleBook::~ScheduleBook() = default;

ScheduleBook* ScheduleBook::of(DocumentFile& file, LiveBound& bound, const QString& sharedFolder) {
  auto* book = file.findChild<ScheduleBook*>(QString(), Qt::FindDirectChildrenOnly);
  return book != nullptr ? book : new ScheduleBook(file, bound, sharedFolder, &file);
}

QString ScheduleBook::folderOf(const QString& fabricPath, const QString& sharedFolder) {
  const QFileInfo file(fabricPath);
  QString base = file.fileName();
  for (const QString& suffix : {u".fabric.json"_s, u".json"_s}) {
    if (base.endsWith(suffix, Qt::CaseInsensitive) && base.size() > suffix.size()) {
      base.chop(suffix.size());
      break;
    }
  }
  const QDir folder = sharedFolder.isEmpty() ? file.dir() : QDir(sharedFolder);
  return folder.filePath(base + u".schedules"_s);
}

QString ScheduleBook::folderHere() const {
  if (m_file.path().isEmpty() && m_sharedFolder.isEmpty()) {
    return {};
  }
  return folderOf(m_file.path().isEmpty() ? m_file.displayName() : m_file.path(), m_sharedFolder);
}

const ScheduleEntry* ScheduleBook::find(int id) const {
  const auto found =
      std::find_if(m_entries.begin(), m_entries.end(), [id](const ScheduleEntry& each) { return each.id == id; });
  return found != m_entries.end() ? &*found : nullptr;
}

ScheduleEntry* ScheduleBook::entry(int id) {
  return const_cast<ScheduleEntry*>(std::as_const(*this).find(id));
}

void ScheduleBook::setCurrent(int id) {
  if (m_current != id && find(id) != nullptr) {
    m_current = id;
    // What failed was about another.
    dismissFailure();
    Q_EMIT currentChanged();
  }
}

bool ScheduleBook::isFresh(const ScheduleEntry& entry) const {
  if (!entry.result) {
    return false;
  }
  if (entry.factRevision == m_file.document().factRevision()) {
    return true;
  }
  if (!m_digests || m_digestRevision != m_file.document().factRevision()) {
    return false;
  }
  const auto found = m_digests->find(entry.result->options.part());
  return found != m_digests->end() && found->second == entry.result->fabricDigest();
}

void ScheduleBook::setOptions(const ScheduleOptions& options) {
  if (m_options != options) {
    m_options = options;
    Q_EMIT optionsChanged();
  }
}

ScheduleOptions ScheduleBook::nextOptions() const {
  ScheduleOptions options = m_options;
  options.collective = collective();
  const workflow::Method* method = workflow::findMethod(options.method);
  if (method == nullptr || !method->makes(options.collective)) {
    options.method = workflow::kDefaultMethod;
    options.methodOptions.clear();
    const workflow::Method* usual = workflow::findMethod(options.method);
    for (const workflow::Method& each : workflow::methods()) {
      if (!usual->makes(options.collective) && each.makes(options.collective)) {
        options.method = each.id;
        break;
      }
    }
  }
  return options;
}

void ScheduleBook::dismissFailure() {
  if (!m_failure.isEmpty()) {
    m_failure.clear();
    Q_EMIT runningChanged();
  }
}

void ScheduleBook::generate() {
  generate(nextOptions());
}

void ScheduleBook::generate(const ScheduleOptions& options) {
  make([options](const fabric::Description& facts, const Progress& progress) {
    return makeSchedule(facts, options, progress);
  });
}

void ScheduleBook::repair(const ScheduleEntry& base, const std::vector<std::string>& failed) {
  make([result = base.result, failed](const fabric::Description& facts, const Progress& progress) {
    return repairSchedule(facts, *result, failed, progress);
  });
}

void ScheduleBook::make(std::function<Result<ScheduleResultPtr>(const fabric::Description&, const Progress&)> make) {
  const Snapshot snapshot = Snapshot::of(m_file.document());
  m_progress = std::make_shared<JobProgress>();
  m_isRunning = true;
  m_failure.clear();
  m_job.submit([snapshot, make = std::move(make), progress = m_progress](std::stop_token stop) {
    return Generated{std::make_shared<const Result<ScheduleResultPtr>>(
                         make(*snapshot.facts, JobProgress::forCore(progress, std::move(stop)))),
                     snapshot.factRevision};
  });
  Q_EMIT runningChanged();
}

void ScheduleBook::cancel() {
  if (m_isRunning) {
    m_job.cancel();
    m_isRunning = false;
    m_failure.clear();
    Q_EMIT runningChanged();
  }
}

JobProgress::State ScheduleBook::progress() const {
  return m_progress->state();
}

void ScheduleBook::receive(const Answer& answer, std::uint64_t factRevision) {
  // The answer may be to an order that was done when another took its place.
  m_isRunning = m_job.isRunning();
  if (!*answer) {
    m_failure = answer->error().code == ErrorCode::cancelled ? QString() : sentence(answer->error());
    Q_EMIT runningChanged();
    return;
  }
  const ScheduleResultPtr& result = answer->value();
  if (const ScheduleEntry* twin = twinOf(*result)) {
    // The same again: it is verified once more, and there is nothing to add.
    const int id = twin->id;
    entry(id)->factRevision = factRevision;
    setCurrent(id);
    Q_EMIT changed();
    Q_EMIT runningChanged();
    Q_EMIT finished(id);
    return;
  }
  const int id = add(result, result->name.isEmpty() ? nameFor(*result) : result->name);
  entry(id)->factRevision = factRevision;
  Q_EMIT changed();
  Q_EMIT runningChanged();
  Q_EMIT finished(id);
}

QString ScheduleBook::nameFor(const ScheduleResult& result) {
  QString name = collectiveName(result.options.collective);
  if (const auto* method = workflow::findMethod(result.options.method);
      method != nullptr && method->id != workflow::kDefaultMethod) {
    name += u' ' + QString::fromStdString(method->title);
  }
  if (!result.options.gpus.empty()) {
    name += u' ' + tr("%1 GPUs").arg(result.fabric->gpuCount());
  }
  constexpr std::size_t kNamed = 3;  // more would be too long for the name of a file
  const std::vector<std::string>& failed = result.options.failed;
  for (std::size_t i = 0; i < failed.size() && failed.size() <= kNamed; ++i) {
    name += u' ' + tr("without %1").arg(QString::fromStdString(failed[i]).replace(u'/', u'-'));
  }
  if (failed.size() > kNamed) {
    name += u' ' + tr("without %1 parts").arg(failed.size());
  }
  if (result.stepSchedule() != nullptr) {
    return name;
  }
  if (const auto height = result.options.integer(kMaxHeight)) {
    name += u' ' + tr("height %1").arg(*height);
  }
  if (const auto peers = result.options.integer(kMaxPeers)) {
    name += u' ' + tr("%1 peers").arg(*peers);
  }
  if (result.options.methodOptions.contains(kMulticast)) {
    name += u' ' + tr("multicast");
  }
  return name + u", "_s + counted(result.trees, tr("tree"), tr("trees"));
}

const ScheduleEntry* ScheduleBook::twinOf(const ScheduleResult& result) const {
  const auto isEqual = [](const auto* a, const auto* b) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  };
  const auto found = std::find_if(m_entries.begin(), m_entries.end(), [&](const ScheduleEntry& each) {
    return each.result && each.result->options == result.options &&
           each.result->fabricDigest() == result.fabricDigest() && isEqual(each.result->forest(0), result.forest(0)) &&
           isEqual(each.result->forest(1), result.forest(1)) &&
           isEqual(each.result->stepSchedule(), result.stepSchedule());
  });
  return found != m_entries.end() ? &*found : nullptr;
}

int ScheduleBook::add(ScheduleResultPtr result, const QString& name) {
  ScheduleEntry made;
  made.id = ++m_lastId;
  made.name = freeName(name);
  made.result = std::move(result);
  m_entries.push_back(std::move(made));
  m_current = m_lastId;
  Q_EMIT changed();
  Q_EMIT currentChanged();
  m_digestTimer.start();
  followUnsaved();
  writeNext();
  return m_lastId;
}

bool ScheduleBook::isUnsaved(const ScheduleEntry& entry) const {
  if (entry.path.isEmpty()) {
    return entry.result != nullptr;
  }
  return folderHere().isEmpty() || QFileInfo(entry.path).dir() == QDir(m_file.workFolder());
}

void ScheduleBook::followUnsaved() {
  m_file.setUnsavedParts(
      std::any_of(m_entries.begin(), m_entries.end(), [this](const ScheduleEntry& each) { return isUnsaved(each); }));
}

QString ScheduleBook::freeName(const QString& wanted) const {
  const QString base = asFileName(wanted).isEmpty() ? tr("Schedule") : asFileName(wanted);
  QString name = base;
  const auto isTaken = [&](const QString& candidate) {
    return std::any_of(m_entries.begin(), m_entries.end(),
                       [&](const ScheduleEntry& each) { return isSame(each.name, candidate); }) ||
           (!folderHere().isEmpty() && isTakenIn(folderHere(), candidate));
  };
  for (int number = 2; isTaken(name); ++number) {
    name = u"%1 (%2)"_s.arg(base).arg(number);
  }
  return name;
}

Outcome ScheduleBook::rename(int id, const QString& name) {
  ScheduleEntry* found = entry(id);
  const QString plain = asFileName(name);
  if (found == nullptr || plain.isEmpty()) {
    return Error{ErrorCode::badUsage, tr("a schedule needs a name").toStdString(),
                 tr("type at least one letter or digit").toStdString()};
  }
  if (plain == found->name) {
    return Done{};
  }
  for (const ScheduleEntry& each : m_entries) {
    if (each.id != id && isSame(each.name, plain)) {
      return Error{ErrorCode::badUsage, tr("another schedule is called “%1”").arg(plain).toStdString(),
                   tr("choose another name").toStdString()};
    }
  }
  if (m_writing == id || m_isSaving) {
    return Error{ErrorCode::io, tr("“%1” is being written").arg(found->name).toStdString(),
                 tr("try again in a moment").toStdString()};
  }
  if (!found->path.isEmpty()) {
    const QString path = QFileInfo(found->path).dir().filePath(plain + suffixOf(*found));
    QFile file(found->path);
    if (!file.rename(path)) {
      return Error{ErrorCode::io, tr("the file could not be renamed: %1").arg(file.errorString()).toStdString()};
    }
    found->path = path;
  }
  found->name = plain;
  Q_EMIT changed();
  return Done{};
}

Outcome ScheduleBook::remove(int id) {
  const auto found =
      std::find_if(m_entries.begin(), m_entries.end(), [id](const ScheduleEntry& each) { return each.id == id; });
  if (found == m_entries.end()) {
    return Done{};
  }
  if (!found->path.isEmpty()) {
    QFile file(found->path);
    if (file.exists() && !file.remove()) {
      return Error{ErrorCode::io, tr("the file could not be removed: %1").arg(file.errorString()).toStdString()};
    }
    // The folder goes with its last file; where others put something there it stays.
    QDir().rmdir(QFileInfo(found->path).path());
  }
  const auto at = found - m_entries.begin();
  m_entries.erase(found);
  if (m_current == id) {
    m_current = 0;
    for (auto next = m_entries.size(); next-- > 0;) {
      if (m_entries[next].result && (m_current == 0 || static_cast<std::ptrdiff_t>(next) >= at)) {
        m_current = m_entries[next].id;
      }
    }
    Q_EMIT currentChanged();
  }
  followUnsaved();
  Q_EMIT changed();
  return Done{};
}

bool ScheduleBook::isSettled() const {
  const bool isWaiting = !(m_file.workFolder().isEmpty() && m_sharedFolder.isEmpty()) &&
                         std::any_of(m_entries.begin(), m_entries.end(), [](const ScheduleEntry& each) {
                           return each.result && each.path.isEmpty() && each.problem.isEmpty();
                         });
  return m_reading == 0 && m_writing == 0 && !m_isSaving && !isWaiting;
}

// ---- the folder

void ScheduleBook::readFolder() {
  const QString folder = m_file.path().isEmpty() ? QString() : folderOf(m_file.path(), m_sharedFolder);
  if (folder == m_folder && !m_entries.empty()) {
    return;
  }
  m_folder = folder;
  if (!folder.isEmpty()) {
    readFiles(folder);
  }
  // What a crash left.
  if (const QString work = m_file.workFolder(); !work.isEmpty() && QFileInfo::exists(work)) {
    readFiles(work);
  }
  followUnsaved();
  Q_EMIT changed();
  readNext();
  writeNext();
}

void ScheduleBook::readFiles(const QString& folder) {
  const QFileInfoList files = QDir(folder).entryInfoList({u"*"_s + kForestSuffix, u"*"_s + kStepsSuffix},
                                                         QDir::Files | QDir::Readable, QDir::Time | QDir::Reversed);
  for (const QFileInfo& info : files.first(std::min<qsizetype>(files.size(), kMaxFiles))) {
    QString name = info.fileName();
    name.chop(suffixOf(name).size());
    if (std::none_of(m_entries.begin(), m_entries.end(),
                     [&](const ScheduleEntry& each) { return isSame(each.name, name); })) {
      ScheduleEntry made;
      made.id = ++m_lastId;
      made.name = name;
      made.path = info.filePath();
      m_entries.push_back(std::move(made));
    }
  }
}

void ScheduleBook::readNext() {
  if (m_reading != 0) {
    return;
  }
  const auto next = std::find_if(m_entries.begin(), m_entries.end(),
                                 [](const ScheduleEntry& each) { return !each.result && each.problem.isEmpty(); });
  if (next == m_entries.end()) {
    return;
  }
  m_reading = next->id;
  m_reader.submit([id = next->id, path = next->path](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return std::make_shared<const Read>(Read{id, loadSchedule(path, progress)});
  });
}

void ScheduleBook::writeNext() {
  if (m_writing != 0 || m_isSaving) {
    return;
  }
  const auto next = std::find_if(m_entries.begin(), m_entries.end(), [](const ScheduleEntry& each) {
    return each.result && each.path.isEmpty() && each.problem.isEmpty();
  });
  if (next == m_entries.end()) {
    return;
  }
  if (!m_sharedFolder.isEmpty()) {
    saveAll();
    return;
  }
  const QString folder = m_file.workFolder();
  if (folder.isEmpty()) {
    return;
  }
  m_writing = next->id;
  m_writer.submit([id = next->id, path = folder + u'/' + next->name + suffixOf(*next), folder,
                   result = next->result](const std::stop_token& stop) {
    Written written{id, path, Done{}};
    if (stop.stop_requested()) {
      written.outcome = Error{ErrorCode::cancelled, "the document was closed"};
    } else if (!QDir().mkpath(folder)) {
      written.outcome = folderError(folder);
    } else {
      written.outcome = saveSchedule(path, *result);
    }
    return std::make_shared<const Written>(std::move(written));
  });
}

void ScheduleBook::saveAll() {
  if (m_writing != 0 || m_isSaving) {
    m_isSaveWanted = true;
    return;
  }
  struct Move {
    int id = 0;
    QString from;              // empty: from memory
    bool isCopy = false;       // after "save as": the other file keeps its own
    ScheduleResultPtr result;  // null while it is not read
    QString to;
  };
  const QString folder = folderHere();
  std::vector<Move> moves;
  for (ScheduleEntry& each : m_entries) {
    const bool isHere = !each.path.isEmpty() && QFileInfo(each.path).dir() == QDir(folder);
    if (isHere || (each.path.isEmpty() && !each.result)) {
      continue;
    }
    if (QFileInfo::exists(folder + u'/' + each.name + suffixOf(each))) {
      // Of another program, since ours are all in the list.
      each.name = freeName(each.name);
    }
    moves.push_back({each.id, each.path, !isUnsaved(each), each.result, folder + u'/' + each.name + suffixOf(each)});
  }
  if (moves.empty()) {
    return;
  }
  m_isSaving = true;
  // Not to be stopped: what is begun is finished also when the document is closed meanwhile.
  m_saver.submit([moves = std::move(moves), folder, work = m_file.workFolder()](const std::stop_token&) {
    AllWritten all;
    const bool hasFolder = QDir().mkpath(folder);
    for (const Move& move : moves) {
      Written written{move.id, move.to, Done{}};
      if (!hasFolder) {
        written.outcome = folderError(folder);
      } else if (!move.from.isEmpty() && (QFile::copy(move.from, move.to))) {
        if (!move.isCopy) {
          QFile::remove(move.from);
        }
      } else if (move.result) {
        written.outcome = saveSchedule(move.to, *move.result);
      } else {
        written.outcome =
            Error{ErrorCode::io, ScheduleBook::tr("%1 cannot be copied to %2")
                                     .arg(QDir::toNativeSeparators(move.from), QDir::toNativeSeparators(folder))
                                     .toStdString()};
      }
      all.push_back(std::move(written));
    }
    if (!work.isEmpty()) {
      QDir().rmdir(work);  // where nothing is left in it
    }
    return std::make_shared<const AllWritten>(std::move(all));
  });
}

// ---- freshness

void ScheduleBook::refreshDigests() {
  std::set<FabricPart> parts;
  for (const ScheduleEntry& each : m_entries) {
    if (each.result) {
      parts.insert(each.result->options.part());
    }
  }
  if (parts.empty()) {
    return;
  }
  const Document& document = m_file.document();
  m_digester.submit([facts = document.facts(), revision = document.factRevision(), parts](const std::stop_token&) {
    auto digests = std::make_shared<Digests>();
    for (const FabricPart& part : parts) {
      (*digests)[part] = digestNow(*facts, part);
    }
    return FoundDigests{std::move(digests), revision};
  });
}

}  // namespace coppice::designer
