// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/files/session.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSettings>
#include <QTimer>
#include <algorithm>
#include <array>
#include <utility>

#include "designer/workspace/recovery_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

bool isCollective(int value) {
  return std::any_of(kBoundCollectives.begin(), kBoundCollectives.end(),
                     [value](Collective collective) { return static_cast<int>(collective) == value; });
}

/// Names a document from one session to the next, saved or not.
QString nameOf(EditorContext& context) {
  const DocumentFile& file = context.file();
  return file.path().isEmpty() ? file.identity() : file.path();
}

QString keyOf(qsizetype index) {
  return u"session/%1/"_s.arg(index);
}

}  // namespace

Session::Session(Workspace& workspace, Prompts& prompts, QWidget* window, bool keepsSettings,
                 std::function<EditorContext*(const QString& path)> openFile)
    : m_workspace(workspace),
      m_prompts(prompts),
      m_window(window),
      m_keepsSettings(keepsSettings),
      m_openFile(std::move(openFile)) {
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) {
    connect(&context->file(), &DocumentFile::pathChanged, this, &Session::remember);
  });
  connect(&m_workspace, &Workspace::removed, this, [this](EditorContext* context) { m_pendingViews.erase(context); });
  connect(&m_workspace, &Workspace::moved, this, &Session::remember);
  connect(&m_workspace, &Workspace::currentChanged, this, [this] {
    EditorContext* context = m_workspace.current();
    if (context == nullptr) {
      return;  // also where the program ends: what is open then comes back
    }
    remember();
    if (m_pendingViews.contains(context)) {
      restoreView(*context);
    }
  });
}

void Session::keep() {
  restoreOrder();
  m_isKept = true;
  remember();
}

void Session::remember() {
  if (m_isKept) {
    save(m_workspace.current());
  }
}

void Session::finish(const EditorContext* front) {
  save(front);
  m_isKept = false;
}

void Session::save(const EditorContext* front) {
  if (!m_keepsSettings) {
    return;
  }
  QSettings settings;
  settings.remove(u"session"_s);
  QStringList files;
  QStringList order;
  for (EditorContext* context : m_workspace.contexts()) {
    order << nameOf(*context);
    if (context->file().path().isEmpty()) {
      continue;
    }
    const QString key = keyOf(files.size());
    files << context->file().path();
    const auto waiting = m_pendingViews.find(context);
    settings.setValue(key + u"view"_s,
                      waiting != m_pendingViews.end() ? waiting->second : context->canvas().viewState());
    const Question& question = context->bound().question();
    settings.setValue(key + u"beside"_s, m_beside.pathOf ? m_beside.pathOf(context) : QString());
    settings.setValue(key + u"collective"_s, static_cast<int>(question.collective));
    const Node* root = context->model().find(question.root);
    settings.setValue(key + u"root"_s, root != nullptr ? QString::fromStdString(root->facts.name) : QString());
    if (context == front) {
      settings.setValue(u"session/front"_s, context->file().path());
    }
  }
  settings.setValue(u"session/beside"_s, m_beside.pathOf ? m_beside.pathOf(nullptr) : QString());
  settings.setValue(u"session/files"_s, files);
  settings.setValue(u"session/order"_s, order);
}

void Session::restoreBeside(const EditorContext* context, const QString& path, QStringList& gone) {
  if (path.isEmpty() || !m_beside.restore) {
    return;
  }
  if (QFileInfo(path).isFile()) {
    m_beside.restore(context, path);
  } else {
    gone << QFileInfo(path).fileName();
  }
}

void Session::restoreOrder() {
  if (!m_keepsSettings) {
    return;
  }
  int place = 0;
  for (const QString& name : QSettings().value(u"session/order"_s).toStringList()) {
    const std::vector<EditorContext*>& contexts = m_workspace.contexts();
    const auto found = std::find_if(contexts.begin() + place, contexts.end(),
                                    [&](EditorContext* context) { return nameOf(*context) == name; });
    if (found != contexts.end()) {
      m_workspace.move(static_cast<int>(found - contexts.begin()), place++);
    }
  }
}

void Session::restore() {
  if (!m_keepsSettings) {
    return;
  }
  const QSettings settings;
  const QStringList files = settings.value(u"session/files"_s).toStringList();
  const QString front = settings.value(u"session/front"_s).toString();
  QStringList gone;
  for (qsizetype i = 0; i < files.size(); ++i) {
    if (!QFileInfo::exists(files[i])) {
      gone << QFileInfo(files[i]).fileName();
      continue;
    }
    const QString journal = DocumentFile::journalBeside(files[i]);
    if (QFileInfo::exists(journal) && !isJournalHeld(journal)) {
      continue;  // put off; opening it asks again
    }
    if (EditorContext* context = m_openFile(files[i])) {
      m_pendingViews[context] = settings.value(keyOf(i) + u"view"_s).toByteArray();
      restoreQuestion(*context, keyOf(i));
      restoreBeside(context, settings.value(keyOf(i) + u"beside"_s).toString(), gone);
    }
  }
  restoreBeside(nullptr, settings.value(u"session/beside"_s).toString(), gone);
  EditorContext* current = m_workspace.current();
  for (EditorContext* context : m_workspace.contexts()) {
    current = context->file().path() == front ? context : current;
  }
  m_workspace.activate(current);
  if (current != nullptr && m_pendingViews.contains(current)) {
    restoreView(*current);
  }
  if (!gone.isEmpty()) {
    m_workspace.say(tr("No longer available: %1").arg(gone.join(u", "_s)));
  }
}

void Session::restoreQuestion(EditorContext& context, const QString& key) {
  const QSettings settings;
  Question question;
  const int collective = settings.value(key + u"collective"_s).toInt();
  if (isCollective(collective)) {
    question.collective = static_cast<Collective>(collective);
  }
  question.root = context.model().nodeNamed(settings.value(key + u"root"_s).toString().toStdString());
  context.bound().setQuestion(question);
}

void Session::restoreView(EditorContext& context) {
  // Once the canvas has its size, which it has not before it is shown.
  QTimer::singleShot(0, &context, [this, &context] {
    const auto waiting = m_pendingViews.find(&context);
    if (waiting != m_pendingViews.end() && context.canvas().isVisible()) {
      context.canvas().setViewState(waiting->second);
      m_pendingViews.erase(waiting);
    }
  });
}

void Session::offerRecovery() {
  std::vector<RecoveryItem> items;
  std::vector<std::pair<QString, Recovered>> found;
  QStringList failures;
  for (const QString& journal : DocumentFile::abandonedJournals(m_workspace.recoveryFolder())) {
    auto recovered = recover(journal);
    if (!recovered) {
      failures << QString::fromStdString(describe(recovered.error()));
      QFile::rename(journal, journal + u".unreadable"_s);
      continue;
    }
    items.push_back(recoveryItem(*recovered, journal));
    found.emplace_back(journal, *std::move(recovered));
  }
  if (!failures.isEmpty()) {
    m_prompts.failure(m_window, tr("Restore Changes"), failures.join(u"\n\n"_s));
  }
  if (items.empty()) {
    return;
  }
  const std::vector<RecoveryChoice> choices = m_prompts.recovery(m_window, items);
  for (std::size_t i = 0; i < found.size() && i < choices.size(); ++i) {
    auto& [journal, recovered] = found[i];
    if (choices[i] == RecoveryChoice::restore) {
      recoverInto(std::move(recovered), journal);
    } else if (choices[i] == RecoveryChoice::discard) {
      discard(journal, recovered.head.identity);
    }
  }
}

RecoveryItem Session::recoveryItem(const Recovered& recovered, const QString& journal) const {
  const JournalHead& head = recovered.head;
  const QString workFolder = DocumentFile::workFolderOf(m_workspace.recoveryFolder(), head.identity);
  RecoveryItem item;
  item.name = !head.documentPath.isEmpty() ? QFileInfo(head.documentPath).fileName()
              : head.name.isEmpty()        ? tr("Untitled")
                                           : head.name;
  item.path = head.documentPath;
  item.time = QFileInfo(journal).lastModified();
  item.changes = recovered.changes;
  // Each has two words at its end, as in .forest.json; what else is in the folder is not a schedule.
  item.schedules =
      workFolder.isEmpty() ? 0 : static_cast<int>(QDir(workFolder).entryList({u"*.*.json"_s}, QDir::Files).size());
  item.model = std::make_shared<const Model>(recovered.model);
  return item;
}

void Session::discard(const QString& journal, const QString& identity) {
  const QString work =
      identity.isEmpty() ? QString() : DocumentFile::workFolderOf(m_workspace.recoveryFolder(), identity);
  if (QFile::remove(journal) && !work.isEmpty()) {
    QDir(work).removeRecursively();
  }
}

EditorContext* Session::recoverInto(Recovered recovered, const QString& journal) {
  // The recovered work has a journal of its own before the old one goes.
  const QString aside = journal + u".recovered"_s;
  QFile::remove(aside);
  QFile::rename(journal, aside);
  auto context = std::make_unique<EditorContext>(m_workspace.recoveryFolder());
  context->file().restore(std::move(recovered));
  EditorContext* added = m_workspace.add(std::move(context));
  QFile::remove(aside);
  return added;
}

}  // namespace coppice::designer
