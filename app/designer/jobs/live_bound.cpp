// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/live_bound.hpp"

#include <chrono>
#include <utility>

#include "designer/document/fabric_delta.hpp"
#include "designer/jobs/threads.hpp"

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {
// Work younger than this is allowed to finish when newer work waits.
constexpr auto kGrace = 150ms;
}  // namespace

LiveBound::LiveBound(Document& document, QObject* parent)
    : QObject(parent),
      m_document(document),
      m_completion(
          [this](std::shared_ptr<const Bound> bound) {
            m_bound = std::move(bound);
            Q_EMIT changed();
          },
          0ms, boundThreads()),
      m_job(
          [this](std::shared_ptr<const Bound> bound) {
            m_bound = std::move(bound);
            if (m_bound->isOpen) {
              m_completion.submit([solver = m_solver, bound = m_bound](std::stop_token stop) {
                return std::make_shared<const Bound>(solver->completed(*bound, std::move(stop)));
              });
            }
            Q_EMIT changed();
          },
          kGrace, boundThreads()) {
  // Many changes within one turn of the event loop make one order.
  m_timer.setSingleShot(true);
  m_timer.setInterval(0);
  connect(&m_timer, &QTimer::timeout, this, &LiveBound::refresh);
  connect(&document, &Document::patched, this, [this](const Patch& patch) {
    if (m_hasFacts && m_document.factRevision() == m_document.revision()) {
      m_solver->change(deltaOf(m_document.model(), patch), m_document.factRevision());
    }
  });
  connect(&document, &Document::changed, this, [this](const ChangeEvent& event) {
    if (event.isReset) {
      m_completion.cancel();
      m_job.cancel();
      m_bound.reset();
      m_solver = std::make_shared<BoundSolver>();
      m_hasFacts = false;
    }
    if (event.isReset || event.aspects.testFlag(Aspect::facts)) {
      m_timer.start();
      Q_EMIT changed();
    }
  });
  m_timer.start();
}

LiveBound::~LiveBound() = default;

void LiveBound::setQuestion(const Question& question) {
  if (m_question != question) {
    m_question = question;
    m_timer.start();
    Q_EMIT changed();
  }
}

bool LiveBound::isCurrent() const {
  return m_bound && m_bound->factRevision == m_document.factRevision() && m_bound->question == m_question;
}

void LiveBound::refresh() {
  if (!m_hasFacts) {
    m_solver->reset(Snapshot::of(m_document));
    m_hasFacts = true;
  }
  m_completion.cancel();
  m_job.submit([solver = m_solver, question = m_question](std::stop_token stop) {
    return std::make_shared<const Bound>(solver->compute(question, std::move(stop)));
  });
}

}  // namespace coppice::designer
