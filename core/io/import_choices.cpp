// SPDX-License-Identifier: Apache-2.0
#include "io/import_choices.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"

namespace coppice::io {
namespace {

constexpr std::array<std::pair<ImportChoice, std::string_view>, 15> kChoiceNames{
    {{ImportChoice::boxes, "boxes"},
     {ImportChoice::scaleOut, "scale-out"},
     {ImportChoice::nics, "nics"},
     {ImportChoice::keepPcie, "keep-pcie"},
     {ImportChoice::nominalRates, "nominal-rates"},
     {ImportChoice::nvlink, "nvlink"},
     {ImportChoice::nvlinkBandwidth, "nvlink-bandwidth"},
     {ImportChoice::nicBandwidth, "nic-bandwidth"},
     {ImportChoice::pcieBandwidth, "pcie-bandwidth"},
     {ImportChoice::socketBandwidth, "socket-bandwidth"},
     {ImportChoice::uplinkBandwidth, "uplink-bandwidth"},
     {ImportChoice::hosts, "hosts"},
     {ImportChoice::adapters, "adapters"},
     {ImportChoice::machine, "type"},
     {ImportChoice::timeUnit, "time-unit"}}};

Error wrongChoice(ImportChoice choice, std::string message, std::string fix) {
  return Error{ErrorCode::badUsage,
               std::move(message),
               std::move(fix),
               {.element = {RefKind::option, "--" + std::string(toString(choice))}}};
}

std::vector<std::string> choiceNames(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (!name.empty() && name.front() == ' ') {
      name.remove_prefix(1);
    }
    while (!name.empty() && name.back() == ' ') {
      name.remove_suffix(1);
    }
    if (!name.empty()) {
      names.emplace_back(name);
    }
  }
  return names;
}

/// "what=value" or "what@given=value".
Result<NumberSetting> numberSetting(std::string_view text) {
  const auto faulty = [&](std::string message) {
    return Error{ErrorCode::badUsage,
                 inQuotes(text) + std::move(message),
                 "write for example \"a cable between switches=100\", as import lists the numbers",
                 {.element = {RefKind::option, "--set"}}};
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return faulty(" sets no number");
  }
  NumberSetting setting;
  const std::string_view left = text.substr(0, equals);
  const std::size_t at = left.rfind('@');
  setting.what = std::string(left.substr(0, at));
  const auto value = Bandwidth::parse(std::string(text.substr(equals + 1)));
  const auto given = at == std::string_view::npos ? value : Bandwidth::parse(std::string(left.substr(at + 1)));
  if (!value || !given || !value->isPositive()) {
    return faulty(": the bandwidth is none above 0");
  }
  setting.value = *value;
  if (at != std::string_view::npos) {
    setting.given = *given;
  }
  return setting;
}

}  // namespace

std::string_view toString(ImportChoice choice) {
  for (const auto& [value, name] : kChoiceNames) {
    if (value == choice) {
      return name;
    }
  }
  return {};
}

std::vector<ImportChoice> choicesOf(FabricFormat format) {
  using enum ImportChoice;
  switch (format) {
    case FabricFormat::ncclXml:
      return {boxes, scaleOut, nics, keepPcie, nominalRates, nvlinkBandwidth, nicBandwidth};
    case FabricFormat::nvidiaSmi:
      return {boxes, scaleOut, nics, keepPcie, nvlink, nvlinkBandwidth, nicBandwidth, pcieBandwidth, socketBandwidth};
    case FabricFormat::taccl:
      return {boxes, machine, timeUnit};
    case FabricFormat::hwloc:
      return {boxes, scaleOut, nics, keepPcie, nicBandwidth, pcieBandwidth, socketBandwidth};
    case FabricFormat::rocmSmi:
      return {keepPcie, nvlinkBandwidth, pcieBandwidth, socketBandwidth};
    case FabricFormat::ibnetdiscover:
      return {hosts, adapters};
    case FabricFormat::treeNetwork:
      return {hosts, nicBandwidth, uplinkBandwidth};
    case FabricFormat::json:
    case FabricFormat::dot:
    case FabricFormat::adjacency:
    case FabricFormat::treeXml:
    case FabricFormat::simai:
    case FabricFormat::astraSim:
    case FabricFormat::tacos:
    case FabricFormat::infraGraph:
    case FabricFormat::nvlinkDomains:
      break;
  }
  return {};
}

Result<ImportOptions> importOptions(const ImportAnswers& answers) {
  ImportOptions options;
  options.box.count = answers.boxes;
  options.box.keepPcie = answers.keepPcie;
  if (!answers.scaleOut.empty()) {
    const auto scaleOut = parseScaleOut(answers.scaleOut);
    if (!scaleOut) {
      return wrongChoice(ImportChoice::scaleOut, inQuotes(answers.scaleOut) + " is not known",
                         "use switch, rails or planes");
    }
    options.box.scaleOut = *scaleOut;
  }
  options.box.nics = choiceNames(answers.nics);
  options.network.hosts = choiceNames(answers.hosts);
  options.network.adapters = choiceNames(answers.adapters);
  options.rates = answers.nominalRates ? LinkRates::nominal : LinkRates::nccl;
  if (!answers.nvlink.empty()) {
    if (answers.nvlink != "switch" && answers.nvlink != "mesh") {
      return wrongChoice(ImportChoice::nvlink, inQuotes(answers.nvlink) + " is not known", "use switch or mesh");
    }
    options.nvidiaSmi.reading = answers.nvlink == "switch" ? NvlinkReading::nvSwitch : NvlinkReading::mesh;
  }
  if (!answers.machine.empty()) {
    options.taccl.type = sketch::parseMachineType(answers.machine);
    if (!options.taccl.type) {
      return wrongChoice(ImportChoice::machine, inQuotes(answers.machine) + " is not a kind of machine",
                         "use ndv2, dgx2, hub or custom");
    }
  }
  if (!answers.timeUnit.empty()) {
    const auto unit = Rational::parse(answers.timeUnit);
    if (!unit || !unit->isPositive()) {
      return wrongChoice(ImportChoice::timeUnit, inQuotes(answers.timeUnit) + " is not a number of microseconds",
                         "use for example 0.01");
    }
    options.taccl.timeUnit = ExactMicroseconds(*unit);
  }
  using Field = std::pair<const std::string*, std::optional<Bandwidth>*>;
  const std::array<std::pair<ImportChoice, Field>, 5> bandwidths{
      {{ImportChoice::nvlinkBandwidth, {&answers.nvlinkBandwidth, &options.nvidiaSmi.linkBandwidth}},
       {ImportChoice::nicBandwidth, {&answers.nicBandwidth, &options.nvidiaSmi.nicBandwidth}},
       {ImportChoice::pcieBandwidth, {&answers.pcieBandwidth, &options.nvidiaSmi.pcieBandwidth}},
       {ImportChoice::socketBandwidth, {&answers.socketBandwidth, &options.nvidiaSmi.socketBandwidth}},
       {ImportChoice::uplinkBandwidth, {&answers.uplinkBandwidth, &options.network.uplinkBandwidth}}}};
  for (const auto& [choice, field] : bandwidths) {
    if (!field.first->empty()) {
      const auto bandwidth = Bandwidth::parse(*field.first);
      if (!bandwidth) {
        return wrongChoice(choice, bandwidth.error().message, bandwidth.error().fix);
      }
      if (!bandwidth->isPositive()) {
        return wrongChoice(choice, "a bandwidth of " + toExactText(*bandwidth) + " GB/s cannot carry anything",
                           "give one above 0");
      }
      *field.second = *bandwidth;
    }
  }
  options.network.nicBandwidth = options.nvidiaSmi.nicBandwidth;
  for (const std::string& text : answers.numbers) {
    auto setting = numberSetting(text);
    if (!setting) {
      return setting.error();
    }
    options.numbers.push_back(*std::move(setting));
  }
  return options;
}

}  // namespace coppice::io
