"""What is changed in a generated request: no server outside of this machine is ever registered, so none is asked."""

import schemathesis

# Nobody listens there.
NOWHERE = "http://127.0.0.1:9/mcp"


def local(value: object) -> object:
    """The same with addresses of this machine only."""
    if isinstance(value, dict):
        return {key: local(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [local(inner) for inner in value]
    return NOWHERE if isinstance(value, str) and "://" in value else value


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict) -> None:
    case.body = local(case.body)
