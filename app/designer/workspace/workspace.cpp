// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/workspace.hpp"

#include <QSet>
#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {

QString nameOf(Mode mode) {
  switch (mode) {
    case Mode::draw:
      break;
    case Mode::analyse:
      return u"analyse"_s;
    case Mode::schedule:
      return u"schedule"_s;
    case Mode::run:
      return u"run"_s;
  }
  return u"draw"_s;
}

Workspace::Workspace(QString recoveryFolder, QObject* parent)
    : QObject(parent), m_recoveryFolder(std::move(recoveryFolder)) {}

Workspace::~Workspace() {
  removeAll();
}

EditorContext* Workspace::newDocument() {
  QSet<QString> taken;
  for (EditorContext* other : m_contexts) {
    taken.insert(other->file().displayName());
  }
  QString name = tr("Untitled");
  for (int number = 2; taken.contains(name); ++number) {
    name = tr("Untitled %1").arg(number);
  }
  auto context = std::make_unique<EditorContext>(m_recoveryFolder);
  context->file().setUntitledName(name);
  return add(std::move(context));
}

EditorContext* Workspace::adopt(Model model, std::vector<Finding> findings, const QString& name, const QString& path) {
  auto context = std::make_unique<EditorContext>(m_recoveryFolder);
  if (!name.isEmpty()) {
    context->file().setUntitledName(name);
  }
  context->file().adopt(std::move(model), std::move(findings), path);
  context->foldEqualBoxes();
  return add(std::move(context));
}

EditorContext* Workspace::add(std::unique_ptr<EditorContext> owned) {
  EditorContext* context = owned.release();
  context->setParent(this);
  m_contexts.push_back(context);
  // Another tab has nothing to say under this one.
  const auto pass = [this, context](void (Workspace::*signal)(const QString&)) {
    return [this, context, signal](const QString& text) {
      if (context == m_current) {
        Q_EMIT(this->*signal)(text);
      }
    };
  };
  connect(context, &EditorContext::refused, this, pass(&Workspace::said));
  connect(context, &EditorContext::titleChanged, this, &Workspace::titleChanged);
  connect(&context->file(), &DocumentFile::journalFailed, this, &Workspace::said);
  connect(&context->canvas(), &CanvasView::hintChanged, this, pass(&Workspace::hinted));
  connect(&context->canvas(), &CanvasView::messageRaised, this, pass(&Workspace::said));
  Q_EMIT added(context);
  activate(context);
  // Not the first field of a dock, into which the next keys would go.
  context->canvas().setFocus();
  Q_EMIT titleChanged();
  return context;
}

void Workspace::activate(EditorContext* context) {
  const bool isOpen = std::find(m_contexts.begin(), m_contexts.end(), context) != m_contexts.end();
  if (context == m_current || (context != nullptr && !isOpen)) {
    return;
  }
  m_current = context;
  m_followed.clear();
  if (context != nullptr) {
    m_followed.connect(&context->selection(), &Selection::changed, [this] { Q_EMIT stateChanged(); });
    m_followed.connect(&context->document(), &Document::changed, [this] { Q_EMIT stateChanged(); });
    m_followed.connect(&context->canvas(), &CanvasView::toolChanged, [this] { Q_EMIT stateChanged(); });
    m_followed.connect(context, &EditorContext::titleChanged, [this] { Q_EMIT stateChanged(); });
  }
  Q_EMIT currentChanged();
  Q_EMIT stateChanged();
}

void Workspace::move(int from, int to) {
  EditorContext* context = m_contexts[from];
  m_contexts.erase(m_contexts.begin() + from);
  m_contexts.insert(m_contexts.begin() + to, context);
  Q_EMIT moved(from, to);
}

void Workspace::remove(EditorContext& context) {
  const auto found = std::find(m_contexts.begin(), m_contexts.end(), &context);
  if (found == m_contexts.end()) {
    return;
  }
  const auto next = m_contexts.erase(found);
  if (&context == m_current) {
    activate(m_contexts.empty() ? nullptr : next != m_contexts.end() ? *next : m_contexts.back());
  }
  Q_EMIT removed(&context);
  Q_EMIT titleChanged();
  // Something of it may still be running.
  context.deleteLater();
}

void Workspace::removeAll() {
  activate(nullptr);
  while (!m_contexts.empty()) {
    remove(*m_contexts.back());
  }
}

void Workspace::setMode(Mode mode) {
  m_mode = mode;
  Q_EMIT modeChanged(mode);
}

}  // namespace coppice::designer
