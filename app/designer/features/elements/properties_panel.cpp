// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/elements/properties_panel.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/instances.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// The value that all share; nullopt where they differ. @pre ids is not empty
template <typename IdType, typename Get>
auto shared(const Model& model, const std::vector<IdType>& ids, const Get& get)
    -> std::optional<decltype(get(*model.find(ids.front())))> {
  const auto first = get(*model.find(ids.front()));
  for (const IdType id : ids) {
    if (get(*model.find(id)) != first) {
      return std::nullopt;
    }
  }
  return first;
}

QString numberText(double value) {
  // A thousandth of a unit cannot be seen; what is less comes from rounding.
  constexpr double kParts = 1000;
  const double rounded = std::round(value * kParts) / kParts;
  return QString::number(rounded == 0 ? 0.0 : rounded, 'g', 10);
}

/// As the field's unit has it: "50" for "400Gb/s".
QString inGigabytes(const std::string& bandwidth) {
  const QString typed = QString::fromStdString(bandwidth);
  const bool hasUnit = std::any_of(typed.begin(), typed.end(), [](QChar each) { return each.isLetter(); });
  const auto parsed = Bandwidth::parse(bandwidth);
  return hasUnit && parsed ? QString::fromStdString(toExactText(*parsed)) : typed;
}

QString checkNumber(const QString& text) {
  bool isNumber = false;
  text.toDouble(&isNumber);
  return isNumber ? QString() : PropertiesPanel::tr("Write a number");
}

}  // namespace

PropertiesPanel::PropertiesPanel(QWidget* parent) : QScrollArea(parent) {
  setObjectName(u"propertiesPanel"_s);
  setAccessibleName(tr("Properties"));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  rebuild();
}

void PropertiesPanel::setContext(EditorContext* editor) {
  if (m_editor == editor) {
    return;
  }
  m_editor = editor;
  m_followed.clear();
  if (m_editor) {
    m_followed.connect(&m_editor->selection(), &Selection::changed, [this] { rebuildLater(); });
    m_followed.connect(&m_editor->document(), &Document::changed, [this] { rebuildLater(); });
  }
  rebuild();
}

void PropertiesPanel::rebuildLater() {
  // An entry that is being taken still runs inside its field.
  if (!std::exchange(m_isRebuildPlanned, true)) {
    QTimer::singleShot(0, this, &PropertiesPanel::rebuild);
  }
}

void PropertiesPanel::rebuild() {
  m_isRebuildPlanned = false;
  // Keep the keyboard where it was.
  const QWidget* focused = m_body != nullptr ? m_body->focusWidget() : nullptr;
  const QString focusName = focused != nullptr && focused->hasFocus() ? focused->objectName() : QString();
  m_body = new QWidget;
  m_form = new QFormLayout(m_body);
  // In line with the title and with the card above.
  constexpr QMargins kMargins(14, 6, 14, 8);
  m_form->setContentsMargins(kMargins);
  m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  m_form->setRowWrapPolicy(QFormLayout::DontWrapRows);
  if (m_editor) {
    const Selection& selection = m_editor->selection();
    const auto nodes = selection.nodes();
    const auto links = selection.links();
    const auto boxes = selection.boxes();
    const auto notes = selection.notes();
    if (!nodes.empty()) {
      addNodes(nodes);
    }
    if (!links.empty()) {
      addLinks(links);
    }
    if (!boxes.empty()) {
      addBoxes(boxes);
    }
    if (!notes.empty()) {
      addNotes(notes);
    }
    if (selection.isEmpty()) {
      addFabric();
      auto* hint = new QLabel(tr("Select a node, a link or a box to see and change its properties."), m_body);
      hint->setObjectName(u"propertiesHint"_s);
      hint->setWordWrap(true);
      hint->setProperty("role", u"muted"_s);
      m_form->addRow(hint);
    }
  } else {
    addHeading(tr("No document"), tr("Open or create a fabric to see its properties"));
  }
  setWidget(m_body);
  if (!focusName.isEmpty()) {
    if (auto* again = m_body->findChild<QWidget*>(focusName)) {
      again->setFocus();
    }
  }
}

void PropertiesPanel::addHeading(const QString& text, const QString& detail) {
  auto* heading = new QLabel(text, m_body);
  QFont font = heading->font();
  font.setBold(true);
  heading->setFont(font);
  m_form->addRow(heading);
  if (!detail.isEmpty()) {
    auto* more = new QLabel(detail, m_body);
    more->setWordWrap(true);
    more->setForegroundRole(QPalette::PlaceholderText);
    m_form->addRow(more);
  }
}

void PropertiesPanel::addText(const char* name, const QString& label, const std::optional<QString>& value,
                              const QString& unit, const Check& check, std::function<void(const QString&)> apply) {
  auto* field = new QLineEdit(value.value_or(QString()), m_body);
  field->setObjectName(QLatin1String(name));
  field->setAccessibleName(label);
  if (!value) {
    field->setPlaceholderText(tr("mixed"));
  }
  auto* fault = new QLabel(m_body);
  fault->setObjectName(QLatin1String(name) + "Fault"_L1);
  fault->setWordWrap(true);
  fault->hide();
  auto* holder = new QWidget(m_body);
  auto* column = new QVBoxLayout(holder);
  column->setContentsMargins({});
  column->setSpacing(2);
  auto* row = new QHBoxLayout;
  row->addWidget(field, 1);
  if (!unit.isEmpty()) {
    auto* unitLabel = new QLabel(unit, holder);
    unitLabel->setForegroundRole(QPalette::PlaceholderText);
    row->addWidget(unitLabel);
  }
  column->addLayout(row);
  column->addWidget(fault);
  auto* labelWidget = new QLabel(label, m_body);
  labelWidget->setBuddy(field);
  m_form->addRow(labelWidget, holder);

  const auto showFault = [field, fault](const QString& why) {
    fault->setText(why);
    fault->setVisible(!why.isEmpty());
    field->setProperty("invalid", !why.isEmpty());
  };
  connect(field, &QLineEdit::textEdited, this, [check, showFault](const QString& text) { showFault(check(text)); });
  connect(field, &QLineEdit::editingFinished, this,
          [field, check, before = value.value_or(QString()), showFault, apply = std::move(apply)] {
            const QString text = field->text().trimmed();
            if (!field->isModified() || text == before) {
              return;
            }
            const QString why = check(text);
            showFault(why);
            if (why.isEmpty()) {
              field->setModified(false);
              apply(text);
            }
          });
}

void PropertiesPanel::addFlag(const char* name, const QString& label, const std::optional<bool>& value,
                              std::function<void(bool)> apply) {
  auto* flag = new QCheckBox(label, m_body);
  flag->setObjectName(QLatin1String(name));
  flag->setTristate(!value.has_value());
  flag->setCheckState(!value ? Qt::PartiallyChecked : (*value ? Qt::Checked : Qt::Unchecked));
  m_form->addRow(QString(), flag);
  connect(flag, &QCheckBox::clicked, this, [flag, apply = std::move(apply)] {
    flag->setTristate(false);
    apply(flag->checkState() != Qt::Unchecked);
  });
}

void PropertiesPanel::addFabric() {
  const Model& model = m_editor->model();
  Document& document = m_editor->document();
  addHeading(tr("Fabric"), counted(static_cast<qsizetype>(model.nodes().size()), tr("node"), tr("nodes")) + u", "_s +
                               counted(static_cast<qsizetype>(model.links().size()), tr("link"), tr("links")));
  addText(
      "fabricName", tr("Name"), QString::fromStdString(model.header().name), {},
      [](const QString&) { return QString(); },
      [&document, this](const QString& text) {
        document.edit(tr("Rename fabric"), [&](Edit& edit) {
          Header header = edit.header();
          header.name = text.toStdString();
          edit.setHeader(std::move(header));
        });
      });
  // Without a name of its own it goes by that of its file.
  m_body->findChild<QLineEdit*>(u"fabricName"_s)->setPlaceholderText(m_editor->file().displayName());
}

void PropertiesPanel::addNodes(const std::vector<NodeId>& nodes) {
  const Model& model = m_editor->model();
  Document& document = m_editor->document();
  const int count = static_cast<int>(nodes.size());
  const auto change = [this, &document, nodes](const QString& what, const std::function<void(Node&)>& apply) {
    document.edit(what, [&](Edit& edit) { edits::changeNodes(edit, nodes, apply); });
  };
  addHeading(nodes.size() == 1 ? tr("Node") : counted(count, tr("node"), tr("nodes")), {});
  if (nodes.size() == 1) {
    const NodeId id = nodes.front();
    addText(
        "nodeName", tr("Name"), QString::fromStdString(model.find(id)->facts.name), {},
        [this, id](const QString& text) {
          const Outcome check = edits::checkName(m_editor->model(), id, text.trimmed().toStdString());
          return check ? QString() : QString::fromStdString(describe(check.error()));
        },
        [&document, id, this](const QString& text) {
          document.edit(tr("Rename"),
                        [&](Edit& edit) { static_cast<void>(edits::rename(edit, id, text.toStdString())); });
        });
  }
  const auto kind = shared(model, nodes, [](const Node& node) { return node.facts.kind; });
  auto* kinds = new QComboBox(m_body);
  kinds->setObjectName(u"nodeKind"_s);
  kinds->setAccessibleName(tr("Kind"));
  for (const auto value : {fabric::NodeKind::gpu, fabric::NodeKind::nic, fabric::NodeKind::switchNode}) {
    const std::string_view text = fabric::toString(value);
    kinds->addItem(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
  }
  kinds->setPlaceholderText(kind ? QString::fromStdString(*kind) : tr("mixed"));
  kinds->setCurrentIndex(kind ? kinds->findText(QString::fromStdString(*kind)) : -1);
  m_form->addRow(tr("Kind"), kinds);
  connect(kinds, &QComboBox::activated, this, [this, kinds, change] {
    const std::string text = kinds->currentText().toStdString();
    change(tr("Set kind"), [&](Node& node) { node.facts.kind = text; });
  });
  if (nodes.size() == 1) {
    const auto& rank = model.find(nodes.front())->facts.rank;
    addText(
        "nodeRank", tr("Rank"), rank ? QString::number(*rank) : QString(), {},
        [](const QString& text) {
          bool isNumber = false;
          const int number = text.toInt(&isNumber);
          return text.isEmpty() || (isNumber && number >= 0) ? QString() : tr("A whole number from 0, or empty");
        },
        [this, change](const QString& text) {
          change(tr("Set rank"),
                 [&](Node& node) { node.facts.rank = text.isEmpty() ? std::nullopt : std::optional(text.toInt()); });
        });
  }
  for (const bool isX : {true, false}) {
    const auto value =
        shared(model, nodes, [isX](const Node& n) { return isX ? n.drawing.position.x : n.drawing.position.y; });
    addText(isX ? "nodeX" : "nodeY", isX ? tr("x") : tr("y"), value ? std::optional(numberText(*value)) : std::nullopt,
            {}, checkNumber, [this, &document, nodes, isX](const QString& text) {
              document.edit(tr("Move"), [&](Edit& edit) {
                std::map<NodeId, Point> places;
                for (const NodeId id : nodes) {
                  Point to = edit.find(id)->drawing.position;
                  (isX ? to.x : to.y) = text.toDouble();
                  places[id] = to;
                }
                edits::place(edit, places, true);
              });
            });
  }
  addFlag("nodeMulticast", tr("Multicast capable"),
          shared(model, nodes, [](const Node& node) { return node.facts.multicast; }),
          [this, change](bool isOn) { change(tr("Set multicast"), [&](Node& node) { node.facts.multicast = isOn; }); });
  addFlag("nodeAggregation", tr("Aggregation capable"),
          shared(model, nodes, [](const Node& node) { return node.facts.aggregation; }), [this, change](bool isOn) {
            change(tr("Set aggregation"), [&](Node& node) { node.facts.aggregation = isOn; });
          });
  addFlag("nodePinned", tr("Pinned in layouts"),
          shared(model, nodes, [](const Node& node) { return node.drawing.isPinned; }), [this, change](bool isOn) {
            change(isOn ? tr("Pin") : tr("Unpin"), [&](Node& node) { node.drawing.isPinned = isOn; });
          });
}

void PropertiesPanel::addLinks(const std::vector<LinkId>& links) {
  const Model& model = m_editor->model();
  Document& document = m_editor->document();
  const int count = static_cast<int>(links.size());
  const auto change = [&document, links](const QString& what, const std::function<void(Link&)>& apply) {
    document.edit(what, [&](Edit& edit) { edits::changeLinks(edit, links, apply); });
  };
  addHeading(links.size() == 1 ? tr("Link") : counted(count, tr("link"), tr("links")),
             links.size() == 1 ? model.title(links.front()) : QString());
  const auto text = [](const std::optional<std::string>& value) {
    return value ? std::optional(QString::fromStdString(*value)) : std::nullopt;
  };
  const auto common = shared(model, links, [](const Link& link) { return link.bandwidth; });
  addText(
      "linkBandwidth", tr("Bandwidth"), common ? std::optional(inGigabytes(*common)) : std::nullopt,
      tr("GB/s per direction"),
      [](const QString& typed) {
        const auto bandwidth = Bandwidth::parse(typed.trimmed().toStdString());
        if (!bandwidth) {
          return QString::fromStdString(describe(bandwidth.error()));
        }
        return bandwidth->isPositive() ? QString() : tr("A bandwidth must be above 0");
      },
      [count, change](const QString& typed) {
        change(tr("Set bandwidth of %1").arg(counted(count, tr("link"), tr("links"))),
               [&](Link& link) { link.bandwidth = typed.toStdString(); });
      });
  const auto parallel = shared(model, links, [](const Link& link) { return link.count; });
  addText(
      "linkCount", tr("Parallel links"), parallel ? std::optional(QString::number(*parallel)) : std::nullopt, {},
      [](const QString& typed) {
        bool isNumber = false;
        const int number = typed.toInt(&isNumber);
        return isNumber && number >= 1 ? QString() : tr("A whole number from 1");
      },
      [change](const QString& typed) {
        change(tr("Set parallel links"), [&](Link& link) { link.count = typed.toInt(); });
      });
  addText(
      "linkLatency", tr("Latency"),
      text(shared(model, links, [](const Link& link) { return link.latency.value_or(std::string()); })), tr("µs"),
      [](const QString& typed) {
        const auto latency = Rational::parse(typed.trimmed().toStdString());
        return typed.trimmed().isEmpty() || (latency && !(*latency < Rational(0)))
                   ? QString()
                   : tr("A number of microseconds from 0, or empty");
      },
      [change](const QString& typed) {
        change(tr("Set latency"),
               [&](Link& link) { link.latency = typed.isEmpty() ? std::nullopt : std::optional(typed.toStdString()); });
      });
  addFlag("linkDuplex", tr("Both directions"), shared(model, links, [](const Link& link) { return link.duplex; }),
          [change](bool isOn) { change(tr("Set direction"), [&](Link& link) { link.duplex = isOn; }); });
}

void PropertiesPanel::addBoxes(const std::vector<BoxId>& boxes) {
  const Model& model = m_editor->model();
  Document& document = m_editor->document();
  addHeading(boxes.size() == 1 ? tr("Box") : counted(static_cast<qsizetype>(boxes.size()), tr("box"), tr("boxes")), {});
  if (boxes.size() == 1) {
    const BoxId id = boxes.front();
    addText(
        "boxName", tr("Name"), QString::fromStdString(model.find(id)->name), {},
        [this, id](const QString& text) {
          const Outcome check = edits::checkName(m_editor->model(), id, text.trimmed().toStdString());
          return check ? QString() : QString::fromStdString(describe(check.error()));
        },
        [&document, id](const QString& text) {
          document.edit(tr("Rename box"),
                        [&](Edit& edit) { static_cast<void>(edits::rename(edit, id, text.toStdString())); });
        });
    const std::string& type = model.find(id)->type;
    if (!type.empty()) {
      const Edit look(model);
      const int instances = static_cast<int>(instancesOf(look, type).size());
      m_form->addRow(tr("Type"), new QLabel(QString::fromStdString(type) + u" · "_s +
                                                counted(instances, tr("instance"), tr("instances")),
                                            m_body));
      auto* detachButton = new QPushButton(tr("Detach from the type"), m_body);
      detachButton->setObjectName(u"boxDetach"_s);
      m_form->addRow(QString(), detachButton);
      connect(detachButton, &QPushButton::clicked, this,
              [&document, id] { document.edit(tr("Detach"), [&](Edit& edit) { detach(edit, id); }); });
    }
  }
  addFlag("boxFolded", tr("Folded"), shared(model, boxes, [](const designer::Box& box) { return box.isFolded; }),
          [&document, boxes](bool isOn) {
            document.edit(isOn ? tr("Fold") : tr("Unfold"), [&](Edit& edit) { edits::fold(edit, boxes, isOn); });
          });
}

void PropertiesPanel::addNotes(const std::vector<NoteId>& notes) {
  const Model& model = m_editor->model();
  Document& document = m_editor->document();
  addHeading(counted(static_cast<qsizetype>(notes.size()), tr("note"), tr("notes")), {});
  const auto text = shared(model, notes, [](const Note& note) { return note.text; });
  addText(
      "noteText", tr("Text"), text ? std::optional(QString::fromStdString(*text)) : std::nullopt, {},
      [](const QString&) { return QString(); },
      [&document, notes](const QString& typed) {
        document.edit(tr("Edit note"), [&](Edit& edit) {
          edits::changeNotes(edit, notes, [&](Note& note) { note.text = typed.toStdString(); });
        });
      });
}

}  // namespace coppice::designer
