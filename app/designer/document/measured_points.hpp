// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "base/collective.hpp"
#include "base/throughput.hpp"

namespace coppice::designer {

/// The fastest size of a run that was measured.
struct MeasuredPoint {
  QString run;
  Collective collective = Collective::allreduce;
  int gpus = 0;
  std::int64_t bytes = 0;
  Throughput algbw{};
};

/// What was measured in this session, for charts of bounds: of each run and collective the last answer.
class MeasuredPoints {
public:
  static MeasuredPoints& instance();

  void set(MeasuredPoint point);
  [[nodiscard]] std::vector<MeasuredPoint> of(Collective collective, int gpus) const;

private:
  std::vector<MeasuredPoint> m_points;
};

}  // namespace coppice::designer
