// SPDX-License-Identifier: Apache-2.0
#include "presets/switched_boxes.hpp"

#include <cstdint>

#include "presets/scale_out.hpp"

namespace coppice::presets {

std::string countedName(int count, const std::string& what) {
  return count == 1 ? what : std::to_string(count) + "x " + what;
}

fabric::Description switchedBoxes(const SwitchedBoxes& boxes, const Arguments& arguments) {
  const int count = static_cast<int>(boxes.gpus.size());
  Builder builder(boxes.name);
  std::int64_t gpuCount = 0;
  for (const int gpus : boxes.gpus) {
    gpuCount += gpus;
  }
  builder.expect(gpuCount + count + scaleOutNodes(gpuCount, boxes.network),
                 gpuCount + scaleOutLinks(gpuCount, boxes.network));

  std::vector<Port> ports;
  ports.reserve(gpuCount);
  for (int box = 0; box < count; ++box) {
    const auto entry = static_cast<std::size_t>(box);
    const std::string prefix = "b" + std::to_string(box);
    const std::string boxName = boxes.boxPrefix + std::to_string(box);
    const int gpus = boxes.gpus[entry];
    const std::string inner = prefix + "nvs";
    for (int number = 0; number < gpus; ++number) {
      const std::string gpu = builder.gpu(prefix + "g" + std::to_string(number), boxName);
      builder.link(gpu, inner, boxes.inner[entry]);
      ports.push_back({.node = gpu, .boxName = boxName, .box = box, .number = number, .bandwidth = boxes.nic[entry]});
    }
    builder.relay(inner, boxName, boxes.innerCapability);
  }
  addScaleOut(builder, arguments, boxes.network, count, ports);
  return builder.take();
}

}  // namespace coppice::presets
