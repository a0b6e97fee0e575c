// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QString>
#include <memory>

#include "base/failure.hpp"
#include "designer/document/error_text.hpp"

namespace coppice::designer {

/// What a question in the background brings. Immutable once it is there.
struct TimedAnswer {
  QString problem = {};  ///< why there is no answer, and what to do
  double seconds = 0;    ///< it took
};

/// An answer of another thread: what `fill` puts into it, or what it refuses; and the time it took.
template <typename Answer, typename Fill>
[[nodiscard]] std::shared_ptr<const Answer> answered(Fill&& fill) {
  QElapsedTimer clock;
  clock.start();
  auto answer = std::make_shared<Answer>();
  const Outcome done = guarded([&]() -> Outcome { return fill(*answer); });
  if (!done) {
    answer->problem = errorText(done.error());
  }
  constexpr double kMilli = 1000;
  answer->seconds = static_cast<double>(clock.elapsed()) / kMilli;
  return answer;
}

}  // namespace coppice::designer
