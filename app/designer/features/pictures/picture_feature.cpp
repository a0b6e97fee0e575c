// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/pictures/picture_feature.hpp"

#include <QFileInfo>

#include "designer/render/picture_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

PictureFeature::PictureFeature(const FeatureHost& host) : Feature(host) {
  addForCurrent({u"file.export-picture"_s,
                 tr("Export P&icture…"),
                 tr("Save the canvas as an SVG, PDF or PNG file"),
                 {QKeySequence(u"Ctrl+Shift+I"_s)},
                 u"image"_s},
                [this](EditorContext& context) { exportPicture(context); });
  addForCurrent({u"file.print"_s, tr("Print &Drawing…"), tr("Print the drawing on one page"), {}, u"image"_s},
                [this](EditorContext& context) { print(context); });
  connect(&m_workspace, &Workspace::stateChanged, this, [this] {
    enable({"file.export-picture", "file.print"}, current() != nullptr);
  });
}

void PictureFeature::print(EditorContext& context) {
  Outcome printed = Done{};
  const bool isWanted = m_prompts.print(
      m_window, [&](QPagedPaintDevice& device) { printed = printPicture(context.canvas(), {}, device); });
  if (!printed) {
    m_prompts.failure(m_window, tr("Print"), QString::fromStdString(describe(printed.error())));
  } else if (isWanted) {
    m_workspace.say(tr("Printed %1").arg(context.file().displayName()));
  }
}

void PictureFeature::exportPicture(EditorContext& context) {
  const Mode mode = m_workspace.mode();
  const QString shown = mode == Mode::analyse ? u"analyse"_s : mode == Mode::schedule ? u"schedule"_s : u"draw"_s;
  auto* dialog = new PictureDialog(context.canvas(), context.file().path(), shown, m_window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  const QString name = QFileInfo(context.file().displayName()).baseName();
  connect(
      dialog, &PictureDialog::exportWanted, &context, [this, dialog, &context, name](const PictureOptions& options) {
        const QString suffix = suffixOf(options.format);
        QString path =
            m_prompts.fileToSave(dialog, name + u'.' + suffix, tr("%1 pictures (*.%2)").arg(suffix.toUpper(), suffix));
        if (path.isEmpty()) {
          return;
        }
        PictureOptions wanted = options;
        if (const auto format = pictureFormatOf(path)) {
          wanted.format = *format;
        } else {
          path += u'.' + suffix;
        }
        if (const Outcome saved = savePicture(context.canvas(), wanted, path); !saved) {
          m_prompts.failure(dialog, tr("Export Picture"), QString::fromStdString(describe(saved.error())));
          return;
        }
        m_workspace.say(tr("Exported %1").arg(QFileInfo(path).fileName()));
        dialog->accept();
      });
  dialog->open();
}

}  // namespace coppice::designer
