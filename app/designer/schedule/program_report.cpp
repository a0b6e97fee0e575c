// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/program_report.hpp"

#include <QDialogButtonBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/schedule/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/style.hpp"
#include "lowering/lowering.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kThousand = 1000;

QString factsOf(const ProgramJudgement& judgement) {
  const program::Program& program = judgement.program;
  const ProgramCounts counts = countsOf(program);
  QStringList parts;
  QString what = program.collectiveText.empty() ? collectiveName(program.collective)
                                                : QString::fromStdString(program.collectiveText);
  if (judgement.verdict.root >= 0) {
    what += u' ' + ProgramReport::tr("from rank %1").arg(judgement.verdict.root);
  }
  parts << what
        << counted(static_cast<qsizetype>(program.ranks.size()), ProgramReport::tr("rank"), ProgramReport::tr("ranks"))
        << counted(program.channels, ProgramReport::tr("channel"), ProgramReport::tr("channels"))
        << ProgramReport::tr("at most %1 of %2 each per rank")
               .arg(counted(counts.threadBlocks, ProgramReport::tr("threadblock"), ProgramReport::tr("threadblocks")),
                    counted(counts.steps, ProgramReport::tr("step"), ProgramReport::tr("steps")))
        << counted(program.chunksPerLoop, ProgramReport::tr("chunk"), ProgramReport::tr("chunks"));
  const std::string_view protocol = program::toString(program.protocol);
  parts << QString::fromUtf8(protocol.data(), static_cast<qsizetype>(protocol.size()));
  parts << (program.inPlace && program.outOfPlace ? ProgramReport::tr("in and out of place")
            : program.inPlace                     ? ProgramReport::tr("in place")
                                                  : ProgramReport::tr("out of place"));
  parts << ProgramReport::tr("%1 to %2")
               .arg(bytesText(program.minBytes), program.maxBytes >= lowering::kDefaultMaxBytes
                                                     ? ProgramReport::tr("any size")
                                                     : bytesText(program.maxBytes));
  if (!program.name.empty()) {
    parts.prepend(u'“' + QString::fromStdString(program.name).left(80) + u'”');
  }
  return parts.join(u" · "_s);
}

}  // namespace

ProgramReport::ProgramReport(const QString& path, std::string xml, QWidget* parent)
    : QDialog(parent),
      m_path(path),
      m_xml(std::make_shared<const std::string>(std::move(xml))),
      m_runtime(new QComboBox(this)),
      m_verdict(new QLabel(this)),
      m_facts(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_list(new CheckList(this)),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  setObjectName(u"programReport"_s);
  setWindowTitle(tr("%1: an MSCCL program").arg(QFileInfo(path).fileName()));
  constexpr QSize kSize(860, 620);
  resize(kSize);
  m_runtime->setObjectName(u"reportRuntime"_s);
  m_runtime->setAccessibleName(tr("Judged by the rules of"));
  for (const auto runtime : program::kRuntimes) {
    m_runtime->addItem(runtimeTitle(runtime), static_cast<int>(runtime));
  }
  constexpr double kVerdictPixels = 17;
  m_verdict->setObjectName(u"reportVerdict"_s);
  m_verdict->setFont(uiFont(kVerdictPixels, QFont::DemiBold));
  m_verdict->setWordWrap(true);
  m_verdict->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_facts->setObjectName(u"reportFacts"_s);
  m_facts->setWordWrap(true);
  m_facts->setTextFormat(Qt::PlainText);
  m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_facts->setProperty("role", u"muted"_s);
  m_progress->setRange(0, kThousand);
  m_progress->setTextVisible(false);
  QSizePolicy keep = m_progress->sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  m_progress->setSizePolicy(keep);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  auto* line = new QHBoxLayout;
  line->addWidget(new QLabel(tr("Judged by the rules of"), this));
  line->addWidget(m_runtime);
  line->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  constexpr int kMargin = 16;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->addWidget(m_verdict);
  layout->addWidget(m_facts);
  layout->addLayout(line);
  layout->addWidget(m_progress);
  layout->addWidget(m_list, 1);
  layout->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(m_runtime, &QComboBox::currentIndexChanged, this, &ProgramReport::judge);
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, &ProgramReport::tick);
  judge();
}

ProgramReport::~ProgramReport() = default;

void ProgramReport::judge() {
  m_isJudging = true;
  m_isOk = false;
  m_jobProgress = std::make_shared<JobProgress>();
  m_verdict->setText(tr("Verifying…"));
  setRole(m_verdict, {});
  m_list->setStale(true);
  m_progress->show();
  m_tick.start();
  const auto runtime = static_cast<program::Runtime>(m_runtime->currentData().toInt());
  m_job.submit(
      [xml = m_xml, name = QFileInfo(m_path).fileName(), runtime, progress = m_jobProgress](std::stop_token stop) {
        return std::make_shared<const Result<ProgramJudgement>>(
            verify::judgeProgram(*xml, name.toStdString(), {.runtime = runtime}, program::Reach::unknown,
                                 JobProgress::forCore(progress, std::move(stop))));
      });
}

void ProgramReport::tick() {
  m_progress->setValue(static_cast<int>(m_jobProgress->state().fraction * kThousand));
}

void ProgramReport::receive(const Answer& answer) {
  if (m_job.isRunning()) {
    return;  // to the question before
  }
  m_isJudging = false;
  m_tick.stop();
  m_progress->hide();
  const auto runtime = static_cast<program::Runtime>(m_runtime->currentData().toInt());
  const std::string_view name = program::toString(runtime);
  const QString target = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
  if (!*answer) {
    m_verdict->setText(tr("Not a readable program"));
    m_facts->clear();
    CheckRow row;
    row.state = CheckState::bad;
    row.name = tr("Fault");
    const Place& place = answer->error().where;
    row.value = place.line > 0 ? tr("line %1, column %2").arg(place.line).arg(place.column)
                               : QString::fromStdString(place.element);
    row.detail = sentence(answer->error());
    m_list->setRows({row});
  } else {
    const ProgramJudgement& judgement = answer->value();
    m_isOk = judgement.ok;
    m_verdict->setText(judgement.ok ? u"✓ "_s + tr("Verified: %1 runs it and it does what %2 requires")
                                                    .arg(target, collectiveName(judgement.verdict.collective))
                                    : tr("Not verified for %1").arg(target));
    m_facts->setText(factsOf(judgement));
    std::vector<CheckRow> rows = checklistOf(judgement, runtime, nullptr);
    // What is wrong comes first.
    std::stable_sort(rows.begin(), rows.end(), [](const CheckRow& a, const CheckRow& b) { return a.state > b.state; });
    m_list->setRows(rows);
  }
  setRole(m_verdict, m_isOk ? u"good"_s : u"error"_s);
  m_list->setStale(false);
}

}  // namespace coppice::designer
