// SPDX-License-Identifier: Apache-2.0
#include "workflow/frontier_request.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "base/text.hpp"
#include "io/table_json.hpp"
#include "presets/presets.hpp"
#include "workflow/fabric_source.hpp"

namespace coppice::workflow {
namespace {

constexpr const char* kBoxesAndNetworks = "Boxes and networks";
constexpr const char* kFloor = "Floor plan, lengths in metres";
constexpr const char* kStep = "Training step";

std::vector<std::string> itemsOf(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream text(list);
  for (std::string item; std::getline(text, item, ',');) {
    const std::size_t begin = item.find_first_not_of(' ');
    if (begin != std::string::npos) {
      items.push_back(item.substr(begin, item.find_last_not_of(' ') - begin + 1));
    }
  }
  return items;
}

Result<std::vector<Rational>> readRatios(const std::string& list, const char* option) {
  std::vector<Rational> ratios;
  for (const std::string& text : itemsOf(list)) {
    const auto ratio = Rational::parse(text.ends_with(":1") ? text.substr(0, text.size() - 2) : text);
    if (!ratio || *ratio < Rational(1)) {
      return optionError(option, inQuotes(text) + " is not a ratio of 1:1 or more",
                         "give numbers such as 1,2,4 or 3/2");
    }
    ratios.push_back(*ratio);
  }
  return ratios;
}

Result<std::vector<int>> readPlanes(const std::string& list) {
  constexpr std::int64_t kMaxPlanes = 64;
  std::vector<int> planes;
  for (const std::string& text : itemsOf(list)) {
    const auto number = parseInteger(text);
    if (!number || *number < 1 || *number > kMaxPlanes) {
      return optionError("planes", inQuotes(text) + " is not a number of planes",
                         "give whole numbers from 1 to " + std::to_string(kMaxPlanes));
    }
    planes.push_back(static_cast<int>(*number));
  }
  return planes;
}

Result<std::vector<Bandwidth>> readNics(const std::string& list) {
  std::vector<Bandwidth> nics;
  for (const std::string& text : itemsOf(list)) {
    const auto nic = Bandwidth::parse(text);
    if (!nic || !nic->isPositive()) {
      return optionError("nic", inQuotes(text) + " is not a rate above 0", "give GB/s of a GPU's NIC, such as 50");
    }
    nics.push_back(*nic);
  }
  return nics;
}

std::vector<std::pair<std::string, std::string>> titlesOf(const std::vector<std::string>& presets) {
  std::vector<std::pair<std::string, std::string>> titles;
  for (const std::string& name : presets) {
    titles.emplace_back(name, presets::find(name)->title);
  }
  return titles;
}

/// For Option::check, of a reader that names the option itself.
template <typename Read>
std::function<Outcome(const std::string&)> checkedList(Read read) {
  return [read](const std::string& value) -> Outcome {
    const auto result = read(value);
    return result ? Outcome(Done{}) : Outcome(result.error());
  };
}

Option lengthOption(const char* name, const char* title, const char* help, const char* value) {
  return {.name = name,
          .title = title,
          .help = help,
          .defaultText = value,
          .check = [name = std::string(name)](const std::string& text) -> Outcome {
            if (!Rational::parse(text)) {
              return optionError(name, inQuotes(text) + " is not a length", "give metres, such as 0.6");
            }
            return Done{};
          },
          .group = kFloor,
          .unit = "m"};
}

/// The values of these options alone.
Values valuesOf(const Values& values, const std::vector<Option>& options) {
  Values own;
  for (const Option& option : options) {
    if (const auto found = values.find(option.name); found != values.end()) {
      own.insert(*found);
    }
  }
  return own;
}

Result<VariantRequest> readVariants(const Values& given) {
  const auto values = OptionValues::read(networkOptions(), given);
  if (!values) {
    return values.error();
  }
  auto arguments = parseArguments(itemsOf(values->text("set")));
  if (!arguments) {
    return arguments.error();
  }
  auto oversubscriptions = readRatios(values->text("oversubscription"), "oversubscription");
  auto tapers = readRatios(values->text("taper"), "taper");
  auto planes = readPlanes(values->text("planes"));
  auto nics = readNics(values->text("nic"));
  // Each of them was checked as the value of its option.
  return VariantRequest{.box = values->text("box"),
                        .gpus = static_cast<int>(values->integer("gpus").value_or(0)),
                        .arguments = *std::move(arguments),
                        .networks = itemsOf(values->text("network")),
                        .oversubscriptions = *std::move(oversubscriptions),
                        .tapers = *std::move(tapers),
                        .planes = *std::move(planes),
                        .nics = *std::move(nics)};
}

Result<bom::Floor> floorOf(const Values& given) {
  const auto values = OptionValues::read(floorOptions(), given);
  if (!values) {
    return values.error();
  }
  const bom::Floor usual;
  bom::Floor floor;
  floor.boxesPerRack = static_cast<int>(values->integer("boxes-per-rack").value_or(usual.boxesPerRack));
  floor.switchesPerRack = static_cast<int>(values->integer("switches-per-rack").value_or(usual.switchesPerRack));
  floor.isTopOfRack = values->flag("top-of-rack");
  const std::array<std::pair<const char*, Rational*>, 6> lengths{{{"rack-pitch", &floor.rackPitch},
                                                                  {"rack-height", &floor.rackHeight},
                                                                  {"box-height", &floor.boxHeight},
                                                                  {"switch-height", &floor.switchHeight},
                                                                  {"tray-height", &floor.trayHeight},
                                                                  {"slack", &floor.slack}}};
  for (const auto& [name, length] : lengths) {
    *length = *Rational::parse(values->text(name));
  }
  if (const Outcome checked = bom::checkFloor(floor); !checked) {
    const ElementPart* const parameter = checked.error().where.element.as(RefKind::parameter);
    return optionError(parameter->name, checked.error().message, checked.error().fix);
  }
  return floor;
}

}  // namespace

const std::vector<Option>& partsOptions() {
  static const std::vector<Option> kOptions{{.name = "parts",
                                             .title = "Table of parts",
                                             .help = "Table of parts (CSV or JSON): switches, NICs, cables and "
                                                     "transceivers with price, watts and reach; by default "
                                                     "the sample with round numbers, which bom --sample writes",
                                             .example = "the sample, with round numbers",
                                             .isFile = true}};
  return kOptions;
}

const std::vector<Option>& floorOptions() {
  constexpr std::int64_t kMaxPerRack = 1000;
  static const std::vector<Option> kOptions{
      {.name = "boxes-per-rack",
       .title = "Boxes per rack",
       .help = "Boxes in a rack",
       .kind = OptionKind::integer,
       .defaultText = "4",
       .min = 1,
       .max = kMaxPerRack,
       .group = kFloor},
      {.name = "switches-per-rack",
       .title = "Switches per rack",
       .help = "Switches in a network rack, in the middle of the row",
       .kind = OptionKind::integer,
       .defaultText = "16",
       .min = 1,
       .max = kMaxPerRack,
       .group = kFloor},
      lengthOption("rack-pitch", "Rack pitch", "From one rack to the next", "0.6"),
      lengthOption("rack-height", "Rack height", "Height of a rack that can be used", "2"),
      lengthOption("box-height", "Box height", "Height of a box with the space around it", "0.4"),
      lengthOption("switch-height", "Switch height", "Height of a switch with its cable guide", "0.1"),
      lengthOption("tray-height", "Tray height", "Height of the cable tray above the racks", "0.2"),
      lengthOption("slack", "Slack", "Length added to each cable", "0.5"),
      {.name = "top-of-rack",
       .title = "Leaves at the top of racks",
       .help = "A leaf whose boxes all stand in one rack is at the top of it, where there is space",
       .kind = OptionKind::flag,
       .group = kFloor}};
  return kOptions;
}

const std::vector<Option>& networkOptions() {
  constexpr std::int64_t kMaxGpus = 65'536;
  static const std::vector<std::string> kBoxes = presetsWithNetwork();
  static const std::vector<Option> kOptions{
      {.name = "box",
       .title = "Boxes",
       .help = "Preset of the boxes (preset list)",
       .kind = OptionKind::choice,
       .defaultText = "dgx-h100",
       .words = kBoxes,
       .group = kBoxesAndNetworks,
       .spoken = titlesOf(kBoxes)},
      {.name = "gpus",
       .title = "GPUs",
       .help = "GPUs in all boxes",
       .kind = OptionKind::integer,
       .defaultText = "64",
       .min = 1,
       .max = kMaxGpus,
       .group = kBoxesAndNetworks},
      {.name = "nic",
       .title = "NIC rates",
       .help = "GB/s of a GPU's NIC to try, such as 25,50,100; by default as the preset has it",
       .example = "that of the boxes, or 25, 50, 100",
       .check = checkedList(readNics),
       .group = kBoxesAndNetworks},
      {.name = "network",
       .title = "Networks",
       .help = "Networks to try: simple, planes, rail-only, rails, leaf-spine, two-plane, three-tier; by default all",
       .example = "all, or leaf-spine, rails",
       .group = kBoxesAndNetworks},
      {.name = "oversubscription",
       .title = "Oversubscription",
       .help = "Ratios from leaves or rails to spines",
       .defaultText = "1,2,4",
       .check = checkedList([](const std::string& text) { return readRatios(text, "oversubscription"); }),
       .group = kBoxesAndNetworks},
      {.name = "taper",
       .title = "Taper",
       .help = "Ratios from spines to cores, of three-tier",
       .defaultText = "1,2",
       .check = checkedList([](const std::string& text) { return readRatios(text, "taper"); }),
       .group = kBoxesAndNetworks},
      {.name = "planes",
       .title = "Planes",
       .help = "Numbers of planes, of the network planes",
       .defaultText = "2,4",
       .check = checkedList(readPlanes),
       .group = kBoxesAndNetworks},
      {.name = "set",
       .title = "More parameters",
       .help = "KEY=VALUE,…: other parameters of the preset, such as sharp=true",
       .example = "sharp=true",
       .group = kBoxesAndNetworks}};
  return kOptions;
}

const std::vector<Option>& stepOptions() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> options = trainingOptions();
    std::erase_if(options, [](const Option& option) {
      return option.name == "tokens" || option.name == "bucket" || option.name == "no-prefetch";
    });
    for (Option& option : options) {
      option.group = kStep;
    }
    return options;
  }();
  return kOptions;
}

namespace {

Result<bom::Parts> partsOf(const std::string& text, const std::string& name) {
  if (!io::isJsonTable(text)) {
    return bom::readParts(text, name);
  }
  const auto rows = io::readJsonTable(text, name);
  return rows ? bom::readPartRows(*rows, name) : rows.error();
}

}  // namespace

Result<PartsAndFloor> readPartsAndFloor(const Values& values) {
  const auto floor = floorOf(valuesOf(values, floorOptions()));
  if (!floor) {
    return floor.error();
  }
  const auto file = values.find("parts");
  const bool isSample = file == values.end() || file->second.empty();
  const auto text = isSample ? Result<std::string>(std::string(bom::kSampleParts)) : readText(file->second, {});
  if (!text) {
    return text.error();
  }
  auto parts = partsOf(*text, isSample ? "sample" : inputName(file->second));
  if (!parts) {
    return parts.error();
  }
  return PartsAndFloor{*std::move(parts), *floor, isSample};
}

Result<FrontierQuestion> readFrontier(const Values& values) {
  auto priced = readPartsAndFloor(values);
  if (!priced) {
    return priced.error();
  }
  auto variants = readVariants(valuesOf(values, networkOptions()));
  if (!variants) {
    return variants.error();
  }
  FrontierRequest request{*std::move(variants), priced->floor};
  const Values step = valuesOf(values, stepOptions());
  if (const auto model = step.find("model"); model != step.end() && !model->second.empty()) {
    auto training = readTraining(step, request.variants.box);
    if (!training) {
      return training.error();
    }
    request.training = *std::move(training);
  }
  return FrontierQuestion{*std::move(priced), std::move(request)};
}

}  // namespace coppice::workflow
