// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <memory>
#include <optional>

#include "designer/jobs/latest_job.hpp"
#include "designer/palette/card_loader.hpp"
#include "designer/palette/entries.hpp"
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
  [[nodiscard]] bool isWorking() const { return m_isWorking; }

Q_SIGNALS:
  /// A fabric of its own, or the contents of the empty one that is open.
  void createWanted(const coppice::designer::Model& part, const QString& name);
  /// Beside what is drawn already.
  void addWanted(const coppice::designer::Model& part, const QString& name);
  /// The user clicks where to place it.
  void placeWanted(const coppice::designer::Model& part, const QString& name);

private:
  enum class Then { nothing, create, add, place };
  struct Preview {
    ParameterForm::Arguments arguments;
    std::optional<Model> model;
    Error error;
    FabricPicture picture;
    FabricSize size;
  };

  void follow();
  void start();
  void receive(std::shared_ptr<const Preview> preview);
  void receiveBound(const CardFacts& facts);
  void want(Then then);
  void finish();
  void showPicture();
  void changeEvent(QEvent* event) override;

  PaletteEntry m_entry;
  ParameterForm* m_form;
  QLabel* m_picture;
  QLabel* m_size;
  QLabel* m_bound;
  QLabel* m_fault;
  QPushButton* m_create;
  QPushButton* m_add;
  QPushButton* m_place;
  QTimer m_timer;
  bool m_isWorking = true;
  Then m_then = Then::nothing;
  std::shared_ptr<const Preview> m_preview;
  LatestJob<std::shared_ptr<const Preview>> m_job;
  LatestJob<std::shared_ptr<const CardFacts>> m_boundJob;
};

}  // namespace coppice::designer
