// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/one_line.hpp"
#include "command.hpp"
#include "io/files.hpp"
#include "live/damaged_fabric.hpp"
#include "live_input.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/clock.hpp"
#include "workflow/drill.hpp"
#include "workflow/drill_files.hpp"

namespace coppice::cli {
namespace {

struct DrillOptions {
  FabricOptions source;
  workflow::DemandText demand;
  bool asksDemand = false;
  std::string parts = "link,nic,switch,gpu,box";
  std::string group;
  bool pairs = false;
  std::string within;
  bool keepAll = false;
  std::optional<int> top = {};
  std::string folder;
  bool oneOfEach = false;
  int target = -1;  ///< of workflow::destinations()
};

/// What is said of a case once its schedule is gone.
struct Row {
  std::optional<Error> impossible;
  Bandwidth optimum;
  Bandwidth algbw;
  Bandwidth keepingAll;
  forestcoll::RepairCount count;
  bool isFromNothing = false;
  int gpus = 0;
  workflow::DrillFiles files;
  std::vector<std::string> ranks;  ///< ids by rank where GPUs are gone
};

Result<workflow::DrillBase> baseOf(const DrillOptions& options, const Progress& progress) {
  auto read = workflow::loadDrillBase(options.source, progress);
  if (!read) {
    return read.error();
  }
  if (*read) {
    if (options.asksDemand) {
      return Error{ErrorCode::badUsage, "the schedule says which collective it is of",
                   "leave --collective, --root and --amounts out, or give the fabric"};
    }
    return **std::move(read);
  }
  auto loaded = loadFabric(options.source, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto demand = workflow::readDemand(loaded->fabric, options.demand);
  if (!demand) {
    return demand.error();
  }
  return workflow::makeDrillBase(*std::move(loaded), *demand, progress);
}

Result<forestcoll::RepairOptions> repairOptions(const DrillOptions& options) {
  forestcoll::RepairOptions repair;
  repair.keepAll = options.keepAll;
  if (!options.within.empty()) {
    const auto loss = workflow::parseLoss(options.within);
    if (!loss) {
      return workflow::optionError("within", loss.error().message, loss.error().fix);
    }
    repair.maxLoss = *loss;
  }
  return repair;
}

Row rowOf(const workflow::DrillBase& base, const workflow::DrillAnswer& answer) {
  Row row;
  row.impossible = answer.impossible;
  row.gpus = answer.fabric ? answer.fabric->gpuCount() : 0;
  if (!answer.repaired) {
    return row;
  }
  row.optimum = answer.repaired->optimum;
  row.algbw = answer.repaired->schedule.algbw;
  row.keepingAll = answer.repaired->keepingAll;
  row.count = answer.repaired->count;
  row.isFromNothing = answer.repaired->isFromNothing;
  if (row.gpus < base.loaded.fabric.gpuCount()) {
    for (const fabric::NodeIndex gpu : answer.fabric->gpus()) {
      row.ranks.push_back(answer.fabric->nodes()[gpu].id);
    }
  }
  return row;
}

Rational lossOf(const workflow::DrillBase& base, const Row& row) {
  return Rational(1) - row.optimum / base.schedule.bound;
}

/// On new trees.
Rational movedOf(const Row& row) {
  return Rational(1) - row.count.kept - row.count.rerouted;
}

Json jsonOf(const workflow::DrillBase& base, const workflow::DrillCase& drilled, const Row& row) {
  Json json = {{"part", live::toString(drilled.failure.part)},
               {"name", drilled.failure.name},
               {"alike", drilled.alike},
               {"gpus", row.gpus}};
  if (row.impossible) {
    json["impossible"] = describe(*row.impossible);
    return json;
  }
  const Rational moved = movedOf(row);
  json["bound"] = toFraction(row.optimum);
  json["bound_GBps"] = toGBps(row.optimum);
  json["loss"] = lossOf(base, row).toString();
  json["algbw"] = toFraction(row.algbw);
  json["algbw_GBps"] = toGBps(row.algbw);
  if (row.isFromNothing) {
    json["from_nothing"] = true;
  } else {
    json["keeping_all"] = toFraction(row.keepingAll);
    json["keeping_all_GBps"] = toGBps(row.keepingAll);
  }
  json["unaffected_trees"] = row.count.unaffectedTrees;
  json["kept_trees"] = row.count.keptTrees;
  json["rerouted_trees"] = row.count.reroutedTrees;
  json["new_trees"] = row.count.newTrees;
  json["unaffected"] = row.count.unaffected.toString();
  json["kept"] = row.count.kept.toString();
  json["rerouted"] = row.count.rerouted.toString();
  json["moved"] = moved.toString();
  json["moved_percent"] = (moved * Rational(100)).toDouble();
  if (!row.files.schedule.empty()) {
    json["schedule_file"] = row.files.schedule;
  }
  if (!row.files.program.empty()) {
    json["program"] = row.files.program;
  } else if (!row.files.reason.empty()) {
    json["no_program"] = row.files.reason;
  }
  if (row.files.used) {
    json["used_at"] = program::describe(*row.files.used);
  }
  return json;
}

std::vector<std::string> cellsOf(const workflow::DrillBase& base, const workflow::DrillCase& drilled, const Row& row) {
  std::vector<std::string> cells = {oneLine(live::described(drilled.failure)), std::to_string(drilled.alike)};
  if (row.impossible) {
    cells.insert(cells.end(),
                 {"100 %", row.gpus == 0 ? "none: GPUs are cut off" : "none: " + oneLine(row.impossible->message)});
    return cells;
  }
  const std::string kept =
      std::to_string(row.count.keptTrees) + (row.count.keptTrees == row.count.unaffectedTrees
                                                 ? std::string()
                                                 : " of " + std::to_string(row.count.unaffectedTrees));
  const bool isAll = row.keepingAll == row.algbw;
  cells.insert(
      cells.end(),
      {percent(lossOf(base, row)), gigabytes(row.optimum), row.algbw == row.optimum ? "the same" : gigabytes(row.algbw),
       row.isFromNothing ? "not known"
       : isAll           ? "the same"
                         : gigabytes(row.keepingAll),
       kept, std::to_string(row.count.reroutedTrees), std::to_string(row.count.newTrees), percent(movedOf(row))});
  return cells;
}

Json headOf(const workflow::DrillBase& base) {
  const fabric::Fabric& fabric = base.loaded.fabric;
  Json json = {{"ok", true},
               {"fabric", fabric.name()},
               {"digest", fabric.digest()},
               {"collective", toString(base.schedule.collective)}};
  if (base.schedule.root) {
    json["root"] = fabric.nodes()[fabric.gpus()[static_cast<std::size_t>(*base.schedule.root)]].id;
  }
  json["gpus"] = fabric.gpuCount();
  json["algbw"] = toFraction(base.schedule.algbw);
  json["algbw_GBps"] = toGBps(base.schedule.algbw);
  json["bound"] = toFraction(base.schedule.bound);
  return json;
}

class Drill {
public:
  Drill(const DrillOptions& options, const workflow::DrillBase& base) : m_options(options), m_base(base) {
    if (options.target >= 0) {
      m_destination = workflow::destinations()[static_cast<std::size_t>(options.target)];
    }
  }

  Result<Report> run(const Progress& progress) {
    const auto parts = parseParts("kind", m_options.parts);
    if (!parts) {
      return parts.error();
    }
    const auto repair = repairOptions(m_options);
    if (!repair) {
      return repair.error();
    }
    const bool isWritten = !m_options.folder.empty();
    workflow::Clock clock;
    auto cases = workflow::drillCases(m_base,
                                      {.parts = *parts,
                                       .group = m_options.group,
                                       .pairs = m_options.pairs,
                                       .everyPart = isWritten && !m_options.oneOfEach},
                                      progress);
    if (!cases) {
      return cases.error();
    }
    m_cases = *std::move(cases);
    m_rows.resize(m_cases.size());
    if (const Outcome written = isWritten ? writeBase(progress) : Outcome(Done{}); !written) {
      return written.error();
    }
    const auto names = workflow::drillFileNames(m_cases);
    const auto use = [&](std::size_t i, const workflow::DrillAnswer& answer) -> Outcome {
      m_rows[i] = rowOf(m_base, answer);
      return isWritten && answer.repaired ? writeRepaired(i, names[i], answer, progress) : Outcome(Done{});
    };
    if (const Outcome done = workflow::drillAll(m_base, m_cases, *repair, use, progress); !done) {
      return done.error();
    }
    return report(clock, isWritten);
  }

private:
  Outcome writeBase(const Progress& progress) {
    if (const Outcome made = io::makeFolder(m_options.folder); !made) {
      return made.error();
    }
    const auto files =
        workflow::writeDrillFiles(m_options.folder, "in-use", m_base.loaded.fabric, m_base.loaded.description,
                                  m_base.schedule, m_base.origin, m_destination, progress);
    if (!files) {
      return files.error();
    }
    m_inUse = *files;
    return Done{};
  }

  Outcome writeRepaired(std::size_t i, const std::string& name, const workflow::DrillAnswer& answer,
                        const Progress& progress) {
    const Progress quiet{.stop = progress.stop};
    auto files = workflow::writeDrillFiles(m_options.folder, name, *answer.fabric, answer.description,
                                           answer.repaired->schedule, m_base.origin, m_destination, quiet);
    if (!files) {
      return files.error();
    }
    m_rows[i].files = *std::move(files);
    return Done{};
  }

  Outcome writePlan() const {
    workflow::SwitchingPlan plan{m_base, m_destination, m_inUse, {}};
    for (std::size_t i = 0; i < m_cases.size(); ++i) {
      const Row& row = m_rows[i];
      plan.entries.push_back(
          {m_cases[i].failure, row.impossible, row.files, row.algbw, row.optimum, movedOf(row), row.ranks});
    }
    return workflow::writeSwitchingPlan(m_options.folder, plan);
  }

  /// Cases that stand for their classes, the largest loss first.
  [[nodiscard]] std::vector<std::size_t> ranking() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < m_cases.size(); ++i) {
      if (m_cases[i].first == i) {
        order.push_back(i);
      }
    }
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return m_rows[a].optimum < m_rows[b].optimum; });
    return order;
  }

  Result<Report> report(workflow::Clock& clock, bool isWritten) const {
    Report report;
    report.json = headOf(m_base);
    const std::vector<std::size_t> order = ranking();
    const auto all = static_cast<std::int64_t>(std::transform_reduce(
        order.begin(), order.end(), std::size_t{0}, std::plus<>(), [&](std::size_t i) { return m_cases[i].alike; }));
    report.json["failures"] = all;
    report.json["classes"] = Json::array();
    report.text = "drill of " + std::string(toString(m_base.schedule.collective)) + ", " +
                  gigabytes(m_base.schedule.algbw) + " without failures\n  fabric      " +
                  named(m_base.loaded.fabric.name()) + ", " + counted(m_base.loaded.fabric.gpuCount(), "GPU") +
                  "\n  failures    " + counted(all, m_options.pairs ? "pair" : "failure") + " in " +
                  (order.size() == 1 ? "1 class" : std::to_string(order.size()) + " classes") +
                  ", each repaired and verified\n";
    const auto [jsonRows, textRows] = rowsShown(m_options.top, order.size());
    std::vector<std::vector<std::string>> rows{{"failed", "alike", "loss", "bound left", "repaired",
                                                "all unaffected kept", "kept", "rerouted", "new", "moved"}};
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i < jsonRows) {
        report.json["classes"].push_back(jsonOf(m_base, m_cases[order[i]], m_rows[order[i]]));
      }
      if (i < textRows) {
        rows.push_back(cellsOf(m_base, m_cases[order[i]], m_rows[order[i]]));
      }
    }
    report.text += table(rows);
    if (textRows < order.size()) {
      report.text += "  and " + std::to_string(order.size() - textRows) + " more classes, see --top\n";
    }
    if (isWritten) {
      if (const Outcome written = writePlan(); !written) {
        return written.error();
      }
      addFiles(report);
    }
    const double seconds = clock.lap();
    report.json["import_findings"] = toJson(m_base.loaded.findings);
    report.json["seconds"] = seconds;
    report.text += lines(m_base.loaded.findings) + "  time        " + duration(seconds) + "\n";
    return report;
  }

  void addFiles(Report& report) const {
    const auto repaired = std::ranges::count_if(m_rows, [](const Row& row) { return !row.files.schedule.empty(); });
    const auto programs = std::ranges::count_if(m_rows, [](const Row& row) { return !row.files.program.empty(); });
    report.json["folder"] = m_options.folder;
    report.json["files"] = {{"schedules", repaired}, {"programs", programs}};
    report.text += "  written     " + counted(repaired, "schedule") +
                   (m_destination ? " and " + counted(programs, "program") : "") + " in " + oneLine(m_options.folder) +
                   ", with switching.md and switching.json\n";
    const auto odd =
        std::ranges::count_if(m_rows, [](const Row& row) { return row.files.used && !row.files.used->powersOfTwo; });
    if (m_inUse.used) {
      report.json["in_use_used_at"] = program::describe(*m_inUse.used);
    }
    if (odd > 0) {
      report.json["files"]["not_at_powers_of_two"] = odd;
      report.text += "  note        " + counted(odd, "program") +
                     " not used at powers of two; see used at in switching.md, and try --within with a schedule of "
                     "generate --sizes pow2\n";
    }
    if (m_destination && programs < repaired) {
      const auto without = std::ranges::find_if(m_rows, [](const Row& row) { return !row.files.reason.empty(); });
      report.text += "  note        " + std::to_string(repaired - programs) +
                     " without a program: " + oneLine(without->files.reason) + "\n";
    }
  }

  const DrillOptions& m_options;
  const workflow::DrillBase& m_base;
  std::optional<workflow::Destination> m_destination;
  std::vector<workflow::DrillCase> m_cases;
  std::vector<Row> m_rows;
  workflow::DrillFiles m_inUse;
};

Result<Report> run(const DrillOptions& options, const Progress& progress) {
  if (options.folder.empty() && (options.target >= 0 || options.oneOfEach)) {
    return Error{ErrorCode::badUsage, "--target and --one-of-each are about files", "give -o FOLDER too"};
  }
  const auto base = baseOf(options, progress);
  if (!base) {
    return base.error();
  }
  return Drill(options, *base).run(progress);
}

}  // namespace

void addDrill(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "drill",
      "Repair the schedule after every failure: what remains, what changes, and programs to switch to",
      "  coppice-cli drill preset:dgx-h100,boxes=2,network=rails\n"
      "  coppice-cli drill allgather.forest.json --kind nic,gpu --within 1%\n"
      "  coppice-cli drill preset:dgx-h100,boxes=4,network=rails -c allreduce --group rail\n"
      "  coppice-cli drill cluster.fabric.json --group shelves.txt      # lines such as \"shelf-1: b0, b1, leaf*\"\n"
      "  coppice-cli drill preset:dgx-a100,boxes=2 --kind link,nic --pairs --json\n"
      "  coppice-cli drill preset:dgx-a100,boxes=2 --kind nic,gpu -o drill --target msccl");
  auto options = std::make_shared<DrillOptions>();
  addFabricOptions(sub, options->source);
  addDemandOptions(sub, options->demand);
  CLI::Option* kind = sub.add_option("--kind", options->parts,
                                     "What fails: link, nic, switch, gpu or box, separated by commas; of parallel "
                                     "links, one fails")
                          ->capture_default_str();
  sub.add_option("--group", options->group,
                 "What fails together: leaf (each leaf switch), rail (all leaf switches of a rail), or a file with "
                 "lines such as \"shelf-1: b0, b1, leaf*\" of boxes and nodes")
      ->excludes(kind);
  sub.add_flag("--pairs", options->pairs, "Two of them at once, one pair of each class");
  auto* within = sub.add_option("--within", options->within,
                                "Keep more trees where that loses no more than this of the bound, for example 1%");
  sub.add_flag("--keep-all", options->keepAll, "Keep every tree that did not use the failed part, whatever is lost")
      ->excludes(within);
  sub.add_option("--top", options->top, "Classes to list, the worst first; 0 = all (default: 20, with --json all)")
      ->check(CLI::Range(0, 1 << 30));
  sub.add_option(
      "-o,--output", options->folder,
      "Folder for a schedule of each failure (of pairs, of each class), and the plan switching.md and .json");
  sub.add_flag("--one-of-each", options->oneOfEach, "Write one failure of each class");
  Words<int> targets;
  const auto destinations = workflow::destinations();
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    targets.emplace_back(destinations[i].id(), static_cast<int>(i));
  }
  addWord<int>(sub, "--target", options->target, targets,
               "Write a program beside each schedule: " + program::runtimeNames() + "; " + workflow::targetHelp());
  sub.callback([options, &sub, &invocation] {
    options->asksDemand = sub.count("--collective") + sub.count("--root") + sub.count("--amounts") > 0;
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
