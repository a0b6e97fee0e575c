// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_data.hpp"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr std::size_t kMaxLogLines = 20'000;
constexpr qsizetype kLongestLogLine = 4'000;
constexpr std::size_t kMaxRows = 1'000;
constexpr std::size_t kMaxItems = 1'000;
constexpr std::size_t kMaxEvents = 2'000'000;
constexpr std::size_t kMaxTraces = 64;
constexpr int kMaxUnreadable = 1'000;

struct RunTexts {
  Q_DECLARE_TR_FUNCTIONS(RunData)
};

QString fixed(double value, int digits) {
  return QString::number(value, 'f', digits);
}

/// As nccl-tests chooses digits for microseconds.
QString microseconds(double value) {
  return fixed(value, value >= 10000 ? 0 : (value >= 100 ? 1 : 2));
}

QString wrongText(const program::ResultRecord& result) {
  return result.wrong ? QString::number(*result.wrong) : u"N/A"_s;
}

}  // namespace

QByteArray RunData::feedRecords(const QByteArray& bytes) {
  QByteArray kept;
  qsizetype from = 0;
  while (from < bytes.size() && m_refusal.isEmpty()) {
    const qsizetype end = bytes.indexOf('\n', from);
    const qsizetype to = end < 0 ? bytes.size() : end;
    if (!m_isLineTooLong) {
      m_line += bytes.mid(from, to - from);
      if (m_line.size() > static_cast<qsizetype>(program::kMaxRecordBytes)) {
        m_isLineTooLong = true;
        m_line.clear();
      }
    }
    if (end < 0) {
      break;
    }
    from = end + 1;
    ++m_lines;
    if (m_isLineTooLong) {
      ++m_unreadable;
      note(Severity::warning, RunTexts::tr("A line of more than 64 KiB was skipped."));
    } else if (take(m_line)) {
      kept += m_line + '\n';
    }
    m_line.clear();
    m_isLineTooLong = false;
  }
  ++m_revision;
  return kept;
}

bool RunData::take(const QByteArray& line) {
  if (line.trimmed().isEmpty()) {
    return false;
  }
  auto record = program::readRecord(std::string_view(line.constData(), static_cast<std::size_t>(line.size())));
  if (!record) {
    if (record.error().code == ErrorCode::unavailable) {
      m_refusal = QString::fromStdString(describe(record.error()));
      note(Severity::error, m_refusal);
      return false;
    }
    if (++m_unreadable > kMaxUnreadable) {
      m_refusal = RunTexts::tr("No valid response from the executor.");
      note(Severity::error, m_refusal);
      return false;
    }
    // A login message, or a library that prints.
    note(Severity::note, QString::fromUtf8(line.left(kLongestLogLine)));
    return false;
  }
  return std::visit(
      [this](auto&& value) {
        using Kind = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Kind, program::HelloRecord>) {
          m_hello = std::move(value);
        } else if constexpr (std::is_same_v<Kind, program::EnvRecord>) {
          m_environment = std::move(value);
        } else if constexpr (std::is_same_v<Kind, program::PlanRecord>) {
          for (const Finding& finding : value.findings) {
            note(finding.severity, QString::fromStdString(describe(finding)));
          }
          m_plan = std::move(value);
        } else if constexpr (std::is_same_v<Kind, program::StateRecord>) {
          m_stage = QString::fromStdString(value.detail.empty() ? value.state : value.state + ": " + value.detail);
        } else if constexpr (std::is_same_v<Kind, program::ProgressRecord>) {
          m_progress = std::move(value);
        } else if constexpr (std::is_same_v<Kind, program::ResultRecord>) {
          takeResult(std::move(value));
        } else if constexpr (std::is_same_v<Kind, program::WrongRecord>) {
          if (m_wrong.size() < kMaxItems) {
            note(Severity::error,
                 RunTexts::tr("Rank %1, element %2: expected %3, found %4")
                     .arg(QString::number(value.rank), QString::number(value.element),
                          QString::fromStdString(value.expected), QString::fromStdString(value.found)));
            m_wrong.push_back(std::move(value));
          }
        } else if constexpr (std::is_same_v<Kind, program::TraceRecord>) {
          takeTrace(value);
        } else if constexpr (std::is_same_v<Kind, program::StuckRecord>) {
          note(Severity::error, QString::fromStdString(value.text));
          m_stuck = std::move(value);
        } else if constexpr (std::is_same_v<Kind, program::ErrorRecord>) {
          note(Severity::error, QString::fromStdString(describe(value.error)));
          if (m_errors.size() < kMaxItems) {
            m_errors.push_back(std::move(value));
          }
        } else if constexpr (std::is_same_v<Kind, program::LogRecord>) {
          const QString source = QString::fromStdString(value.source);
          note(value.severity, QString::fromStdString(value.text));
          m_log.back().source = source;
        } else if constexpr (std::is_same_v<Kind, program::SummaryRecord>) {
          m_summary = std::move(value);
        } else if constexpr (std::is_same_v<Kind, program::EndRecord>) {
          m_end = std::move(value);
        } else {
          return false;  // pong, and what this version does not know
        }
        return true;
      },
      std::move(*record));
}

void RunData::takeResult(program::ResultRecord result) {
  auto row =
      std::find_if(m_rows.begin(), m_rows.end(), [&](const ResultRow& each) { return each.size == result.size; });
  if (row == m_rows.end()) {
    if (m_rows.size() >= kMaxRows) {
      return;
    }
    row = m_rows.insert(m_rows.end(), ResultRow{result.size, {}, {}});
  }
  (result.inPlace ? row->inPlace : row->outOfPlace) = std::move(result);
}

void RunData::takeTrace(const program::TraceRecord& trace) {
  m_dropped = qMax(m_dropped, static_cast<qint64>(trace.dropped));
  const TraceKey key(trace.size, trace.inPlace);
  if (m_events + trace.events.size() > kMaxEvents || (!m_traces.contains(key) && m_traces.size() >= kMaxTraces)) {
    m_dropped += static_cast<qint64>(trace.events.size());
    return;
  }
  std::vector<program::TraceEvent>& events = m_traces[key];
  events.insert(events.end(), trace.events.begin(), trace.events.end());
  m_events += trace.events.size();
}

void RunData::feedLog(const QByteArray& bytes) {
  qsizetype from = 0;
  while (from < bytes.size()) {
    const qsizetype end = bytes.indexOf('\n', from);
    const qsizetype to = end < 0 ? bytes.size() : end;
    m_logLine += bytes.mid(from, qMin(to - from, kLongestLogLine - m_logLine.size()));
    if (end < 0) {
      break;
    }
    from = end + 1;
    note(Severity::note, QString::fromUtf8(m_logLine));
    m_logLine.clear();
  }
}

void RunData::note(Severity severity, const QString& text) {
  QString clean = text.left(kLongestLogLine);
  for (QChar& c : clean) {
    if (c.category() == QChar::Other_Control && c != u'\t') {
      c = u' ';
    }
  }
  m_log.push_back({severity, {}, clean});
  if (m_log.size() > kMaxLogLines) {
    m_log.pop_front();
    ++m_forgotten;
  }
  ++m_revision;
}

// ---- texts

QString noBoundReason(const RunData& data) {
  if (!data.environment() || data.environment()->backendLabel.empty()) {
    return {};
  }
  return RunTexts::tr("Not compared with the bound: %1.").arg(QString::fromStdString(data.environment()->backendLabel));
}

QString ncclTestsText(const RunData& data) {
  QString text;
  if (data.plan()) {
    text += u"# %1, %2 ranks, schedule %3\n"_s.arg(QString::fromStdString(data.plan()->collective),
                                                   QString::number(data.plan()->ranks),
                                                   QString::fromStdString(data.plan()->name));
  }
  if (data.environment()) {
    const std::string& label = data.environment()->backendLabel;
    text += u"# %1, backend %2%3\n"_s.arg(QString::fromStdString(data.environment()->host),
                                          QString::fromStdString(data.environment()->backend),
                                          label.empty() ? QString() : u" ("_s + QString::fromStdString(label) + u')');
  }
  text +=
      u"#\n"
      "#                                                              out-of-place                                "
      "in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong  %bound     time   algbw  "
      " busbw  #wrong  %bound\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)                     (us)  (GB/s)  (GB/s)\n"_s;
  const bool isComparable = noBoundReason(data).isEmpty();
  const auto half = [isComparable](const std::optional<program::ResultRecord>& result) {
    if (!result) {
      return QString(42, u' ');
    }
    return u" %1 %2 %3 %4 %5"_s.arg(microseconds(result->time_us), 8)
        .arg(fixed(result->algbw_GBps, 2), 7)
        .arg(fixed(result->busbw_GBps, 2), 7)
        .arg(wrongText(*result), 7)
        .arg(result->boundPercent && isComparable ? fixed(*result->boundPercent, 1) : u"-"_s, 7);
  };
  for (const ResultRow& row : data.rows()) {
    const program::ResultRecord& any = row.any();
    text += u"%1 %2 %3 %4 %5"_s.arg(any.size, 12)
                .arg(any.count, 13)
                .arg(QString::fromStdString(any.type), 9)
                .arg(QString::fromStdString(any.redop), 7)
                .arg(any.root, 7) +
            half(row.outOfPlace) + half(row.inPlace) + u'\n';
  }
  if (data.summary()) {
    text += u"# Out of bounds values : %1 %2\n"_s.arg(data.summary()->wrong)
                .arg(data.summary()->wrong == 0 ? u"OK"_s : u"FAILED"_s);
    text += u"# Avg bus bandwidth    : %1\n"_s.arg(fixed(data.summary()->averageBusbw_GBps, 4));
  }
  return text;
}

QString csvText(const RunData& data) {
  QString text =
      u"size,count,type,redop,root,in_place,iterations,time_us,min_us,median_us,p99_us,algbw_GBps,busbw_GBps,wrong,bound_percent\n"_s;
  const auto number = [](double value) { return QString::number(value, 'g', 9); };
  for (const ResultRow& row : data.rows()) {
    for (const std::optional<program::ResultRecord>* half : {&row.outOfPlace, &row.inPlace}) {
      if (!*half) {
        continue;
      }
      const program::ResultRecord& r = **half;
      // Type and operation come from the other side: a comma or a formula there must not break the table.
      const auto word = [](const std::string& value) {
        QString clean;
        for (const QChar c : QString::fromStdString(value)) {
          if (c.isLetterOrNumber() || c == u'_') {
            clean += c;
          }
        }
        return clean;
      };
      text += QStringList{QString::number(r.size),
                          QString::number(r.count),
                          word(r.type),
                          word(r.redop),
                          QString::number(r.root),
                          r.inPlace ? u"1"_s : u"0"_s,
                          QString::number(r.iterations),
                          number(r.time_us),
                          number(r.min_us),
                          number(r.median_us),
                          number(r.p99_us),
                          number(r.algbw_GBps),
                          number(r.busbw_GBps),
                          r.wrong ? QString::number(*r.wrong) : QString(),
                          r.boundPercent ? number(*r.boundPercent) : QString()}
                  .join(u',') +
              u'\n';
    }
  }
  return text;
}

QByteArray jsonText(const RunData& data) {
  QJsonObject object;
  const auto add = [](QJsonObject& to, const QString& key, const program::Record& record) {
    to[key] = QJsonDocument::fromJson(QByteArray::fromStdString(program::writeRecord(record))).object();
  };
  if (data.environment()) {
    add(object, u"env"_s, *data.environment());
  }
  if (data.plan()) {
    add(object, u"plan"_s, *data.plan());
  }
  QJsonArray results;
  for (const ResultRow& row : data.rows()) {
    for (const std::optional<program::ResultRecord>* half : {&row.outOfPlace, &row.inPlace}) {
      if (*half) {
        results.append(QJsonDocument::fromJson(QByteArray::fromStdString(program::writeRecord(**half))).object());
      }
    }
  }
  object[u"results"_s] = results;
  if (data.summary()) {
    add(object, u"summary"_s, *data.summary());
  }
  if (data.end()) {
    add(object, u"end"_s, *data.end());
  }
  return QJsonDocument(object).toJson();
}

}  // namespace coppice::designer
