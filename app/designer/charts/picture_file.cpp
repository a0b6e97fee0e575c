// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/charts/picture_file.hpp"

#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QImage>
#include <QSvgGenerator>

#include "designer/theme/theme.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct PictureTexts {
  Q_DECLARE_TR_FUNCTIONS(PictureFile)
};

}  // namespace

QString pictureFilter() {
  return PictureTexts::tr("Pictures (*.svg *.png)");
}

Outcome savePictureFile(const QString& path, const QSizeF& size, const QString& title,
                        const std::function<void(QPainter&)>& paint) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  constexpr int kScale = 2;
  const auto draw = [&](QPaintDevice& device) {
    QPainter painter(&device);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(QRectF({}, size), Theme::instance().color(Token::panel));
    paint(painter);
  };
  if (path.endsWith(u".svg"_s, Qt::CaseInsensitive)) {
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(size.toSize());
    svg.setViewBox(QRectF({}, size));
    svg.setTitle(title);
    draw(svg);
  } else if (path.endsWith(u".png"_s, Qt::CaseInsensitive)) {
    QImage image(size.toSize() * kScale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kScale);
    image.fill(Theme::instance().color(Token::panel));
    draw(image);
    image.save(&buffer, "PNG");
  } else {
    return Error{ErrorCode::badUsage, PictureTexts::tr("a picture is .svg or .png").toStdString(),
                 PictureTexts::tr("give the file one of these endings").toStdString()};
  }
  buffer.close();
  return io::saveFile(QFile::encodeName(path).toStdString(), bytes.toStdString());
}

Outcome saveChartPicture(const QString& path, QChartView& view) {
  // Drawn at its own size: a chart lays itself out for its view.
  constexpr QSizeF kSize(720, 420);
  const QSizeF size = view.size().width() > 0 ? QSizeF(view.size()) : kSize;
  return savePictureFile(path, size, view.accessibleName(), [&](QPainter& painter) {
    view.scene()->render(&painter, QRectF({}, size), QRectF({}, size));
  });
}

}  // namespace coppice::designer
