// SPDX-License-Identifier: Apache-2.0
#include "io/dot_messages.hpp"

#include <charconv>

#include "io/exact_json.hpp"

namespace coppice::io {
namespace {

constexpr std::string_view kSeverities[] = {"note", "warning", "error"};  // by Severity

std::string textOf(const JsonValue& record, std::string_view key) {
  const JsonValue* value = record.find(key);
  return value != nullptr && value->kind == JsonValue::Kind::string ? value->text : std::string();
}

int numberOf(const JsonValue& record, std::string_view key) {
  int number = 0;
  if (const JsonValue* value = record.find(key); value != nullptr && value->kind == JsonValue::Kind::number) {
    const char* const end = value->text.data() + value->text.size();
    if (std::from_chars(value->text.data(), end, number).ptr != end) {
      return 0;
    }
  }
  return number;
}

std::string partsText(const ElementRef& element) {
  std::string text;
  for (const ElementPart& part : element.parts()) {
    text += std::string(text.empty() ? "" : ", ") + "{\"kind\": " + jsonQuoted(toString(part.kind)) +
            ", \"index\": " + std::to_string(part.index) + ", \"name\": " + jsonQuoted(part.name) +
            ", \"head\": " + jsonQuoted(part.head) + "}";
  }
  return "[" + text + "]";
}

ElementRef elementOf(const JsonValue& record) {
  ElementRef element;
  if (const JsonValue* const parts = record.find("parts")) {
    for (const JsonValue& part : parts->items) {
      const auto kind = refKindNamed(textOf(part, "kind"));
      element = element.with(ElementPart{kind.value_or(RefKind::field), numberOf(part, "index"), textOf(part, "name"),
                                         textOf(part, "head")});
    }
  }
  return element;
}

}  // namespace

std::string dotRecord(const Finding& finding) {
  return "{\"severity\": " + jsonQuoted(kSeverities[static_cast<int>(finding.severity)]) +
         ", \"line\": " + std::to_string(finding.where.line) + ", \"column\": " + std::to_string(finding.where.column) +
         ", \"parts\": " + partsText(finding.where.element) + ", \"text\": " + jsonQuoted(finding.text) +
         ", \"fix\": " + jsonQuoted(finding.fix) + "}";
}

std::optional<Finding> readDotRecord(std::string_view line) {
  if (!line.starts_with('{')) {
    return std::nullopt;
  }
  const auto record = parseExactJson(line, {});
  if (!record) {
    return std::nullopt;
  }
  const std::string severity = textOf(*record, "severity");
  for (const Severity known : {Severity::note, Severity::warning, Severity::error}) {
    if (severity == kSeverities[static_cast<int>(known)]) {
      Finding finding;
      finding.severity = known;
      finding.text = textOf(*record, "text");
      finding.fix = textOf(*record, "fix");
      finding.where.line = numberOf(*record, "line");
      finding.where.column = numberOf(*record, "column");
      finding.where.element = elementOf(*record);
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace coppice::io
