// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QPainter>
#include <QRect>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "designer/canvas/canvas_painter.hpp"

namespace coppice::designer {

/// Finished pieces of the drawing at one scale, so that panning paints what comes into view and nothing else, and an
/// edit only what it touched. All places are device pixels of the scaled scene.
class TileCache {
public:
  static constexpr int kTile = 192;

  /// How the piece of the scaled scene at the rectangle is drawn; sets up the painter, whose origin is the rectangle's
  /// top left pixel.
  using Begin = std::function<PaintSteps(QPainter&, const QRect&)>;

  TileCache() = default;
  TileCache(const TileCache&) = delete;
  TileCache& operator=(const TileCache&) = delete;
  ~TileCache() { dropWork(); }

  /// Forgets everything.
  void clear();
  /// What is there has to be drawn again; it stays visible until then.
  void invalidate(const QRect& rect);
  void invalidateAll();
  /// Begins again what is being drawn: what its steps look at is about to go.
  void dropWork();

  /// Puts what is known of the rectangle onto the painter, at its top left corner; draws what is missing, then what is
  /// out of date, until the budget (milliseconds; nullopt: until done) is spent, and continues there the next time.
  /// Returns whether all of it is there and fresh.
  bool paint(QPainter& painter, const QRect& rect, qreal devicePixelRatio, std::optional<double> budget,
             const Begin& begin);
  [[nodiscard]] std::size_t size() const { return m_tiles.size(); }

private:
  using Place = std::pair<int, int>;
  struct Tile {
    QImage image;
    bool isFresh = false;
  };
  static QRect rectOf(const Place& at) { return {at.first * kTile, at.second * kTile, kTile, kTile}; }
  void forgetFar(const QRect& rect);
  void start(const Place& at, const Begin& begin);

  std::map<Place, Tile> m_tiles;
  // What is being drawn.
  std::optional<Place> m_at;
  QImage m_image;
  std::unique_ptr<QPainter> m_painter;
  PaintSteps m_work;
  std::size_t m_next = 0;
};

}  // namespace coppice::designer
