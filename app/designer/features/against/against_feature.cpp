// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/against/against_feature.hpp"

#include <QFile>
#include <QFileInfo>
#include <chrono>
#include <utility>

#include "base/failure.hpp"
#include "designer/document/error_text.hpp"
#include "fabric/fabric.hpp"
#include "workflow/fabric_source.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

AgainstFeature::AgainstFeature(const FeatureHost& host)
    : Feature(host), m_job([this](const std::shared_ptr<const Answer>& answer) { show(*answer); }, 0ms) {
  addForCurrent({u"analyse.against-plan"_s,
                 tr("Compare with Plan…"),
                 tr("Mark what differs from a plan: missing hosts and cables, lower speeds, other switches, and what "
                    "each costs"),
                 {},
                 u"problems"_s},
                [this](EditorContext& context) { ask(context); });
  connect(&m_workspace, &Workspace::currentChanged, this, [this] {
    if (m_dialog) {
      m_dialog->close();
    }
  });
  connect(&m_workspace, &Workspace::stateChanged, this,
          [this] { enable({"analyse.against-plan"}, current() != nullptr); });
}

void AgainstFeature::ask(EditorContext& context) {
  const QString folder = QFileInfo(context.file().path()).path();
  const QStringList paths =
      m_prompts.filesToOpen(m_window, folder, tr("Fabrics (*.json *.xml *.txt *.dot *.csv);;All files (*)"));
  if (paths.isEmpty()) {
    return;
  }
  m_workspace.say(tr("Comparing with the plan…"));
  m_job.submit([context = QPointer<EditorContext>(&context), path = paths.front(),
                snapshot = Snapshot::of(context.document())](const std::stop_token& stop) {
    Answer answer{context, QFileInfo(path).fileName(), snapshot, nullptr, {}};
    Progress progress;
    progress.stop = stop;
    workflow::FabricSource source;
    source.source = QFile::encodeName(path).toStdString();
    const auto plan = workflow::loadFabric(source, progress);
    const auto wired = fabric::Fabric::build(*snapshot.facts);
    if (!plan || !wired) {
      answer.error = plan ? wired.error() : plan.error();
    } else {
      const auto compared = guarded(
          [&]() -> Result<workflow::AgainstPlan> { return workflow::againstPlan(plan->fabric, *wired, progress); });
      if (compared) {
        answer.compared = std::make_shared<const workflow::AgainstPlan>(*compared);
      } else {
        answer.error = compared.error();
      }
    }
    return std::make_shared<const Answer>(std::move(answer));
  });
}

void AgainstFeature::show(const Answer& answer) {
  if (answer.error) {
    m_prompts.failure(m_window, tr("Compare with Plan"), errorText(*answer.error));
    return;
  }
  if (!answer.context || answer.context != current()) {
    return;
  }
  if (m_dialog) {
    m_dialog->close();
  }
  m_dialog = new AgainstDialog(*answer.context, answer.plan, answer.snapshot, answer.compared, m_window);
  m_dialog->setAttribute(Qt::WA_DeleteOnClose);
  // The cut makes room for the marks, and comes back.
  answer.context->setCutShown(false);
  answer.context->canvas().setOverlay(m_dialog->marks());
  connect(m_dialog, &QDialog::finished, this, [this, context = answer.context] {
    if (context) {
      context->setCutShown(m_workspace.mode() == Mode::analyse);
    }
  });
  m_dialog->show();
  m_workspace.say({});
}

}  // namespace coppice::designer
