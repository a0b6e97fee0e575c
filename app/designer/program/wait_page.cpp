// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/wait_page.hpp"

#include <QSplitter>
#include <QVBoxLayout>

#include "designer/program/program_text.hpp"
#include "designer/program/selectable_text.hpp"
#include "designer/theme/fonts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

WaitPage::WaitPage(QWidget* parent)
    : QWidget(parent),
      m_step(selectableText(u"programStep"_s, this)),
      m_before(new StepList(u"programWaitsFor"_s, tr("What the step waits for"), this)),
      m_after(new StepList(u"programReleases"_s, tr("What waits for the step"), this)) {
  constexpr int kMargin = 8;
  auto* lists = new QSplitter(Qt::Horizontal, this);
  const auto add = [lists](const QString& title, StepList* content, int left) {
    auto* half = new QWidget(lists);
    auto* heading = new QLabel(title, half);
    heading->setFont(uiFont(12, QFont::DemiBold));
    heading->setProperty("role", u"muted"_s);
    auto* layout = new QVBoxLayout(half);
    layout->setContentsMargins(left, 0, 0, 0);
    layout->setSpacing(2);
    layout->addWidget(heading);
    layout->addWidget(content, 1);
    lists->addWidget(half);
  };
  add(tr("Waits for  ["), m_before, 0);
  add(tr("Releases  ]"), m_after, kMargin);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kMargin, kMargin / 2, kMargin, 0);
  layout->setSpacing(kMargin / 2);
  layout->addWidget(m_step);
  layout->addWidget(lists, 1);
  for (const StepList* list : {m_before, m_after}) {
    connect(list, &StepList::chosen, this, &WaitPage::chosen);
  }
}

void WaitPage::setStep(const ProgramReadingPtr& reading, const std::optional<program::StepPlace>& place,
                       const verify::ProgramReplay* replay, const TreeName& treeName) {
  m_before->clear();
  m_after->clear();
  if (!reading || !place) {
    m_step->setText(reading
                        ? tr("Choose a step. [ and ] go to the step that it waits for and to a step that waits for it.")
                        : QString());
    return;
  }
  m_step->setText(stepSentence(*reading, *place, replay, treeName));
  fill(*m_before, reading->program(), reading->links.waitsFor(*place));
  fill(*m_after, reading->program(), reading->links.releases(*place));
}

void WaitPage::fill(StepList& list, const program::Program& program, const std::vector<program::StepLink>& links) {
  for (std::size_t at = 0; at < links.size() && at < StepList::kMaxListed; ++at) {
    const program::StepPlace& place = links[at].place;
    const std::string name = placeText(place) + " (" + program::operationText(program, place) + ")";
    list.add(waitTitle(links[at].reason) + u"  "_s + QString::fromStdString(name), place);
  }
  if (links.size() > StepList::kMaxListed) {
    list.addItem(tr("and %1 more").arg(links.size() - StepList::kMaxListed));
  } else if (links.empty()) {
    auto* none = new QListWidgetItem(tr("nothing"), &list);
    none->setFlags(Qt::NoItemFlags);
  }
}

}  // namespace coppice::designer
