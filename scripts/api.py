"""Prints the declarations in symbol graphs of one module, sorted, one on each line.

  python3 scripts/api.py GRAPH...

A line is the declaration with its qualified name. Behind a type stand the protocols that it conforms
to; behind a member, the conditions of its extension, and whether a protocol requires it. Missing
files are ignored, because a module that extends no other module has no graph for it.
"""
import json
import os
import re
import sys

# Every type that can be copied conforms to these.
UNSAID = {"Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable"}


def conditions(constraints):
    signs = {"conformance": ": ", "superclass": ": ", "sameType": " == "}
    return ", ".join(sorted(c["lhs"] + signs[c["kind"]] + c["rhs"] for c in constraints if c["rhs"] not in UNSAID))


def declaration(symbol):
    """The declaration in one line, with the types that contain it before its name."""
    parents = "".join(name + "." for name in symbol["pathComponents"][:-1])
    # The name is the identifier or, where there is none, the keyword 'init' or 'subscript'.
    named = "identifier" if any(f["kind"] == "identifier" for f in symbol["declarationFragments"]) else "keyword"
    text = ""
    for fragment in symbol["declarationFragments"]:
        spelling = fragment["spelling"]
        if fragment["kind"] == named and (named == "identifier" or spelling in ("init", "subscript")):
            spelling, parents = parents + spelling, ""
        text += spelling
    return re.sub(r"\s+", " ", text).strip()


def lines(paths):
    graphs = []
    for path in filter(os.path.exists, paths):
        with open(path, encoding="utf-8") as file:
            graphs.append(json.load(file))
    symbols = [symbol for graph in graphs for symbol in graph["symbols"]]
    names = {symbol["identifier"]["precise"]: symbol["names"]["title"] for symbol in symbols}
    conformances, required = {}, set()
    for relation in (relation for graph in graphs for relation in graph["relationships"]):
        if relation["kind"] == "conformsTo":
            name = names.get(relation["target"]) or relation["targetFallback"]
            name = name.split(".")[-1]
            if name not in UNSAID:
                where = conditions(relation.get("swiftConstraints", []))
                conformances.setdefault(relation["source"], set()).add(name + (f" where {where}" if where else ""))
        elif relation["kind"] == "requirementOf":
            required.add(relation["source"])
    for symbol in symbols:
        identifier, kind = symbol["identifier"]["precise"], symbol["kind"]["identifier"]
        line = declaration(symbol)
        own = conformances.get(identifier, set())
        where = conditions(symbol.get("swiftExtension", {}).get("constraints", []))
        if kind == "swift.extension":
            # It states its conditions itself. Without a conformance, its members say everything.
            own = {name.split(" where ")[0] for name in own}
            where = ""
            if not own:
                continue
        # A protocol states what it inherits from.
        if own and kind != "swift.protocol":
            line += ": " + ", ".join(sorted(own))
        if where:
            line += f" (if {where})"
        if identifier in required:
            line += " (required)"
        yield symbol["pathComponents"], line


for _, line in sorted(lines(sys.argv[1:])):
    print(line)
