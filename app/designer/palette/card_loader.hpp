// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QObject>
#include <QSize>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "designer/document/model.hpp"
#include "designer/palette/entries.hpp"
#include "designer/palette/fabric_picture.hpp"

namespace coppice::designer {

/// What a card says of a fabric.
struct CardFacts {
  bool hasPicture = false;
  FabricPicture picture;
  FabricSize size;
  QString bound;  ///< "266.67 GB/s" for allgather; empty = not known (yet)
  QString exact;  ///< "800/3 GB/s"
  QString why;    ///< why there is no bound, or why the fabric could not be made
};

/// Makes pictures and bounds of fabrics in the background, one after the other, pictures first. Bounds are remembered
/// over sessions where a cache is named. Destruction stops the work and does not wait for it.
class CardLoader : public QObject {
  Q_OBJECT

public:
  using Make = std::function<Result<Model>()>;

  /// @param keepsBounds in QSettings, group "cards"
  explicit CardLoader(bool keepsBounds, QObject* parent = nullptr);
  ~CardLoader() override;

  /// Orders what is not there yet. The key must change where the fabric does. `make` runs on another thread.
  /// @param size of the picture, pixels of 1x
  void submit(const QString& key, const Make& make, QSize size, double devicePixelRatio, bool withBound);
  /// nullptr: nothing is known yet.
  [[nodiscard]] const CardFacts* facts(const QString& key) const;

Q_SIGNALS:
  void changed(const QString& key);

private:
  void takePicture(const QString& key, const CardFacts& facts);
  void takeBound(const QString& key, const CardFacts& facts);

  bool m_keepsBounds;
  /// Answers go through it to the loader, and nowhere once that is gone.
  struct Door;
  std::shared_ptr<Door> m_door;
  std::stop_source m_stop;
  std::map<QString, CardFacts> m_facts;
  std::map<QString, QSize> m_ordered;
};

/// Bound for allgather and size. @param stop the answer is then worthless
[[nodiscard]] CardFacts boundFacts(const Model& model, std::stop_token stop);

}  // namespace coppice::designer
