"""Lints template.yaml: the source and its expansion by cfn-lint, the expansion by the rules of our own. Any finding is a failure.

`lint.py` checks the template; `lint.py --planted` also plants the errors of planted.py one by one and fails for each that nobody finds.
"""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import cfnlint.api
import cfnlint.version
from cfnlint.config import ManualArgs

import expand
import planted
import rules

ROOT = Path(__file__).resolve().parents[2]


def by_cfn_lint(text: str) -> list[str]:
    # "I" asks for hints too: nothing is to be seen, not only no error.
    found = cfnlint.api.lint(text, config=ManualArgs(regions=["us-east-1", "eu-central-1"], include_checks=["I"]))
    return [f"cfn-lint {match.rule.id}: {match.message} at {match.path_string or match.linenumber}" for match in found]


def by_our_rules(source: dict[str, Any], expansion: dict[str, Any]) -> list[str]:
    found = [f"{rule.__name__}: {finding}" for rule in rules.RULES for finding in rule(expansion)]
    return found + [f"{rule.__name__}: {finding}" for rule in rules.SOURCE_RULES for finding in rule(source, ROOT)]


def findings(source: dict[str, Any]) -> list[str]:
    """Everything wrong with a template: what SAM, cfn-lint and our rules say of it."""
    try:
        expansion = expand.expand(copy.deepcopy(source))
    except expand.ExpansionError as error:
        return [str(error)]
    return by_cfn_lint(json.dumps(expansion)) + by_our_rules(source, expansion)


def main() -> int:
    path = ROOT / "template.yaml"
    source = expand.read(path)
    found = [f"source: {finding}" for finding in by_cfn_lint(path.read_text(encoding="utf-8"))] + findings(source)
    print(f"template.yaml: source and expansion by cfn-lint {cfnlint.version.__version__}, {len(rules.RULES + rules.SOURCE_RULES)} rules of our own")
    for finding in found:
        print(f"  {finding}")
    print(f"template.yaml: {len(found)} findings")

    missed = 0
    if "--planted" in sys.argv[1:]:
        for name, (section, plant) in planted.ERRORS.items():
            spoiled = copy.deepcopy(source)
            plant(spoiled[section])
            caught = findings(spoiled)
            missed += not caught
            print(f"  planted {name}: {caught[0][:160] if caught else 'NOT FOUND'}")
        print(f"planted errors: {len(planted.ERRORS)} planted, {missed} not found")
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main())
