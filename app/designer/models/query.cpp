// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/query.hpp"

#include <QCoreApplication>
#include <QHash>
#include <QStringList>
#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using Term = Query::Term;
using Field = Query::Field;
using Comparison = Query::Comparison;

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Query)
};

const QHash<QString, Field>& fields() {
  static const QHash<QString, Field> kAll = {
      {u"name"_s, Field::name},     {u"kind"_s, Field::kind},      {u"box"_s, Field::box},
      {u"from"_s, Field::from},     {u"to"_s, Field::to},          {u"bandwidth"_s, Field::bandwidth},
      {u"degree"_s, Field::degree}, {u"links"_s, Field::degree},   {u"rank"_s, Field::rank},
      {u"count"_s, Field::count},   {u"parallel"_s, Field::count}, {u"latency"_s, Field::latency},
      {u"gpus"_s, Field::gpus}};
  return kAll;
}

bool isText(Field field) {
  return field == Field::name || field == Field::kind || field == Field::box || field == Field::from ||
         field == Field::to;
}

struct Token {
  enum class Kind { word, quoted, comparison, open, close, end };
  Kind kind = Kind::end;
  QString text;
  qsizetype at = 0;
};

Error fault(const QString& message, qsizetype at, const QString& fix) {
  return {ErrorCode::badInput, message.toStdString(), fix.toStdString(),
          Place{.line = 1, .column = static_cast<int>(at) + 1}};
}

Result<std::vector<Token>> tokensOf(const QString& text) {
  std::vector<Token> tokens;
  qsizetype at = 0;
  const auto isSign = [](QChar c) { return u"=<>!~"_s.contains(c); };
  while (at < text.size()) {
    const QChar c = text[at];
    const qsizetype begin = at;
    if (c.isSpace()) {
      ++at;
    } else if (c == u'(' || c == u')') {
      tokens.push_back({c == u'(' ? Token::Kind::open : Token::Kind::close, c, at++});
    } else if (c == u'"' || c == u'\'' || c == u'“') {
      const QChar closing = c == u'“' ? QChar(u'”') : c;
      const qsizetype end = text.indexOf(closing, at + 1);
      if (end < 0) {
        return fault(Texts::tr("the quotation mark is not closed"), at, Texts::tr("add a closing quotation mark"));
      }
      tokens.push_back({Token::Kind::quoted, text.mid(at + 1, end - at - 1), begin});
      at = end + 1;
    } else if (isSign(c)) {
      while (at < text.size() && isSign(text[at])) {
        ++at;
      }
      QString sign = text.mid(begin, at - begin);
      if (sign == u"=="_s) {
        sign = u"="_s;
      }
      if (!QStringList{u"="_s, u"!="_s, u"<"_s, u"<="_s, u">"_s, u">="_s, u"~"_s}.contains(sign)) {
        return fault(Texts::tr("“%1” is not a comparison").arg(sign), begin,
                     Texts::tr("write =, !=, <, <=, >, >= or ~"));
      }
      tokens.push_back({Token::Kind::comparison, sign, begin});
    } else {
      while (at < text.size() && !text[at].isSpace() && !isSign(text[at]) && text[at] != u'(' && text[at] != u')' &&
             text[at] != u'"') {
        ++at;
      }
      tokens.push_back({Token::Kind::word, text.mid(begin, at - begin), begin});
    }
  }
  tokens.push_back({Token::Kind::end, {}, text.size()});
  return tokens;
}

/// Recursive descent; depth is bounded so that a long row of brackets cannot exhaust the stack.
class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

  Result<Term> parse() {
    auto term = any(0);
    if (term && now().kind != Token::Kind::end) {
      return fault(Texts::tr("“%1” has no opening bracket").arg(now().text), now().at, Texts::tr("remove it"));
    }
    return term;
  }

private:
  static constexpr int kMaxDepth = 100;

  [[nodiscard]] const Token& now() const { return m_tokens[m_at]; }
  [[nodiscard]] const Token& next() const { return m_tokens[std::min(m_at + 1, m_tokens.size() - 1)]; }
  [[nodiscard]] bool isWord(const char* word) const {
    return now().kind == Token::Kind::word && now().text.compare(QLatin1String(word), Qt::CaseInsensitive) == 0 &&
           next().kind != Token::Kind::comparison;
  }

  Result<Term> any(int depth) {
    Term term{.kind = Term::Kind::any};
    for (;;) {
      auto part = all(depth);
      if (!part) {
        return part;
      }
      term.parts.push_back(std::move(*part));
      if (!isWord("or")) {
        break;
      }
      ++m_at;
    }
    return term.parts.size() == 1 ? std::move(term.parts.front()) : term;
  }

  Result<Term> all(int depth) {
    Term term{.kind = Term::Kind::all};
    for (;;) {
      auto part = one(depth);
      if (!part) {
        return part;
      }
      term.parts.push_back(std::move(*part));
      if (isWord("and")) {
        ++m_at;
        continue;
      }
      if (now().kind == Token::Kind::end || now().kind == Token::Kind::close || isWord("or")) {
        break;
      }
    }
    return term.parts.size() == 1 ? std::move(term.parts.front()) : term;
  }

  Result<Term> one(int depth) {
    if (depth > kMaxDepth) {
      return fault(Texts::tr("too many nested brackets"), now().at, Texts::tr("simplify the query"));
    }
    const Token token = now();
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::close) {
      return fault(Texts::tr("a name or a comparison is missing"), token.at, Texts::tr("write a name or a comparison"));
    }
    if (token.kind == Token::Kind::open) {
      ++m_at;
      auto inner = any(depth + 1);
      if (inner && now().kind != Token::Kind::close) {
        return fault(Texts::tr("the bracket is not closed"), token.at, Texts::tr("add )"));
      }
      ++m_at;
      return inner;
    }
    if (isWord("not")) {
      ++m_at;
      auto part = one(depth + 1);
      if (!part) {
        return part;
      }
      Term term{.kind = Term::Kind::negation};
      term.parts.push_back(std::move(*part));
      return term;
    }
    if (isWord("selected")) {
      ++m_at;
      return Term{.kind = Term::Kind::selected};
    }
    if (isWord("in") && next().kind == Token::Kind::word) {
      const QString what = next().text.toLower();
      if (what == u"cut"_s || what == u"selection"_s) {
        m_at += 2;
        return Term{.kind = what == u"cut"_s ? Term::Kind::inCut : Term::Kind::selected};
      }
    }
    if (token.kind == Token::Kind::comparison) {
      return fault(Texts::tr("“%1” has nothing to compare before it").arg(token.text), token.at,
                   Texts::tr("write a field first: %1").arg(fieldList()));
    }
    if (next().kind == Token::Kind::comparison) {
      return comparison();
    }
    ++m_at;
    Term term{.kind = Term::Kind::comparison};
    term.comparison = Comparison::like;
    term.pattern =
        QRegularExpression(QRegularExpression::escape(token.text), QRegularExpression::CaseInsensitiveOption);
    return term;
  }

  static QString fieldList() { return u"name, kind, box, from, to, bandwidth, degree, rank, count, latency, gpus"_s; }

  Result<Term> comparison() {
    const Token name = now();
    const Token sign = next();
    m_at += 2;
    const auto field = fields().find(name.text.toLower());
    if (field == fields().end()) {
      return fault(Texts::tr("“%1” is not a field").arg(name.text), name.at,
                   Texts::tr("fields are %1").arg(fieldList()));
    }
    const Token value = now();
    if (value.kind != Token::Kind::word && value.kind != Token::Kind::quoted) {
      return fault(Texts::tr("a value is missing after “%1”").arg(sign.text), value.at,
                   Texts::tr("write a value to compare with"));
    }
    ++m_at;
    Term term{.kind = Term::Kind::comparison};
    term.field = *field;
    static const QHash<QString, Comparison> kSigns = {
        {u"="_s, Comparison::equal},      {u"!="_s, Comparison::unequal}, {u"<"_s, Comparison::less},
        {u"<="_s, Comparison::lessEqual}, {u">"_s, Comparison::greater},  {u">="_s, Comparison::greaterEqual},
        {u"~"_s, Comparison::like}};
    term.comparison = kSigns[sign.text];
    if (isText(term.field) || term.comparison == Comparison::like) {
      return textComparison(std::move(term), value);
    }
    return numberComparison(std::move(term), value);
  }

  static Result<Term> textComparison(Term term, const Token& value) {
    if (!isText(term.field)) {
      return fault(Texts::tr("~ compares only text"), value.at, Texts::tr("write =, <, or > for a number"));
    }
    if (term.comparison != Comparison::like && term.comparison != Comparison::equal &&
        term.comparison != Comparison::unequal) {
      return fault(Texts::tr("text has no order"), value.at, Texts::tr("write =, != or ~"));
    }
    QString pattern = value.text;
    if (term.comparison != Comparison::like) {
      // A path "outer/inner" is a text like any other: * runs over its slashes.
      QString whole;
      for (const QChar c : value.text) {
        whole += c == u'*' ? u".*"_s : (c == u'?' ? u"."_s : QRegularExpression::escape(c));
      }
      pattern = QRegularExpression::anchoredPattern(whole);
    }
    term.pattern = QRegularExpression(pattern, QRegularExpression::CaseInsensitiveOption);
    if (!term.pattern.isValid()) {
      return fault(Texts::tr("“%1” is not a regular expression: %2").arg(value.text, term.pattern.errorString()),
                   value.at, Texts::tr("correct it, or write = to compare the text literally"));
    }
    return term;
  }

  Result<Term> numberComparison(Term term, const Token& value) {
    QString text = value.text;
    if (term.field == Field::bandwidth) {
      // "12 GB/s", "12 x 25": words that belong to the number.
      while (now().kind == Token::Kind::word && !isWord("and") && !isWord("or") &&
             next().kind != Token::Kind::comparison && Bandwidth::parse((text + u' ' + now().text).toStdString())) {
        text += u' ' + now().text;
        ++m_at;
      }
      const auto bandwidth = Bandwidth::parse(text.toStdString());
      if (!bandwidth) {
        return fault(Texts::tr("“%1” is not a bandwidth").arg(text), value.at, Texts::tr("write 50, 12.5 or 400Gb/s"));
      }
      term.number = bandwidth->gigabytesPerSecond();
      return term;
    }
    const auto number = Rational::parse(text.toStdString());
    if (!number) {
      return fault(Texts::tr("“%1” is not a number").arg(text), value.at, Texts::tr("write a number"));
    }
    term.number = *number;
    return term;
  }

  std::vector<Token> m_tokens;
  std::size_t m_at = 0;
};

QString toText(const std::string& text) {
  return QString::fromStdString(text);
}

QString kindOf(const Model& model, const ElementId& id) {
  switch (id.kind) {
    case ElementKind::node:
      return toText(model.find(id.node())->facts.kind);
    case ElementKind::link:
      return u"link"_s;
    case ElementKind::box:
      return u"box"_s;
    case ElementKind::note:
      return u"note"_s;
  }
  return {};
}

/// Names of the boxes around the element, and their paths; of a link: those around both ends.
QStringList boxesAround(const Model& model, const ElementId& id) {
  const auto around = [&](BoxId box) {
    QStringList names;
    for (; box.isValid(); box = model.find(box)->parent) {
      names << toText(model.find(box)->name) << toText(model.boxPath(box));
    }
    return names;
  };
  if (const Node* node = model.find(id.node())) {
    return around(node->facts.box);
  }
  if (id.box().isValid()) {
    return around(id.box());
  }
  if (const Link* link = model.find(id.link())) {
    const Node* tail = model.find(link->tail.node);
    const Node* head = model.find(link->head.node);
    if (tail == nullptr || head == nullptr) {
      return {};
    }
    const QStringList first = around(tail->facts.box);
    const QStringList second = around(head->facts.box);
    QStringList both;
    for (const QString& name : first) {
      if (second.contains(name)) {
        both << name;
      }
    }
    return both;
  }
  return {};
}

QStringList textsOf(const Model& model, const ElementId& id, Field field) {
  switch (field) {
    case Field::name:
      if (const Node* node = model.find(id.node())) {
        return {toText(node->facts.name)};
      }
      if (const Box* box = model.find(id.box())) {
        return {toText(box->name), toText(model.boxPath(id.box()))};
      }
      if (const Note* note = model.find(id.note())) {
        return {toText(note->text)};
      }
      return {};
    case Field::kind:
      return {kindOf(model, id)};
    case Field::box:
      return boxesAround(model, id);
    case Field::from:
    case Field::to:
      if (const Link* link = model.find(id.link())) {
        return {toText(model.nameOf(field == Field::from ? link->tail : link->head))};
      }
      return {};
    default:
      return {};
  }
}

std::optional<Rational> numberOf(const Model& model, const ElementId& id, Field field) {
  const Node* node = model.find(id.node());
  const Link* link = model.find(id.link());
  switch (field) {
    case Field::bandwidth:
      if (link != nullptr) {
        const auto bandwidth = Bandwidth::parse(link->bandwidth);
        return bandwidth ? std::optional(bandwidth->gigabytesPerSecond()) : std::nullopt;
      }
      return std::nullopt;
    case Field::degree:
      return node != nullptr ? std::optional(Rational(static_cast<std::int64_t>(model.linksOf(id.node()).size())))
                             : std::nullopt;
    case Field::rank:
      return node != nullptr && node->facts.rank ? std::optional(Rational(*node->facts.rank)) : std::nullopt;
    case Field::count:
      return link != nullptr ? std::optional(Rational(link->count)) : std::nullopt;
    case Field::latency:
      if (link != nullptr && link->latency) {
        const auto latency = Rational::parse(*link->latency);
        return latency ? std::optional(*latency) : std::nullopt;
      }
      return std::nullopt;
    case Field::gpus:
      if (model.find(id.box()) != nullptr) {
        std::int64_t gpus = 0;
        for (const NodeId inner : model.allNodesIn(id.box())) {
          gpus += model.find(inner)->kind() == fabric::NodeKind::gpu ? 1 : 0;
        }
        return Rational(gpus);
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool compares(const QueryContext& context, const ElementId& id, const Term& term) {
  const Model& model = context.model;
  if (term.number) {
    const std::optional<Rational> value = numberOf(model, id, term.field);
    if (!value) {
      return false;
    }
    switch (term.comparison) {
      case Comparison::equal:
        return *value == *term.number;
      case Comparison::unequal:
        return *value != *term.number;
      case Comparison::less:
        return *value < *term.number;
      case Comparison::lessEqual:
        return *value <= *term.number;
      case Comparison::greater:
        return *term.number < *value;
      case Comparison::greaterEqual:
        return *term.number <= *value;
      case Comparison::like:
        return false;
    }
  }
  QStringList texts = textsOf(model, id, term.field);
  if (context.wordsFindLinks && term.field == Field::name && id.kind == ElementKind::link) {
    texts = textsOf(model, id, Field::from) + textsOf(model, id, Field::to);
  }
  const bool fits =
      std::any_of(texts.begin(), texts.end(), [&](const QString& text) { return term.pattern.match(text).hasMatch(); });
  return term.comparison == Comparison::unequal ? !texts.isEmpty() && !fits : fits;
}

bool holds(const QueryContext& context, const ElementId& id, const Term& term) {
  const auto each = [&](const Term& part) { return holds(context, id, part); };
  switch (term.kind) {
    case Term::Kind::all:
      return std::all_of(term.parts.begin(), term.parts.end(), each);
    case Term::Kind::any:
      return std::any_of(term.parts.begin(), term.parts.end(), each);
    case Term::Kind::negation:
      return !each(term.parts.front());
    case Term::Kind::comparison:
      return compares(context, id, term);
    case Term::Kind::inCut:
      return (context.cutNodes && context.cutNodes->contains(id.node())) ||
             (context.cutLinks && context.cutLinks->contains(id.link()));
    case Term::Kind::selected:
      return context.selection != nullptr && context.selection->contains(id);
  }
  return false;
}

}  // namespace

Result<Query> Query::parse(const QString& text) {
  constexpr qsizetype kMax = 4000;
  if (text.size() > kMax) {
    return fault(Texts::tr("the query is too long"), kMax, Texts::tr("simplify it"));
  }
  auto tokens = tokensOf(text);
  if (!tokens) {
    return tokens.error();
  }
  Query query;
  if (tokens->size() > 1) {
    auto term = Parser(std::move(*tokens)).parse();
    if (!term) {
      return term.error();
    }
    query.m_root = std::make_shared<const Term>(std::move(*term));
  }
  return query;
}

bool Query::matches(const QueryContext& context, const ElementId& id) const {
  try {
    return context.model.contains(id) && (m_root == nullptr || holds(context, id, *m_root));
  } catch (const OverflowError&) {
    return false;  // a number that cannot be compared is not a hit
  }
}

std::vector<ElementId> Query::hits(const QueryContext& context) const {
  std::vector<ElementId> found;
  const auto collect = [&](const auto& table) {
    for (const auto& [id, element] : table) {
      if (matches(context, id)) {
        found.emplace_back(id);
      }
    }
  };
  collect(context.model.nodes());
  collect(context.model.boxes());
  collect(context.model.links());
  collect(context.model.notes());
  return found;
}

}  // namespace coppice::designer
