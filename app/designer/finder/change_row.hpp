// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QSpinBox>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "fabric/description.hpp"
#include "workflow/find_topology.hpp"

namespace coppice::designer {

/// A fabric that is open in the window.
struct OpenFabric {
  QString name;
  QString path;  ///< empty = it has no file
  std::shared_ptr<const fabric::Description> facts;
};

/// From which length of a job it pays to change a wired fabric to a topology: the fabric as it is, how long the change
/// takes, the calls in a step, and the steps of the job. What the present fabric costs is computed in the background.
class ChangeRow : public QWidget {
  Q_OBJECT

public:
  explicit ChangeRow(QWidget* parent = nullptr);
  ~ChangeRow() override;

  /// What can be the present fabric. The choice stays where it is among them.
  void setFabrics(std::vector<OpenFabric> fabrics);
  /// @pre times.sizes has one size: that of a call
  void setTimes(const workflow::TopologyTimes& times);
  [[nodiscard]] bool isAsked() const;
  /// nullopt where nothing is asked, the topology has another number of GPUs, or its cost is not known.
  [[nodiscard]] std::optional<workflow::Change> changeTo(const workflow::FoundTopology& found) const;
  /// What is wrong with the fields or the fabric; nullopt: nothing, or nothing is asked.
  [[nodiscard]] const std::optional<Error>& fault() const { return m_fault; }
  /// Options of coppice-cli find-topology that ask the same, but for the size; each a word.
  [[nodiscard]] QStringList commandWords() const;
  /// Calls of the size in a step of the job.
  [[nodiscard]] int calls() const { return m_calls->value(); }

Q_SIGNALS:
  /// changeTo() or fault() may be different.
  void changed();

private:
  /// What the present fabric's cost depends on.
  struct Asked {
    std::shared_ptr<const fabric::Description> facts;
    Rational alpha;
    Collective collective = Collective::allreduce;

    friend bool operator==(const Asked&, const Asked&) = default;
  };
  struct Answer {
    Asked asked;
    int gpus = 0;
    Result<workflow::Present> present;
  };
  void follow();
  void ask();
  [[nodiscard]] const OpenFabric* chosen() const;

  QComboBox* m_present;
  QLineEdit* m_time;
  QSpinBox* m_calls;
  QSpinBox* m_jobSteps;
  std::vector<OpenFabric> m_fabrics;
  std::optional<workflow::TopologyTimes> m_times;
  std::optional<workflow::ChangeQuestion> m_question;
  std::shared_ptr<const Answer> m_answer;
  std::optional<Asked> m_asked;
  std::optional<Error> m_fault;
  LatestJob<std::shared_ptr<const Answer>> m_job;
};

}  // namespace coppice::designer
