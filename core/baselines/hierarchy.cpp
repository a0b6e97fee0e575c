// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "baselines/builder.hpp"
#include "fabric/gpu_boxes.hpp"

/// Schedules that treat the inside of boxes and the links between them apart.
namespace coppice::baselines {
namespace {

using fabric::Rank;

/// Boxes of one size. Throws Failure.
std::vector<std::vector<Rank>> equalBoxes(const Builder& builder) {
  auto boxes = fabric::gpuBoxes(builder.fabric()).ranks();
  for (const auto& box : boxes) {
    if (box.size() != boxes.front().size()) {
      builder.refuse("The boxes have " + std::to_string(boxes.front().size()) + " and " + std::to_string(box.size()) +
                         " GPUs; this baseline needs equal boxes",
                     "choose ring, multi-ring or direct");
    }
  }
  if (boxes.size() < 2 || boxes.front().size() < 2) {
    builder.refuse("This baseline needs at least two boxes of at least two GPUs each",
                   "choose ring or direct, or give the nodes their boxes");
  }
  return boxes;
}

}  // namespace

void addTwoLevel(Builder& builder) {
  const auto boxes = equalBoxes(builder);
  const std::int64_t n = builder.ranks();
  // Step 0: inside of the box, to the GPU whose place is that of the destination. Step 1: between the boxes.
  for (const auto& sources : boxes) {
    for (const auto& targets : boxes) {
      for (const Rank source : sources) {
        for (std::size_t place = 0; place < targets.size(); ++place) {
          const std::int64_t shard = source * n + targets[place];
          const Rank relay = sources[place];
          if (relay != source) {
            builder.send(0, shard, source, relay);
          }
          if (&sources != &targets) {
            builder.send(1, shard, relay, targets[place]);
          }
        }
      }
    }
  }
}

void addHierarchical(Builder& builder) {
  const auto boxes = equalBoxes(builder);
  const auto boxCount = static_cast<int>(boxes.size());
  const auto places = static_cast<int>(boxes.front().size());
  const Collective collective = builder.collective();
  const bool isAllreduce = collective == Collective::allreduce;
  if (isAllreduce) {
    builder.setDenominator(builder.ranks());
  }
  // Piece (or shard) of the GPU at a place of a box.
  const auto send = [&](int step, int box, int place, Rank from, Rank to, bool isReduction) {
    if (isAllreduce) {
      const std::int64_t piece = std::int64_t{place} * boxCount + box;
      builder.send(step, 0, piece, piece + 1, from, to, isReduction);
    } else {
      builder.send(step, boxes[box][place], from, to, isReduction);
    }
  };
  int step = 0;
  if (collective != Collective::allgather) {
    for (const auto& box : boxes) {
      for (int from = 0; from < places; ++from) {
        for (int hop = 1; hop < places; ++hop) {
          const int to = (from + hop) % places;
          for (int part = 0; part < boxCount; ++part) {
            send(step, part, to, box[from], box[to], true);
          }
        }
      }
    }
    ++step;
    for (int t = 0; t + 1 < boxCount; ++t, ++step) {
      for (int box = 0; box < boxCount; ++box) {
        for (int place = 0; place < places; ++place) {
          const int part = (box - t - 1 + 2 * boxCount) % boxCount;
          send(step, part, place, boxes[box][place], boxes[(box + 1) % boxCount][place], true);
        }
      }
    }
  }
  if (collective == Collective::reduceScatter) {
    return;
  }
  for (int t = 0; t + 1 < boxCount; ++t, ++step) {
    for (int box = 0; box < boxCount; ++box) {
      for (int place = 0; place < places; ++place) {
        const int part = (box - t + boxCount) % boxCount;
        send(step, part, place, boxes[box][place], boxes[(box + 1) % boxCount][place], false);
      }
    }
  }
  for (const auto& box : boxes) {
    for (int from = 0; from < places; ++from) {
      for (int hop = 1; hop < places; ++hop) {
        for (int part = 0; part < boxCount; ++part) {
          send(step, part, from, box[from], box[(from + hop) % places], false);
        }
      }
    }
  }
}

}  // namespace coppice::baselines
