// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <QTimer>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>

#include "designer/document/followed.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/search/candidate_model.hpp"
#include "designer/search/front_chart.hpp"
#include "designer/search/front_search.hpp"
#include "designer/search/size_chart.hpp"

namespace coppice::designer {

class TableEditor;

/// Searches the front of steps against rounds per chunk (SCCL), shows it while it grows, and puts what is chosen into
/// the document's schedules. Not modal; a search belongs to the document that was current when it was started.
class SynthesizeDialog : public QDialog {
  Q_OBJECT

public:
  /// Asks for the file of a table; empty = none.
  using AskTable = std::function<QString()>;

  explicit SynthesizeDialog(AskTable askTable, QWidget* parent = nullptr);
  ~SynthesizeDialog() override;

  /// All or none. They must live until others take their place.
  void setSubject(ScheduleBook* book, DocumentFile* file, LiveBound* bound);

  /// What the widgets say.
  [[nodiscard]] FrontRequest request() const;
  [[nodiscard]] FrontSearch& search() { return m_search; }
  /// The chosen row of the table; nullopt: none.
  [[nodiscard]] std::optional<std::size_t> current() const;
  void setCurrent(std::size_t candidate);
  /// Reads a table in place of a collective with a name. False: it was refused, and the dialog says why.
  bool openTable(const QString& path);
  /// Opens the editor of the table; nullptr where the fabric has faults, which the dialog shows.
  TableEditor* editTable();
  void start();

Q_SIGNALS:
  /// A schedule is about to be used: the window goes to its mode.
  void modeWanted();
  /// The schedule was put into the document, or was there already.
  void used(int id);

protected:
  void showEvent(QShowEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

private:
  QWidget* makeForm();
  void setUpTableLine();
  void setUpLimits();
  QWidget* layOutForm();
  QWidget* makeResults();
  void setUpTable();
  void fill();
  void updateForm();
  void follow();
  void followRunning();
  void updateButtons();
  void say();
  /// One line about the candidate, or the chosen one.
  void describe(std::optional<std::size_t> candidate);
  void use();
  void takeTable(workflow::TableText table, const QString& name);
  /// Shows why a table is not taken. Returns false.
  bool refuse(const Error& error);
  [[nodiscard]] std::optional<std::size_t> candidateAt(const QModelIndex& index) const;

  AskTable m_askTable;
  QPointer<ScheduleBook> m_book;
  QPointer<DocumentFile> m_file;
  QPointer<LiveBound> m_bound;
  Followed m_followed;  ///< connections to the document
  bool m_isFilling = false;

  FrontSearch m_search;
  /// Of the search that is shown.
  QPointer<ScheduleBook> m_searchedBook;
  Followed m_searched;  ///< ends the connection to the searched document
  QPointer<DocumentFile> m_searchedFile;
  std::uint64_t m_searchedRevision = 0;
  std::map<std::size_t, int> m_used;  ///< candidates, as entries of that book
  bool m_isChoosing = true;           ///< the user has not chosen a row yet

  std::optional<workflow::TableText> m_tableText;
  QFormLayout* m_form;
  QComboBox* m_collective;
  QComboBox* m_root;
  QWidget* m_tableLine;
  QLabel* m_tableName;
  QSpinBox* m_maxSteps;
  QSpinBox* m_maxChunks;
  QSpinBox* m_extraRounds;
  QDoubleSpinBox* m_perCandidate;
  QSpinBox* m_seconds;
  QSpinBox* m_seed;
  QLineEdit* m_unit;
  QCheckBox* m_oneBandwidth;
  QCheckBox* m_direct;
  QPushButton* m_start;
  QPushButton* m_cancel;
  QLabel* m_state;
  QLabel* m_hint;
  QTabWidget* m_charts;
  FrontChart* m_frontChart;
  SizeChart* m_sizeChart;
  QCheckBox* m_foundOnly;
  CandidateModel* m_model;
  QSortFilterProxyModel* m_rows;
  QTableView* m_table;
  QPushButton* m_use;
  QPushButton* m_copy;
  QTimer m_ticker;
};

}  // namespace coppice::designer
