# SPDX-License-Identifier: Apache-2.0
"""As much of YAML as metric taxonomies and dumps of databases use, with the standard library:
nested blocks and flows, anchors and aliases, quoted and plain texts on one line. Tags are dropped;
what else YAML has is Unknown.
"""
import json
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[\[\]{},]|:(?=[\s,\]}]|$)')
PROPERTY = re.compile(r"(&|!)([^\s,\[\]{}]*)(?:\s+|$)")
NUMBER = re.compile(r"[-+]?(\d+)$|[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?$")
WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class Unknown(Exception):
    """It uses something that is not read here."""


def without_comment(line):
    """A # that begins a word outside of quotes begins a comment."""
    quote = None
    for at, letter in enumerate(line):
        if quote:
            quote = None if letter == quote and line[at - 1] != "\\" else quote
        elif letter in "\"'" and (at == 0 or line[at - 1] in " [{,:"):
            quote = letter
        elif letter == "#" and (at == 0 or line[at - 1] in " \t"):
            return line[:at].rstrip()
    return line.rstrip()


def key_end(text):
    """Where the key of "key: value" ends, or None."""
    if text[0] in "\"'":
        match = TOKEN.match(text)
        end = match.end() if match else 0
        return end if text[end:end + 1] == ":" and text[end + 1:end + 2] in ("", " ") else None
    if text[0] in "[{":
        return None
    match = re.search(r":(?= |$)", text)
    return match.start() if match else None


class Parser:
    def __init__(self, text):
        self.lines = []
        for number, line in enumerate(text.splitlines(), 1):
            line = without_comment(line)
            if line.strip() and line not in ("---", "..."):
                indent = len(line) - len(line.lstrip(" "))
                self.lines.append([indent, line[indent:], number])
        self.at = 0
        self.anchors = {}

    # ---- scalars and flows

    def scalar(self, text):
        text = text.strip()
        if text[:1] == "*":
            return self.anchors[text[1:]]
        if text[:1] == '"':
            return json.loads(text)
        if text[:1] == "'":
            return text[1:-1].replace("''", "'")
        if text in WORDS:
            return WORDS[text]
        match = NUMBER.match(text)
        if match:
            return int(text) if match[1] else float(text)
        if text[:1] in "|>%@`":
            raise Unknown(text)
        return text

    def flow(self, text):
        tokens, last = [], 0
        for match in TOKEN.finditer(text):
            if text[last:match.start()].strip():
                tokens.append(("scalar", text[last:match.start()]))
            tokens.append(("scalar" if match[0][0] in "\"'" else match[0], match[0]))
            last = match.end()
        if text[last:].strip():
            tokens.append(("scalar", text[last:]))
        value, at = self.flow_node(tokens, 0)
        if at != len(tokens):
            raise Unknown(text)
        return value

    def flow_node(self, tokens, at):
        kind, text = tokens[at]
        if kind == "scalar":
            return self.scalar(text), at + 1
        if kind not in "[{":
            raise Unknown(text)
        closing, at = {"[": "]", "{": "}"}[kind], at + 1
        items = []
        while tokens[at][0] != closing:
            value, at = self.flow_node(tokens, at)
            if kind == "{":
                if tokens[at][0] != ":":
                    raise Unknown(text)
                content, at = self.flow_node(tokens, at + 1)
                value = (value, content)
            items.append(value)
            if tokens[at][0] == ",":
                at += 1
        return (items if kind == "[" else dict(items)), at + 1

    # ---- blocks

    def properties(self, text):
        anchor = None
        match = PROPERTY.match(text)
        while match:
            anchor = match[2] if match[1] == "&" else anchor
            text = text[match.end():]
            match = PROPERTY.match(text)
        return anchor, text

    def node(self, text, indent):
        """What follows a key or dash: on the line, or on the lines that are indented more."""
        anchor, text = self.properties(text)
        if text[:1] in ("[", "{"):
            value = self.flow(text)
        elif text:
            value = self.scalar(text)
        else:
            value = self.block(indent)
        if anchor:
            self.anchors[anchor] = value
        return value

    def block(self, least):
        """The block at the present line, None where it is indented less than `least`."""
        if self.at >= len(self.lines) or self.lines[self.at][0] < least:
            return None
        indent, text, _ = self.lines[self.at]
        if text.startswith("!") or text.startswith("&"):
            self.at += 1
            return self.node(text, indent)
        is_sequence = text == "-" or text.startswith("- ")
        return self.sequence(indent) if is_sequence else self.mapping(indent)

    def sequence(self, indent):
        out = []
        while self.at < len(self.lines) and self.lines[self.at][0] == indent and \
                re.match(r"-( |$)", self.lines[self.at][1]):
            text = self.lines[self.at][1][1:].lstrip()
            inner = indent + len(self.lines[self.at][1]) - len(text)
            anchor, rest = self.properties(text)
            if rest and key_end(rest) is not None:
                self.lines[self.at][0], self.lines[self.at][1] = inner, rest
                out.append(self.mapping(inner))
                if anchor:
                    self.anchors[anchor] = out[-1]
                continue
            self.at += 1
            out.append(self.node(text, indent + 1))
        return out

    def mapping(self, indent):
        out = {}
        while self.at < len(self.lines) and self.lines[self.at][0] == indent:
            text = self.lines[self.at][1]
            end = key_end(text)
            if end is None:
                raise Unknown(f"line {self.lines[self.at][2]}: {text}")
            self.at += 1
            # a sequence may stand below its key without being indented
            more = self.at < len(self.lines) and re.match(r"-( |$)", self.lines[self.at][1])
            out[self.scalar(text[:end])] = self.node(text[end + 1:].strip(), indent if more
                                                     else indent + 1)
        return out


def load(text):
    parser = Parser(text)
    value = parser.block(0)
    if parser.at != len(parser.lines):
        raise Unknown(f"line {parser.lines[parser.at][2]}: {parser.lines[parser.at][1]}")
    return value
