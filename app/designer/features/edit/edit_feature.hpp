// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <utility>

#include "designer/document/edits.hpp"
#include "designer/workspace/feature.hpp"

class QDialog;
class QUndoGroup;

namespace coppice::designer {

/// Changing the current document: history, clipboard, copies, names, selection and new nodes.
class EditFeature : public Feature {
  Q_OBJECT

public:
  explicit EditFeature(const FeatureHost& host);

  /// Inserts a fabric, or a table of links, in any format that can be imported.
  void pasteText(const QString& text);
  /// Takes texts that are no fabrics, such as logs. Returns whether it took the text.
  void setTextTaker(std::function<bool(const QString& text)> taker) { m_textTaker = std::move(taker); }

private:
  void addHistory(const FeatureHost& host);
  void addClipboardActions();
  void addCopyActions();
  void addNameActions();
  void addSelectActions();
  void addInsertActions();
  void updateActions();
  void updateHistoryActions();

  void copy(EditorContext& context);
  void duplicate(EditorContext& context);
  void rename(EditorContext& context);
  void insertNode(EditorContext& context, fabric::NodeKind kind);
  /// Opens it at the right of the canvas, so that its preview on the drawing stays visible.
  void openBeside(EditorContext& context, QDialog* dialog);

  QUndoGroup* m_history;
  std::function<bool(const QString&)> m_textTaker;
};

}  // namespace coppice::designer
