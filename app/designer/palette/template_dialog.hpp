// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLabel>
#include <QPushButton>
#include <memory>

#include "designer/palette/entries.hpp"
#include "designer/palette/fabric_preview.hpp"
#include "designer/palette/parameter_form.hpp"

namespace coppice::designer {

/// One template with its parameters: picture, size and bound follow what is entered.
class TemplateDialog : public QDialog {
  Q_OBJECT

public:
  /// The document that is open.
  enum class Drawing { none, empty, filled };
  TemplateDialog(const PaletteEntry& entry, Drawing drawing, QWidget* parent = nullptr);
  ~TemplateDialog() override;

  /// What is made of the parameters as they are now; null until it is known, or where it cannot be.
  [[nodiscard]] const Model* part() const;
  [[nodiscard]] const PaletteEntry& entry() const { return m_entry; }
  [[nodiscard]] bool isWorking() const { return m_preview->isWorking(); }

Q_SIGNALS:
  /// A fabric of its own, or the contents of the empty one that is open.
  void createWanted(const coppice::designer::Model& part, const QString& name);
  /// Beside what is drawn already.
  void addWanted(const coppice::designer::Model& part, const QString& name);
  /// The user clicks where to place it.
  void placeWanted(const coppice::designer::Model& part, const QString& name);
  /// What the networks of these boxes cost.
  void pricesWanted(const QString& preset, int gpus);

private:
  enum class Then { nothing, create, add, place };
  void follow();
  void receive();
  void want(Then then);
  void finish();

  PaletteEntry m_entry;
  ParameterForm* m_form;
  FabricPreview* m_preview;
  QLabel* m_fault;
  QPushButton* m_create;
  QPushButton* m_add;
  QPushButton* m_place;
  Then m_then = Then::nothing;
};

}  // namespace coppice::designer
