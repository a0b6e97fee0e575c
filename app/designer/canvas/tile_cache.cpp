// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/tile_cache.hpp"

#include <QElapsedTimer>
#include <cmath>
#include <vector>

namespace coppice::designer {
namespace {

int floorDiv(int value, int by) {
  return static_cast<int>(std::floor(static_cast<double>(value) / by));
}

}  // namespace

void TileCache::clear() {
  dropWork();
  m_tiles.clear();
}

void TileCache::invalidate(const QRect& rect) {
  for (auto& [at, tile] : m_tiles) {
    tile.isFresh = tile.isFresh && !rectOf(at).intersects(rect);
  }
  if (m_at && rectOf(*m_at).intersects(rect)) {
    dropWork();
  }
}

void TileCache::invalidateAll() {
  dropWork();
  for (auto& [at, tile] : m_tiles) {
    tile.isFresh = false;
  }
}

void TileCache::dropWork() {
  m_painter.reset();
  m_work = {};
  m_at.reset();
}

void TileCache::forgetFar(const QRect& rect) {
  const QRect kept = rect.adjusted(-2 * kTile, -2 * kTile, 2 * kTile, 2 * kTile);
  std::erase_if(m_tiles, [&](const auto& entry) { return !rectOf(entry.first).intersects(kept); });
}

void TileCache::start(const Place& at, const Begin& begin) {
  dropWork();
  if (m_image.isNull()) {
    m_image = QImage(kTile, kTile, QImage::Format_RGB32);
  }
  m_at = at;
  m_next = 0;
  m_painter = std::make_unique<QPainter>(&m_image);
  m_work = begin(*m_painter, rectOf(at));
}

bool TileCache::paint(QPainter& painter, const QRect& rect, qreal devicePixelRatio, std::optional<double> budget,
                      const Begin& begin) {
  forgetFar(rect);
  QElapsedTimer timer;
  timer.start();
  const auto isSpent = [&] { return budget && static_cast<double>(timer.nsecsElapsed()) / 1e6 >= *budget; };
  std::vector<Place> places;
  for (int y = floorDiv(rect.top(), kTile); y <= floorDiv(rect.bottom(), kTile); ++y) {
    for (int x = floorDiv(rect.left(), kTile); x <= floorDiv(rect.right(), kTile); ++x) {
      places.emplace_back(x, y);
    }
  }
  const auto work = [&](const Place& at) {
    Tile& tile = m_tiles[at];
    while (!tile.isFresh && !isSpent()) {
      if (m_at != at) {
        start(at, begin);
      } else if (m_next < m_work.steps.size()) {
        m_work.steps[m_next++](*m_painter);
      } else {
        dropWork();
        tile.image.swap(m_image);
        tile.isFresh = true;
      }
    }
  };
  if (m_at && rect.intersects(rectOf(*m_at))) {
    work(Place(*m_at));
  }
  for (const bool isMissing : {true, false}) {
    for (const Place& at : places) {
      if (m_tiles[at].image.isNull() == isMissing) {
        work(at);
      }
    }
  }
  bool isComplete = true;
  for (const Place& at : places) {
    Tile& tile = m_tiles[at];
    isComplete = isComplete && tile.isFresh;
    if (!tile.image.isNull()) {
      tile.image.setDevicePixelRatio(devicePixelRatio);
      painter.drawImage(QPointF(rectOf(at).topLeft() - rect.topLeft()) / devicePixelRatio, tile.image);
      tile.image.setDevicePixelRatio(1);
    }
  }
  return isComplete;
}

}  // namespace coppice::designer
