// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/image_command.hpp"

#include <QEventLoop>
#include <QFile>
#include <QRegularExpression>
#include <algorithm>
#include <map>

#include "designer/document/exchange.hpp"
#include "designer/window/editor.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

Error named(Error error, const QString& file) {
  if (error.where.file.empty()) {
    error.where.file = file.toStdString();
  }
  return error;
}

Result<ReadModel> readPreset(const QString& text) {
  QStringList items = text.split(u',');
  const std::string name = items.takeFirst().trimmed().toStdString();
  std::map<std::string, std::string> arguments;
  std::string last;
  for (const QString& item : items) {
    const qsizetype equals = item.indexOf(u'=');
    // A comma inside a value ("gpus=0-7,16") does not begin a new argument.
    if (equals < 0 && !last.empty()) {
      arguments[last] += "," + item.toStdString();
      continue;
    }
    last = item.left(equals).trimmed().toStdString();
    if (equals < 1 || !arguments.emplace(last, item.mid(equals + 1).trimmed().toStdString()).second) {
      return Error{ErrorCode::badUsage, "\"" + item.toStdString() + "\" does not set a parameter of the preset",
                   "write each once, as in preset:dgx-a100,boxes=4"};
    }
  }
  const auto made = presets::make(name, arguments);
  if (!made) {
    return made.error();
  }
  return readArranged(*made);
}

Result<ReadModel> readInput(const QString& input) {
  constexpr auto kPrefix = "preset:"_L1;
  if (input.startsWith(kPrefix)) {
    return readPreset(input.mid(kPrefix.size()));
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
                   "give names as the fabric has them; * and ? stand for any"};
    }
  }
  return found;
}

Outcome waitForCut(Editor& editor, const ImageRequest& request) {
  Question question{request.collective, {}};
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
    std::string fix = "coppice-cli check lists all that is wrong with a fabric";
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

}  // namespace

Outcome exportImage(const ImageRequest& request) {
  auto read = readInput(request.input);
  if (!read) {
    return read.error();
  }
  Editor editor({});
  editor.file().adopt(std::move(read->model), std::move(read->findings));
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
  const Outcome saved = savePicture(editor.canvas(), request.picture, request.output);
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
