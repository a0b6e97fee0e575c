// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/tile_cache.hpp"

#include <cmath>

namespace coppice::designer {
namespace {

int floorDiv(int value, int by) {
  return static_cast<int>(std::floor(static_cast<double>(value) / by));
}

}  // namespace

void TileCache::invalidate(const QRect& rect) {
  for (auto& [at, tile] : m_tiles) {
    if (QRect(at.first * kTile, at.second * kTile, kTile, kTile).intersects(rect)) {
      tile.isFresh = false;
    }
  }
}

void TileCache::invalidateAll() {
  for (auto& [at, tile] : m_tiles) {
    tile.isFresh = false;
  }
}

void TileCache::forgetFar(const QRect& rect) {
  const QRect kept = rect.adjusted(-2 * kTile, -2 * kTile, 2 * kTile, 2 * kTile);
  std::erase_if(m_tiles, [&](const auto& entry) {
    return !QRect(entry.first.first * kTile, entry.first.second * kTile, kTile, kTile).intersects(kept);
  });
}

bool TileCache::paint(QPainter& painter, const QRect& rect, qreal devicePixelRatio, std::optional<double> budget,
                      const Draw& draw) {
  forgetFar(rect);
  QElapsedTimer timer;
  timer.start();
  bool isComplete = true;
  for (int y = floorDiv(rect.top(), kTile); y <= floorDiv(rect.bottom(), kTile); ++y) {
    for (int x = floorDiv(rect.left(), kTile); x <= floorDiv(rect.right(), kTile); ++x) {
      Tile& tile = m_tiles[{x, y}];
      if (!tile.isFresh) {
        if (budget && static_cast<double>(timer.nsecsElapsed()) / 1e6 >= *budget) {
          isComplete = false;
        } else {
          if (tile.image.isNull()) {
            tile.image = QImage(kTile, kTile, QImage::Format_RGB32);
          }
          draw(tile.image, QRect(x * kTile, y * kTile, kTile, kTile));
          tile.isFresh = true;
        }
      }
      if (!tile.image.isNull()) {
        tile.image.setDevicePixelRatio(devicePixelRatio);
        painter.drawImage(QPointF(x * kTile - rect.left(), y * kTile - rect.top()) / devicePixelRatio, tile.image);
        tile.image.setDevicePixelRatio(1);
      }
    }
  }
  return isComplete;
}

}  // namespace coppice::designer
