// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "designer/document/change_event.hpp"
#include "designer/document/edit.hpp"
#include "designer/document/history.hpp"
#include "designer/document/model.hpp"
#include "fabric/description.hpp"

namespace coppice::designer {

/// Ties the steps of one gesture (a drag, a row of key presses) into one line of the history. 0 = not tied.
using GestureId = std::uint64_t;

/// One open file: contents, history, revision. Every mutation is a command on its own undo stack, and every command,
/// done, undone or redone, sends changed() once. Views and docks keep ids, read model() and listen; they never keep
/// pointers into the model beyond the current function.
///
/// To change something:
///     document.edit(tr("Move 8 nodes"), [&](Edit& edit) { edits::move(edit, selection, {20, 0}); }, gesture);
class Document : public QObject {
  Q_OBJECT

public:
  explicit Document(QObject* parent = nullptr);
  ~Document() override;

  [[nodiscard]] const Model& model() const { return m_model; }
  [[nodiscard]] QUndoStack* undoStack() { return &m_undoStack; }

  /// Counts every change, undo and redo included.
  [[nodiscard]] std::uint64_t revision() const { return m_revision; }
  /// The revision of the last change that touched facts: moving a node leaves it, so no bound grows stale.
  [[nodiscard]] std::uint64_t factRevision() const { return m_factRevision; }
  /// The facts of factRevision(), immutable, for jobs on other threads. (Positions may be those of an earlier change.)
  [[nodiscard]] std::shared_ptr<const fabric::Description> facts() const;

  /// A number for one gesture; pass it with every step.
  [[nodiscard]] GestureId beginGesture() { return ++m_lastGesture; }

  /// Fills an Edit of the model and pushes it as one command. Returns false, leaving no trace, if nothing differs.
  bool edit(const QString& text, const std::function<void(Edit&)>& fill, GestureId gesture = 0);
  /// Pushes a patch of the present state. Returns false if it is empty. Folding is no command: it is applied, but not
  /// pushed. @pre the patch fits (made by an Edit)
  bool push(const QString& text, Patch patch, GestureId gesture = 0);

  /// Undoes the last command and forgets it: what was cancelled half way is nothing to redo.
  void giveUp();

  /// Another content altogether (a file was opened or read again): empties the history. `isSaved`: what the file holds.
  void reset(Model model, bool isSaved);
  /// The same with a history, whose entries can be undone and redone. Counts as unsaved. @pre they fit the model
  void restore(Model model, const History& history);
  /// All commands. While patched() is sent, the one that it is about is not among them yet.
  [[nodiscard]] History history() const;

Q_SIGNALS:
  void changed(const coppice::designer::ChangeEvent& event);
  /// The patch that was just applied, in the direction it was applied: what the journal writes down.
  void patched(const coppice::designer::Patch& patch, const coppice::designer::HistoryStep& step);

private:
  friend class PatchCommand;
  void apply(const Patch& whole, const HistoryStep& step);
  void replace(Model model);
  void announceReset();
  /// The command at the top takes more patches of this gesture.
  [[nodiscard]] bool isMerging(GestureId gesture) const;

  Model m_model;
  QUndoStack m_undoStack;
  std::uint64_t m_revision = 1;
  std::uint64_t m_factRevision = 1;
  GestureId m_lastGesture = 0;
  HistoryStep m_pushed;  ///< of the command that is being pushed
  bool m_isPushing = false;
  bool m_isGivingUp = false;
  bool m_isRestoring = false;  ///< commands enter the stack without being applied
  mutable std::shared_ptr<const fabric::Description> m_facts;
};

}  // namespace coppice::designer
