// SPDX-License-Identifier: Apache-2.0
#include "judged_text.hpp"

#include <string>

#include "text.hpp"

namespace coppice::cli {

void describeJudged(const fabric::Fabric& fabric, const workflow::JudgedSchedule& judged, Report& report) {
  const Collective collective = collectiveOf(judged.schedule);
  const auto* steps = std::get_if<schedule::StepSchedule>(&judged.schedule);
  report.json["collective"] = toString(collective);
  if (const auto root = rootOf(judged.schedule)) {
    report.json["root"] = *root;
  }
  report.json["gpus"] = fabric.gpuCount();
  report.json["form"] = steps ? (steps->isSynchronous ? "steps" : "order") : "forest";
  report.json["algbw"] = judged.algbw.toString();
  report.json["algbw_GBps"] = judged.algbw.toDouble();
  const Rational bus = busbw(collective, judged.algbw, fabric.gpuCount());
  report.json["busbw"] = bus.toString();
  report.json["busbw_GBps"] = bus.toDouble();
  report.json["t_b"] = judged.timePerByte.toString();
  report.json["steps"] = judged.steps;
  report.text += "  schedule    " + std::string(toString(collective)) + " on " + named(fabric.name()) + ", " +
                 counted(fabric.gpuCount(), "GPU") + "\n";
  report.text += "  throughput  " + gigabytes(judged.algbw) + " (busbw " + gigabytes(bus) + ")\n";
  report.text += "  steps       " + std::to_string(judged.steps) +
                 (steps && steps->isSynchronous ? "\n" : ", the longest chain of transfers\n");
  if (judged.maxStretch > 0) {
    report.json["stretch"] = {{"max", judged.maxStretch}, {"mean", judged.meanStretch}};
    report.json["traffic"] = judged.totalTraffic.toString();
    report.text += "  stretch     at most " + counted(judged.maxStretch, "link") + " per transfer\n";
    report.text += "  traffic     " + judged.totalTraffic.toString() + " bytes over all links per byte of the data\n";
  }
}

}  // namespace coppice::cli
