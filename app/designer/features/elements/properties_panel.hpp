// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFormLayout>
#include <QLabel>
#include <QPointer>
#include <QScrollArea>
#include <functional>
#include <optional>

#include "designer/document/followed.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// Properties of what is selected, of many elements at once: values that differ are shown as "mixed" and stay unless
/// something is entered. What is typed is checked as it is typed, and taken with Enter or when the field is left.
class PropertiesPanel : public QScrollArea {
  Q_OBJECT

public:
  explicit PropertiesPanel(QWidget* parent = nullptr);
  /// nullptr: no document.
  void setContext(EditorContext* editor);

private:
  /// An empty text means that the entry is right; else it says what is wrong.
  using Check = std::function<QString(const QString&)>;

  void rebuild();
  void rebuildLater();
  void addHeading(const QString& text, const QString& detail);
  void addText(const char* name, const QString& label, const std::optional<QString>& value, const QString& unit,
               const Check& check, std::function<void(const QString&)> apply);
  void addFlag(const char* name, const QString& label, const std::optional<bool>& value,
               std::function<void(bool)> apply);
  void addNodes(const std::vector<NodeId>& nodes);
  void addLinks(const std::vector<LinkId>& links);
  void addBoxes(const std::vector<BoxId>& boxes);
  void addNotes(const std::vector<NoteId>& notes);
  void addFabric();

  QPointer<EditorContext> m_editor;
  Followed m_followed;  ///< connections to the document
  QWidget* m_body = nullptr;
  QFormLayout* m_form = nullptr;
  bool m_isRebuildPlanned = false;
};

}  // namespace coppice::designer
