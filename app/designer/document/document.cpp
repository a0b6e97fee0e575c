// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/document.hpp"

#include <QSignalBlocker>
#include <QUndoCommand>
#include <utility>

namespace coppice::designer {

/// The one kind of command. Knows only the document that owns its stack, ids and values.
class PatchCommand : public QUndoCommand {
public:
  PatchCommand(Document& document, const QString& text, Patch patch, GestureId gesture)
      : QUndoCommand(text), m_document(document), m_patch(std::move(patch)), m_gesture(gesture) {}

  void redo() override {
    m_document.apply(m_patch,
                     m_document.m_isPushing ? m_document.m_pushed : HistoryStep{HistoryStep::Kind::redone, text()});
  }
  void undo() override {
    m_document.apply(m_patch.reversed(), {HistoryStep::Kind::undone, text()});
    if (m_document.m_isGivingUp) {
      setObsolete(true);  // the stack drops it
    }
  }
  [[nodiscard]] const Patch& patch() const { return m_patch; }
  [[nodiscard]] GestureId gesture() const { return m_gesture; }
  [[nodiscard]] int id() const override { return m_gesture == 0 ? -1 : 1; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* later = dynamic_cast<const PatchCommand*>(other);
    if (later == nullptr || later->m_gesture != m_gesture) {
      return false;
    }
    m_patch.mergeWith(later->m_patch);
    setText(later->text());
    setObsolete(m_patch.isEmpty());
    return true;
  }

private:
  Document& m_document;
  Patch m_patch;
  GestureId m_gesture;
};

Document::Document(QObject* parent) : QObject(parent) {
  qRegisterMetaType<ChangeEvent>();
}

Document::~Document() {
  // The stack signals that it is being cleared; no listener should see a document in destruction.
  m_undoStack.blockSignals(true);
}

std::shared_ptr<const fabric::Description> Document::facts() const {
  if (!m_facts) {
    m_facts = std::make_shared<const fabric::Description>(m_model.description());
  }
  return m_facts;
}

bool Document::edit(const QString& text, const std::function<void(Edit&)>& fill, GestureId gesture) {
  Edit edit(m_model);
  fill(edit);
  return push(text, edit.patch(), gesture);
}

bool Document::push(const QString& text, Patch patch, GestureId gesture) {
  if (patch.isEmpty()) {
    return false;
  }
  if (isFoldOnly(patch)) {
    apply(patch, {HistoryStep::Kind::view, text});
    return true;
  }
  m_pushed = {isMerging(gesture) ? HistoryStep::Kind::merged : HistoryStep::Kind::done, text};
  m_isPushing = true;
  m_undoStack.push(new PatchCommand(*this, text, std::move(patch), gesture));
  m_isPushing = false;
  return true;
}

void Document::giveUp() {
  m_isGivingUp = true;
  m_undoStack.undo();
  m_isGivingUp = false;
}

bool Document::isMerging(GestureId gesture) const {
  const int index = m_undoStack.index();
  if (gesture == 0 || index == 0 || index == m_undoStack.cleanIndex()) {
    return false;
  }
  const auto* last = dynamic_cast<const PatchCommand*>(m_undoStack.command(index - 1));
  return last != nullptr && last->gesture() == gesture;
}

History Document::history() const {
  History history;
  history.done = m_undoStack.index();
  for (int i = 0; i < m_undoStack.count(); ++i) {
    if (const auto* command = dynamic_cast<const PatchCommand*>(m_undoStack.command(i))) {
      history.entries.push_back({command->text(), command->patch()});
    }
  }
  return history;
}

void Document::restore(Model model, const History& history) {
  m_isRestoring = true;
  {
    const QSignalBlocker quiet(m_undoStack);
    m_undoStack.clear();
    for (const History::Entry& entry : history.entries) {
      m_undoStack.push(new PatchCommand(*this, entry.text, entry.patch, 0));
    }
    m_undoStack.setIndex(history.done);
    m_undoStack.resetClean();
  }
  m_isRestoring = false;
  replace(std::move(model));
  announceReset();
  // The stack has emitted no signal for its commands.
  Q_EMIT m_undoStack.canUndoChanged(m_undoStack.canUndo());
  Q_EMIT m_undoStack.canRedoChanged(m_undoStack.canRedo());
  Q_EMIT m_undoStack.cleanChanged(false);
  Q_EMIT m_undoStack.undoTextChanged(m_undoStack.undoText());
  Q_EMIT m_undoStack.redoTextChanged(m_undoStack.redoText());
  Q_EMIT m_undoStack.indexChanged(m_undoStack.index());
}

void Document::apply(const Patch& whole, const HistoryStep& step) {
  if (m_isRestoring) {
    return;
  }
  const bool isOld = step.kind == HistoryStep::Kind::undone || step.kind == HistoryStep::Kind::redone;
  const bool hasFolds = isOld && !whole.boxes.empty();
  const Patch adjusted = hasFolds ? withPresentFolds(whole, m_model) : Patch();
  const Patch& patch = hasFolds ? adjusted : whole;
  m_model.applyTrusted(patch);
  ChangeEvent event = ChangeEvent::of(patch);
  event.revision = ++m_revision;
  if (event.aspects.testFlag(Aspect::facts)) {
    m_factRevision = m_revision;
    m_facts.reset();
  }
  Q_EMIT patched(patch, step);
  Q_EMIT changed(event);
}

void Document::reset(Model model, bool isSaved) {
  replace(std::move(model));
  m_undoStack.clear();
  if (!isSaved) {
    m_undoStack.resetClean();
  }
  announceReset();
}

void Document::replace(Model model) {
  m_model = std::move(model);
  m_facts.reset();
  m_factRevision = ++m_revision;
}

void Document::announceReset() {
  ChangeEvent event;
  event.isReset = true;
  event.aspects = Aspects::fromInt(~0U);
  event.revision = m_revision;
  Q_EMIT changed(event);
}

}  // namespace coppice::designer
