// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/change_row.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <chrono>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "designer/schedules/command_text.hpp"
#include "fabric/fabric.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

ChangeRow::ChangeRow(QWidget* parent)
    : QWidget(parent),
      m_present(new QComboBox(this)),
      m_time(new QLineEdit(u"10ms"_s, this)),
      m_calls(new QSpinBox(this)),
      m_jobSteps(new QSpinBox(this)),
      m_job(
          [this](const std::shared_ptr<const Answer>& answer) {
            m_answer = answer;
            m_fault = answer->present ? std::optional<Error>() : std::optional(answer->present.error());
            Q_EMIT changed();
          },
          0ms) {
  m_present->setObjectName(u"finderPresent"_s);
  m_present->setAccessibleName(tr("The fabric as it is wired"));
  m_present->setToolTip(
      tr("An open fabric of GPUs alone, as it is wired now: from how many steps of a job a change pays"));
  m_time->setObjectName(u"finderReconfiguration"_s);
  m_time->setAccessibleName(tr("Time of a change"));
  m_time->setToolTip(tr("Time of a change, such as 10ms for an optical switch or 5min for a patch panel"));
  constexpr int kNarrow = 76;
  m_time->setFixedWidth(kNarrow);
  m_calls->setObjectName(u"finderCalls"_s);
  m_calls->setRange(1, std::numeric_limits<int>::max());
  m_calls->setAccessibleName(tr("Calls in a step of the job"));
  m_calls->setToolTip(tr("Calls of this size in a step of the job"));
  m_jobSteps->setObjectName(u"finderJobSteps"_s);
  m_jobSteps->setRange(0, std::numeric_limits<int>::max());
  m_jobSteps->setSpecialValueText(tr("any"));
  m_jobSteps->setAccessibleName(tr("Steps of the job"));
  m_jobSteps->setToolTip(tr("Steps of the job: what a change gains over all of them"));
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins({});
  constexpr int kGap = 8;
  line->setSpacing(kGap);
  const auto add = [&](const QString& text, QWidget* field) {
    auto* label = new QLabel(text, this);
    label->setBuddy(field);
    label->setProperty("role", u"muted"_s);
    line->addWidget(label);
    line->addWidget(field);
    line->addSpacing(kGap);
  };
  add(tr("C&hange from"), m_present);
  add(tr("&takes"), m_time);
  add(tr("calls per ste&p"), m_calls);
  add(tr("steps of the &job"), m_jobSteps);
  line->addStretch(1);
  connect(m_present, &QComboBox::currentIndexChanged, this, &ChangeRow::follow);
  connect(m_time, &QLineEdit::textChanged, this, &ChangeRow::follow);
  connect(m_calls, &QSpinBox::valueChanged, this, &ChangeRow::follow);
  connect(m_jobSteps, &QSpinBox::valueChanged, this, &ChangeRow::follow);
  setFabrics({});
}

ChangeRow::~ChangeRow() = default;

void ChangeRow::setFabrics(std::vector<OpenFabric> fabrics) {
  const QString kept = m_present->currentIndex() > 0 ? m_present->currentText() : QString();
  m_fabrics = std::move(fabrics);
  {
    const QSignalBlocker quiet(m_present);
    m_present->clear();
    m_present->addItem(tr("nothing"));
    for (const OpenFabric& fabric : m_fabrics) {
      m_present->addItem(fabric.name);
    }
    m_present->setCurrentIndex(kept.isEmpty() ? 0 : std::max(0, m_present->findText(kept)));
  }
  follow();
}

void ChangeRow::setTimes(const workflow::TopologyTimes& times) {
  m_times = times;
  m_times->sizes.front().weight = Rational(m_calls->value());
  ask();
}

const OpenFabric* ChangeRow::chosen() const {
  const int index = m_present->currentIndex() - 1;
  return index >= 0 ? &m_fabrics[static_cast<std::size_t>(index)] : nullptr;
}

bool ChangeRow::isAsked() const {
  return chosen() != nullptr;
}

void ChangeRow::follow() {
  for (QWidget* field :
       {static_cast<QWidget*>(m_time), static_cast<QWidget*>(m_calls), static_cast<QWidget*>(m_jobSteps)}) {
    field->setEnabled(isAsked());
  }
  if (m_times) {
    m_times->sizes.front().weight = Rational(m_calls->value());
  }
  ask();
  Q_EMIT changed();
}

/// Computes what the present fabric costs, unless that is known or being computed.
void ChangeRow::ask() {
  m_question.reset();
  m_fault.reset();
  const OpenFabric* fabric = chosen();
  if (fabric == nullptr || !m_times) {
    m_job.cancel();
    m_asked.reset();
    m_answer.reset();
    return;
  }
  const auto question = workflow::readChange({m_time->text().trimmed().toStdString(), m_jobSteps->value()});
  if (!question) {
    m_fault = question.error();
    return;
  }
  m_question = *question;
  const Asked asked{fabric->facts, m_times->model.alpha.count(), m_times->collective};
  if (m_asked == asked) {
    if (m_answer && !m_answer->present) {
      m_fault = m_answer->present.error();
    }
    return;
  }
  m_asked = asked;
  m_answer.reset();
  m_job.submit([asked, times = *m_times](std::stop_token stop) {
    const Progress progress{.stop = std::move(stop)};
    int gpus = 0;
    auto present = workflow::guarded<workflow::Present>([&]() -> Result<workflow::Present> {
      const auto built = fabric::Fabric::build(*asked.facts);
      if (!built) {
        return built.error();
      }
      gpus = built->gpuCount();
      return workflow::presentTopology(*built, times, progress);
    });
    return std::make_shared<const Answer>(asked, gpus, std::move(present));
  });
}

std::optional<workflow::Change> ChangeRow::changeTo(const workflow::FoundTopology& found) const {
  if (!m_question || !m_times || !m_answer || !m_answer->present || found.entry.nodes != m_answer->gpus) {
    return std::nullopt;
  }
  try {
    return workflow::changeTo(found, *m_answer->present, *m_times, *m_question);
  } catch (const OverflowError&) {
    return std::nullopt;  // times beyond 64 bits are not shown
  }
}

QStringList ChangeRow::commandWords() const {
  const OpenFabric* fabric = chosen();
  if (fabric == nullptr) {
    return {};
  }
  QStringList words{u"--present"_s, shellQuoted(fabric->path.isEmpty() ? u"fabric.fabric.json"_s : fabric->path),
                    u"--reconfiguration"_s, shellQuoted(m_time->text().trimmed())};
  if (m_jobSteps->value() > 0) {
    words << u"--job-steps"_s << QString::number(m_jobSteps->value());
  }
  return words;
}

}  // namespace coppice::designer
