// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "io/schedule_json.hpp"
#include "io/transfer_csv.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;

namespace {

/// The sanitizers report the abort with its stack.
void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

}  // namespace

/// What is read is written and read again to the byte; the verifier judges anything that is read; and a schedule that
/// it accepts survives as a table.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto loaded = io::loadSchedule(text, "fuzz");
  if (!loaded) {
    require(!describe(loaded.error()).empty());
    return 0;
  }
  std::ostringstream out;
  require(io::writeScheduleJson(out, loaded->schedule, loaded->fabric, &loaded->description, {}, loaded->origin)
              .hasValue());
  const auto again = io::loadSchedule(out.str());
  require(again && again->schedule == loaded->schedule && again->fabric.digest() == loaded->fabric.digest() &&
          again->origin == loaded->origin);
  std::ostringstream second;
  require(
      io::writeScheduleJson(second, again->schedule, again->fabric, &again->description, {}, again->origin).hasValue());
  require(second.str() == out.str());

  const auto verdict = verify::verifySteps(loaded->fabric, loaded->schedule);
  if (!verdict || !verdict->ok || loaded->schedule.goal.collective() == Collective::custom) {
    return 0;
  }
  std::ostringstream table;
  if (!io::writeTransferCsv(table, loaded->schedule, loaded->fabric)) {
    return 0;  // an id with a line end
  }
  const auto rows = io::readTransferCsv(table.str(), "table", loaded->fabric, loaded->schedule.goal);
  require(rows.hasValue());
  const auto same = verify::verifySteps(loaded->fabric, *rows);
  require(same && same->ok && rows->algbw == loaded->schedule.algbw);
  return 0;
}
