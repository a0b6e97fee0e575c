// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/report/report_feature.hpp"

#include <QFile>
#include <QFileInfo>
#include <chrono>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/features/report/cables_dialog.hpp"
#include "designer/features/report/fabrics_dialog.hpp"
#include "designer/render/picture.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

ReportFeature::ReportFeature(const FeatureHost& host)
    : Feature(host), m_job([this](const std::shared_ptr<const Rankings>& rankings) { write(*rankings); }, 0ms) {
  addForCurrent({u"file.report"_s,
                 tr("Export Re&port…"),
                 tr("Save one page about the fabric: bound, cut, upgrades and failures, as a PDF or HTML file"),
                 {QKeySequence(u"Ctrl+K, H"_s)},
                 u"bound"_s},
                [this](EditorContext& context) { ask(context); });
  addForCurrent({u"analyse.fabrics"_s,
                 tr("Compare Open &Fabrics…"),
                 tr("Hold the bounds of all open fabrics against each other, for every collective"),
                 {QKeySequence(u"Ctrl+K, W"_s)},
                 u"table"_s},
                [this](EditorContext&) {
                  auto* dialog = new FabricsDialog(m_workspace.contexts(), m_window);
                  dialog->setAttribute(Qt::WA_DeleteOnClose);
                  dialog->show();
                });
  addForCurrent({u"file.cables"_s,
                 tr("Ca&bles…"),
                 tr("List all cables with their ends, ports and patch panels, and what changes from another fabric"),
                 {},
                 u"link"_s},
                [this](EditorContext& context) { showCables(context); });
  connect(&m_workspace, &Workspace::stateChanged, this, [this] {
    enable({"file.report", "file.cables", "analyse.fabrics"}, current() != nullptr);
  });
}

void ReportFeature::showCables(EditorContext& context) {
  std::vector<CablesDialog::Subject> others;
  for (EditorContext* other : m_workspace.contexts()) {
    if (other != &context) {
      others.push_back({other->file().displayName(), other->document().facts()});
    }
  }
  const QString name = context.file().displayName();
  auto* dialog = new CablesDialog(
      {name, context.document().facts()}, std::move(others),
      [this, name](const QString& csv) {
        const QString path =
            m_prompts.fileToSave(m_window, name.section(u'.', 0, 0) + u"-cables.csv"_s, tr("Tables (*.csv)"));
        if (path.isEmpty()) {
          return;
        }
        if (const Outcome saved = io::saveFile(QFile::encodeName(path).toStdString(), csv.toStdString()); !saved) {
          m_prompts.failure(m_window, tr("Cables"), errorText(saved.error()));
        } else {
          m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
        }
      },
      m_window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->show();
}

void ReportFeature::ask(EditorContext& context) {
  if (!context.bound().isCurrent()) {
    m_workspace.say(tr("The bound is being computed"));
    return;
  }
  const QString name = QFileInfo(context.file().displayName()).fileName().section(u'.', 0, 0);
  const QString path = m_prompts.fileToSave(m_window, name + u"-report.pdf"_s, tr("Reports (*.pdf *.html)"));
  if (path.isEmpty()) {
    return;
  }
  m_workspace.say(tr("Writing the report…"));
  m_job.submit([context = QPointer<EditorContext>(&context), path, solver = context.bound().solver(),
                snapshot = Snapshot::of(context.document()),
                question = context.bound().question()](std::stop_token stop) {
    const WorkDone done = std::make_shared<std::atomic<int>>(0);
    Rankings rankings{context, path, {}, {}};
    rankings.upgrades = rankUpgrades(*solver, snapshot, question, done, stop);
    rankings.failures = rankDamage(*solver, snapshot, question, done, std::move(stop));
    return std::make_shared<const Rankings>(std::move(rankings));
  });
}

QImage ReportFeature::pictureOf(EditorContext& context) const {
  const Overlay before = context.canvas().overlay();
  const bool isCutShown = m_workspace.mode() == Mode::analyse;
  context.setCutShown(true);
  PictureOptions options;
  options.format = PictureFormat::png;
  options.hasLegend = false;
  constexpr QSizeF kFit(1280, 660);
  constexpr double kSharp = 2;
  options.fit = kFit;
  options.scale = kSharp;
  const Result<QImage> picture = drawImage(context.canvas(), options);
  if (!isCutShown) {
    context.setCutShown(false);
    context.canvas().setOverlay(before);
  }
  return picture ? *picture : QImage();
}

void ReportFeature::write(const Rankings& rankings) {
  EditorContext* context = rankings.context;
  if (context == nullptr || !context->bound().bound()) {
    return;
  }
  int gpus = 0;
  int switches = 0;
  int nics = 0;
  for (const auto& [id, node] : context->model().nodes()) {
    gpus += node.kind() == fabric::NodeKind::gpu ? 1 : 0;
    switches += node.kind() == fabric::NodeKind::switchNode ? 1 : 0;
    nics += node.kind() == fabric::NodeKind::nic ? 1 : 0;
  }
  QStringList parts{counted(gpus, tr("GPU"), tr("GPUs"))};
  if (switches > 0) {
    parts << counted(switches, tr("switch"), tr("switches"));
  }
  if (nics > 0) {
    parts << counted(nics, tr("NIC"), tr("NICs"));
  }
  parts << counted(static_cast<qsizetype>(context->model().links().size()), tr("link"), tr("links"));
  const Report report{context->file().displayName(),
                      parts.join(u", "_s),
                      *context->bound().bound(),
                      rankings.upgrades,
                      rankings.failures,
                      pictureOf(*context),
                      {}};
  if (const Outcome saved = saveReport(report, rankings.path); !saved) {
    m_prompts.failure(m_window, tr("Export Report"), errorText(saved.error()));
    return;
  }
  m_workspace.say(tr("Exported %1").arg(QFileInfo(rankings.path).fileName()));
}

}  // namespace coppice::designer
