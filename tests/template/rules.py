"""What Pudu asks of its template beyond what a linter knows. Each rule yields findings as sentences; none is good.

Rules look at the expansion, where nothing is hidden in a default; those of SOURCE_RULES look at the source and at the code beside it.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Template = dict[str, Any]

FUNCTIONS = {"Gateway": 60, "GatewayStreams": 900, "TaskPoller": 180, "Notifier": 60, "Agent": 900}
"""Every function and its time limit in seconds."""

SCHEDULED = {"TaskPoller", "Notifier", "Agent"}

URLS = {"Gateway": "BUFFERED", "GatewayStreams": "RESPONSE_STREAM"}
"""Every door, and how answers leave by it."""

LOGS = {"GatewayStreams": "GatewayLogs"}
"""Where a function logs that has no log group of its own."""

PARAMETERS = "${ParameterPrefix}/${AWS::StackName}"
"""The prefix under which `$VAR` is read: one per stack."""

OF_SERVERS = {
    "PUDU_SEAL_KMS_KEY": {"Fn::GetAtt": ["SealKey", "Arn"]},
    "PUDU_PARAMETER_PREFIX": {"Fn::Sub": PARAMETERS},
    "PUDU_EGRESS_ALLOW": {"Ref": "EgressAllow"},
    "PUDU_STDIO": {"Ref": "Stdio"},
}
"""What a function is told that calls servers."""

WAKES = {
    "Gateway": {"TaskPoller", "Notifier", "Agent"},
    "GatewayStreams": {"TaskPoller", "Notifier", "Agent"},
    "TaskPoller": {"Notifier"},
    "Notifier": {"Agent"},
    "Agent": {"TaskPoller", "Notifier", "Agent"},
}
"""Whom a function may invoke: whoever works on what it commits."""

WAKE_VARIABLES = {"TaskPoller": "PUDU_POLLER_FUNCTION", "Notifier": "PUDU_NOTIFIER_FUNCTION", "Agent": "PUDU_AGENT_FUNCTION"}
"""Where a function is told whom it invokes."""

AGENT_NAME = {"Fn::Sub": "${AWS::StackName}-agent"}
"""What the agent is called, for those whom a reference would make a circle."""

BLOBS = {"PUDU_BLOB_BUCKET"}
"""What a function is told that reads or removes blobs."""

NUMBERS = {
    "PUDU_POLL_INTERVAL_SECONDS": "PollIntervalSeconds",
    "PUDU_INPUT_REQUIRED_POLL_INTERVAL_SECONDS": "InputRequiredPollIntervalSeconds",
    "PUDU_MAX_POLL_BACKOFF_SECONDS": "MaxPollBackoffSeconds",
    "PUDU_TRACKING_DEGRADED_AFTER_ERRORS": "TrackingDegradedAfterErrors",
    "PUDU_MAX_RESULT_BYTES": "MaxResultBytes",
    "PUDU_RESULT_PREVIEW_MAX_CHARS": "ResultPreviewMaxChars",
    "PUDU_CANCEL_DEADLINE_SECONDS": "CancelDeadlineSeconds",
    "PUDU_RETENTION_DAYS": "RetentionDays",
    "PUDU_MAX_CONCURRENT_POLLS": "MaxConcurrentPolls",
    "PUDU_MAX_CONCURRENT_POLLS_PER_SERVER": "MaxConcurrentPollsPerServer",
}
"""The numbers that an operator may change: one set for all functions, each a parameter of the template."""

CALLERS = {
    "PUDU_OIDC_ISSUER": "OidcIssuer",
    "PUDU_OIDC_AUDIENCE": "OidcAudience",
    "PUDU_OIDC_JWKS_URL": "OidcJwksUrl",
    "PUDU_OIDC_ALGORITHMS": "OidcAlgorithms",
    "PUDU_OIDC_ROLE_CLAIM": "OidcRoleClaim",
    "PUDU_OIDC_ADMIN_VALUES": "OidcAdminValues",
    "PUDU_OIDC_USER_VALUES": "OidcUserValues",
    "PUDU_OIDC_DEFAULT_ROLE": "OidcDefaultRole",
    "PUDU_OIDC_SERVERS_CLAIM": "OidcServersClaim",
    "PUDU_RATE_PER_SECOND": "RatePerSecond",
    "PUDU_RATE_BURST": "RateBurst",
    "PUDU_CORS_ORIGINS": "CorsOrigins",
}
"""What callers are held to, at the door alone; each a parameter of the template."""

CLOSED = {"EgressAllow": "", "Stdio": "off", "OidcIssuer": "", "OidcDefaultRole": "none", "CorsOrigins": ""}
"""What a deployment opens only when somebody says so."""

ENVIRONMENT = {
    "Gateway": {"PUDU_TABLE", "PUDU_LOG", "PUDU_STDIO_COMMAND_ALLOWLIST", *NUMBERS, *OF_SERVERS, *WAKE_VARIABLES.values(), *CALLERS, *BLOBS},
    "GatewayStreams": {
        "PUDU_TABLE", "PUDU_LOG", "PUDU_STDIO_COMMAND_ALLOWLIST", "PUDU_ANSWERS", "PUDU_STREAM_SECONDS",
        *NUMBERS, *OF_SERVERS, *WAKE_VARIABLES.values(), *CALLERS, *BLOBS,
    },
    "TaskPoller": {"PUDU_TABLE", "PUDU_LOG", "PUDU_LEASE_SECONDS", *NUMBERS, *OF_SERVERS, WAKE_VARIABLES["Notifier"], *BLOBS},
    "Notifier": {"PUDU_TABLE", "PUDU_LOG", "PUDU_LEASE_SECONDS", *NUMBERS, WAKE_VARIABLES["Agent"]},
    "Agent": {"PUDU_TABLE", "PUDU_LOG", "PUDU_LEASE_SECONDS", *NUMBERS, *OF_SERVERS, *WAKE_VARIABLES.values(), *BLOBS},
}

DEFAULT_LEASE = 120
"""Seconds for which a function holds a claim when it is not told (shared/lambda settings)."""

ROW_ACTIONS = {
    # Config and events read and written, intents with their thread (an update), handles, payloads; lists by query. What
    # servers listed is deleted by a reset. The bodies of a thread's events are read together.
    "Gateway": {"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
    # The same program.
    "GatewayStreams": {"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
    # Claims (updates), commits, and the payload row that a commit may clear. It finds its work in the index; the
    # rows of a thread that is being deleted it lists.
    "TaskPoller": {"DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
    # Claims and deliveries, and a run that tells an event.
    "Notifier": {"GetItem", "PutItem", "UpdateItem"},
    # Claims, steps and what they tell; it submits tasks like the gateway, and removes the secrets of a run that has ended.
    "Agent": {"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
}
"""What each function does to rows of the table, by itself or as an element of a transaction."""

_KEEPS_BLOBS = {("s3:GetObject", "Blobs/threads"), ("s3:PutObject", "Blobs/threads"), ("s3:ListBucket", "Blobs")}
"""Who may not list is told that a blob that is not there is forbidden, and not that it is missing."""

BLOB_GRANTS = {
    "Gateway": _KEEPS_BLOBS,
    "GatewayStreams": _KEEPS_BLOBS,
    # It finds what a deleted thread leaves, and reads none of it.
    "TaskPoller": {("s3:DeleteObject", "Blobs/threads"), ("s3:ListBucket", "Blobs")},
    "Notifier": set(),
    "Agent": _KEEPS_BLOBS,
}
"""What each function does to blobs."""

MODEL_GRANTS = {("bedrock:InvokeModel", "BedrockModelArns"), ("bedrock:InvokeModelWithResponseStream", "BedrockModelArns")}
"""What the agent may call on Bedrock: what the operator names."""

PUT_ASIDE = "a row was put aside"
"""The message of a row that was moved to lane `corrupt`; whoever moves or finds one logs it."""

DOORS = {
    "AWS::ApiGateway::RestApi",
    "AWS::ApiGatewayV2::Api",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
    "AWS::CloudFront::Distribution",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::Events::Rule",
    "AWS::SNS::Subscription",
}
"""What else could let somebody start a function. A permission is one too: it is how another account or service is let in."""


def of_type(template: Template, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, resource in template["Resources"].items():
        if resource["Type"] == kind:
            yield name, resource.get("Properties", {})


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def target(reference: Any) -> str:
    """The resource that a Ref, GetAtt or Sub names (the Sub's first variable)."""
    if isinstance(reference, dict):
        if "Ref" in reference:
            return reference["Ref"]
        if "Fn::GetAtt" in reference:
            return as_list(reference["Fn::GetAtt"])[0].split(".")[0]
        if "Fn::Sub" in reference:
            found = re.search(r"\$\{(\w+)(?:\.\w+)?}", str(reference["Fn::Sub"]))
            return found.group(1) if found else ""
    return ""


def functions(template: Template) -> Iterator[str]:
    found = dict(of_type(template, "AWS::Lambda::Function"))
    if set(found) != set(FUNCTIONS):
        yield f"the functions are {sorted(found)}, not {sorted(FUNCTIONS)}"
    for name, properties in found.items():
        for key, wanted in {
            "Runtime": "provided.al2023",
            "Handler": "bootstrap",
            "Architectures": ["arm64"],
            "Timeout": FUNCTIONS.get(name),
        }.items():
            if properties.get(key) != wanted:
                yield f"{name}: {key} is {properties.get(key)!r}, not {wanted!r}"
        if properties.get("FunctionName") != (AGENT_NAME if name == "Agent" else None):
            yield f"{name}: FunctionName is {properties.get('FunctionName')!r}"
        if "MemorySize" not in properties:
            yield f"{name}: MemorySize is left to a default"
        if "ReservedConcurrentExecutions" in properties:
            yield f"{name}: concurrency is reserved; one busy or stuck invocation would turn the next tick away"
        variables = set(properties.get("Environment", {}).get("Variables", {}))
        lease = properties.get("Environment", {}).get("Variables", {}).get("PUDU_LEASE_SECONDS", DEFAULT_LEASE)
        # Only the scheduled functions claim rows by their lease; a submit's is bounded by the front door.
        if name in SCHEDULED and not (str(lease).isdigit() and 0 < int(lease) < properties.get("Timeout", 0)):
            yield f"{name}: a lease of {lease} s must end before the function does"
        for key, value in properties.get("Environment", {}).get("Variables", {}).items():
            if value != OF_SERVERS.get(key, value):
                yield f"{name}: {key} is {value!r}, not {OF_SERVERS[key]!r}"
        for key, parameter in NUMBERS.items():
            given = properties.get("Environment", {}).get("Variables", {}).get(key)
            if given != {"Ref": parameter}:
                yield f"{name}: {key} is {given!r}, not the parameter {parameter}"
        for key, parameter in CALLERS.items():
            given = properties.get("Environment", {}).get("Variables", {}).get(key)
            if given is not None and given != {"Ref": parameter}:
                yield f"{name}: {key} is {given!r}, not the parameter {parameter}"
        for function, key in WAKE_VARIABLES.items():
            given = properties.get("Environment", {}).get("Variables", {}).get(key)
            if given not in (None, {"Ref": function}, AGENT_NAME if function == "Agent" else None):
                yield f"{name}: {key} is {given!r}, not {function}"
        if variables != ENVIRONMENT.get(name, set()):
            yield f"{name}: the environment is {sorted(variables)}, not {sorted(ENVIRONMENT.get(name, set()))}"


def closed(template: Template) -> Iterator[str]:
    parameters = template.get("Parameters", {})
    for name, wanted in CLOSED.items():
        if parameters.get(name, {}).get("Default") != wanted:
            yield f"{name}: its default is {parameters.get(name, {}).get('Default')!r}, not {wanted!r}"


def only_door(template: Template) -> Iterator[str]:
    """No door but the gateway's Function URLs; who comes in by it is for Pudu to ask (a test walks every route)."""
    urls = list(of_type(template, "AWS::Lambda::Url"))
    for name, properties in urls:
        if properties.get("AuthType") != "NONE":
            yield f"{name}: AuthType is {properties.get('AuthType')!r}; MCP clients cannot sign, so nobody could call it: NONE"
        opened = target(properties.get("TargetFunctionArn"))
        if opened not in URLS:
            yield f"{name}: opens {properties.get('TargetFunctionArn')!r}; only the gateway has a door"
        elif properties.get("InvokeMode") != URLS[opened]:
            yield f"{name}: answers leave as {properties.get('InvokeMode')!r}, not {URLS[opened]!r}"
    if len(urls) != len(URLS):
        yield f"there are {len(urls)} function URLs, not {len(URLS)}"
    for name, resource in template["Resources"].items():
        if resource["Type"] in DOORS and not through_the_url(resource):
            yield f"{name}: a {resource['Type']} is another way in"


def through_the_url(resource: dict[str, Any]) -> bool:
    """Whether it is one of the two permissions by which everybody may call a gateway, by its URL alone."""
    properties = resource.get("Properties", {})
    by_url = {
        "lambda:InvokeFunctionUrl": properties.get("FunctionUrlAuthType") == "NONE",
        "lambda:InvokeFunction": properties.get("InvokedViaFunctionUrl") is True,
    }
    return (
        resource["Type"] == "AWS::Lambda::Permission"
        and target(properties.get("FunctionName")) in URLS
        and by_url.get(properties.get("Action"), False)
    )


def schedules(template: Template) -> Iterator[str]:
    ticked = set()
    for name, properties in of_type(template, "AWS::Scheduler::Schedule"):
        yield from (f"{name}: {fault}" for fault in expression(properties.get("ScheduleExpression")))
        if properties.get("ScheduleExpression") != "rate(1 minute)":
            yield f"{name}: the tick is the safety net of every lost wake-up: rate(1 minute)"
        if properties.get("State", "ENABLED") != "ENABLED":
            yield f"{name}: is switched off"
        if properties.get("FlexibleTimeWindow", {}).get("Mode") != "OFF":
            yield f"{name}: the time window must be OFF"
        if "Name" in properties:
            yield f"{name}: a fixed name lets an account hold only one stack"
        destination = properties.get("Target", {})
        yield from (f"{name}: {fault}" for fault in no_second_try(destination.get("RetryPolicy", {})))
        ticked.add(target(destination.get("Arn")))
    if ticked != SCHEDULED:
        yield f"schedules start {sorted(ticked)}, not {sorted(SCHEDULED)}"


def expression(value: Any) -> Iterator[str]:
    """EventBridge's grammar, which no linter reads: one is singular, the rest plural, and zero is refused."""
    text = str(value)
    if rate := re.fullmatch(r"rate\((\d+) (minute|hour|day)(s?)\)", text):
        count, plural = int(rate.group(1)), bool(rate.group(3))
        if count == 0 or plural == (count == 1):
            yield f"{text} is refused at deployment: rate(1 minute), rate(2 minutes)"
    elif not (re.fullmatch(r"cron\(\S+( \S+){5}\)", text) or re.fullmatch(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)", text)):
        yield f"{text} is no schedule expression"


def no_second_try(policy: dict[str, Any]) -> Iterator[str]:
    for key, wanted in {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}.items():
        # A bool is an int in Python, and an absent value means the service's default of up to 185 retries over a day.
        if type(policy.get(key)) is not int or policy[key] != wanted:
            yield f"{key} is {policy.get(key)!r}, not {wanted}"


def asynchronous_invocations(template: Template) -> Iterator[str]:
    limited = set()
    for name, properties in of_type(template, "AWS::Lambda::EventInvokeConfig"):
        yield from (f"{name}: {fault}" for fault in no_second_try(properties))
        limited.add(target(properties.get("FunctionName")))
    if limited != set(FUNCTIONS):
        yield f"asynchronous invocations are limited for {sorted(limited)}, not {sorted(FUNCTIONS)}"


def table(template: Template) -> Iterator[str]:
    tables = list(of_type(template, "AWS::DynamoDB::Table"))
    if len(tables) != 1:
        yield f"there are {len(tables)} tables, not 1"
    for name, properties in tables:
        index = {
            "IndexName": "due",
            "KeySchema": [
                {"AttributeName": "due_pk", "KeyType": "HASH"},
                {"AttributeName": "due_at", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["server"]},
        }
        wanted = {
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [index],
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "SSESpecification": {"SSEEnabled": True},
        }
        for key, value in wanted.items():
            if properties.get(key) != value:
                yield f"{name}: {key} is {properties.get(key)!r}, not {value!r}"
        kinds = {row["AttributeName"]: row["AttributeType"] for row in properties.get("AttributeDefinitions", [])}
        if kinds != {"pk": "S", "sk": "S", "due_pk": "S", "due_at": "N"}:
            yield f"{name}: the attributes are {kinds}"


def kept(template: Template) -> Iterator[str]:
    """What cannot be made again outlives its stack."""
    for name, resource in template["Resources"].items():
        if resource["Type"] in {"AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::S3::Bucket"}:
            for key in ("DeletionPolicy", "UpdateReplacePolicy"):
                if resource.get(key) != "Retain":
                    yield f"{name}: {key} is {resource.get(key)!r}, not 'Retain'"


def blobs(template: Template) -> Iterator[str]:
    """One bucket, closed, encrypted, over TLS only; nothing in it goes because of its age."""
    buckets = list(of_type(template, "AWS::S3::Bucket"))
    if [name for name, _ in buckets] != ["Blobs"]:
        yield f"the buckets are {[name for name, _ in buckets]}, not ['Blobs']"
    for name, properties in buckets:
        if set(properties.get("PublicAccessBlockConfiguration", {}).values()) != {True} or len(properties["PublicAccessBlockConfiguration"]) != 4:
            yield f"{name}: somebody of the public may be let in"
        if not properties.get("BucketEncryption"):
            yield f"{name}: is not encrypted"
        rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
        if not any("AbortIncompleteMultipartUpload" in rule for rule in rules):
            yield f"{name}: pays for uploads that never end"
        if any("ExpirationInDays" in rule or "ExpirationDate" in rule for rule in rules):
            yield f"{name}: removes what a thread still names"
    denied = [
        statement.get("Effect") == "Deny" and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
        for _, properties in of_type(template, "AWS::S3::BucketPolicy")
        for statement in as_list(properties["PolicyDocument"]["Statement"])
    ]
    if denied != [True]:
        yield "the bucket is reached in plain text, or its policy lets somebody in"


def roles(template: Template) -> Iterator[str]:
    found = dict(of_type(template, "AWS::IAM::Role"))
    for name, properties in found.items():
        if properties.get("ManagedPolicyArns"):
            yield f"{name}: a managed policy grants more than this file shows"
        for statement in statements(properties):
            yield from (f"{name}: {fault}" for fault in narrow(statement))
    for function in FUNCTIONS:
        role = target(dict(of_type(template, "AWS::Lambda::Function")).get(function, {}).get("Role"))
        granted = {grant for statement in statements(found.get(role, {})) for grant in grants(statement)}
        wanted = wanted_grants(function)
        for action, resource in sorted(granted - wanted):
            yield f"{function}: may {action} on {resource}, which it does not need"
        for action, resource in sorted(wanted - granted):
            yield f"{function}: may not {action} on {resource}, which it needs"


def wanted_grants(function: str) -> set[tuple[str, str]]:
    """Exactly what a function may do: (action, resource)."""
    wanted = {(f"dynamodb:{action}", "Table") for action in ROW_ACTIONS[function]}
    wanted |= {(f"logs:{action}", LOGS.get(function, f"{function}Logs")) for action in ("CreateLogStream", "PutLogEvents")}
    wanted |= {("lambda:InvokeFunction", woken) for woken in WAKES[function]}
    # Workers find there what is due, the gateway what waits for an operator.
    wanted.add(("dynamodb:Query", "Table/index/due"))
    wanted |= BLOB_GRANTS[function]
    if function == "Agent":
        wanted |= MODEL_GRANTS
    if function != "Notifier":
        wanted |= {("kms:Decrypt", "SealKey"), ("kms:GenerateDataKey", "SealKey"), ("ssm:GetParameters", "Parameters")}
    return wanted


def statements(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for policy in role.get("Policies", []):
        for statement in as_list(policy["PolicyDocument"]["Statement"]):
            # What is granted under a condition counts as granted.
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def grants(statement: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for action in as_list(statement.get("Action")):
        for resource in as_list(statement.get("Resource")):
            yield str(action), place(resource)


def place(resource: Any) -> str:
    text = str(resource.get("Fn::Sub", "")) if isinstance(resource, dict) else str(resource)
    if text == "${Table.Arn}/index/due":
        return "Table/index/due"
    if text == "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter" + PARAMETERS + "/*":
        return "Parameters"
    if text == "${Blobs.Arn}/threads/*":
        return "Blobs/threads"
    if text.endswith(":function:${AWS::StackName}-agent"):
        return "Agent"
    if resource == {"Ref": "BedrockModelArns"}:
        return "BedrockModelArns"
    if logs := re.fullmatch(r"arn:.*:log-group:\$\{(\w+)}:log-stream:\*", text):
        return logs.group(1)
    if isinstance(resource, dict) and "Fn::GetAtt" in resource:
        return target(resource)
    return str(resource)


def narrow(statement: dict[str, Any]) -> Iterator[str]:
    if {"NotAction", "NotResource"} & set(statement):
        yield "a policy that says what is not allowed allows all the rest"
    for action, resource in grants(statement):
        if "*" in action:
            yield f"the action {action} is a wildcard"
        # Streams of one function's own log group are named by the runtime, and the parameters of a stack by its operator; `place`
        # has taken those out.
        if "*" in resource:
            yield f"the resource {resource} is a wildcard"


def seal_key(template: Template) -> Iterator[str]:
    keys = list(of_type(template, "AWS::KMS::Key"))
    if [name for name, _ in keys] != ["SealKey"]:
        yield f"the keys are {[name for name, _ in keys]}, not ['SealKey']"
    for name, properties in keys:
        if properties.get("EnableKeyRotation") is not True:
            yield f"{name}: the key does not rotate"
        if properties.get("KeySpec") != "SYMMETRIC_DEFAULT":
            yield f"{name}: KeySpec is {properties.get('KeySpec')!r}"
        for statement in properties.get("KeyPolicy", {}).get("Statement", []):
            if "iam::${AWS::AccountId}:root" not in str(statement.get("Principal")):
                yield f"{name}: the key policy lets {statement.get('Principal')!r} in; grants belong into the roles"


def watched(template: Template) -> Iterator[str]:
    alarms = set()
    for name, properties in of_type(template, "AWS::CloudWatch::Alarm"):
        for dimension in properties.get("Dimensions", []):
            alarms.add((target(dimension["Value"]), properties["MetricName"]))
        if "AlarmActions" not in properties:
            yield f"{name}: tells nobody"
    wanted = {(function, metric) for function in FUNCTIONS for metric in ("Errors", "Throttles")}
    wanted |= {(function, "Invocations") for function in SCHEDULED}
    for function, metric in sorted(wanted - alarms):
        yield f"{function}: no alarm on {metric}"
    groups = dict(of_type(template, "AWS::Logs::LogGroup"))
    for name, properties in of_type(template, "AWS::Lambda::Function"):
        group = target(properties.get("LoggingConfig", {}).get("LogGroup"))
        if "RetentionInDays" not in groups.get(group, {}):
            yield f"{name}: its logs are kept for ever, or are not in a group of this template"


def rows_put_aside(template: Template) -> Iterator[str]:
    """Each log that may tell of a row in lane `corrupt` is counted, and the count has an alarm."""
    counted: dict[str, set[tuple[str, str]]] = {}
    for name, properties in of_type(template, "AWS::Logs::MetricFilter"):
        if properties.get("FilterPattern") != f'{{ $.message = "{PUT_ASIDE}" }}':
            yield f"{name}: FilterPattern is {properties.get('FilterPattern')!r}, which no log line of ours matches"
            continue
        for metric in properties.get("MetricTransformations", []):
            if metric.get("MetricValue") != "1":
                yield f"{name}: a line counts {metric.get('MetricValue')!r}, not '1'"
            counted.setdefault(target(properties.get("LogGroupName")), set()).add(metric_of(metric, "MetricNamespace"))
    alarms = {metric_of(properties, "Namespace") for _, properties in of_type(template, "AWS::CloudWatch::Alarm")}
    for function in sorted(SCHEDULED):
        if not counted.get(f"{function}Logs", set()) & alarms:
            yield f"{function}: no alarm on rows put aside in its log"


def metric_of(properties: dict[str, Any], namespace: str) -> tuple[str, str]:
    return str(properties.get(namespace)), str(properties.get("MetricName"))


RULES = [functions, closed, only_door, schedules, asynchronous_invocations, table, kept, blobs, roles, seal_key, watched, rows_put_aside]


def code_folders(source: Template, root: Path) -> Iterator[str]:
    """`CodeUri` must be what the build makes: target/lambda/<name of the binary of a package in functions/>."""
    built = set()
    for manifest in sorted(root.glob("functions/*/Cargo.toml")):
        parsed = tomllib.loads(manifest.read_text(encoding="utf-8"))
        binaries = [binary["name"] for binary in parsed.get("bin", [])] or [parsed["package"]["name"]]
        built |= {f"target/lambda/{binary}" for binary in binaries}
    used = {
        resource["Properties"].get("CodeUri")
        for resource in source["Resources"].values()
        if resource["Type"] == "AWS::Serverless::Function"
    }
    for folder in sorted(used ^ built, key=str):
        yield f"{folder}: named by the template or made by the build, but not both"


def put_aside_is_logged(_source: Template, root: Path) -> Iterator[str]:
    """The filter's words are those of the code that moves rows away: neither may change alone."""
    for path in ("shared/dynamo/src/durable_row.rs", "shared/app/src/worker/poller.rs"):
        if f'"{PUT_ASIDE}"' not in (root / path).read_text(encoding="utf-8"):
            yield f"{path}: logs no {PUT_ASIDE!r}, which the metric filters count"


SOURCE_RULES = [code_folders, put_aside_is_logged]
