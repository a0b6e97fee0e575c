// SPDX-License-Identifier: Apache-2.0
#include "training/layout.hpp"

#include <algorithm>

namespace coppice::training {
namespace {

using std::int64_t;

constexpr int kData = static_cast<int>(Role::data);
constexpr int kContext = static_cast<int>(Role::context);
constexpr int kExpert = static_cast<int>(Role::expert);
constexpr int kTensor = static_cast<int>(Role::tensor);

constexpr std::array<std::array<int, kParallelAxes>, 3> kOrders{{{kTensor, kContext, kExpert, kData, kPipeline},
                                                                 {kTensor, kContext, kExpert, kPipeline, kData},
                                                                 {kExpert, kData, kContext, kTensor, kPipeline}}};

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  for (int64_t i = 1; i <= number / i; ++i) {
    if (number % i == 0) {
      low.push_back(i);
      if (i != number / i) {
        high.push_back(number / i);
      }
    }
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool mayBe(const Model& model, const Job& job, const LayoutLimits& limits, int axis, int64_t size) {
  if (size == 1 || limits.fixed[axis] > 0) {
    return true;
  }
  switch (axis) {
    case kContext:
      return job.sequence % size == 0 && job.sequence / size >= limits.leastTokens;
    case kExpert:
      return model.experts > 0 && model.experts % size == 0;
    case kTensor:
      return model.heads % size == 0 && model.feedForward % size == 0;
    case kPipeline:
      return size <= model.blockLayers();
    default:
      return true;
  }
}

}  // namespace

int64_t Layout::stride(int axis) const {
  int64_t stride = 1;
  for (const int each : order) {
    if (each == axis) {
      break;
    }
    stride *= sizes[each];
  }
  return stride;
}

std::string Layout::text() const {
  std::string text;
  for (const int axis : order) {
    if (sizes[axis] > 1) {
      text += (text.empty() ? "" : " ") + std::string(kParallelWords[axis]) + std::to_string(sizes[axis]);
    }
  }
  return text.empty() ? "one GPU" : text;
}

std::vector<Layout> layoutsOf(const Model& model, const Job& job, int64_t gpus, const LayoutLimits& limits) {
  std::vector<Layout> layouts;
  Layout layout;
  const auto choose = [&](const auto& self, int axis, int64_t left) -> void {
    if (axis == kParallelAxes) {
      if (left != 1 || job.batch % layout.sequenceParts() != 0) {
        return;
      }
      std::vector<std::vector<int>> seen;
      for (const auto& order : kOrders) {
        std::vector<int> used;
        std::copy_if(order.begin(), order.end(), std::back_inserter(used),
                     [&](int each) { return layout.sizes[each] > 1; });
        if (std::find(seen.begin(), seen.end(), used) == seen.end()) {
          layout.order = order;
          layouts.push_back(layout);
          seen.push_back(std::move(used));
        }
      }
      return;
    }
    for (const int64_t size : divisorsOf(left)) {
      const int64_t fixed = limits.fixed[axis];
      if ((fixed == 0 || fixed == size) && mayBe(model, job, limits, axis, size)) {
        layout.sizes[axis] = size;
        self(self, axis + 1, left / size);
      }
    }
    layout.sizes[axis] = 1;
  };
  choose(choose, 0, gpus);
  return layouts;
}

std::vector<int64_t> microBatchesOf(const Job& job, const Layout& layout) {
  return divisorsOf(job.batch / layout.sequenceParts());
}

}  // namespace coppice::training
