// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <QPoint>
#include <QRect>
#include <QRectF>
#include <QSize>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace coppice::designer {

/// Finished pieces of the drawing at one scale, so that panning paints what comes into view and nothing else, and an
/// edit only what it touched. All places are device pixels of the scaled scene.
class TileCache {
public:
  static constexpr int kTile = 192;

  /// Draws the piece of the scaled scene into the image, whose top left pixel is the rectangle's.
  using Draw = std::function<void(QImage&, const QRect&)>;

  /// Forgets everything.
  void clear() { m_tiles.clear(); }
  /// What lies there has to be drawn again; it stays visible until then.
  void invalidate(const QRect& rect);
  void invalidateAll();

  /// Puts what is known of the rectangle onto the painter, at its top left corner; draws what is missing until the
  /// budget (milliseconds; nullopt: until done) is spent. Returns whether all of it is there and fresh.
  bool paint(QPainter& painter, const QRect& rect, qreal devicePixelRatio, std::optional<double> budget,
             const Draw& draw);
  [[nodiscard]] std::size_t size() const { return m_tiles.size(); }

private:
  struct Tile {
    QImage image;
    bool isFresh = false;
  };
  void forgetFar(const QRect& rect);

  std::map<std::pair<int, int>, Tile> m_tiles;
};

}  // namespace coppice::designer
