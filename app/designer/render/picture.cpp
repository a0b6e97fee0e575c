// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/render/picture.hpp"

#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QPageLayout>
#include <QPageSize>
#include <QPagedPaintDevice>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <new>

#include "coppice/version.hpp"
#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/picture_export.hpp"
#include "designer/theme/fonts.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kDotsPerInch = 96;
constexpr double kLegendGap = 16;
constexpr double kHullReach = 24;     // scene units that the outline of a hull reaches out of its nodes
constexpr double kLabelWidth = 7.5;   // pixels to a letter of a hull's label, at most
constexpr double kLabelHeight = 14;   // half of it
constexpr double kCaption = 26;       // height of the line of a caption
constexpr double kMaxSide = 32767;    // QPainter's raster ends here
constexpr double kMaxPixels = 1.5e8;  // 600 MB
constexpr double kMaxPageInches = 200;

QString program() {
  return u"Coppice "_s + QLatin1String(kVersion);
}

/// What goes where, in pixels at scale 1.
struct Plan {
  QSizeF size;
  QRectF source;                  // scene units
  QRectF drawing;                 // where the source goes
  std::optional<QPointF> legend;  // its top right corner
  double enlarge = 1;             // device pixels to a pixel
  Detail detail = Detail::near;
};

/// Draws the legend with its top right corner at the place. Returns its size; empty where there is none.
QSizeF paintLegend(QPainter& painter, CanvasView& view, const PictureOptions& options, const QPointF& corner) {
  if (!options.hasLegend || view.overlay().isEmpty()) {
    return {};
  }
  const OverlayLayer layer(view.scene(), view.overlay());
  CanvasState state;
  state.layer = &layer;
  return CanvasPainter(view.scene(), colorsOf(options.scheme), state).paintLegend(painter, corner);
}

QSizeF legendSize(CanvasView& view, const PictureOptions& options) {
  QImage none(1, 1, QImage::Format_RGB32);
  QPainter painter(&none);
  return paintLegend(painter, view, options, {});
}

/// With room for what the overlay draws around the nodes. `zoom`: pixels to a scene unit.
QRectF withHulls(CanvasView& view, QRectF source, double zoom) {
  for (const Hull& hull : view.overlay().hulls) {
    QRectF around;
    for (const NodeId id : hull.nodes) {
      around |= view.scene().rectOf(id);
    }
    if (around.isNull()) {
      continue;
    }
    around.adjust(-kHullReach, -kHullReach, kHullReach, kHullReach);
    const double half = (static_cast<double>(hull.label.size()) * kLabelWidth / 2 + kLabelHeight) / zoom;
    source |= around;
    if (!hull.label.isEmpty()) {
      source |= QRectF(around.center().x() - half, around.bottom(), 2 * half, 2 * kLabelHeight / zoom);
    }
  }
  return source;
}

Result<Plan> planOf(CanvasView& view, const PictureOptions& options) {
  view.finishRouting();
  if (view.scene().bounds().isEmpty()) {
    return Error{ErrorCode::badInput, "there is nothing to draw", "draw a node first"};
  }
  if (options.part == PicturePart::selection && view.selection().isEmpty()) {
    return Error{ErrorCode::badInput, "nothing is selected", "select nodes or boxes, or choose the whole drawing"};
  }
  Plan plan;
  const QSizeF legend = legendSize(view, options);
  double zoom = std::min(1.0, options.scale);
  plan.enlarge = std::max(1.0, options.scale);
  if (options.part == PicturePart::visible) {
    plan.source = view.visibleScene();
    plan.detail = detailAt(view.zoom(), view.scene().lines().size(), view.scene().bounds());
    plan.size = QSizeF(view.size()) * zoom;
    plan.drawing = QRectF(QPointF(), plan.size);
    if (!legend.isEmpty()) {
      const QPointF corner = view.legendCorner() * zoom;
      plan.legend = QPointF(std::max(corner.x(), legend.width() + kLegendGap), corner.y());
    }
    return plan;
  }
  RenderOptions render;
  render.isSelectionOnly = options.part == PicturePart::selection;
  plan.source = PictureExport(view, render).rect(zoom);
  const bool hasHulls = !render.isSelectionOnly;
  if (!options.fit.isEmpty()) {
    const QSizeF room(std::max(1.0, options.fit.width() - (legend.isEmpty() ? 0 : legend.width() + 2 * kLegendGap)),
                      std::max(1.0, options.fit.height() - (options.caption.isEmpty() ? 0 : kCaption)));
    const double step = zoom;
    // Labels keep their size in pixels, so they need more of the scene the farther away it is.
    for (int i = 0; i < 3; ++i) {
      zoom = step * std::min(room.width() / plan.source.width(), room.height() / plan.source.height());
      plan.source = PictureExport(view, render).rect(zoom);
      if (hasHulls) {
        plan.source = withHulls(view, plan.source, zoom);
      }
    }
    zoom = step * std::min(room.width() / plan.source.width(), room.height() / plan.source.height());
  } else if (hasHulls) {
    plan.source = withHulls(view, plan.source, zoom);
  }
  plan.detail = detailAt(zoom, view.scene().lines().size(), view.scene().bounds());
  plan.drawing = QRectF(QPointF(), plan.source.size() * zoom);
  plan.size = plan.drawing.size();
  if (!options.caption.isEmpty()) {
    plan.size.rheight() += kCaption;
  }
  if (!legend.isEmpty()) {
    plan.size = QSizeF(plan.size.width() + legend.width() + 2 * kLegendGap,
                       std::max(plan.size.height(), legend.height() + 2 * kLegendGap));
    plan.legend = QPointF(plan.size.width() - kLegendGap, kLegendGap);
    const double below = options.caption.isEmpty() ? 0 : kCaption;
    plan.drawing.moveTop((plan.size.height() - below - plan.drawing.height()) / 2);
  }
  return plan;
}

void paintPlan(QPainter& painter, CanvasView& view, const PictureOptions& options, const Plan& plan) {
  painter.setRenderHint(QPainter::Antialiasing);
  const Colors& colors = colorsOf(options.scheme);
  if (!options.isTransparent) {
    painter.fillRect(QRectF(QPointF(), plan.size), colors[Token::canvas]);
  }
  RenderOptions render;
  render.scheme = options.scheme;
  render.isTransparent = true;
  render.hasLegend = false;
  render.isSelectionOnly = options.part == PicturePart::selection;
  render.detail = plan.detail;
  PictureExport(view, render).render(painter, plan.drawing, plan.source);
  if (plan.legend) {
    paintLegend(painter, view, options, *plan.legend);
  }
  if (!options.caption.isEmpty()) {
    constexpr double kMargin = 12;
    painter.setFont(figureFont(12));
    painter.setPen(colors[Token::muted]);
    painter.drawText(QRectF(kMargin, plan.size.height() - kCaption, plan.size.width() - 2 * kMargin, kCaption),
                     Qt::AlignLeft | Qt::AlignVCenter, options.caption);
  }
}

Result<QByteArray> drawSvg(CanvasView& view, const PictureOptions& options, const Plan& plan) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setResolution(static_cast<int>(kDotsPerInch));
  svg.setSize((plan.size * plan.enlarge).toSize());
  svg.setViewBox(QRectF(QPointF(), plan.size));
  svg.setTitle(QCoreApplication::translate("Picture", "Fabric"));
  svg.setDescription(QCoreApplication::translate("Picture", "Drawn by %1").arg(program()));
  QPainter painter;
  if (!painter.begin(&svg)) {
    return Error{ErrorCode::io, "the SVG could not be drawn", "try PNG or PDF"};
  }
  paintPlan(painter, view, options, plan);
  painter.end();
  // Readers without the fonts of this program take a sans and a mono of theirs, not a serif.
  bytes.replace("font-family=\"Inter\"", "font-family=\"Inter, 'Helvetica Neue', Arial, sans-serif\"");
  bytes.replace("font-family=\"JetBrains Mono\"", "font-family=\"'JetBrains Mono', Consolas, monospace\"");
  return bytes;
}

Result<QByteArray> drawPdf(CanvasView& view, const PictureOptions& options, const Plan& plan) {
  constexpr double kPointsPerInch = 72;
  constexpr int kResolution = 1200;
  const double max = std::max(plan.size.width(), plan.size.height()) * plan.enlarge;
  const double scale = plan.enlarge * std::min(1.0, kMaxPageInches * kDotsPerInch / max);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  {
    QPdfWriter pdf(&buffer);
    pdf.setTitle(QCoreApplication::translate("Picture", "Fabric"));
    pdf.setCreator(program());
    pdf.setResolution(kResolution);
    pdf.setPageMargins(QMarginsF());
    pdf.setPageSize(
        QPageSize(plan.size * scale * kPointsPerInch / kDotsPerInch, QPageSize::Point, {}, QPageSize::ExactMatch));
    QPainter painter;
    if (!painter.begin(&pdf)) {
      return Error{ErrorCode::io, "the PDF could not be drawn", "try SVG or PNG"};
    }
    painter.scale(scale * kResolution / kDotsPerInch, scale * kResolution / kDotsPerInch);
    paintPlan(painter, view, options, plan);
  }
  return bytes;
}

Result<QImage> drawRaster(CanvasView& view, const PictureOptions& options, const Plan& plan) {
  const QSizeF pixels(std::ceil(plan.size.width() * plan.enlarge), std::ceil(plan.size.height() * plan.enlarge));
  const double max = std::max(pixels.width(), pixels.height());
  const double area = pixels.width() * pixels.height();
  if (max > kMaxSide || area > kMaxPixels) {
    const double fits = options.scale * std::min(kMaxSide / max, std::sqrt(kMaxPixels / area));
    const double rounded = std::max(kMinPictureScale, std::floor(fits * 100) / 100);
    return Error{ErrorCode::limit,
                 "an image of " + QString::number(pixels.width(), 'f', 0).toStdString() + " by " +
                     QString::number(pixels.height(), 'f', 0).toStdString() + " pixels is too large",
                 "use scale " + QString::number(rounded).toStdString() + " or less, or SVG or PDF"};
  }
  QImage image(std::max(1, static_cast<int>(pixels.width())), std::max(1, static_cast<int>(pixels.height())),
               options.isTransparent ? QImage::Format_ARGB32_Premultiplied : QImage::Format_RGB32);
  if (image.isNull()) {
    return Error{ErrorCode::limit, "there is not enough memory for the image", "use a smaller scale"};
  }
  image.fill(options.isTransparent ? QColor(Qt::transparent) : colorsOf(options.scheme)[Token::canvas]);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.scale(plan.enlarge, plan.enlarge);
  paintPlan(painter, view, options, plan);
  painter.end();
  constexpr double kInchesPerMetre = 39.3701;
  image.setDotsPerMeterX(qRound(kDotsPerInch * plan.enlarge * kInchesPerMetre));
  image.setDotsPerMeterY(qRound(kDotsPerInch * plan.enlarge * kInchesPerMetre));
  image.setText(u"Software"_s, program());
  return image;
}

PictureOptions inRange(PictureOptions options) {
  options.scale = std::isfinite(options.scale) ? std::clamp(options.scale, kMinPictureScale, kMaxPictureScale) : 1.0;
  return options;
}

}  // namespace

std::optional<PictureFormat> pictureFormatOf(const QString& path) {
  for (const PictureFormat format : {PictureFormat::svg, PictureFormat::pdf, PictureFormat::png}) {
    if (path.endsWith(u'.' + suffixOf(format), Qt::CaseInsensitive)) {
      return format;
    }
  }
  return std::nullopt;
}

QString suffixOf(PictureFormat format) {
  switch (format) {
    case PictureFormat::svg:
      return u"svg"_s;
    case PictureFormat::pdf:
      return u"pdf"_s;
    case PictureFormat::png:
      break;
  }
  return u"png"_s;
}

QSizeF pictureSize(CanvasView& view, const PictureOptions& options) {
  const auto plan = planOf(view, inRange(options));
  return plan ? plan->size * plan->enlarge : QSizeF();
}

Result<PictureFrame> pictureFrame(CanvasView& view, const PictureOptions& options) {
  const auto plan = planOf(view, inRange(options));
  return plan ? Result<PictureFrame>(PictureFrame{plan->size, plan->source, plan->drawing}) : plan.error();
}

Result<QImage> drawImage(CanvasView& view, const PictureOptions& wanted) {
  const PictureOptions options = inRange(wanted);
  const auto plan = planOf(view, options);
  return plan ? drawRaster(view, options, *plan) : Result<QImage>(plan.error());
}

Result<QByteArray> drawPicture(CanvasView& view, const PictureOptions& wanted) {
  const PictureOptions options = inRange(wanted);
  const auto plan = planOf(view, options);
  if (!plan) {
    return plan.error();
  }
  try {
    switch (options.format) {
      case PictureFormat::svg:
        return drawSvg(view, options, *plan);
      case PictureFormat::pdf:
        return drawPdf(view, options, *plan);
      case PictureFormat::png:
        break;
    }
    const auto image = drawRaster(view, options, *plan);
    if (!image) {
      return image.error();
    }
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    if (!image->save(&buffer, "PNG")) {
      return Error{ErrorCode::io, "the image could not be encoded as PNG", "try SVG or PDF"};
    }
    return bytes;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "there is not enough memory for the picture", "use a smaller scale"};
  }
}

Outcome printPicture(CanvasView& view, const PictureOptions& options, QPagedPaintDevice& device) {
  PictureOptions printed = inRange(options);
  printed.scheme = Scheme::light;
  const auto plan = planOf(view, printed);
  if (!plan) {
    return plan.error();
  }
  // The page lies as the drawing does.
  const QSizeF drawing = plan->size;
  device.setPageOrientation(drawing.width() > drawing.height() ? QPageLayout::Landscape : QPageLayout::Portrait);
  const QRectF page(QPointF(), QSizeF(device.width(), device.height()));
  QRectF place(QPointF(), drawing.scaled(page.size(), Qt::KeepAspectRatio));
  place.moveCenter(page.center());
  QPainter painter(&device);
  painter.translate(place.topLeft());
  painter.scale(place.width() / drawing.width(), place.width() / drawing.width());
  paintPlan(painter, view, printed, *plan);
  return painter.end() ? Outcome(Done{}) : Error{ErrorCode::io, "the page could not be printed", "check the printer"};
}

Outcome saveWidgetPicture(QWidget& widget, const PictureOptions& wanted, const QString& path) {
  const PictureOptions options = inRange(wanted);
  const QSizeF size = QSizeF(widget.size()) * options.scale;
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  const auto paint = [&](QPaintDevice& device, double scale) {
    QPainter painter;
    if (!painter.begin(&device)) {
      return false;
    }
    painter.scale(scale, scale);
    widget.render(&painter);
    return painter.end();
  };
  bool isDrawn = false;
  if (options.format == PictureFormat::svg) {
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(size.toSize());
    svg.setViewBox(QRectF({}, size));
    isDrawn = paint(svg, options.scale);
  } else if (options.format == PictureFormat::pdf) {
    constexpr double kPointsPerInch = 72;
    constexpr int kResolution = 1200;
    QPdfWriter pdf(&buffer);
    pdf.setCreator(program());
    pdf.setResolution(kResolution);
    pdf.setPageMargins(QMarginsF());
    pdf.setPageSize(QPageSize(size * kPointsPerInch / kDotsPerInch, QPageSize::Point, {}, QPageSize::ExactMatch));
    isDrawn = paint(pdf, options.scale * kResolution / kDotsPerInch);
  } else {
    if (size.width() * size.height() > kMaxPixels) {
      return Error{ErrorCode::limit, "the image is too large", "use a smaller scale, or SVG or PDF"};
    }
    QImage image(size.toSize().expandedTo({1, 1}), QImage::Format_RGB32);
    image.fill(colorsOf(options.scheme)[Token::panel]);
    isDrawn = paint(image, options.scale) && image.save(&buffer, "PNG");
  }
  if (!isDrawn) {
    return Error{ErrorCode::io, "the picture could not be drawn", "try another format"};
  }
  buffer.close();
  return io::saveFile(QFile::encodeName(path).toStdString(),
                      std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

Outcome savePicture(CanvasView& view, const PictureOptions& options, const QString& path) {
  const auto bytes = drawPicture(view, options);
  if (!bytes) {
    return bytes.error();
  }
  return io::saveFile(QFile::encodeName(path).toStdString(),
                      std::string_view(bytes->constData(), static_cast<std::size_t>(bytes->size())));
}

}  // namespace coppice::designer
