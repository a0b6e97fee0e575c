// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QPointer>
#include <QTimer>

#include "designer/render/picture.hpp"

class QCheckBox;
class QDoubleSpinBox;
class QPushButton;

namespace coppice::designer {

class CanvasView;

/// Chooses what a picture shows and how, with a preview. The caller asks where to save it.
class PictureDialog : public QDialog {
  Q_OBJECT

public:
  /// @param documentPath of the saved document, for the command line; empty = never saved
  /// @param mode as `coppice --mode` calls what the canvas shows now: "draw", "analyse", "schedule"
  PictureDialog(CanvasView& view, QString documentPath, QString mode, QWidget* parent = nullptr);

  [[nodiscard]] PictureOptions options() const;
  void setOptions(const PictureOptions& options);
  /// The command that draws the same; empty where there is none (unsaved document, or part of it).
  [[nodiscard]] QString commandLine() const;

Q_SIGNALS:
  /// The options are as wanted; now to a file.
  void exportWanted(const coppice::designer::PictureOptions& options);

private:
  void refresh();
  void updatePreview();
  void copyPicture();

  QPointer<CanvasView> m_view;
  QString m_documentPath;
  QString m_mode;
  QComboBox* m_format;
  QComboBox* m_part;
  QComboBox* m_scheme;
  QDoubleSpinBox* m_scale;
  QCheckBox* m_transparent;
  QCheckBox* m_legend;
  QLabel* m_preview;
  QLabel* m_size;
  QPushButton* m_export;
  QPushButton* m_copyPicture;
  QPushButton* m_copyCommand;
  QTimer m_timer;
};

}  // namespace coppice::designer
