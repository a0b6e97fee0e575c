// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_reader.hpp"

#include <QFileInfo>
#include <chrono>
#include <stop_token>
#include <utility>

#include "workflow/studied_program.hpp"

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

ProgramAnswerPtr failed(Error error, bool hasText = true) {
  return std::make_shared<const ProgramAnswer>(ProgramAnswer{.error = std::move(error), .hasText = hasText});
}

/// @param origins empty = asked of `find`, where there is one
ProgramAnswerPtr answerTo(const QString& path, const std::string& xml, lowering::StepOrigins origins,
                          const FindOrigins& find, program::Runtime runtime, const Progress& progress) {
  const std::string name = QFileInfo(path).fileName().toStdString();
  if (const workflow::Target* target = workflow::targetOfFile(xml)) {
    auto file = target->read(xml, name, {}, progress);
    if (!file) {
      return failed(file.error());
    }
    return std::make_shared<const ProgramAnswer>(
        ProgramAnswer{.target = std::make_shared<const workflow::TargetFile>(*std::move(file))});
  }
  auto studied = workflow::studyProgram(xml, name, {.runtime = runtime}, workflow::StudyWhen::always, progress);
  if (!studied) {
    return failed(studied.error());
  }
  verify::StepLinks links(studied->judgement.program);
  if (find) {
    origins = find(studied->judgement.program, runtime, progress);
  }
  return std::make_shared<const ProgramAnswer>(
      ProgramAnswer{.reading = std::make_shared<const ProgramReading>(
                        ProgramReading{path, runtime, *std::move(studied), std::move(links), std::move(origins)})});
}

}  // namespace

ProgramReader::ProgramReader(QObject* parent)
    : QObject(parent), m_job([this](const ProgramAnswerPtr& answer) { receive(answer); }, 0ms) {
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, [this] { Q_EMIT progressed(m_progress->state().fraction); });
}

void ProgramReader::setFile(const QString& path, std::string xml, FindOrigins find) {
  m_path = path;
  m_xml = std::make_shared<const std::string>(std::move(xml));
  m_find = std::move(find);
  m_make = nullptr;
}

void ProgramReader::setMade(const QString& name, MakeProgram make) {
  m_path = name;
  m_xml = nullptr;
  m_find = nullptr;
  m_make = std::move(make);
}

void ProgramReader::clear() {
  stop();
  m_path.clear();
  m_xml = nullptr;
  m_find = nullptr;
  m_make = nullptr;
}

void ProgramReader::read(program::Runtime runtime) {
  m_isReading = true;
  m_progress = std::make_shared<JobProgress>();
  m_tick.start();
  m_job.submit(
      [path = m_path, xml = m_xml, find = m_find, make = m_make, runtime, shared = m_progress](std::stop_token stop) {
        const Progress progress = JobProgress::forCore(shared, std::move(stop));
        if (!make) {
          return answerTo(path, *xml, {}, find, runtime, progress);
        }
        auto made = make(runtime, progress);
        return made ? answerTo(path, made->xml, std::move(made->origins), find, runtime, progress)
                    : failed(made.error(), false);
      });
}

void ProgramReader::stop() {
  m_job.cancel();
  m_tick.stop();
  m_isReading = false;
}

void ProgramReader::receive(const ProgramAnswerPtr& answer) {
  if (m_job.isRunning()) {
    return;  // to the question before
  }
  m_tick.stop();
  m_isReading = false;
  Q_EMIT finished(answer);
}

}  // namespace coppice::designer
