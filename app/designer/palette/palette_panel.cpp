// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/palette_panel.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QAction>
#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QKeyEvent>
#include <QMenu>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// "4 gpu": the number, and the name behind it; 1 and all of it where there is none.
std::pair<int, QString> typedCount(const QString& typed) {
  constexpr int kMost = 64;
  static const QRegularExpression kPattern(QStringLiteral("^\\s*(\\d{1,2})\\s*[x×]?\\s+(\\S.*)$"));
  const QRegularExpressionMatch match = kPattern.match(typed);
  const int count = match.hasMatch() ? match.captured(1).toInt() : 1;
  return count >= 1 && count <= kMost && match.hasMatch() ? std::pair(count, match.captured(2)) : std::pair(1, typed);
}

}  // namespace

PalettePanel::PalettePanel(CardLoader& loader, TemplateStore& store, QWidget* parent)
    : QWidget(parent),
      m_loader(loader),
      m_store(store),
      m_search(new QLineEdit(this)),
      m_body(new QWidget),
      m_nothing(new QLabel(this)),
      m_save(new QPushButton(tr("Save selection as template"), this)) {
  setObjectName(u"palette"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_search->setObjectName(u"paletteSearch"_s);
  m_search->setPlaceholderText(tr("Find a part"));
  m_search->setAccessibleName(tr("Find a device or template"));
  m_search->setToolTip(
      tr("Type part of a name; Enter places the first match, Down goes to the list. “4 gpu” places four in a row."));
  m_search->setClearButtonEnabled(true);
  m_search->addAction(icon(u"find"_s), QLineEdit::LeadingPosition);
  m_search->installEventFilter(this);
  m_nothing->setProperty("role", u"muted"_s);
  m_nothing->setWordWrap(true);
  m_nothing->hide();
  m_save->setObjectName(u"paletteSave"_s);
  m_save->setFlat(true);
  m_save->setProperty("role", u"quiet"_s);
  m_save->setToolTip(tr("Saves the selection as your own template, under Yours"));

  auto* bodyLayout = new QVBoxLayout(m_body);
  constexpr QMargins kBody(8, 0, 8, 8);
  bodyLayout->setContentsMargins(kBody);
  constexpr int kGap = 4;
  bodyLayout->setSpacing(kGap);
  const QString devices = deviceEntries().front().group;
  addSection(devices, CardLook::tile);
  for (const PaletteEntry& entry : templateEntries()) {
    if (std::none_of(m_sections.begin(), m_sections.end(),
                     [&](const Section& section) { return section.group == entry.group; })) {
      addSection(entry.group, CardLook::row);
    }
  }
  addSection(QCoreApplication::translate("Palette", "Yours"), CardLook::row);
  bodyLayout->addWidget(m_nothing);
  bodyLayout->addWidget(m_save, 0, Qt::AlignLeft);
  bodyLayout->addStretch();

  auto* scroll = scrolled(m_body, this);
  scroll->setObjectName(u"paletteScroll"_s);
  scroll->setFocusPolicy(Qt::NoFocus);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(0, 4, 0, 0);
  layout->setContentsMargins(kMargins);
  auto* top = new QVBoxLayout;
  constexpr QMargins kTop(12, 0, 12, 0);
  top->setContentsMargins(kTop);
  top->addWidget(m_search);
  layout->addLayout(top);
  layout->addWidget(scroll, 1);

  connect(m_search, &QLineEdit::textChanged, this, &PalettePanel::fill);
  connect(m_search, &QLineEdit::returnPressed, this, [this] {
    for (const Section& section : m_sections) {
      if (section.list->count() > 0) {
        if (const PaletteEntry* entry = find(CardList::idOf(*section.list->item(0)))) {
          const bool isDevice = entry->kind == PaletteEntry::Kind::device;
          Q_EMIT entered(*entry, isDevice ? typedCount(m_search->text()).first : 1);
        }
        return;
      }
    }
  });
  connect(m_save, &QPushButton::clicked, this, &PalettePanel::saveSelectionWanted);
  connect(&m_store, &TemplateStore::changed, this, &PalettePanel::fill);
  fill();
}

void PalettePanel::addSection(const QString& group, CardLook look) {
  auto* heading = new QLabel(group, m_body);
  heading->setFont(sectionFont());
  heading->setProperty("role", u"section"_s);
  constexpr QMargins kMargins(6, 8, 0, 2);
  heading->setContentsMargins(kMargins);
  auto* list = new CardList(look, m_loader, group, m_body);
  list->setObjectName(u"palette-"_s + group);
  m_body->layout()->addWidget(heading);
  m_body->layout()->addWidget(list);
  connect(list, &CardList::chosen, this, [this](const QString& id) {
    if (const PaletteEntry* entry = find(id)) {
      Q_EMIT chosen(*entry);
    }
  });
  connect(list, &CardList::entered, this, [this](const QString& id) {
    if (const PaletteEntry* entry = find(id)) {
      Q_EMIT entered(*entry, 1);
    }
  });
  connect(list, &CardList::menuWanted, this, &PalettePanel::showMenu);
  m_sections.push_back({heading, list, group});
}

const PaletteEntry* PalettePanel::find(const QString& id) const {
  const PaletteEntry* own = m_store.find(id);
  return own != nullptr ? own : findEntry(id);
}

std::vector<const PaletteEntry*> PalettePanel::entriesOf(const QString& group) const {
  std::vector<const PaletteEntry*> result;
  for (const auto* list : {&deviceEntries(), &templateEntries(), &m_store.entries()}) {
    for (const PaletteEntry& entry : *list) {
      if (entry.group == group && scoreOf(entry) >= 0) {
        result.push_back(&entry);
      }
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [this](const PaletteEntry* a, const PaletteEntry* b) { return scoreOf(*a) > scoreOf(*b); });
  return result;
}

int PalettePanel::scoreOf(const PaletteEntry& entry) const {
  const QString typed = m_search->text();
  const int whole = entryScore(entry, typed);
  const auto [count, name] = typedCount(typed);
  return whole < 0 && count > 1 && entry.kind == PaletteEntry::Kind::device ? entryScore(entry, name) : whole;
}

void PalettePanel::fill() {
  bool hasAny = false;
  for (const Section& section : m_sections) {
    std::vector<CardList::Item> items;
    for (const PaletteEntry* entry : entriesOf(section.group)) {
      CardList::Item item{entry->id, entry->title, entry->detail, entry->tip, {}, {}, false};
      if (section.list->look() == CardLook::row) {
        // A file that is saved again gets another picture.
        item.key = entry->kind == PaletteEntry::Kind::own
                       ? entry->path + QString::number(QFileInfo(entry->path).lastModified().toMSecsSinceEpoch())
                       : u"row/"_s + entry->id;
        item.make = [copy = *entry] { return makePart(copy); };
      } else {
        item.tip = entry->title + u": "_s + entry->tip + u"\n"_s +
                   tr("Drag it onto the drawing, or click it and then the drawing. Enter places it in the middle.");
      }
      items.push_back(std::move(item));
    }
    section.list->setItems(items);
    section.list->setVisible(!items.empty());
    section.heading->setVisible(!items.empty());
    hasAny = hasAny || !items.empty();
  }
  m_nothing->setText(tr("No entry matches “%1”.").arg(m_search->text()));
  m_nothing->setVisible(!hasAny);
  m_save->setVisible(m_search->text().isEmpty());
}

void PalettePanel::showMenu(const QString& id, const QPoint& place) {
  const PaletteEntry* entry = find(id);
  if (entry == nullptr) {
    return;
  }
  QMenu menu(this);
  const PaletteEntry copy = *entry;
  connect(menu.addAction(tr("Place in the Middle")), &QAction::triggered, this,
          [this, copy] { Q_EMIT entered(copy, 1); });
  if (entry->kind == PaletteEntry::Kind::own) {
    menu.addSeparator();
    connect(menu.addAction(tr("Remove")), &QAction::triggered, this, [this, id] { m_store.remove(id); });
  }
  menu.exec(place);
}

void PalettePanel::focusSearch() {
  m_search->setFocus();
  m_search->selectAll();
}

bool PalettePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_search && event->type() == QEvent::KeyPress) {
    const int key = static_cast<const QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down) {
      for (const Section& section : m_sections) {
        if (section.list->count() > 0) {
          section.list->setFocus(Qt::TabFocusReason);
          section.list->setCurrentRow(0);
          return true;
        }
      }
    } else if (key == Qt::Key_Escape && !m_search->text().isEmpty()) {
      m_search->clear();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace coppice::designer
