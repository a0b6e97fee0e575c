// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QImage>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <optional>

#include "base/result.hpp"
#include "designer/theme/tokens.hpp"

class QPagedPaintDevice;
class QWidget;

/// Pictures of a drawing as files: what the canvas shows, overlays and legend included.
namespace coppice::designer {

class CanvasView;

enum class PictureFormat { svg, pdf, png };
enum class PicturePart {
  whole,      ///< everything, with a margin
  selection,  ///< what is selected, boxes with all that is in them
  visible     ///< what the view shows now, at its zoom
};

struct PictureOptions {
  PictureFormat format = PictureFormat::svg;
  PicturePart part = PicturePart::whole;
  Scheme scheme = Scheme::light;
  bool isTransparent = false;
  bool hasLegend = true;
  /// Above 1: all of it larger, this many device pixels to a pixel. Below 1: seen from farther away, as on the canvas.
  double scale = 1;
  /// Pixels at scale 1 that the drawing is fitted into, as "zoom to fit" does; empty = 100 %. Not for `visible`.
  QSizeF fit = {};
  /// At the lower left, over the drawing: the time of a frame. Empty = none.
  QString caption = {};
};

inline constexpr double kMinPictureScale = 0.01;
inline constexpr double kMaxPictureScale = 16;

/// By the suffix, whatever its case; nullopt for another.
[[nodiscard]] std::optional<PictureFormat> pictureFormatOf(const QString& path);
/// "svg"
[[nodiscard]] QString suffixOf(PictureFormat format);

/// How large the picture comes out: pixels (SVG and PDF: 96 to an inch). Empty where there is nothing to draw.
[[nodiscard]] QSizeF pictureSize(CanvasView& view, const PictureOptions& options);

/// Where a drawing is on its picture, in pixels at scale 1.
struct PictureFrame {
  QSizeF size;     ///< of the picture
  QRectF source;   ///< what is drawn, scene units
  QRectF drawing;  ///< where it goes
};
/// Errors: badInput, as drawPicture.
[[nodiscard]] Result<PictureFrame> pictureFrame(CanvasView& view, const PictureOptions& options);

/// The file as bytes. Text stays text in SVG and PDF. PDF pages end at 200 inches; what is larger is drawn smaller.
/// Errors: badInput (nothing to draw, nothing selected), limit (an image too large to hold), io (the encoder failed).
[[nodiscard]] Result<QByteArray> drawPicture(CanvasView& view, const PictureOptions& options);
/// drawPicture for PNG, before it becomes a file.
[[nodiscard]] Result<QImage> drawImage(CanvasView& view, const PictureOptions& options);

/// drawPicture, written in one step. Errors: as both.
[[nodiscard]] Outcome savePicture(CanvasView& view, const PictureOptions& options, const QString& path);

/// The drawing in light colours, as large as the page holds it. Errors: as drawPicture.
[[nodiscard]] Outcome printPicture(CanvasView& view, const PictureOptions& options, QPagedPaintDevice& device);

/// A widget as it is, at its size: format, scale and path as above. The colours are those of the theme. Errors: limit,
/// io.
[[nodiscard]] Outcome saveWidgetPicture(QWidget& widget, const PictureOptions& options, const QString& path);

}  // namespace coppice::designer
