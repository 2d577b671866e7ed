"""Writes src/drystone_client/models.py from the description of a service: `python generate_models.py URL`.

A script of our own, as the scenes and commands of this API are objects of which one key says what they are: generators
make dozens of numbered classes of them.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
import urllib.request
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FILE = Path(__file__).parent / "src/drystone_client/models.py"
HEAD = '''"""What the service takes and gives, as JSON. Written by generate_models.py from the service's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


class Models:
    """Definitions by name, in the order in which they are needed."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}

    def put(self, name: str, text: str) -> None:
        if self.made.setdefault(name, text) != text:
            raise ValueError(f"two models have the name {name}")

    def define(self, name: str, schema: Json) -> None:
        """A model of the description."""
        if "properties" in schema:
            self.typed_dict(name, schema)
            return
        members = [self.member(name, variant) for variant in schema.get("oneOf", [schema])]
        text = doc(schema, "")
        # As text, since it may be before what it speaks of.
        self.put(name, f'{name}: TypeAlias = "{" | ".join(members)}"\n{text}')

    def member(self, name: str, variant: Json) -> str:
        """One of several that a model can be. If a key says which, it is called by that."""
        if len(variant.get("properties", {})) != 1:
            return self.type(name, variant)
        (key,) = variant["properties"]
        own = camel(key) + name.removesuffix("Record")
        # Final, so that `"ray" in query` tells which it is.
        self.typed_dict(own, variant, "@final\n")
        return own

    def typed_dict(self, name: str, schema: Json, before: str = "") -> None:
        fields = {}
        for key, value in schema["properties"].items():
            kind = self.type(camel(key), value)
            fields[key] = kind if key in schema.get("required", []) else f"NotRequired[{kind}]"
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in fields):
            rows = [f"    {key}: {kind}\n{doc(schema['properties'][key], '    ')}" for key, kind in fields.items()]
            self.put(name, f"{before}class {name}(TypedDict):\n{doc(schema, '    ')}\n{''.join(rows)}")
            return
        rows = [f'        "{key}": "{kind}",\n' for key, kind in fields.items()]
        self.put(name, f'{name} = TypedDict(\n    "{name}",\n    {{\n{"".join(rows)}    }},\n)\n{doc(schema, "")}')

    def type(self, name: str, schema: Json) -> str:
        """How a type is written; `name` is for one that has to be defined first."""
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            return f"Literal[{', '.join(json.dumps(value) for value in values)}]"
        if "properties" in schema:
            self.typed_dict(name, schema)
            return name
        if "oneOf" in schema:
            return " | ".join(dict.fromkeys(self.type(name, variant) for variant in schema["oneOf"]))
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " | ".join(self.plain(name, kind, schema) for kind in kinds) or "Any"

    def plain(self, name: str, kind: str, schema: Json) -> str:
        if kind == "array":
            return f"Sequence[{self.type(name, schema.get('items', {}))}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"Mapping[str, {self.type(name, values) if isinstance(values, dict) else 'Any'}]"
        return PLAIN[kind]


def doc(schema: Json, indent: str) -> str:
    text = " ".join(str(schema.get("description", "")).split()).replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return ""
    quoted = f'"""{text}{" " if text.endswith(chr(34)) else ""}"""'
    return textwrap.fill(quoted, 110, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False) + "\n"


def generate(description: Json) -> str:
    """The text of the module."""
    models = Models()
    for name, schema in description["components"]["schemas"].items():
        models.define(name, schema)
    return "\n\n".join([HEAD, *(models.made[name] for name in sorted(models.made))])


def fetch(url: str) -> Json:
    """The description of a service."""
    with urllib.request.urlopen(f"{url.rstrip('/')}/api/openapi.json") as answer:
        description: Json = json.load(answer)
        return description


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FILE.write_text(generate(fetch(sys.argv[1])))
