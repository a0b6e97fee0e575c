// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/nccl_view.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/timeline/time_text.hpp"
#include "designer/trees/fabric_map.hpp"
#include "fabric/likely_gpu.hpp"
#include "workflow/guarded.hpp"
#include "workflow/nccl_tuning.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using Kind = workflow::DrawnChannels::Kind;

QString translated(const char* text) {
  return QCoreApplication::translate("NcclView", text);
}

Outcome fillView(NcclView& view, const Progress& progress) {
  auto fabric = fabric::Fabric::build(*view.facts);
  if (!fabric) {
    return fabric.error();
  }
  view.fabric = *std::move(fabric);
  if (!view.run) {
    auto expected = workflow::expectedRun(*view.fabric, fabric::likelyCapability(*view.fabric), progress);
    if (!expected) {
      return expected.error();
    }
    view.run = std::make_shared<const workflow::ImportedRun>(*std::move(expected));
  }
  auto channels = workflow::channelsOf(*view.fabric, *view.run, progress);
  if (!channels) {
    return channels.error();
  }
  view.channels = *std::move(channels);
  auto on = workflow::runOnFabric(*view.fabric, view.channels, view.collective, progress);
  if (!on) {
    return on.error();
  }
  view.on = *std::move(on);
  auto drawn = workflow::drawnChannels(*view.fabric, view.channels, progress);
  if (!drawn) {
    return drawn.error();
  }
  view.drawn = *std::move(drawn);
  view.passesGpus = std::ranges::any_of(view.drawn, [&](const workflow::DrawnChannels& each) {
    return each.kind == Kind::ring &&
           std::ranges::any_of(each.routes, [&](const auto& route) { return nccl::passesGpu(*view.fabric, route); });
  });
  return Done{};
}

}  // namespace

NcclViewPtr makeNcclView(const NcclImportPtr& import, std::shared_ptr<const fabric::Description> facts,
                         std::uint64_t factRevision, Collective collective, const Progress& progress) {
  auto view = std::make_shared<NcclView>();
  view->import = import;
  view->run = import->run;
  view->collective = collective;
  view->factRevision = factRevision;
  view->facts = std::move(facts);
  const Outcome done = workflow::guarded<Done>([&] { return fillView(*view, progress); });
  if (!done) {
    view->problem = sentence(done.error());
  }
  if (!view->run) {
    view->run = std::make_shared<const workflow::ImportedRun>();
  }
  workflow::RunOnFabric none;
  none.collective = collective;
  for (workflow::RunSize& size : workflow::runSizes(*view->run, view->on ? *view->on : none)) {
    if (size.collective == toString(collective)) {
      view->sizes.push_back(std::move(size));
    }
  }
  view->lost = workflow::lostTime(*view->run, view->on ? *view->on : none, view->sizes);
  return view;
}

Result<ScheduleResultPtr> ringsAsSchedule(const NcclView& view, const Progress& progress) {
  return workflow::guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    auto schedule = workflow::ringSchedule(*view.fabric, view.channels.rings, view.collective, 0, "nccl-run", progress);
    if (!schedule) {
      return schedule.error();
    }
    return examineSchedule(*view.facts, *view.fabric, *std::move(schedule), {.collective = view.collective}, progress);
  });
}

QString linkName(const fabric::Fabric& fabric, int arc) {
  const fabric::Arc& link = fabric.arcs()[static_cast<std::size_t>(arc)];
  return QString::fromStdString(fabric.nodes()[link.tail].id) + u" → "_s +
         QString::fromStdString(fabric.nodes()[link.head].id);
}

QString nameOf(const NcclView& view, std::size_t index) {
  const Kind kind = view.drawn[index].kind;
  const auto first =
      std::find_if(view.drawn.begin(), view.drawn.end(), [&](const auto& each) { return each.kind == kind; });
  const QString number = QString::number(index - static_cast<std::size_t>(first - view.drawn.begin()) + 1);
  return (kind == Kind::ring   ? translated(QT_TRANSLATE_NOOP("NcclView", "Ring %1"))
          : kind == Kind::tree ? translated(QT_TRANSLATE_NOOP("NcclView", "Tree %1"))
                               : translated(QT_TRANSLATE_NOOP("NcclView", "NVLS %1")))
      .arg(number);
}

QString ranksText(const workflow::DrawnChannels& channels) {
  constexpr std::size_t kShown = 32;
  const std::vector<fabric::Rank>& ranks = channels.kind == Kind::tree ? channels.roots : channels.ranks;
  QString text = channels.kind == Kind::tree ? translated(QT_TRANSLATE_NOOP("NcclView", "root")) : QString();
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
    text += (text.isEmpty() ? QString() : u" "_s) + QString::number(ranks[i]);
  }
  return ranks.size() > kShown ? text + u" …"_s : text;
}

Overlay ghostOf(const NcclView& view, const std::vector<std::size_t>& chosen, const std::optional<RankMark>& late,
                const std::optional<workflow::LostTime::Link>& link, const Model& model) {
  // More are not told apart on the drawing.
  constexpr std::size_t kMaxMarks = 12;
  Overlay overlay;
  if (!view.fabric) {
    return overlay;
  }
  const FabricMap map(*view.fabric, model);
  std::vector<std::size_t> shown = chosen;
  for (const Kind kind : {Kind::ring, Kind::tree, Kind::nvls}) {
    for (std::size_t i = 0; i < view.drawn.size() && chosen.empty() && shown.size() < kMaxMarks; ++i) {
      if (view.drawn[i].kind == kind && (shown.empty() || view.drawn[shown.front()].kind == kind)) {
        shown.push_back(i);
      }
    }
  }
  bool hasTrees = false;
  bool hasRings = false;
  for (const std::size_t index : shown) {
    const workflow::DrawnChannels& channels = view.drawn[index];
    hasTrees = hasTrees || channels.kind == Kind::tree;
    hasRings = hasRings || channels.kind == Kind::ring;
    TreeMark mark;
    mark.category = static_cast<int>(index);
    mark.label = nameOf(view, index) + (channels.count > 1 ? u" ×%1"_s.arg(channels.count) : QString()) + u": "_s +
                 ranksText(channels);
    for (const fabric::Rank rank : channels.roots) {
      mark.roots.insert(map.nodeOf(view.fabric->gpus()[rank]));
    }
    for (const std::vector<fabric::NodeIndex>& route : channels.routes) {
      std::vector<LinkStep> steps;
      for (std::size_t hop = 0; hop + 1 < route.size(); ++hop) {
        if (const LinkStep step = map.stepOf(route[hop], route[hop + 1]); step.link.isValid()) {
          steps.push_back(step);
        }
      }
      mark.paths.push_back(std::move(steps));
    }
    overlay.trees.push_back(std::move(mark));
  }
  const nccl::Load* load = !view.on ? nullptr : view.on->loadOf(hasRings ? "Ring" : hasTrees ? "Tree" : "NVLS");
  const auto markLink = [&](int arc, const QString& text) {
    for (const LinkStep& step : map.stepsOf(static_cast<std::size_t>(arc))) {
      LinkLoad& drawn = overlay.heat.load[step.link];
      (step.isForward ? drawn.forward : drawn.backward) = 1;
      drawn.isBottleneck = true;
      drawn.text = text;
    }
    overlay.heat.hasLegend = false;
  };
  if (link) {
    markLink(link->arc, translated(QT_TRANSLATE_NOOP("NcclView", "%1 lost")).arg(timeText(link->lost)));
    overlay.heat.bottleneck = translated(QT_TRANSLATE_NOOP("NcclView", "lost time"));
  } else if (load != nullptr && load->arc >= 0) {
    markLink(load->arc, translated(QT_TRANSLATE_NOOP("NcclView", "limits to %1")).arg(gigabytes(load->algbw)));
    overlay.heat.bottleneck = translated(QT_TRANSLATE_NOOP("NcclView", "holds them back"));
  }
  if (const auto here = late ? workflow::rankOn(*view.fabric, *view.run, late->rank) : std::nullopt) {
    Hull hull;
    hull.nodes = {map.nodeOf(view.fabric->gpus()[*here])};
    hull.label = late->text;
    overlay.hulls.push_back(std::move(hull));
  }
  overlay.isRestDimmed = !overlay.trees.empty();
  return overlay;
}

}  // namespace coppice::designer
