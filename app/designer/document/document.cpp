// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/document.hpp"

#include <QUndoCommand>
#include <utility>

namespace coppice::designer {

/// The one kind of command. Knows only the document that owns its stack, ids and values.
class PatchCommand : public QUndoCommand {
public:
  PatchCommand(Document& document, const QString& text, Patch patch, GestureId gesture)
      : QUndoCommand(text), m_document(document), m_patch(std::move(patch)), m_gesture(gesture) {}

  void redo() override { m_document.apply(m_patch); }
  void undo() override { m_document.apply(m_patch.reversed()); }
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
  // The stack tells its listeners that it is being cleared; nobody should look at a dying document.
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
  m_undoStack.push(new PatchCommand(*this, text, std::move(patch), gesture));
  return true;
}

void Document::apply(const Patch& patch) {
  m_model.applyTrusted(patch);
  ChangeEvent event = ChangeEvent::of(patch);
  event.revision = ++m_revision;
  if (event.aspects.testFlag(Aspect::facts)) {
    m_factRevision = m_revision;
    m_facts.reset();
  }
  Q_EMIT patched(patch);
  Q_EMIT changed(event);
}

void Document::reset(Model model, bool isSaved) {
  m_model = std::move(model);
  m_facts.reset();
  m_factRevision = ++m_revision;
  m_undoStack.clear();
  if (!isSaved) {
    m_undoStack.resetClean();
  }
  ChangeEvent event;
  event.isReset = true;
  event.aspects = Aspects::fromInt(~0U);
  event.revision = m_revision;
  Q_EMIT changed(event);
}

}  // namespace coppice::designer
