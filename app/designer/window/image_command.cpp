// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/image_command.hpp"

#include <QDir>
#include <QEventLoop>
#include <QFile>
#include <QRegularExpression>
#include <algorithm>
#include <vector>

#include "designer/document/exchange.hpp"
#include "designer/schedules/opened_file.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/theme/theme.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/trees/tree_model.hpp"
#include "designer/window/schedule_pictures.hpp"
#include "designer/workspace/editor_context.hpp"
#include "io/files.hpp"
#include "workflow/fabric_source.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

Error named(Error error, const QString& file) {
  if (error.where.file.empty()) {
    error.where.file = file.toStdString();
  }
  return error;
}

Result<ReadModel> readInput(const QString& input) {
  if (const std::string source = input.toStdString(); source.starts_with(workflow::kPresetPrefix)) {
    const auto made = workflow::loadDescription({.source = source}, {});
    return made ? Result<ReadModel>(readArranged(made->description)) : made.error();
  }
  const auto text = io::readFile(QFile::encodeName(input).toStdString());
  if (!text) {
    return text.error();
  }
  auto read = readAnyFabric(*text, input.toStdString());
  if (!read) {
    return named(read.error(), input);
  }
  return read;
}

Result<std::set<ElementId>> find(const Model& model, const QStringList& names) {
  std::set<ElementId> found;
  for (const QString& name : names) {
    const std::size_t before = found.size();
    const auto pattern = QRegularExpression(
        QRegularExpression::wildcardToRegularExpression(name, QRegularExpression::UnanchoredWildcardConversion));
    const QRegularExpression whole(QRegularExpression::anchoredPattern(pattern.pattern()));
    const auto fits = [&](const std::string& text) {
      const QString candidate = QString::fromStdString(text);
      return candidate == name || whole.match(candidate).hasMatch();
    };
    for (const auto& [id, node] : model.nodes()) {
      if (fits(node.facts.name)) {
        found.insert(id);
      }
    }
    for (const auto& [id, box] : model.boxes()) {
      if (fits(box.name) || fits(model.boxPath(id))) {
        found.insert(id);
      }
    }
    if (found.size() == before) {
      return Error{ErrorCode::badUsage, "--selection: there is no node or box \"" + name.toStdString() + "\"",
                   "give names from the fabric; * and ? are wildcards"};
    }
  }
  return found;
}

Outcome waitForCut(EditorContext& editor, const ImageRequest& request) {
  Question question{request.collective.value_or(Collective::allgather), {}};
  if (!request.root.isEmpty()) {
    question.root = editor.model().nodeNamed(request.root.toStdString());
    const Node* node = editor.model().find(question.root);
    if (node == nullptr || node->facts.kind != "gpu") {
      return Error{ErrorCode::badUsage, "--root: there is no GPU \"" + request.root.toStdString() + "\"",
                   "give the name of a GPU"};
    }
  }
  editor.bound().setQuestion(question);
  editor.setCutShown(true);
  if (!editor.bound().isCurrent()) {
    QEventLoop loop;
    QObject::connect(&editor.bound(), &LiveBound::changed, &loop, [&] {
      if (editor.bound().isCurrent()) {
        loop.quit();
      }
    });
    loop.exec();
  }
  const Bound& bound = *editor.bound().bound();
  if (!bound.algbw || bound.cuts.empty()) {
    std::string why = bound.why.toStdString();
    std::string fix = "coppice-cli check lists all problems of a fabric";
    for (const Finding& finding : bound.findings) {
      if (finding.severity == Severity::error) {
        why = describe(Error{finding.code, finding.text, finding.fix, finding.where});
        break;
      }
    }
    return Error{
        ErrorCode::infeasible, "there is no bound to draw: " + why, fix, {.file = request.input.toStdString()}};
  }
  return Done{};
}

/// Those of the schedules that the designer keeps beside the file that are for these facts and this question, the
/// newest first.
std::vector<ScheduleResultPtr> savedSchedules(const ImageRequest& request, const fabric::Description& facts) {
  const QDir folder(ScheduleBook::folderOf(request.input));
  const QStringList files = folder.entryList({u"*"_s + kForestSuffix, u"*"_s + kStepsSuffix}, QDir::Files, QDir::Time);
  std::vector<ScheduleResultPtr> saved;
  for (const QString& file : files) {
    auto loaded = loadSchedule(folder.filePath(file), {});
    if (!loaded) {
      continue;
    }
    const ScheduleResult& result = **loaded;
    const bool isAsked = (!request.collective || result.options.collective == *request.collective) &&
                         (request.root.isEmpty() || result.options.root == request.root.toStdString());
    if (isAsked && result.fabricDigest() == digestNow(facts, {.gpus = result.options.gpus})) {
      saved.push_back(*loaded);
    }
  }
  return saved;
}

/// @param method empty = ForestColl
Result<ScheduleResultPtr> generated(const ImageRequest& request, const fabric::Description& facts,
                                    const QString& method) {
  ScheduleOptions options;
  options.collective = request.collective.value_or(Collective::allgather);
  options.root = request.root.toStdString();
  if (!method.isEmpty()) {
    options.method = method.toStdString();
  }
  auto made = makeSchedule(facts, options, {});
  if (!made) {
    Error error = named(made.error(), request.input);
    error.message = "there is no schedule to draw: " + error.message;
    // That a fabric has no schedule is an answer, not a fault of the command.
    if (error.code == ErrorCode::invalidFabric || error.code == ErrorCode::overflow) {
      error.code = ErrorCode::infeasible;
    }
    return error;
  }
  return made;
}

Result<ScheduleResultPtr> scheduleFor(const ImageRequest& request, const Model& model) {
  const fabric::Description facts = model.description();
  if (request.method.isEmpty()) {
    for (const ScheduleResultPtr& saved : savedSchedules(request, facts)) {
      // Trees and steps can be asked for.
      if ((request.trees == 0 || saved->forests() != nullptr) && (!request.step || saved->stepSchedule() != nullptr)) {
        return saved;
      }
    }
  }
  return generated(request, facts, request.method);
}

/// The saved ones and those that are made; ForestColl and the ring where nothing is saved or asked for.
Result<std::vector<ScheduleResultPtr>> schedulesFor(const ImageRequest& request, const Model& model) {
  const fabric::Description facts = model.description();
  std::vector<ScheduleResultPtr> all = savedSchedules(request, facts);
  // Schedules of several collectives are not compared.
  const Collective collective =
      request.collective.value_or(all.empty() ? Collective::allgather : all.front()->options.collective);
  std::erase_if(all, [&](const ScheduleResultPtr& each) { return each->options.collective != collective; });
  ImageRequest asked = request;
  asked.collective = collective;
  const QStringList methods =
      request.methods.isEmpty() && all.empty() ? QStringList{u"forestcoll"_s, u"ring"_s} : request.methods;
  for (const QString& method : methods) {
    auto made = generated(asked, facts, method);
    if (!made) {
      return made.error();
    }
    all.push_back(*std::move(made));
  }
  return all;
}

/// The first tree of each of the first roots, or the loads.
Overlay overlayOf(const ScheduleResultPtr& result, const Model& model, int count) {
  const FabricMap map(*result, model);
  Overlay overlay;
  if (count == 0 || result->forests() == nullptr) {
    overlay.heat = heatOf(*result, map);
    return overlay;
  }
  TreeModel trees;
  trees.setResult(result);
  QModelIndex parent;
  // Of an allreduce the second half spreads the data.
  const QModelIndex last = trees.index(trees.rowCount() - 1, 0);
  if (last.data(TreeModel::kLevelRole).toInt() == static_cast<int>(TreeModel::Level::half)) {
    parent = last;
  }
  while (trees.rowCount(parent) < count && trees.canFetchMore(parent)) {
    trees.fetchMore(parent);
  }
  for (int row = 0; row < std::min(count, trees.rowCount(parent)); ++row) {
    for (const TreeRef& tree : trees.treesAt(trees.index(row, 0, parent), 1)) {
      TreeMark mark = markOf(*result, *trees.readerOf(tree.half), tree, map);
      mark.category = row;
      mark.label = trees.titleOf(tree);
      overlay.trees.push_back(std::move(mark));
    }
  }
  overlay.isRestDimmed = true;
  return overlay;
}

}  // namespace

namespace {

/// What the mode shows of a schedule. @param schedule nullptr: the file is not one
Outcome drawSchedule(EditorContext& editor, ImageRequest request, ScheduleResultPtr schedule) {
  if (request.mode == ImageRequest::Mode::compare) {
    auto all = schedulesFor(request, editor.model());
    if (!all) {
      return all.error();
    }
    if (schedule) {
      all->insert(all->begin(), schedule);
    }
    return saveComparison(request, *all);
  }
  if (!schedule || !request.method.isEmpty()) {
    auto found = scheduleFor(request, editor.model());
    if (!found) {
      return found.error();
    }
    schedule = *std::move(found);
  }
  if (request.film) {
    return request.isReplay ? saveReplay(editor, request, schedule) : saveFilm(editor, request, schedule);
  }
  if (request.mode == ImageRequest::Mode::timeline) {
    return saveTimeline(request, schedule);
  }
  if (request.trees > 0 && schedule->forests() == nullptr) {
    return Error{ErrorCode::badUsage, "--trees: a schedule in steps has no trees", "give --step, or leave --trees out"};
  }
  Outcome shown = Done{};
  if (request.step) {
    shown = showStep(editor, request, schedule);
  } else if (request.time) {
    shown = showMoment(editor, request, schedule);
  } else {
    editor.canvas().setOverlay(overlayOf(schedule, editor.model(), request.trees));
  }
  return shown ? savePicture(editor.canvas(), request.picture, request.output) : shown;
}

}  // namespace

Outcome exportImage(const ImageRequest& request) {
  Theme::instance().setChoice(request.picture.scheme == Scheme::dark ? SchemeChoice::dark : SchemeChoice::light);
  if (request.mode == ImageRequest::Mode::program) {
    const Outcome saved = saveProgramPicture(request);
    return saved ? saved : Outcome(named(saved.error(), request.input));
  }
  ScheduleResultPtr schedule;
  EditorContext editor({});
  const ScheduleFileKind kind = scheduleFileKindOf(request.input);
  if (kind == ScheduleFileKind::forest || kind == ScheduleFileKind::steps) {
    auto loaded = loadSchedule(request.input, {});
    if (!loaded) {
      return named(loaded.error(), request.input);
    }
    schedule = *loaded;
    editor.file().adopt(readModel(*schedule->description).model, {});
  } else {
    auto read = readInput(request.input);
    if (!read) {
      return read.error();
    }
    editor.file().adopt(std::move(read->model), std::move(read->findings));
  }
  if (request.isFolded) {
    editor.document().edit(u"Fold"_s, [](Edit& edit) { edits::fold(edit, edit.base().boxesIn({}), true); });
  }
  if (!request.selection.isEmpty()) {
    auto found = find(editor.model(), request.selection);
    if (!found) {
      return found.error();
    }
    editor.selection().set(*std::move(found));
  }
  if (request.mode == ImageRequest::Mode::analyse) {
    if (Outcome shown = waitForCut(editor, request); !shown) {
      return shown;
    }
  }
  const bool isPlain = request.mode == ImageRequest::Mode::draw || request.mode == ImageRequest::Mode::analyse;
  const Outcome saved =
      isPlain ? savePicture(editor.canvas(), request.picture, request.output) : drawSchedule(editor, request, schedule);
  if (!saved && saved.error().code == ErrorCode::badUsage) {
    return saved;
  }
  if (!saved) {
    return named(saved.error(), saved.error().code == ErrorCode::badInput ? request.input : request.output);
  }
  return saved;
}

int exitCodeOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::infeasible:
    case ErrorCode::unbalanced:
    case ErrorCode::limit:
    case ErrorCode::verification:
      return 1;
    default:
      return 2;
  }
}

}  // namespace coppice::designer
