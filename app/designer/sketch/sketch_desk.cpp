// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/sketch_desk.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "workflow/clock.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;
using workflow::FittedSketch;

namespace {

constexpr std::size_t kMaxUndo = 200;

std::string encoded(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

/// The search, then the verifiers: of the plan, of the schedule, and of what the window shows. @param halt ends the
/// search, and what it found is verified @param all ends everything
Result<std::shared_ptr<const SearchAnswer>> searchWithin(const FittedSketch& given, const SearchQuestion& question,
                                                         SearchTrace& trace, const std::stop_token& halt,
                                                         const std::stop_token& all) {
  using Found = std::shared_ptr<const SearchAnswer>;
  return workflow::guarded<Found>([&]() -> Result<Found> {
    workflow::Clock clock;
    const workflow::LoadedFabric& fabric = given.fabric;
    const sketch::Proposal& fit = given.fit;
    fabric::Rank root = 0;
    ScheduleOptions options{.collective = question.collective, .method = "taccl"};
    if (isRooted(question.collective)) {
      const auto node =
          question.root.empty() ? std::optional(fabric.fabric.gpus().front()) : fabric.fabric.find(question.root);
      if (!node || fabric.fabric.nodes()[*node].rank < 0) {
        return Error{ErrorCode::badUsage, "the root is not a GPU of the fabric", "choose another root"};
      }
      root = fabric.fabric.nodes()[*node].rank;
      options.root = fabric.fabric.nodes()[*node].id;
    }
    // Generate Again searches within this sketch too.
    options.methodOptions = {{"sketch", io::writeTacclSketch(fit.sketch)},
                             {"search-seed", std::to_string(question.seed)}};
    if (question.engine == taccl::Engine::stages) {
      options.methodOptions["search-engine"] = "milp";
    }
    if (question.effort) {
      options.methodOptions["search-effort"] = std::to_string(*question.effort);
    } else {
      options.methodOptions["search-time"] = std::to_string(question.seconds);
    }
    Progress searching;
    searching.stop = halt;
    Progress judging;
    judging.stop = all;
    taccl::SynthesisOptions settings{.engine = question.engine,
                                     .seconds = static_cast<double>(question.seconds),
                                     .effort = question.effort,
                                     .seed = question.seed};
    settings.onBetter = [&](const Rational& makespan, const Rational& bound, double) {
      trace.add(ExactMicroseconds(makespan), ExactMicroseconds(bound));
    };
    auto synthesis = taccl::synthesize(fit.model, question.collective, root, settings, searching);
    if (!synthesis) {
      if (synthesis.error().code == ErrorCode::cancelled) {
        return Error{ErrorCode::cancelled, "the search was stopped before it found a schedule", "let it search longer"};
      }
      return synthesis.error();
    }
    const bool isStopped = halt.stop_requested();
    auto judged = workflow::judgePlan(fit.model, *std::move(synthesis), fabric, fit.routes, judging);
    if (!judged) {
      return judged.error();
    }
    const sketch::Plan& plan = judged->synthesis.plan;
    auto answer = std::make_shared<SearchAnswer>();
    answer->makespan = ExactMicroseconds(plan.makespan);
    answer->bound = ExactMicroseconds(plan.bound);
    answer->relaxations = relaxationsOf(plan);
    answer->boundMembers = boundMembersOf(plan);
    answer->gap = workflow::gapOf(plan);
    answer->connections = plan.connections;
    answer->messages = plan.messages.size();
    answer->seconds = judged->synthesis.seconds;
    answer->isStopped = isStopped;
    answer->findings = std::move(judged->synthesis.findings);
    auto examined = examineSchedule(std::move(judged->fabric.description), std::move(judged->fabric.fabric),
                                    std::move(judged->schedule), options, judging);
    if (!examined) {
      return examined.error();
    }
    const auto made = std::const_pointer_cast<ScheduleResult>(*std::move(examined));
    made->origin = originOf(options);
    made->seconds = clock.lap();
    answer->schedule = made;
    return Found(std::move(answer));
  });
}

}  // namespace

SketchDesk::SketchDesk(DocumentFile& file)
    : QObject(&file),
      m_file(file),
      m_fitter([this](const Fitted& fitted) { receiveFit(fitted); }, 0ms),
      m_offsetFinder(
          [this](const Offsets& offsets) {
            if (offsets.empty()) {
              Q_EMIT noOffsets();
            }
            edit([&](sketch::Sketch& sketch) { sketch.symmetryOffsets = offsets; });
          },
          0ms),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  m_factsTimer.setSingleShot(true);
  m_factsTimer.setInterval(100ms);
  connect(&m_factsTimer, &QTimer::timeout, this, &SketchDesk::refit);
  connect(&file.document(), &Document::changed, this, [this](const ChangeEvent& event) {
    if (m_sketch && (event.isReset || event.aspects.testFlag(Aspect::facts))) {
      m_factsTimer.start();
    }
  });
  m_recoveryTimer.setSingleShot(true);
  m_recoveryTimer.setInterval(300ms);
  connect(&m_recoveryTimer, &QTimer::timeout, this, &SketchDesk::writeRecovery);
  connect(&file, &DocumentFile::discarded, &m_recoveryTimer, &QTimer::stop);
  connect(&file, &DocumentFile::saved, this, &SketchDesk::saveWithDocument);
  takeUp();
}

SketchDesk::~SketchDesk() {
  m_search->request_stop();
}

// ---- with the document

QString SketchDesk::pathBeside() const {
  const QFileInfo file(m_file.path());
  QString name = file.fileName();
  constexpr QLatin1StringView kEnd(".fabric.json");
  name = name.endsWith(kEnd) ? name.chopped(kEnd.size()) : file.completeBaseName();
  return name.isEmpty() ? QString() : file.dir().filePath(name + u".sketch.json"_s);
}

QString SketchDesk::recoveryPath() const {
  const QString folder = m_file.workFolder();
  return folder.isEmpty() ? QString() : folder + u"/sketch.json"_s;
}

/// The file of a sketch is kept as a comment before it.
void SketchDesk::writeRecovery() const {
  const QString path = recoveryPath();
  if (path.isEmpty() || !m_isModified || !m_sketch || !QDir().mkpath(QFileInfo(path).path())) {
    return;
  }
  // What cannot be written is not recovered; the journal of the document has told why.
  static_cast<void>(io::saveFile(encoded(path), "// " + m_path.toStdString() + "\n" + io::writeTacclSketch(*m_sketch)));
}

void SketchDesk::takeUp() {
  const QString left = recoveryPath();
  if (!left.isEmpty() && QFileInfo::exists(left)) {
    const auto text = io::readFile(encoded(left));
    const auto read = text ? io::readTacclSketch(*text) : Result<io::TacclFile<sketch::Sketch>>(text.error());
    if (read) {
      m_sketch = read->value;
      const QString first = QString::fromStdString(text->substr(0, text->find('\n')));
      m_path = first.startsWith(u"// "_s) ? first.mid(3) : QString();
      setModified(true);
      refit();
      return;
    }
  }
  if (const QString beside = pathBeside(); !beside.isEmpty() && QFileInfo::exists(beside)) {
    if (const Outcome opened = open(beside); !opened) {
      m_problem = opened.error();
    }
    m_before.clear();
  }
}

void SketchDesk::setModified(bool isModified) {
  m_isModified = isModified;
  m_file.setUnsavedParts(isModified, u"sketch"_s);
  if (isModified) {
    m_recoveryTimer.start();
  } else {
    m_recoveryTimer.stop();
    if (const QString left = recoveryPath(); !left.isEmpty() && QFile::remove(left)) {
      QDir().rmdir(QFileInfo(left).path());  // where nothing is left in it
    }
  }
}

void SketchDesk::saveWithDocument() {
  if (!m_isModified || !m_sketch) {
    return;
  }
  if (const Outcome saved = save(m_path.isEmpty() ? pathBeside() : m_path); !saved) {
    Q_EMIT notSaved(errorText(saved.error()));
  }
}

SketchDesk& SketchDesk::of(DocumentFile& file) {
  auto* desk = file.findChild<SketchDesk*>(QString(), Qt::FindDirectChildrenOnly);
  return desk != nullptr ? *desk : *new SketchDesk(file);
}

int SketchDesk::gpusPerNode() const {
  return m_lastFit ? m_lastFit->fit.model.gpusPerNode : 0;
}

QString SketchDesk::nameOf(int gpu) const {
  if (!m_lastFit || gpu < 0 || gpu >= m_lastFit->fabric.fabric.gpuCount()) {
    return {};
  }
  const auto& fabric = m_lastFit->fabric.fabric;
  const fabric::NodeIndex node = fabric.gpus()[gpu];
  return QString::fromStdString(fabric.nodes()[node].id);
}

int SketchDesk::numberOf(const std::string& name) const {
  if (!m_lastFit) {
    return -1;
  }
  const auto node = m_lastFit->fabric.fabric.find(name);
  return node ? m_lastFit->fabric.fabric.nodes()[*node].rank : -1;
}

void SketchDesk::remember() {
  m_before.push_back(m_sketch);
  if (m_before.size() > kMaxUndo) {
    m_before.erase(m_before.begin());
  }
}

void SketchDesk::propose() {
  sketch::Sketch sizes;
  sizes.chunksPerGpu = 0;
  if (m_sketch) {
    sizes.chunksPerGpu = m_sketch->chunksPerGpu;
    sizes.inputSize = m_sketch->inputSize;
  }
  m_problem.reset();
  m_fitter.submit(
      [facts = m_file.document().facts(), revision = m_file.document().factRevision(), sizes](const std::stop_token&) {
        auto proposed = workflow::guarded<FittedSketch>([&] { return workflow::proposeSketch(*facts, sizes); });
        auto fit = proposed ? Fit(std::make_shared<const FittedSketch>(*std::move(proposed))) : Fit(proposed.error());
        return Fitted{std::make_shared<const Fit>(std::move(fit)), revision, true};
      });
  Q_EMIT changed();
}

void SketchDesk::refit() {
  if (!m_sketch) {
    return;
  }
  m_fit.reset();
  m_problem.reset();
  m_fitter.submit([facts = m_file.document().facts(), revision = m_file.document().factRevision(),
                   sketch = *m_sketch](const std::stop_token&) {
    auto fitted = workflow::guarded<FittedSketch>([&] { return workflow::fitSketch(*facts, sketch); });
    auto fit = fitted ? Fit(std::make_shared<const FittedSketch>(*std::move(fitted))) : Fit(fitted.error());
    return Fitted{std::make_shared<const Fit>(std::move(fit)), revision, false};
  });
}

void SketchDesk::receiveFit(const Fitted& fitted) {
  if (!*fitted.fit) {
    m_problem = fitted.fit->error();
    if (!fitted.isProposal) {
      m_fit.reset();
    }
  } else {
    m_fit = fitted.fit->value();
    m_lastFit = m_fit;
    m_problem.reset();
    if (fitted.isProposal) {
      remember();
      m_sketch = m_fit->fit.sketch;
      m_notes.clear();
      // The program can propose it again; a file that says something else is another matter.
      if (m_path.isEmpty()) {
        m_saved = m_sketch;
      }
      setModified(m_sketch != m_saved);
    }
  }
  if (fitted.factRevision != m_file.document().factRevision() && !m_factsTimer.isActive()) {
    m_factsTimer.start();
  }
  Q_EMIT changed();
  if (std::exchange(m_startsOnceProposed, false) && m_fit) {
    start();
  }
}

Outcome SketchDesk::open(const QString& path) {
  const auto text = io::readFile(encoded(path));
  if (!text) {
    return text.error();
  }
  auto read = io::readTacclSketch(*text, QFileInfo(path).fileName().toStdString());
  if (!read) {
    return read.error();
  }
  remember();
  m_sketch = std::move(read->value);
  m_notes = std::move(read->findings);
  m_path = path;
  m_saved = m_sketch;
  setModified(false);
  refit();
  Q_EMIT changed();
  return Done{};
}

Outcome SketchDesk::save(const QString& path) {
  if (!m_sketch) {
    return Error{ErrorCode::badUsage, "there is no sketch to save", "propose or open one"};
  }
  Outcome saved = io::saveFile(encoded(path), io::writeTacclSketch(*m_sketch));
  if (saved) {
    m_path = path;
    m_saved = m_sketch;
    setModified(false);
    Q_EMIT changed();
  }
  return saved;
}

Outcome SketchDesk::saveTopology(const QString& path) const {
  if (!m_fit) {
    return Error{ErrorCode::badUsage, "no sketch fits the fabric", "propose one"};
  }
  return io::saveFile(encoded(path), io::writeTacclTopology(m_fit->fit.topology));
}

void SketchDesk::edit(const std::function<void(sketch::Sketch&)>& change) {
  if (!m_sketch) {
    return;
  }
  m_offsetFinder.cancel();
  sketch::Sketch next = *m_sketch;
  change(next);
  if (next == *m_sketch) {
    return;
  }
  remember();
  m_sketch = std::move(next);
  setModified(m_sketch != m_saved);
  refit();
  Q_EMIT changed();
}

void SketchDesk::findOffsets() {
  if (m_fit) {
    m_offsetFinder.submit([fit = m_fit](const std::stop_token&) { return sketch::symmetricOffsets(fit->fit.model); });
  }
}

void SketchDesk::undo() {
  if (m_before.empty()) {
    return;
  }
  m_sketch = std::move(m_before.back());
  m_before.pop_back();
  setModified(m_sketch && m_sketch != m_saved);
  if (m_sketch) {
    refit();
  } else {
    m_fit.reset();
    m_problem.reset();
  }
  Q_EMIT changed();
}

// ---- the search

void SketchDesk::setQuestion(const SearchQuestion& question) {
  if (m_question != question) {
    m_question = question;
    Q_EMIT changed();
  }
}

void SketchDesk::start() {
  if (m_isRunning) {
    return;
  }
  if (!m_sketch) {
    m_startsOnceProposed = true;
    propose();
    return;
  }
  if (!m_fit) {
    return;
  }
  m_search = std::make_shared<std::stop_source>();
  m_trace = std::make_shared<SearchTrace>();
  m_answer.reset();
  m_failure.clear();
  m_isRunning = true;
  m_clock.start();
  m_job.submit([sketch = m_fit, question = m_question, trace = m_trace, source = m_search](const std::stop_token& all) {
    // A document that is closed stops everything; a person who stops the search gets what it found.
    const std::stop_callback both(all, [source] { source->request_stop(); });
    return std::make_shared<const Result<std::shared_ptr<const SearchAnswer>>>(
        searchWithin(*sketch, question, *trace, source->get_token(), all));
  });
  Q_EMIT runningChanged();
}

void SketchDesk::stop() {
  if (m_isRunning) {
    m_search->request_stop();
    Q_EMIT runningChanged();
  }
}

double SketchDesk::seconds() const {
  if (!m_isRunning) {
    return m_answer ? m_answer->seconds : 0;
  }
  constexpr double kThousand = 1000;
  return static_cast<double>(m_clock.elapsed()) / kThousand;
}

void SketchDesk::receive(const Answer& answer) {
  m_isRunning = false;
  if (!*answer) {
    m_failure = sentence(answer->error());
    Q_EMIT runningChanged();
    return;
  }
  m_answer = answer->value();
  Q_EMIT runningChanged();
  Q_EMIT found();
}

}  // namespace coppice::designer
