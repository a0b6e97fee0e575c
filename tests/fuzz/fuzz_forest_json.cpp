// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "io/forest_json.hpp"
#include "io/tree_xml.hpp"
#include "schedule/expansion.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;

namespace {

/// The sanitizers report the abort with its stack.
void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto loaded = io::loadForest(text, "fuzz");
  if (!loaded) {
    require(!describe(loaded.error()).empty());
    return 0;
  }
  std::ostringstream out;
  require(
      io::writeForestJson(out, loaded->schedule, loaded->fabric, &loaded->description, {}, loaded->origin).hasValue());
  const auto again = io::loadForest(out.str());
  require(again && again->schedule == loaded->schedule && again->fabric.digest() == loaded->fabric.digest() &&
          again->origin == loaded->origin);
  std::ostringstream second;
  require(
      io::writeForestJson(second, again->schedule, again->fabric, &again->description, {}, again->origin).hasValue());
  require(second.str() == out.str());

  for (const auto* forest : {&loaded->schedule.reduceForest, &loaded->schedule.broadcastForest}) {
    if (*forest) {
      (void)schedule::heights(**forest);
      require(schedule::reversed(schedule::reversed(**forest)) == **forest);
    }
  }
  // Forests with rotations say the same with every tree written, to the verdict.
  schedule::Schedule expanded = loaded->schedule;
  bool fits = true;
  for (auto* forest : {&expanded.reduceForest, &expanded.broadcastForest}) {
    if (*forest) {
      auto written = schedule::expanded(**forest, loaded->fabric, std::int64_t{1} << 22);
      require(written || written.error().code == ErrorCode::limit);
      fits = fits && written;
      if (written && written->gpuCount > 0 && !(*forest)->rotations.empty()) {
        const auto few = schedule::heights(**forest, loaded->fabric);
        const auto all = schedule::heights(*written, loaded->fabric);
        require(few.logicalMax == all.logicalMax && few.physicalMax == all.physicalMax &&
                few.latencyMax == all.latencyMax);
        *forest = *std::move(written);
      }
    }
  }
  if (!fits) {
    return 0;
  }
  const auto verdict = verify::verifySchedule(loaded->fabric, loaded->schedule, {.maxFlow = false});
  const auto same = verify::verifySchedule(loaded->fabric, expanded, {.maxFlow = false});
  require(verdict.hasValue() == same.hasValue() && (!verdict || verdict->ok == same->ok));

  std::ostringstream trees;
  if (io::writeTreeXml(trees, loaded->schedule, loaded->fabric)) {
    (void)io::readTreeXml(trees.str());
  }
  return 0;
}
