// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/opened_file.hpp"

#include <QFile>
#include <QFileInfo>
#include <new>

#include "base/checked.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/tree_xml.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// The trees of a file on a fabric, verified, with the bound that the file does not hold.
Result<ScheduleResultPtr> examineTrees(const io::TreeXml& trees, fabric::Description description, Collective collective,
                                       const Progress& progress) {
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    return fabric.error();
  }
  auto schedule = workflow::scheduleOfTrees(trees, *fabric, collective, progress);
  if (!schedule) {
    return schedule.error();
  }
  ScheduleOptions options;
  options.collective = collective;
  options.methodOptions[kFixedK] = std::to_string(schedule->fixedK.value_or(1));
  if (schedule->root) {
    options.root = fabric->nodes()[fabric->gpus()[*schedule->root]].id;
  }
  return examineSchedule(std::move(description), *std::move(fabric), *std::move(schedule), options, progress);
}

void openTrees(OpenedSchedule& opened, const std::string& text, const std::shared_ptr<const fabric::Description>& facts,
               Collective collective, const Progress& progress) {
  const auto trees = io::readTreeXml(text, QFileInfo(opened.path).fileName().toStdString());
  if (!trees) {
    opened.error = trees.error();
    return;
  }
  const bool isRootedFile = !trees->trees.empty() && [&] {
    for (const io::TreeXml::Tree& tree : trees->trees) {
      if (tree.root != trees->trees.front().root) {
        return false;
      }
    }
    return true;
  }();
  const bool isRooted = collective == Collective::broadcast || collective == Collective::reduce;
  const Collective asked = trees->collective          ? *trees->collective
                           : isRooted == isRootedFile ? collective
                           : isRootedFile             ? Collective::broadcast
                                                      : Collective::allgather;
  std::optional<Error> misfit;
  if (facts) {
    auto here = examineTrees(*trees, *facts, asked, progress);
    if (here) {
      opened.result = *std::move(here);
      return;
    }
    misfit = here.error();
    // Trees of these very GPUs with a fault in them are to be told of, not taken elsewhere.
    if (misfit->code == ErrorCode::verification || misfit->code == ErrorCode::cancelled) {
      opened.error = std::move(misfit);
      return;
    }
  }
  auto inferred = examineTrees(*trees, trees->inferred, asked, progress);
  if (inferred) {
    opened.result = *std::move(inferred);
    opened.isInferred = true;
  } else {
    opened.error = inferred.error();
  }
}

}  // namespace

ScheduleFileKind scheduleFileKindOf(const QString& path) {
  constexpr qint64 kBeginning = 65536;
  QFile file(path);
  if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly)) {
    return ScheduleFileKind::none;
  }
  return scheduleFileKind(file.read(kBeginning).toStdString());
}

OpenedSchedule openSchedule(const QString& path, ScheduleFileKind kind,
                            const std::shared_ptr<const fabric::Description>& facts, Collective collective,
                            const Progress& progress) {
  OpenedSchedule opened;
  opened.kind = kind;
  opened.path = path;
  try {
    if (kind == ScheduleFileKind::forest || kind == ScheduleFileKind::steps) {
      auto loaded = loadSchedule(path, progress);
      if (loaded) {
        opened.result = *std::move(loaded);
      } else {
        opened.error = loaded.error();
      }
      return opened;
    }
    progress.report("reading", 0);
    auto text = io::readFile(QFile::encodeName(path).toStdString(),
                             kind == ScheduleFileKind::trees ? io::kMaxTreeXmlBytes : io::kMaxForestBytes);
    if (!text) {
      opened.error = text.error();
    } else if (kind == ScheduleFileKind::trees) {
      openTrees(opened, *text, facts, collective, progress);
    } else {
      opened.xml = *std::move(text);
    }
  } catch (const CancelledError&) {
    opened.error = Error{ErrorCode::cancelled, "cancelled"};
  } catch (const OverflowError& error) {
    opened.error = Error{ErrorCode::overflow, error.what()};
  } catch (const std::bad_alloc&) {
    opened.error = Error{ErrorCode::limit, "there is not enough memory for this file"};
  }
  return opened;
}

}  // namespace coppice::designer
