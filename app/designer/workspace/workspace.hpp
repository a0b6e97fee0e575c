// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <vector>

#include "designer/document/followed.hpp"
#include "designer/workspace/editor_context.hpp"
#include "designer/workspace/mode.hpp"

namespace coppice::designer {

/// The open documents, which of them is current, and the mode. The window and its features listen to it and know
/// nothing of each other.
///
/// Owns the documents. Its destructor first makes all listeners let go of the current document, then closes them, so
/// the listeners must outlive it.
class Workspace : public QObject {
  Q_OBJECT

public:
  /// @param recoveryFolder for journals of untitled documents and notes of all journals; empty = no journals
  explicit Workspace(QString recoveryFolder = {}, QObject* parent = nullptr);
  ~Workspace() override;

  [[nodiscard]] const QString& recoveryFolder() const { return m_recoveryFolder; }

  /// nullptr on the start page.
  [[nodiscard]] EditorContext* current() const { return m_current; }
  /// In the order of the tabs.
  [[nodiscard]] const std::vector<EditorContext*>& contexts() const { return m_contexts; }

  /// An empty document with a name that no other has.
  EditorContext* newDocument();
  /// A document for this model, unsaved.
  EditorContext* adopt(Model model, std::vector<Finding> findings, const QString& name, const QString& path = {});
  /// The document becomes the current one.
  EditorContext* add(std::unique_ptr<EditorContext> context);
  /// Nothing happens where the document has been closed.
  void activate(EditorContext* context);
  /// Another place among the tabs.
  void move(int from, int to);
  /// Closes the document without a question. The next one, else the one before, becomes current.
  void remove(EditorContext& context);
  void removeAll();

  [[nodiscard]] Mode mode() const { return m_mode; }
  void setMode(Mode mode);

  /// A line for the status strip.
  void say(const QString& text) { Q_EMIT said(text); }

Q_SIGNALS:
  /// Before it becomes current.
  void added(coppice::designer::EditorContext* context);
  /// It is no longer in contexts() and is deleted soon.
  void removed(coppice::designer::EditorContext* context);
  /// It has another place among contexts().
  void moved(int from, int to);
  /// Another document, or none, is current.
  void currentChanged();
  /// What decides which actions are available: the current document, its contents, selection, tool or saved state.
  void stateChanged();
  /// Name, path or saved state of any document.
  void titleChanged();
  /// The mode was set; it may be the same.
  void modeChanged(coppice::designer::Mode mode);
  /// What just happened, for the status strip.
  void said(const QString& text);
  /// What the next click on the canvas of the current document does.
  void hinted(const QString& text);

private:
  QString m_recoveryFolder;
  std::vector<EditorContext*> m_contexts;  ///< children of this object
  EditorContext* m_current = nullptr;
  Followed m_followed;  ///< connections to the current document
  Mode m_mode = Mode::draw;
};

}  // namespace coppice::designer
