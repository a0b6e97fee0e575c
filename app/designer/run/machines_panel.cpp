// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/machines_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/document/error_text.hpp"
#include "designer/run/panel_parts.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMachineRole = Qt::UserRole;

QString row(const QString& name, const QString& value) {
  return value.isEmpty() ? QString()
                         : u"<tr><td style='padding-right:10px'>%1</td><td>%2</td></tr>"_s.arg(name.toHtmlEscaped(),
                                                                                               value.toHtmlEscaped());
}

}  // namespace

QString stateText(const Connection* connection) {
  if (connection == nullptr) {
    return {};
  }
  switch (connection->state()) {
    case Connection::State::idle:
      return {};
    case Connection::State::connecting:
      return MachinesPanel::tr("connecting…");
    case Connection::State::needsConsent:
      return MachinesPanel::tr("host key?");
    case Connection::State::ready:
      return MachinesPanel::tr("ready");
    case Connection::State::failed:
      return MachinesPanel::tr("failed");
    case Connection::State::lost:
      return MachinesPanel::tr("lost");
  }
  return {};
}

MachinesPanel::MachinesPanel(MachineBook& book, QWidget* parent)
    : QWidget(parent),
      m_book(book),
      m_list(new QTreeWidget(this)),
      m_host(new QLineEdit(this)),
      m_connect(new QPushButton(tr("Connect"), this)),
      m_detect(plainButton(u"machineDetect"_s, tr("Detect"), tr("Read the fabric of this machine into a new document"),
                           this)),
      m_compare(plainButton(u"machineCompare"_s, tr("Compare"),
                            tr("Read the fabric of this machine and list how the drawing differs from it"), this)),
      m_remove(plainButton(u"machineRemove"_s, tr("Remove"), tr("Remove the host from this list"), this)),
      m_card(new QLabel(this)) {
  setUpPanel(this, u"machines"_s, tr("Machines"));
  setUpWidgets();
  layOut();
  connect(m_list, &QTreeWidget::currentItemChanged, this, [this] {
    refresh();
    Q_EMIT currentChanged(current());
  });
  connect(m_list, &QTreeWidget::itemSelectionChanged, this, [this] {
    refresh();
    Q_EMIT chosenChanged();
  });
  connect(m_list, &QTreeWidget::itemActivated, m_connect, &QPushButton::click);
  connect(m_host, &QLineEdit::returnPressed, this, &MachinesPanel::addHost);
  connect(m_host, &QLineEdit::textEdited, this, [this] { showFault({}); });
  connect(m_connect, &QPushButton::clicked, this, &MachinesPanel::toggleConnections);
  connect(m_detect, &QToolButton::clicked, this, [this] { Q_EMIT detectWanted(current()); });
  connect(m_compare, &QToolButton::clicked, this, [this] { Q_EMIT compareWanted(current()); });
  connect(m_remove, &QToolButton::clicked, this, [this] { m_book.remove(current()); });
  connect(&m_book, &MachineBook::listChanged, this, &MachinesPanel::fill);
  connect(&m_book, &MachineBook::connectionChanged, this, &MachinesPanel::refresh);
  connect(&Theme::instance(), &Theme::changed, this, &MachinesPanel::refresh);
  fill();
}

void MachinesPanel::setUpWidgets() {
  m_list->setObjectName(u"machineList"_s);
  m_list->setAccessibleName(tr("Machines"));
  m_list->setColumnCount(2);
  m_list->setHeaderHidden(true);
  m_list->setRootIsDecorated(false);
  m_list->setUniformRowHeights(true);
  m_list->setAllColumnsShowFocus(true);
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m_list->header()->setStretchLastSection(false);
  m_list->header()->setMinimumSectionSize(1);
  m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  m_list->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  m_host->setObjectName(u"machineHost"_s);
  m_host->setPlaceholderText(tr("Add user@host:port"));
  m_host->setAccessibleName(tr("Add a host"));
  m_host->setClearButtonEnabled(true);
  m_connect->setObjectName(u"machineConnect"_s);
  m_connect->setProperty("role", u"primary"_s);
  m_card->setObjectName(u"machineCard"_s);
  m_card->setTextFormat(Qt::RichText);
  m_card->setWordWrap(true);
  m_card->setTextInteractionFlags(Qt::TextSelectableByMouse);
}

void MachinesPanel::layOut() {
  constexpr int kMargin = 10;
  m_card->setContentsMargins(kMargin, 0, kMargin, kMargin);
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(kMargin, 0, kMargin, 0);
  buttons->addWidget(m_connect, 1);
  // A third button in the row below would ask for a wider panel than other modes have.
  buttons->addWidget(m_remove);
  auto* more = new QHBoxLayout;
  more->setContentsMargins(kMargin, 0, kMargin, 0);
  for (QToolButton* button : {m_detect, m_compare}) {
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    more->addWidget(button, 1);
  }
  auto* host = new QHBoxLayout;
  host->setContentsMargins(kMargin, kMargin, kMargin, 0);
  host->addWidget(m_host);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addLayout(host);
  m_card->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  m_card->setProperty("role", u"panel"_s);
  auto* card = scrolled(m_card, this);
  card->setFocusPolicy(Qt::NoFocus);
  layout->addWidget(m_list, 1);
  layout->addLayout(buttons);
  layout->addLayout(more);
  layout->addWidget(card, 2);
}

void MachinesPanel::toggleConnections() {
  const QStringList ids = chosen();
  const auto isOpen = [this](const QString& id) {
    const Connection* connection = m_book.connection(id);
    return connection == nullptr || connection->state() == Connection::State::ready ||
           connection->state() == Connection::State::connecting;
  };
  const bool closes = std::all_of(ids.begin(), ids.end(), isOpen);
  for (const QString& id : ids) {
    if (Connection* connection = m_book.connection(id)) {
      if (closes) {
        connection->close();
      } else if (!isOpen(id)) {
        connection->open();
      }
    }
  }
}

QString MachinesPanel::current() const {
  const QTreeWidgetItem* item = m_list->currentItem();
  return item != nullptr ? item->data(0, kMachineRole).toString() : u"local"_s;
}

QStringList MachinesPanel::chosen() const {
  QStringList ids;
  for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
    if (m_list->topLevelItem(i)->isSelected()) {
      ids << m_list->topLevelItem(i)->data(0, kMachineRole).toString();
    }
  }
  return ids.isEmpty() ? QStringList{current()} : ids;
}

void MachinesPanel::setCurrent(const QString& id) {
  for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
    if (m_list->topLevelItem(i)->data(0, kMachineRole).toString() == id) {
      m_list->setCurrentItem(m_list->topLevelItem(i));
    }
  }
}

void MachinesPanel::addHost() {
  const auto added = m_book.add(m_host->text());
  if (!added) {
    Q_EMIT refused(QString::fromStdString(describe(added.error())));
    showFault(QString::fromStdString(describe(added.error())));
  } else {
    m_host->clear();
    showFault({});
    setCurrent(*added);
  }
}

void MachinesPanel::showFault(const QString& fault) {
  m_host->setProperty("invalid", !fault.isEmpty());
  m_host->setToolTip(fault);
  m_host->setStyle(m_host->style());
}

void MachinesPanel::fill() {
  const QString chosen = current();
  {
    const QSignalBlocker quiet(m_list);
    m_list->clear();
    for (const Machine& machine : m_book.machines()) {
      auto* item = new QTreeWidgetItem(m_list, {machine.title(), {}});
      item->setData(0, kMachineRole, machine.id());
      item->setToolTip(0, machine.title() + u", "_s + machine.origin());
      item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    }
    setCurrent(chosen);
    if (m_list->currentItem() == nullptr) {
      m_list->setCurrentItem(m_list->topLevelItem(0));
    }
  }
  refresh();
  Q_EMIT currentChanged(current());
}

void MachinesPanel::refresh() {
  const Theme& theme = Theme::instance();
  for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = m_list->topLevelItem(i);
    const Connection* connection = m_book.connection(item->data(0, kMachineRole).toString());
    item->setText(1, stateText(connection));
    const Connection::State state = connection != nullptr ? connection->state() : Connection::State::idle;
    const bool isBad = state == Connection::State::failed || state == Connection::State::lost ||
                       state == Connection::State::needsConsent;
    item->setForeground(
        1, theme.color(isBad ? Token::error : (state == Connection::State::ready ? Token::accent : Token::muted)));
  }
  const Machine* machine = m_book.find(current());
  const Connection* connection = m_book.connection(current());
  if (machine == nullptr || connection == nullptr) {
    return;
  }
  const QStringList ids = chosen();
  const bool isSingle = ids.size() == 1;
  const auto count = [&](Connection::State state) {
    return std::count_if(ids.begin(), ids.end(), [&](const QString& id) {
      const Connection* each = m_book.connection(id);
      return each != nullptr && each->state() == state;
    });
  };
  const bool isReady = count(Connection::State::ready) == ids.size();
  const bool isBusy = !isReady && count(Connection::State::connecting) + count(Connection::State::ready) == ids.size();
  const QString what = isReady ? tr("Disconnect") : (isBusy ? tr("Stop") : tr("Connect"));
  m_connect->setText(ids.size() > 1 ? tr("%1 %2 Machines").arg(what).arg(ids.size()) : what);
  m_connect->setToolTip(tr("The Connection dock shows each step"));
  // The first thing to do, until it is done.
  m_connect->setProperty("role", isReady || isBusy ? QVariant() : QVariant(u"primary"_s));
  m_connect->setStyle(m_connect->style());
  QStringList lacks;
  if (isSingle && connection->facts().environment) {
    for (const program::BackendNote& note : connection->facts().environment->backends) {
      if (!note.available) {
        lacks << QString::fromStdString(note.name) + u": "_s +
                     sentence({ErrorCode::unavailable, note.reason, note.fix});
      }
    }
  }
  m_card->setToolTip(lacks.join(u'\n'));
  m_detect->setEnabled(isReady && isSingle);
  m_compare->setEnabled(isReady && isSingle);
  m_remove->setVisible(isSingle && machine->kind == Machine::Kind::added);
  m_card->setText(isSingle ? cardOf(*connection) : cardOfSeveral(ids));
}

QString MachinesPanel::cardOfSeveral(const QStringList& ids) const {
  QString card;
  for (const QString& id : ids) {
    const Machine* machine = m_book.find(id);
    const Connection* connection = m_book.connection(id);
    if (machine == nullptr || connection == nullptr) {
      continue;
    }
    const MachineFacts& facts = connection->facts();
    const bool isReady = connection->state() == Connection::State::ready;
    const QString mpi = QString::fromStdString(facts.mpi);
    QStringList words;
    if (isReady) {
      words << tr("%n cores", nullptr, facts.cores) << (mpi.isEmpty() ? tr("no MPI") : mpi);
    } else {
      const QString state = stateText(connection);
      words << (state.isEmpty() ? tr("not connected") : state);
    }
    card += row(machine->title(), words.join(u", "_s));
  }
  return u"<p style='color:%1'>%2</p><table cellspacing='0' cellpadding='1'>%3</table>"_s.arg(
      Theme::instance().color(Token::muted).name(),
      tr("One run over these machines: it starts on the first, which reaches the others by ssh.").toHtmlEscaped(),
      card);
}

QString MachinesPanel::cardOf(const Connection& shown) const {
  const Theme& theme = Theme::instance();
  const Connection* connection = &shown;
  const bool isReady = connection->state() == Connection::State::ready;
  const MachineFacts& facts = connection->facts();
  QString fault;
  if (!isReady && !connection->message().isEmpty()) {
    fault = u"<p>%1</p>"_s.arg(connection->message().toHtmlEscaped());
    for (const ConnectStep& step : connection->steps()) {
      if (!step.fix.isEmpty()) {
        fault += u"<p style='color:%1'>%2</p>"_s.arg(theme.color(Token::muted).name(), adviceOf(step).toHtmlEscaped());
      }
    }
  }
  QString card;
  if (isReady || !facts.system.isEmpty()) {
    card += row(tr("Host"), facts.host);
    card += row(tr("System"), u"%1 %2"_s.arg(facts.system, facts.architecture));
    if (facts.environment) {
      card += row(tr("Processor"), QString::fromStdString(facts.environment->processor));
    }
    card += row(tr("Cores"), facts.cores > 0 ? QString::number(facts.cores) : QString());
    if (facts.environment && facts.environment->memoryBytes > 0) {
      constexpr double kGiga = 1e9;
      card += row(tr("Memory"),
                  QLocale().toString(static_cast<double>(facts.environment->memoryBytes) / kGiga, 'f', 1) + u" GB"_s);
    }
    if (facts.environment) {
      for (const auto& [key, value] : facts.environment->facts) {
        QString name = QString::fromStdString(key);
        name.replace(0, 1, name.left(1).toUpper());
        card += row(name, QString::fromStdString(value).left(60));
      }
      QStringList missing;
      for (const program::BackendNote& note : facts.environment->backends) {
        const QString reason = QString::fromStdString(note.reason);
        if (note.available) {
          const QString name = QString::fromStdString(note.name);
          card += row(tr("Backend"), reason.isEmpty() ? name : name + u": "_s + reason);
        } else {
          missing << QString::fromStdString(note.name);
        }
      }
      card += row(tr("Not available"), missing.join(u", "_s));
    }
    QStringList partitions;
    for (const remote::SlurmPartition& partition : facts.partitions) {
      partitions << tr("%1 (%2 nodes)").arg(QString::fromStdString(partition.name)).arg(partition.nodes);
    }
    card += row(tr("Slurm"), partitions.join(u", "_s));
    card = u"<table cellspacing='0' cellpadding='1'>"_s + card + u"</table>"_s;
  } else if (fault.isEmpty()) {
    card = u"<span style='color:%1'>%2</span>"_s.arg(
        theme.color(Token::muted).name(),
        tr("Connect to see what is in this machine and to run a schedule on it. Ctrl+click adds machines for one run "
           "over several.")
            .toHtmlEscaped());
  }
  return fault + card;
}

}  // namespace coppice::designer
