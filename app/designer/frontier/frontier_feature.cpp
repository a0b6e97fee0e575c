// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/frontier/frontier_feature.hpp"

#include "designer/document/fabric_file.hpp"
#include "designer/workspace/save_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

FrontierFeature::FrontierFeature(const FeatureHost& host) : Feature(host) {
  m_actions.add({u"file.price-networks"_s,
                 tr("Price Networks…"),
                 tr("Price and watts of the networks that can join boxes, against what collectives reach; open one as "
                    "a fabric"),
                 {QKeySequence(u"Ctrl+K, Q"_s)},
                 u"table"_s},
                [this](bool) { show(); });
}

void FrontierFeature::show() {
  QAction* action = m_actions[u"file.price-networks"_s];
  const QVariantList asked = action->data().toList();
  action->setData({});
  if (!m_dialog) {
    m_dialog = new FrontierDialog(m_window);
    m_dialog->addAction(m_actions[u"help.contents"_s]);
    connect(m_dialog, &FrontierDialog::openWanted, this,
            [this](const fabric::Description& description, const QString& name) {
              m_workspace.adopt(readArranged(description).model, {}, name);
            });
    connect(m_dialog, &FrontierDialog::saveWanted, this, &FrontierFeature::save);
  }
  constexpr qsizetype kPresetAndGpus = 2;
  if (asked.size() == kPresetAndGpus) {
    workflow::Values values = m_dialog->form().values();
    values["box"] = asked.front().toString().toStdString();
    values["gpus"] = std::to_string(asked.back().toInt());
    m_dialog->form().setValues(values);
    m_dialog->search();
  }
  m_dialog->show();
  m_dialog->raise();
  m_dialog->activateWindow();
}

void FrontierFeature::save(const QString& suggestion, const std::string& text) {
  saveText({m_workspace, m_prompts, m_dialog}, {tr("Price Networks"), suggestion, tr("Tables (*.csv)")}, text);
}

}  // namespace coppice::designer
