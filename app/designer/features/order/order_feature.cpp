// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/order/order_feature.hpp"

#include <QDir>
#include <QFile>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/features/order/order_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

OrderFeature::OrderFeature(const FeatureHost& host) : Feature(host) {
  addForCurrent({u"analyse.rank-order"_s,
                 tr("Order of Ranks…"),
                 tr("Find which host and GPU should get which rank, for NCCL and MPI as they are"),
                 {},
                 u"rail"_s},
                [this](EditorContext& context) { open(context); });
  connect(&m_workspace, &Workspace::stateChanged, this,
          [this] { enable({"analyse.rank-order"}, current() != nullptr); });
}

void OrderFeature::open(EditorContext& context) {
  const QString name = context.file().displayName();
  auto* dialog = new OrderDialog(
      name, context.document().facts(), [this, name](const workflow::RankOrder& made) { save(name, made); }, m_window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->show();
}

void OrderFeature::save(const QString& name, const workflow::RankOrder& made) {
  const QString parent = m_prompts.folder(m_window, tr("Folder for the Order of Ranks"), {});
  if (parent.isEmpty()) {
    return;
  }
  const QString folder = QDir(parent).filePath(name.section(u'.', 0, 0) + u"-order"_s);
  const Outcome written = workflow::writeRankOrder(QFile::encodeName(folder).toStdString(), made);
  if (!written) {
    m_prompts.failure(m_window, tr("Order of Ranks"), errorText(written.error()));
  } else {
    m_workspace.say(tr("Saved %1").arg(folder));
  }
}

}  // namespace coppice::designer
