// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/edge_preview.hpp"

#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/sculpted_schedule.hpp"
#include "schedule/tree_reader.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Trees that take more than this, written one by one, are verified when the edge is let go.
constexpr std::int64_t kMaxVerifiedBytes = std::int64_t{64} << 20;

bool isVerifiedAtOnce(const schedule::Schedule& schedule) {
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest && schedule::sizeOf(**forest).writtenBytes > kMaxVerifiedBytes) {
      return false;
    }
  }
  return true;
}

bool isSame(const schedule::NewParent& one, const schedule::NewParent& other) {
  return one.tree == other.tree && one.child == other.child && one.parent == other.parent && one.route == other.route;
}

}  // namespace

using namespace std::chrono_literals;

EdgePreview::EdgePreview(QObject* parent)
    : QObject(parent), m_job([this](const Made& made) { receive(made); }, 200ms) {}

void EdgePreview::prepare(const Document& document, const ScheduleResultPtr& base) {
  if (m_base == base && m_revision == document.factRevision()) {
    return;
  }
  m_base = base;
  m_revision = document.factRevision();
  m_map = std::make_unique<FabricMap>(*base, document.model());
  for (std::size_t half = 0; half < m_loads.size(); ++half) {
    m_loads[half].clear();
    for (const ArcLoad& load : base->loads) {
      m_loads[half].push_back(load.trees[half]);
    }
  }
}

void EdgePreview::show(CanvasView& canvas, const ScheduleEntry& base, const TreeRef& tree, const ElementId& from,
                       const ElementId& over) {
  clear();
  const Document& document = canvas.document();
  prepare(document, base.result);
  auto edge = draggedEdge(*base.result, tree, document.model(), from, over);
  if (!edge) {
    refuse(canvas, over, edge.error());
    return;
  }
  auto forecast = workflow::forecast(*base.result->fabric, *base.result->forests(), m_loads,
                                     static_cast<std::size_t>(tree.half), edge->change);
  if (!forecast) {
    refuse(canvas, over, forecast.error());
    return;
  }
  m_canvas = &canvas;
  m_shown = std::make_shared<const Shown>(Shown{base.result, tree, *std::move(edge), *std::move(forecast), over});
  if (isVerifiedAtOnce(*base.result->forests())) {
    tell(tr("under way"));
    startVerification(base.name);
  } else {
    tell(tr("when it is let go"));
  }
}

void EdgePreview::refuse(CanvasView& canvas, const ElementId& over, const Error& why) {
  clear();
  m_canvas = &canvas;
  canvas.setPointNote(PointNote{over, {sentence(Error{why.code, why.message}), {}}});
}

void EdgePreview::clear() {
  m_job.cancel();
  m_shown.reset();
  if (m_canvas) {
    m_canvas->setPointNote(std::nullopt);
    m_canvas.clear();
  }
}

void EdgePreview::tell(const QString& verification) {
  const Shown& shown = *m_shown;
  const ScheduleResult& base = *shown.base;
  const workflow::Forecast& forecast = shown.forecast;
  const auto nameOf = [&](fabric::NodeIndex node) { return QString::fromStdString(base.fabric->nodes()[node].id); };
  PointNote note{shown.over, {shown.edge.title, {}}, {}};
  const auto add = [&](const QString& name, const QString& figure) { note.note.rows.emplace_back(name, figure); };
  add(tr("Throughput"), gigabytes(forecast.algbw));
  add(tr("Before"), gigabytes(base.algbw));
  if (base.bound) {
    add(tr("Of the bound"), percentOf(forecast.algbw, *base.bound));
  }
  const fabric::Arc& busiest = base.fabric->arcs()[static_cast<std::size_t>(forecast.busiestArc)];
  add(tr("Busiest link"), nameOf(busiest.tail) + u" → "_s + nameOf(busiest.head));
  add(tr("Trees on it"), QString::number(forecast.treesOnIt));
  if (base.hasTwoForests()) {
    add(tr("Other half"), forecast.isMirrored ? tr("changes in the same way") : tr("stays"));
  }
  add(tr("Verified"), verification);
  for (std::size_t i = 0; i + 1 < forecast.route.size(); ++i) {
    if (const LinkStep step = m_map->stepOf(forecast.route[i], forecast.route[i + 1]); step.link.isValid()) {
      note.way.push_back(step.link);
    }
  }
  m_canvas->setPointNote(std::move(note));
}

void EdgePreview::startVerification(const QString& name) {
  m_job.submit([shown = m_shown, name](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return Made{shown,
                std::make_shared<const Result<ScheduleResultPtr>>(editTree(
                    *shown->base, name, static_cast<std::size_t>(shown->tree.half), shown->edge.change, progress))};
  });
}

void EdgePreview::receive(const Made& made) {
  m_made = made;
  if (made.of == m_shown && m_canvas) {
    tell(*made.answer ? tr("yes") : sentence(Error{made.answer->error().code, made.answer->error().message}));
  }
}

ScheduleResultPtr EdgePreview::verified(const ScheduleResultPtr& base, const TreeRef& tree,
                                        const schedule::NewParent& change) const {
  const bool isIt = m_made && *m_made->answer && m_made->of->base == base && m_made->of->tree == tree &&
                    isSame(m_made->of->edge.change, change);
  return isIt ? m_made->answer->value() : nullptr;
}

}  // namespace coppice::designer
