// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/edit/link_patterns.hpp"

#include <QCoreApplication>
#include <QHash>
#include <QRegularExpression>
#include <set>

#include "designer/document/edits.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(LinkPatterns)
};

Error fault(const QString& message, const QString& fix) {
  return {ErrorCode::badInput, message.toStdString(), fix.toStdString()};
}

/// $1 … $9 replaced by what was caught.
QString expanded(const QString& text, const QRegularExpressionMatch& match) {
  QString result;
  for (qsizetype i = 0; i < text.size(); ++i) {
    if (text[i] == u'$' && i + 1 < text.size() && text[i + 1].isDigit()) {
      result += match.captured(text[++i].digitValue());
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

Result<NamedPairs> pairsByName(const Model& model, const QString& pattern) {
  const qsizetype arrow = pattern.indexOf(u"->"_s);
  if (arrow < 0) {
    return fault(Texts::tr("“->” is missing between the two sides"), Texts::tr("write leaf(\\d+)->host$1"));
  }
  const QString left = pattern.left(arrow).trimmed();
  const QString right = pattern.mid(arrow + 2).trimmed();
  if (left.isEmpty() || right.isEmpty()) {
    return fault(Texts::tr("one side is empty"), Texts::tr("write leaf(\\d+)->host$1"));
  }
  const QRegularExpression from(QRegularExpression::anchoredPattern(left));
  if (!from.isValid()) {
    return fault(Texts::tr("the left side is not a regular expression: %1").arg(from.errorString()),
                 Texts::tr("escape brackets that are literal characters"));
  }
  for (qsizetype i = 0; i + 1 < right.size(); ++i) {
    if (right[i] == u'$' && right[i + 1].isDigit() && right[i + 1].digitValue() > from.captureCount()) {
      return fault(Texts::tr("$%1 refers to a group that the left side does not have").arg(right[i + 1]),
                   Texts::tr("put parentheses around the part to capture"));
    }
  }
  std::vector<std::pair<NodeId, QString>> names;
  QHash<QString, std::vector<NodeId>> byName;
  for (const auto& [id, node] : model.nodes()) {
    names.emplace_back(id, QString::fromStdString(node.facts.name));
    byName[names.back().second].push_back(id);
  }
  NamedPairs result;
  for (const auto& [id, name] : names) {
    const QRegularExpressionMatch match = from.match(name);
    if (!match.hasMatch()) {
      continue;
    }
    const QString wanted = expanded(right, match);
    std::set<NodeId> partners;
    if (wanted.contains(u'*') || wanted.contains(u'?')) {
      QString glob;
      for (const QChar c : wanted) {
        glob += c == u'*' ? u".*"_s : (c == u'?' ? u"."_s : QRegularExpression::escape(c));
      }
      const QRegularExpression to(QRegularExpression::anchoredPattern(glob));
      for (const auto& [other, otherName] : names) {
        if (to.match(otherName).hasMatch()) {
          partners.insert(other);
        }
      }
    } else if (const auto found = byName.constFind(wanted); found != byName.constEnd()) {
      partners.insert(found->begin(), found->end());
    }
    partners.erase(id);
    result.withoutPartner += partners.empty() ? 1 : 0;
    for (const NodeId partner : partners) {
      result.pairs.emplace_back(id, partner);
    }
    if (result.pairs.size() > edits::kMaxPatternLinks) {
      return Error{ErrorCode::limit, Texts::tr("more than %1 links").arg(edits::kMaxPatternLinks).toStdString(),
                   Texts::tr("narrow the pattern").toStdString()};
    }
  }
  return result;
}

}  // namespace coppice::designer
