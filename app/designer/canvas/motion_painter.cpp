// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/motion_painter.hpp"

#include <QElapsedTimer>
#include <algorithm>
#include <cmath>

#include "designer/canvas/live_painter.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

/// Widths differ by this part of a device pixel.
constexpr double kWidthSteps = 4;
/// Pieces are drawn at these parts of a device pixel.
constexpr int kPhases = 4;
/// Longer lanes are drawn directly: little of one is in view.
constexpr std::int64_t kMaxMaskPixels = 4'000'000;
constexpr int kMaxMaskSide = 30'000;
constexpr std::size_t kMaxMaskBytes = std::size_t{64} << 20;
/// For new masks in one frame, ms; other lanes are drawn roughly until they have theirs.
constexpr double kMaskBudget = 8;

/// color over below, covered parts of 255.
QRgb mixedPixel(QRgb below, QRgb color, std::uint32_t covered) {
  constexpr std::uint32_t kPair = 0x00ff00ffU;
  constexpr std::uint32_t kHalf = 0x00800080U;
  const std::uint32_t rest = 255 - covered;
  std::uint32_t outer = (below & kPair) * rest + (color & kPair) * covered;
  outer = ((outer + ((outer >> 8) & kPair) + kHalf) >> 8) & kPair;
  std::uint32_t inner = ((below >> 8) & kPair) * rest + ((color >> 8) & kPair) * covered;
  inner = (inner + ((inner >> 8) & kPair) + kHalf) & ~kPair;
  return outer | inner;
}

}  // namespace

void MotionPainter::forget() {
  m_lanes.forget();
  m_curves.clear();
  m_masks.clear();
  m_maskBytes = 0;
}

bool MotionPainter::paint(QImage& frame, const Motion& motion, const Viewpoint& viewpoint, bool hasTrunks) {
  const double ratio = frame.devicePixelRatio();
  const QRgb rim = Theme::instance().color(Token::canvas).rgb();
  if (m_pixels != viewpoint.scale * ratio || m_hasTrunks != hasTrunks || m_rim != rim) {
    forget();
    m_sprites.clear();
    m_pixels = viewpoint.scale * ratio;
    m_hasTrunks = hasTrunks;
    m_rim = rim;
    m_lanes.setTrunks(hasTrunks);
  }
  frame.setDevicePixelRatio(1);
  const Target target{frame, (viewpoint.offset * ratio).toPoint(), m_pixels};
  const MotionStyle style(viewpoint.scale);
  bool isComplete = true;
  {
    QPainter painter(&frame);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(target.origin);
    painter.scale(m_pixels, m_pixels);
    isComplete = paintFlows(target, painter, motion, style);
    LivePainter(painter, m_scene, viewpoint, frame.size()).paintArrivals(motion, style);
    painter.resetTransform();
    paintPieces(target, painter, motion, style);
  }
  frame.setDevicePixelRatio(ratio);
  return isComplete;
}

const Curve& MotionPainter::curveOf(MotionLanes::Lane lane, const MotionStyle& style) {
  const auto found = m_curves.find(lane);
  return found != m_curves.end() ? found->second
                                 : m_curves.emplace(lane, m_lanes.curveOf(lane, style.aside())).first->second;
}

bool MotionPainter::paintFlows(const Target& target, QPainter& painter, const Motion& motion,
                               const MotionStyle& style) {
  const QRect view = target.frame.rect().translated(-target.origin);
  bool isComplete = true;
  QElapsedTimer since;
  since.start();
  for (const auto& [lane, flow] : m_lanes.busiest(motion)) {
    const auto steps = std::max(1, static_cast<int>(std::lround(style.widthOf(flow->share) * m_pixels * kWidthSteps)));
    constexpr int kWidthBits = 16;
    const std::uint64_t key = (std::uint64_t{lane} << kWidthBits) | static_cast<std::uint64_t>(steps);
    const auto known = m_masks.find(key);
    if (known != m_masks.end()) {
      blend(target, known->second, flow->color.rgb());
      continue;
    }
    const Curve& curve = curveOf(lane, style);
    const double width = steps / kWidthSteps / m_pixels;
    const QRectF bounds = curve.bounds().adjusted(-width, -width, width, width);
    const QRect rect = QRectF(bounds.topLeft() * m_pixels, bounds.size() * m_pixels).toAlignedRect();
    if (!rect.intersects(view)) {
      continue;
    }
    constexpr double kMilli = 1e6;
    const bool isLarge = std::int64_t{rect.width()} * rect.height() > kMaxMaskPixels ||
                         std::max(rect.width(), rect.height()) > kMaxMaskSide || m_maskBytes > kMaxMaskBytes;
    const bool isLate = static_cast<double>(since.nsecsElapsed()) > kMaskBudget * kMilli;
    if (isLarge || isLate) {
      // A rough line costs a tenth of a smooth one.
      painter.setRenderHint(QPainter::Antialiasing, isLarge);
      LivePainter::stroke(painter, curve, flow->color, isLarge ? width : std::min(width, 1 / m_pixels));
      painter.setRenderHint(QPainter::Antialiasing, true);
      isComplete = isComplete && isLarge;
      continue;
    }
    const Mask& mask = m_masks.emplace(key, maskOf(curve, m_pixels, width, rect)).first->second;
    m_maskBytes += mask.bytes();
    blend(target, mask, flow->color.rgb());
  }
  return isComplete;
}

MotionPainter::Mask MotionPainter::maskOf(const Curve& curve, double pixels, double width, const QRect& rect) {
  QImage image(rect.size(), QImage::Format_Alpha8);
  image.fill(0);
  {
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(-rect.topLeft());
    painter.scale(pixels, pixels);
    LivePainter::stroke(painter, curve, Qt::black, width);
  }
  Mask mask{.corner = rect.topLeft(), .runs = {}, .covered = {}};
  for (int y = 0; y < image.height(); ++y) {
    const uchar* const row = image.constScanLine(y);
    const uchar* const end = row + image.width();
    const auto isCovered = [](uchar alpha) { return alpha != 0; };
    for (const uchar* from = std::find_if(row, end, isCovered); from != end;) {
      const uchar* const to = std::find(from, end, uchar{0});
      mask.runs.push_back(
          {static_cast<std::int16_t>(from - row), static_cast<std::int16_t>(y), static_cast<std::int16_t>(to - from)});
      mask.covered.insert(mask.covered.end(), from, to);
      from = std::find_if(to, end, isCovered);
    }
  }
  mask.runs.shrink_to_fit();
  mask.covered.shrink_to_fit();
  return mask;
}

void MotionPainter::blend(const Target& target, const Mask& mask, QRgb color) {
  const int width = target.frame.width();
  const int height = target.frame.height();
  uchar* const bits = target.frame.bits();
  const qsizetype rowBytes = target.frame.bytesPerLine();
  const QPoint corner = mask.corner + target.origin;
  const std::uint8_t* next = mask.covered.data();
  for (const Run& run : mask.runs) {
    const std::uint8_t* const covered = next;
    next += run.count;
    const int y = run.y + corner.y();
    const int left = run.x + corner.x();
    const int from = std::max(0, -left);
    const int to = std::min<int>(run.count, width - left);
    if (y < 0 || y >= height || from >= to) {
      continue;
    }
    auto* const pixels = reinterpret_cast<QRgb*>(bits + y * rowBytes) + left;
    for (int at = from; at < to; ++at) {
      pixels[at] = mixedPixel(pixels[at], color, covered[at]);
    }
  }
}

const QImage& MotionPainter::sprite(QRgb color, int phaseX, int phaseY, double radius, double rim) {
  constexpr int kColorBits = 32;
  const std::uint64_t key = (static_cast<std::uint64_t>(phaseY * kPhases + phaseX) << kColorBits) | color;
  QImage& image = m_sprites[key];
  if (image.isNull()) {
    const int middle = static_cast<int>(std::ceil(radius + rim)) + 1;
    image = QImage(2 * middle + 1, 2 * middle + 1, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(QColor::fromRgb(m_rim), rim));
    painter.setBrush(QColor::fromRgb(color));
    painter.drawEllipse(
        QPointF(middle + static_cast<double>(phaseX) / kPhases, middle + static_cast<double>(phaseY) / kPhases), radius,
        radius);
  }
  return image;
}

void MotionPainter::paintPieces(const Target& target, QPainter& painter, const Motion& motion,
                                const MotionStyle& style) {
  const double radius = style.radius() * m_pixels;
  const double rim = m_pixels * style.rim;
  for (const Motion::Piece& piece : motion.pieces) {
    const auto lane = m_lanes.laneOf(piece.step);
    if (!lane) {
      continue;
    }
    const QPointF place = curveOf(*lane, style).at(std::clamp(piece.at, 0.0, 1.0)) * m_pixels + QPointF(target.origin);
    const QPoint phases(static_cast<int>(std::floor(place.x() * kPhases)),
                        static_cast<int>(std::floor(place.y() * kPhases)));
    const auto wholeOf = [](int phase) { return static_cast<int>(std::floor(static_cast<double>(phase) / kPhases)); };
    const QPoint whole(wholeOf(phases.x()), wholeOf(phases.y()));
    const QImage& image =
        sprite(piece.color.rgb(), phases.x() - whole.x() * kPhases, phases.y() - whole.y() * kPhases, radius, rim);
    painter.drawImage(whole - QPoint(image.width() / 2, image.height() / 2), image);
  }
}

}  // namespace coppice::designer
