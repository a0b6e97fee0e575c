// SPDX-License-Identifier: Apache-2.0
#include "presets/presets.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/comma_list.hpp"
#include "fabric/description.hpp"
#include "presets/generators.hpp"

namespace coppice::presets {
namespace {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kAll = [] {
    std::vector<Recipe> list;
    for (auto* const part :
         {machineRecipes, torusMachineRecipes, clusterRecipes, switchedRecipes, directRecipes, topologyRecipes}) {
      for (Recipe& recipe : part()) {
        list.push_back(std::move(recipe));
      }
    }
    return list;
  }();
  return kAll;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kAll = [] {
    std::vector<Preset> list;
    for (const Recipe& recipe : recipes()) {
      Preset preset{recipe.name, recipe.title, recipe.description, recipe.sources, {}};
      for (const Rule& rule : recipe.rules) {
        std::string description = rule.description;
        if (!rule.switchedBy.empty()) {
          std::string words;
          for (const std::string& word : rule.switchedOn) {
            words += (words.empty() ? "" : " or ") + word;
          }
          description += " (only with " + rule.switchedBy + "=" + words + ")";
        }
        preset.parameters.push_back({rule.name, std::move(description), rule.defaultText, allowedText(rule)});
      }
      list.push_back(std::move(preset));
    }
    return list;
  }();
  return kAll;
}

const Recipe* findRecipe(std::string_view name) {
  const auto found = std::find_if(recipes().begin(), recipes().end(),
                                  [&](const Recipe& recipe) { return equalWords(recipe.name, name); });
  return found == recipes().end() ? nullptr : &*found;
}

Error unknownPreset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
  }
  const std::string guess = nearest(name, names);
  return {ErrorCode::badUsage,
          "there is no preset " + quoted(name),
          (guess.empty() ? "" : "did you mean \"" + guess + "\"? ") + "Presets are " + commaList(names),
          {}};
}

}  // namespace

std::span<const Preset> catalogue() {
  return presets();
}

const Preset* find(std::string_view name) {
  const auto it = std::find_if(presets().begin(), presets().end(),
                               [&](const Preset& preset) { return equalWords(preset.name, name); });
  return it == presets().end() ? nullptr : &*it;
}

std::optional<ServerFigures> serverFigures(std::string_view name) {
  const Recipe* recipe = findRecipe(name);
  if (recipe == nullptr) {
    return std::nullopt;
  }
  const auto defaultOf = [&](std::string_view rule, ValueKind kind) {
    const auto found = std::find_if(recipe->rules.begin(), recipe->rules.end(),
                                    [&](const Rule& one) { return one.name == rule && one.kind == kind; });
    return found == recipe->rules.end() ? std::string() : found->defaultText;
  };
  ServerFigures figures{0, defaultOf("nvlink", ValueKind::bandwidth), defaultOf("nic", ValueKind::bandwidth)};
  const std::string gpus = defaultOf("gpus", ValueKind::integer);
  if (gpus.empty() || figures.nvlink.empty() || figures.nic.empty()) {
    return std::nullopt;
  }
  figures.gpus = std::stoi(gpus);
  return figures;
}

Result<fabric::Description> make(std::string_view name, const std::map<std::string, std::string>& arguments) {
  try {
    const Recipe* it = findRecipe(name);
    if (it == nullptr) {
      return unknownPreset(name);
    }
    fabric::Description description = it->generate(Arguments(it->name, it->rules, arguments));
    for (const Finding& finding : fabric::validate(description)) {
      if (finding.severity == Severity::error) {
        return Error{ErrorCode::badUsage, "preset " + it->name + " with these parameters: " + finding.text, finding.fix,
                     finding.where};
      }
    }
    return description;
  } catch (const Failure& refusal) {
    return refusal.error;
  } catch (const OverflowError& overflow) {
    return Error{ErrorCode::overflow,
                 "preset " + std::string(name.substr(0, 60)) + ": " + overflow.what(),
                 "use bandwidths and ratios with fewer digits",
                 {}};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory for this preset", "choose smaller parameters", {}};
  }
}

}  // namespace coppice::presets
