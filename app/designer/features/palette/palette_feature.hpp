// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QPointer>
#include <optional>

#include "designer/palette/template_dialog.hpp"
#include "designer/workspace/feature.hpp"

class QDropEvent;
class QMimeData;

namespace coppice::designer {

class CardLoader;
class PalettePanel;
class TemplateStore;
struct PaletteEntry;

/// Devices and templates: from the palette or the start page into a document.
class PaletteFeature : public Feature {
  Q_OBJECT

public:
  /// The loader must outlive the window's widgets.
  PaletteFeature(const FeatureHost& host, CardLoader& loader);

  void openTemplate(const PaletteEntry& entry);
  /// Something was dropped on the window. Returns whether it was from the palette.
  bool drop(const QDropEvent& event);

private:
  void addActions();
  void attach(EditorContext& context);
  void chooseEntry(const PaletteEntry& entry);
  void enterEntry(const PaletteEntry& entry, int count);
  /// In the middle of the view, beside what is there, where no centre is given.
  void placeEntry(const PaletteEntry& entry, const std::optional<QPointF>& centre, int count = 1);
  /// Several stand in a row.
  void placeDevice(EditorContext& context, const PaletteEntry& entry, const Model& part,
                   const std::optional<QPointF>& centre, int count);
  void insertPart(EditorContext& context, const Model& part, const QString& name, const std::optional<QPointF>& centre);
  void saveTemplate(EditorContext& context);
  /// What is dragged out of the palette; nullptr: something else.
  [[nodiscard]] const PaletteEntry* entryIn(const QMimeData& carried) const;

  TemplateStore* m_templates;
  PalettePanel* m_palette;
  QPointer<TemplateDialog> m_dialog;
};

}  // namespace coppice::designer
