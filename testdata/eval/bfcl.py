"""Draws cases of the Berkeley function-calling leaderboard, and writes them for segue eval.

    python3 bfcl.py [--cases 100] [--seed 1] FOLDER

FOLDER/bfcl.jsonl gets so many cases of each of CATEGORIES. The leaderboard's wheel is fetched with pip into
FOLDER, if it is not there. A case is drawn by the hash of seed and id: ten cases of a seed are among its hundred,
and each Python draws the same. The categories take turns, so that an evaluation that is cut off has some of each.

What BFCL's checker accepts as arguments of a call is said as a JSON Schema. They differ in a few places:
- JSON Schema has one number 1 and 1.0; BFCL refuses 1.0 for an integer, and 1 for a float within a list.
- BFCL gives the first call that fits to an expected call, so it may find none for a later one.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import zipfile

VERSION = "2026.3.23"
CATEGORIES = ["simple_python", "multiple", "parallel", "irrelevance"]
# BFCL's types; "any" is a string there.
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
KEYWORDS = ["description", "enum", "default", "format", "required", "minItems", "maxItems", "minimum", "maximum"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=100, help="of each category")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("folder", type=pathlib.Path)
    options = options.parse_args()
    with zipfile.ZipFile(wheel(options.folder)) as data:
        drawn = [draw(data, category, options) for category in CATEGORIES]
    out = options.folder / "bfcl.jsonl"
    with out.open("w", encoding="utf-8") as lines:
        for i in range(options.cases):
            for cases in drawn:
                if i < len(cases):
                    lines.write(json.dumps(cases[i], ensure_ascii=False) + "\n")
    print(f"{out}: {sum(map(len, drawn))} cases")


def wheel(folder):
    """Returns the path of BFCL's wheel, which is fetched if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"bfcl_eval-{VERSION}-py3-none-any.whl"
    if not path.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        if subprocess.run([*pip, "--dest", folder, f"bfcl-eval=={VERSION}"]).returncode != 0 or not path.exists():
            sys.exit(f"bfcl: {path} is not there, and pip did not fetch it (see above)")
    return path


def draw(data, category, options):
    def read(folder):
        with data.open(f"bfcl_eval/data/{folder}BFCL_v4_{category}.json") as lines:
            return {entry["id"]: entry for entry in map(json.loads, lines)}

    def place(name):
        return hashlib.sha256(f"{options.seed}:{name}".encode()).digest()

    entries = read("")
    answers = {} if category == "irrelevance" else read("possible_answer/")
    return [case(category, entries[name], answers.get(name)) for name in sorted(entries, key=place)[: options.cases]]


def case(category, entry, answer):
    [[message]] = entry["question"]
    functions = {function["name"]: function for function in entry["function"]}
    calls = []
    for expected in answer["ground_truth"] if answer else []:
        [(name, arguments)] = expected.items()
        calls.append({"tool": api_name(name), "schema": accepted(functions[name]["parameters"], arguments)})
    return {
        "name": entry["id"],
        "goal": message["content"],
        "tools": [
            {"name": api_name(name), "description": f["description"], "parameters": json_schema(f["parameters"])}
            for name, f in functions.items()
        ],
        "calls": calls,
        "only": True,
        "tags": [category],
    }


def api_name(name):
    """Returns a name that APIs take, as BFCL changes it for them."""
    return name.replace(".", "_")


def json_schema(described):
    """Returns BFCL's description of a value as JSON Schema."""
    schema = {"type": TYPES.get(described["type"], described["type"])}
    schema |= {keyword: described[keyword] for keyword in KEYWORDS if keyword in described}
    if "properties" in described:
        schema["properties"] = {name: json_schema(p) for name, p in described["properties"].items()}
    if "items" in described:
        schema["items"] = json_schema(described["items"])
    return schema


def accepted(parameters, arguments):
    """Returns the JSON Schema of the arguments of a call that BFCL accepts.

    arguments has the possible values of each; "" among them says that it can be left out.
    """
    properties = {name: argument(parameters["properties"][name], values) for name, values in arguments.items()}
    return members(
        {name: schema for name, schema in properties.items() if schema is not None},
        [name for name, values in arguments.items() if name in parameters["required"] or "" not in values],
    )


def argument(described, values):
    """Returns the schema of an argument, None if there has to be none."""
    kind = described["type"]
    given = [value for value in values if value != ""]
    if kind in ("array", "tuple"):
        # A list without values passes for "".
        one = record if described["items"]["type"] == "dict" else same
        return any_of([sequence(one, value or []) for value in values])
    if kind == "dict":
        return any_of([record(value) for value in given])
    if kind in ("string", "any") and (not given or isinstance(given[0], str)):
        return text(values)
    if kind in ("string", "any"):
        return {"enum": values}
    return {"enum": given} if given else None


def any_of(schemas):
    if len(schemas) < 2:
        return schemas[0] if schemas else None
    return {"anyOf": schemas}


def members(properties, required):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def sequence(one, values):
    if not values:
        return {"type": "array", "maxItems": 0}
    items = [one(value) for value in values]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def record(values):
    """Returns the schema of a dict; values has the possible values of each key."""
    return members(
        {key: any_of([same(value) for value in possible]) for key, possible in values.items()},
        [key for key, possible in values.items() if "" not in possible],
    )


def same(value):
    return text([value]) if isinstance(value, str) else {"const": value}


def text(values):
    """Returns the schema of the texts that are one of values to BFCL.

    It compares without these signs, case and kind of quote.
    """
    free = "[ ,./_*^-]*"

    def pattern(value):
        signs = re.sub(free, "", value).replace("'", '"')
        return "".join((r"""["']""" if sign == '"' else re.escape(sign)) + free for sign in signs)

    patterns = sorted({pattern(value) for value in values if isinstance(value, str)})
    return {"type": "string", "pattern": f"(?i)^{free}(?:{'|'.join(patterns)})$"}


main()
