// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFileInfo>

#include "designer/render/picture_dialog.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

/// Pictures of the drawing.
namespace coppice::designer {

void MainWindow::createPictureActions() {
  m_actions.add({u"file.export-picture"_s,
                 tr("Export P&icture…"),
                 tr("Save the canvas as an SVG, PDF or PNG file"),
                 {QKeySequence(u"Ctrl+Shift+I"_s)},
                 u"image"_s},
                [this](bool) { exportPicture(); });
}

void MainWindow::exportPicture() {
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    return;
  }
  const QString shown = mode() == Mode::analyse ? u"analyse"_s : mode() == Mode::schedule ? u"schedule"_s : u"draw"_s;
  auto* dialog = new PictureDialog(editor->canvas(), editor->file().path(), shown, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  const QString name = QFileInfo(editor->file().displayName()).baseName();
  connect(dialog, &PictureDialog::exportWanted, this, [this, dialog, editor, name](const PictureOptions& options) {
    const QString suffix = suffixOf(options.format);
    QString path =
        m_prompts->fileToSave(dialog, name + u'.' + suffix, tr("%1 pictures (*.%2)").arg(suffix.toUpper(), suffix));
    if (path.isEmpty()) {
      return;
    }
    PictureOptions wanted = options;
    if (const auto format = pictureFormatOf(path)) {
      wanted.format = *format;
    } else {
      path += u'.' + suffix;
    }
    if (const Outcome saved = savePicture(editor->canvas(), wanted, path); !saved) {
      m_prompts->failure(dialog, tr("Export Picture"), QString::fromStdString(describe(saved.error())));
      return;
    }
    m_strip->setHint(tr("Exported %1").arg(QFileInfo(path).fileName()));
    dialog->accept();
  });
  dialog->open();
}

}  // namespace coppice::designer
