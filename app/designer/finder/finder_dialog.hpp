// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QTimer>
#include <memory>
#include <optional>

#include "base/collective.hpp"
#include "designer/document/model.hpp"
#include "designer/finder/change_row.hpp"
#include "designer/finder/construction_tree.hpp"
#include "designer/finder/front_table.hpp"
#include "designer/finder/pareto_chart.hpp"
#include "designer/finder/topology_search.hpp"
#include "designer/palette/fabric_preview.hpp"

namespace coppice::designer {

/// Which topologies GPUs with a number of ports can be cabled as, and what each costs. Not modal: it stays open beside
/// the fabrics that it opens, and follows every change of its fields.
class FinderDialog : public QDialog {
  Q_OBJECT

public:
  explicit FinderDialog(QWidget* parent = nullptr);
  ~FinderDialog() override;

  [[nodiscard]] const FrontTable& table() const { return *m_table; }
  [[nodiscard]] TopologySearch& search() { return m_search; }
  /// The row of the table that is drawn and opened; -1 = none.
  [[nodiscard]] int chosen() const;
  void choose(int row);
  /// What the present fabric can be.
  void setFabrics(std::vector<OpenFabric> fabrics) { m_change->setFabrics(std::move(fabrics)); }
  /// The command that prints the same.
  [[nodiscard]] QString commandText() const;
  void done(int result) override;

Q_SIGNALS:
  /// Asked for by the button. @param collective of the schedule @param withSchedule generate it at once
  void openWanted(const coppice::designer::Model& model, const QString& name, coppice::Collective collective,
                  bool withSchedule);

protected:
  void showEvent(QShowEvent* event) override;

private:
  void build();
  [[nodiscard]] QWidget* makeFields();
  [[nodiscard]] QWidget* makeSize();
  [[nodiscard]] QWidget* makeResults();
  [[nodiscard]] QWidget* makeButtons();
  void connectAll();
  /// Reads the fields; what is wrong is in the line of faults.
  [[nodiscard]] std::optional<TopologySearchQuestion> readQuestion();
  [[nodiscard]] Result<workflow::TopologyTimes> readTimes() const;
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] Collective collective() const;
  void startSearch();
  void followTimes();
  void followChange();
  void showFronts();
  void followSearch();
  void showChosen();
  void showText();
  void showFault(const std::optional<Error>& error);
  void open();

  QLineEdit* m_nodes;
  QSpinBox* m_degree;
  QComboBox* m_links;
  QCheckBox* m_hasAlltoall;
  QLineEdit* m_bandwidth;
  QLineEdit* m_alpha;
  QComboBox* m_collective;
  QSlider* m_size;
  ChangeRow* m_change;
  QLabel* m_sizeText;
  QLabel* m_fault;
  FrontTable* m_table;
  ParetoChart* m_chart;
  QTableView* m_rows;
  QLabel* m_breaks;
  FabricPreview* m_preview;
  ConstructionTree* m_tree;
  QLabel* m_state;
  QPushButton* m_stop;
  QCheckBox* m_withSchedule;
  QPushButton* m_open;

  TopologySearch m_search;
  QTimer m_pause;
  int m_searchedDegree = 0;
  /// What the user chose, to be found among later rows; empty: the fastest at the size.
  std::string m_wanted;
  bool m_isFilling = false;
  bool m_isReadable = true;  ///< the fields say what is searched
  bool m_hasTimes = true;    ///< and what the times are
  bool m_isOpenWanted = false;
  finder::ConstructionPtr m_drawn;
  Bandwidth m_drawnBandwidth;
};

}  // namespace coppice::designer
