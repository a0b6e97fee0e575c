// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <memory>
#include <utility>

namespace coppice::designer {

/// Connections to the objects that are followed now: they end together, when others are followed or the follower goes.
class Followed {
public:
  void clear() { m_receiver = std::make_unique<QObject>(); }
  template <typename Sender, typename Signal, typename Slot>
  void connect(const Sender& sender, Signal signal, Slot&& slot) const {
    QObject::connect(sender, signal, m_receiver.get(), std::forward<Slot>(slot));
  }

private:
  std::unique_ptr<QObject> m_receiver = std::make_unique<QObject>();
};

}  // namespace coppice::designer
