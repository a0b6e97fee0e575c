// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/card_loader.hpp"

#include <QSettings>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include "base/units.hpp"
#include "coppice/version.hpp"
#include "designer/document/error_text.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/jobs/threads.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Larger fabrics get their bound when they are opened.
constexpr int kMaxGpus = 600;
constexpr int kMaxLinks = 20'000;

QString settingsKey(const QString& key) {
  return u"cards/"_s + QLatin1String(kVersion) + u'/' + QString(key).replace(u'/', u'|').replace(u'\\', u'|');
}

CardFacts failed(const QString& why) {
  CardFacts facts;
  facts.why = why;
  return facts;
}

/// Nothing that a fabric does may reach the pool.
template <typename Work>
CardFacts guarded(const Work& work) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return failed(QString::fromUtf8(exception.what()));
  }
}

}  // namespace

CardFacts boundFacts(const Model& model, std::stop_token stop) {
  CardFacts facts;
  facts.size = sizeOf(model);
  if (facts.size.gpus > kMaxGpus || facts.size.links > kMaxLinks) {
    return facts;
  }
  const Bound bound = computeBound(Snapshot::of(model), {}, std::move(stop));
  facts.why = bound.why;
  if (bound.algbw) {
    facts.bound = QString::fromStdString(toDecimal(*bound.algbw)) + u" GB/s"_s;
    facts.exact = QString::fromStdString(toFraction(*bound.algbw)) + u" GB/s"_s;
  }
  return facts;
}

struct CardLoader::Door {
  std::mutex mutex;
  CardLoader* loader = nullptr;

  /// Calls take(loader) on the loader's thread.
  void pass(std::function<void(CardLoader&)> take) {
    const std::lock_guard lock(mutex);
    if (loader != nullptr) {
      QMetaObject::invokeMethod(
          loader, [to = loader, take = std::move(take)] { take(*to); }, Qt::QueuedConnection);
    }
  }
};

CardLoader::CardLoader(bool keepsBounds, QObject* parent)
    : QObject(parent), m_keepsBounds(keepsBounds), m_door(std::make_shared<Door>()) {
  m_door->loader = this;
}

CardLoader::~CardLoader() {
  m_stop.request_stop();
  const std::lock_guard lock(m_door->mutex);
  m_door->loader = nullptr;
}

const CardFacts* CardLoader::facts(const QString& key) const {
  const auto found = m_facts.find(key);
  return found != m_facts.end() ? &found->second : nullptr;
}

void CardLoader::submit(const QString& key, const Make& make, QSize size, double devicePixelRatio, bool withBound) {
  const QSize pixels = size * devicePixelRatio;
  if (const auto known = m_ordered.find(key); known != m_ordered.end() && known->second == pixels) {
    return;
  }
  m_ordered[key] = pixels;
  constexpr int kPicture = 1;
  constexpr int kBound = 0;
  cardThreads()->start(
      [door = m_door, key, make, size, devicePixelRatio, stop = m_stop.get_token()] {
        if (stop.stop_requested()) {
          return;
        }
        const CardFacts facts = guarded([&] {
          auto made = make();
          if (!made) {
            return failed(errorText(made.error()));
          }
          CardFacts result;
          result.size = sizeOf(*made);
          if (!stop.stop_requested()) {
            result.picture = fabricPicture(std::move(*made), size, devicePixelRatio);
          }
          return result;
        });
        door->pass([key, facts](CardLoader& loader) { loader.takePicture(key, facts); });
      },
      kPicture);
  if (!withBound) {
    return;
  }
  if (m_keepsBounds) {
    const QStringList known = QSettings().value(settingsKey(key)).toStringList();
    if (known.size() == 2) {
      m_facts[key].bound = known[0];
      m_facts[key].exact = known[1];
      return;
    }
  }
  cardThreads()->start(
      [door = m_door, key, make, stop = m_stop.get_token()] {
        if (stop.stop_requested()) {
          return;
        }
        const CardFacts facts = guarded([&] {
          auto made = make();
          return made ? boundFacts(*made, stop) : failed(errorText(made.error()));
        });
        door->pass([key, facts](CardLoader& loader) { loader.takeBound(key, facts); });
      },
      kBound);
}

void CardLoader::takePicture(const QString& key, const CardFacts& facts) {
  CardFacts& known = m_facts[key];
  known.hasPicture = true;
  known.picture = facts.picture;
  known.size = facts.size;
  known.why = facts.why;
  Q_EMIT changed(key);
}

void CardLoader::takeBound(const QString& key, const CardFacts& facts) {
  CardFacts& known = m_facts[key];
  known.bound = facts.bound;
  known.exact = facts.exact;
  known.why = facts.why;
  if (m_keepsBounds && !facts.bound.isEmpty()) {
    QSettings().setValue(settingsKey(key), QStringList{facts.bound, facts.exact});
  }
  Q_EMIT changed(key);
}

}  // namespace coppice::designer
