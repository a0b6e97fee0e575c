// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QTreeWidget>
#include <map>
#include <memory>
#include <optional>

#include "designer/document/exchange.hpp"
#include "designer/palette/fabric_preview.hpp"
#include "io/import_choices.hpp"

namespace coppice::designer {

/// Asks what a file of one server leaves open: boxes, network, NICs, what NVLink joins, bandwidths. Picture, size,
/// bound and notes follow the choices.
class ImportDialog : public QDialog {
  Q_OBJECT

public:
  explicit ImportDialog(const ForeignText& text, QWidget* parent = nullptr);
  ~ImportDialog() override;

  [[nodiscard]] io::ImportAnswers answers() const;
  /// The fabric, with what stays to be looked at: warnings. Notes are about choices, and were shown here.
  /// nullopt until it is known, and where it cannot be.
  [[nodiscard]] std::optional<ReadModel> fabric() const;
  [[nodiscard]] bool isWorking() const { return m_preview->isWorking(); }

private:
  struct Details {
    std::vector<Finding> findings;
    std::optional<io::ImportedServer> server;
    std::vector<io::NumberOrigin> origins;
  };
  void addFields();
  void addTacclFields();
  void addPresets();
  void addNetworkFields();
  QLineEdit* addPatterns(io::ImportChoice choice, const QString& title, const QString& toolTip);
  void addRow(io::ImportChoice choice, const QString& title, QWidget* field);
  QLineEdit* addBandwidth(io::ImportChoice choice, const QString& title, const QString& toolTip);
  void follow();
  void receive();
  void takeServer(const io::ImportedServer& server);
  void addNumbers();
  void showNumbers(const std::vector<io::NumberOrigin>& origins);
  void setNumber(QTreeWidgetItem* item);
  void want();

  std::shared_ptr<const ForeignText> m_text;
  QFormLayout* m_form;
  FabricPreview* m_preview;
  QLabel* m_notes;
  QLabel* m_about;
  QLabel* m_fault;
  QPushButton* m_import;
  std::map<io::ImportChoice, QWidget*> m_rows;
  QSpinBox* m_boxes = nullptr;
  QComboBox* m_scaleOut = nullptr;
  QListWidget* m_nics = nullptr;
  QCheckBox* m_keepPcie = nullptr;
  QComboBox* m_rates = nullptr;
  QComboBox* m_nvlink = nullptr;
  QComboBox* m_machine = nullptr;
  QComboBox* m_preset = nullptr;
  QLineEdit* m_timeUnit = nullptr;
  QLineEdit* m_hosts = nullptr;
  QLineEdit* m_adapters = nullptr;
  std::map<io::ImportChoice, QLineEdit*> m_bandwidths;
  QTreeWidget* m_numbers = nullptr;        ///< each number, and where it is from
  std::map<std::string, QString> m_typed;  ///< of "what@given": what a person wrote in its place
  std::shared_ptr<Details> m_ordered;      ///< filled by the other thread; read once the preview is ready
  bool m_isServerKnown = false;
  bool m_isWanted = false;
};

}  // namespace coppice::designer
