// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_store.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <QRandomGenerator>
#include <QSaveFile>
#include <algorithm>

#include "remote/host.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr qint64 kMaxRead = qint64{256} << 20;
constexpr qint64 kMaxInfo = qint64{1} << 20;

QString word(RunState state) {
  switch (state) {
    case RunState::preparing:
      return u"preparing"_s;
    case RunState::running:
      return u"running"_s;
    case RunState::lost:
      return u"lost"_s;
    case RunState::ended:
      return u"ended"_s;
  }
  return {};
}

RunState stateOf(const QString& text) {
  for (const RunState state : {RunState::preparing, RunState::running, RunState::lost, RunState::ended}) {
    if (word(state) == text) {
      return state;
    }
  }
  return RunState::lost;
}

Outcome write(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
    return Error{ErrorCode::io, path.toStdString() + " cannot be written", "check the folder and the free space"};
  }
  return Done{};
}

QJsonObject toJson(const program::RunRequest& request) {
  QJsonArray hosts;
  for (const std::string& host : request.hosts) {
    hosts.append(QString::fromStdString(host));
  }
  const auto text = [](const std::string& value) { return QString::fromStdString(value); };
  QJsonObject json{{u"backend"_s, text(request.backend)},
                   {u"launch"_s, text(std::string(program::toString(request.launch)))},
                   {u"hosts"_s, hosts},
                   {u"partition"_s, text(request.partition)},
                   {u"min"_s, text(request.minBytes)},
                   {u"max"_s, text(request.maxBytes)},
                   {u"factor"_s, text(request.factor)},
                   {u"iterations"_s, request.iterations},
                   {u"warmup"_s, request.warmup},
                   {u"type"_s, text(request.type)},
                   {u"operation"_s, text(request.operation)},
                   {u"checks"_s, request.checks},
                   {u"traces"_s, request.traces}};
  if (request.boundGBps) {
    json[u"bound_GBps"_s] = *request.boundGBps;
  }
  return json;
}

program::RunRequest requestOf(const QJsonObject& json) {
  program::RunRequest request;
  const auto text = [&](const char* key, std::string& to) {
    if (const QJsonValue value = json[QLatin1String(key)]; value.isString()) {
      to = value.toString().toStdString();
    }
  };
  text("backend", request.backend);
  text("partition", request.partition);
  text("min", request.minBytes);
  text("max", request.maxBytes);
  text("factor", request.factor);
  text("type", request.type);
  text("operation", request.operation);
  const QString launch = json[u"launch"_s].toString();
  request.launch = launch == u"mpirun" ? program::Launch::mpirun
                                       : (launch == u"srun" ? program::Launch::srun : program::Launch::single);
  for (const QJsonValue& host : json[u"hosts"_s].toArray()) {
    request.hosts.push_back(host.toString().toStdString());
  }
  request.iterations = json[u"iterations"_s].toInt(request.iterations);
  request.warmup = json[u"warmup"_s].toInt(request.warmup);
  request.checks = json[u"checks"_s].toBool(true);
  request.traces = json[u"traces"_s].toBool(false);
  if (json[u"bound_GBps"_s].isDouble()) {
    request.boundGBps = json[u"bound_GBps"_s].toDouble();
  }
  return request;
}

}  // namespace

QString newRunId() {
  return QDateTime::currentDateTimeUtc().toString(u"yyyyMMdd-HHmmss"_s) +
         u"-%1"_s.arg(QRandomGenerator::system()->bounded(0x1000000), 6, 16, QLatin1Char('0'));
}

QString RunInfo::title() const {
  return QCoreApplication::translate("RunInfo", "%1 on %2, %3")
      .arg(scheduleName, machine, QLocale().toString(started.toLocalTime(), QLocale::ShortFormat));
}

QString RunStore::folderFor(const QString& documentPath, const QString& fallback) {
  if (documentPath.isEmpty()) {
    return fallback;
  }
  const QFileInfo info(documentPath);
  QString name = info.fileName();
  for (const QString& suffix : {u".fabric.json"_s, u".json"_s}) {
    if (name.endsWith(suffix)) {
      name.chop(suffix.size());
      break;
    }
  }
  return info.absolutePath() + u'/' + name + u".runs"_s;
}

Result<RunInfo> RunStore::create(const QString& folder, const RunSubject& subject, RunInfo info,
                                 const program::RunJob& job) {
  info.folder = folder + u'/' + info.id;
  if (!QDir().mkpath(info.folder) ||
      !QFile::setPermissions(info.folder, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner)) {
    return Error{ErrorCode::io, info.folder.toStdString() + " cannot be created",
                 "check the folder and the free space"};
  }
  info.document = subject.document;
  info.scheduleName = subject.scheduleName;
  for (const auto& [name, bytes] : std::initializer_list<std::pair<QString, QByteArray>>{
           {info.scheduleFile, subject.schedule},
           {u"fabric.fabric.json"_s, subject.fabric},
           {u"job.json"_s, QByteArray::fromStdString(program::writeJob(job))}}) {
    if (bytes.isEmpty()) {
      continue;
    }
    if (Outcome written = write(info.folder + u'/' + name, bytes); !written) {
      return written.error();
    }
  }
  if (Outcome saved = save(info); !saved) {
    return saved.error();
  }
  return info;
}

Outcome RunStore::save(const RunInfo& info) {
  const QJsonObject json{{u"version"_s, 1},
                         {u"id"_s, info.id},
                         {u"machine_id"_s, info.machineId},
                         {u"other_machines"_s, QJsonArray::fromStringList(info.otherMachines)},
                         {u"shares"_s, info.shares},
                         {u"machine"_s, info.machine},
                         {u"document"_s, info.document},
                         {u"schedule"_s, info.scheduleName},
                         {u"schedule_file"_s, info.scheduleFile},
                         {u"started"_s, info.started.toUTC().toString(Qt::ISODate)},
                         {u"state"_s, word(info.state)},
                         {u"code"_s, info.code},
                         {u"reason"_s, info.reason},
                         {u"keeps_running"_s, info.keepsRunning},
                         {u"request"_s, toJson(info.request)}};
  return write(info.folder + u"/run.json"_s, QJsonDocument(json).toJson());
}

std::vector<RunInfo> RunStore::list(const QString& folder) {
  std::vector<RunInfo> runs;
  constexpr std::size_t kMax = 2'000;
  for (const QString& name : QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name | QDir::Reversed)) {
    if (runs.size() == kMax || !remote::isPlainName(name.toStdString())) {
      continue;
    }
    QFile file(folder + u'/' + name + u"/run.json"_s);
    if (!file.open(QIODevice::ReadOnly) || file.size() > kMaxInfo) {
      continue;
    }
    const QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
    if (json[u"version"_s].toInt() != 1) {
      continue;
    }
    RunInfo info;
    info.id = name;
    info.folder = folder + u'/' + name;
    info.machineId = json[u"machine_id"_s].toString();
    for (const QJsonValue& other : json[u"other_machines"_s].toArray()) {
      info.otherMachines << other.toString();
    }
    info.shares = json[u"shares"_s].toString();
    info.machine = json[u"machine"_s].toString();
    info.document = json[u"document"_s].toString();
    info.scheduleName = json[u"schedule"_s].toString();
    info.scheduleFile = json[u"schedule_file"_s].toString();
    if (!remote::isPlainName(info.scheduleFile.toStdString())) {
      info.scheduleFile.clear();
    }
    info.started = QDateTime::fromString(json[u"started"_s].toString(), Qt::ISODate);
    info.state = stateOf(json[u"state"_s].toString());
    info.code = json[u"code"_s].toInt(-1);
    info.reason = json[u"reason"_s].toString();
    info.keepsRunning = json[u"keeps_running"_s].toBool();
    info.request = requestOf(json[u"request"_s].toObject());
    info.request.schedule = info.scheduleFile.toStdString();
    runs.push_back(std::move(info));
  }
  return runs;
}

std::shared_ptr<RunData> RunStore::load(const RunInfo& info) {
  auto data = std::make_shared<RunData>();
  QFile records(info.folder + u"/records.jsonl"_s);
  constexpr qint64 kBlock = qint64{1} << 20;
  if (records.open(QIODevice::ReadOnly)) {
    for (qint64 read = 0; read < kMaxRead && !records.atEnd(); read += kBlock) {
      data->feedRecords(records.read(kBlock));
    }
  }
  QFile log(info.folder + u"/log.txt"_s);
  if (log.open(QIODevice::ReadOnly)) {
    for (qint64 read = 0; read < kMaxRead && !log.atEnd(); read += kBlock) {
      data->feedLog(log.read(kBlock));
    }
  }
  return data;
}

bool RunStore::remove(const RunInfo& info) {
  return QFileInfo::exists(info.folder + u"/run.json"_s) && QDir(info.folder).removeRecursively();
}

Result<RunSubject> RunStore::subject(const RunInfo& info) {
  QFile schedule(info.folder + u'/' + info.scheduleFile);
  if (info.scheduleFile.isEmpty() || !schedule.open(QIODevice::ReadOnly) || schedule.size() > kMaxRead) {
    return Error{ErrorCode::io, "the schedule of this run is not in its folder", "choose the schedule again"};
  }
  RunSubject subject{info.document, info.scheduleName, schedule.readAll(), {}};
  QFile fabric(info.folder + u"/fabric.fabric.json"_s);
  if (fabric.open(QIODevice::ReadOnly) && fabric.size() <= kMaxRead) {
    subject.fabric = fabric.readAll();
  }
  return subject;
}

}  // namespace coppice::designer
