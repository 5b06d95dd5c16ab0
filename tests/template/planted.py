"""Errors that somebody could make in template.yaml, one function each; the lint must find every one.

A check that cannot fail proves nothing, so these are planted in every CI run.
"""

from collections.abc import Callable
from typing import Any

Resources = dict[str, Any]


def _of(resources: Resources, name: str) -> dict[str, Any]:
    return resources[name]["Properties"]


def _tick(resources: Resources, name: str) -> dict[str, Any]:
    return _of(resources, name)["Events"]["Tick"]["Properties"]


def _statements(resources: Resources, role: str) -> list[dict[str, Any]]:
    return _of(resources, role)["Policies"][0]["PolicyDocument"]["Statement"]


def _set(name: str, **values: Any) -> Callable[[Resources], None]:
    return lambda resources: _of(resources, name).update(values)


def _set_tick(name: str, **values: Any) -> Callable[[Resources], None]:
    return lambda resources: _tick(resources, name).update(values)


def _grant(role: str, action: str, resource: Any) -> Callable[[Resources], None]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    # A new list: lists that the source shares by a YAML anchor must not change in three roles at once.
    return lambda resources: _of(resources, role)["Policies"][0]["PolicyDocument"].update(
        Statement=[*_statements(resources, role), statement]
    )


def _parameters(path: str) -> dict[str, str]:
    return {"Fn::Sub": "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter" + path}


def _revoke(role: str, action: str) -> Callable[[Resources], None]:
    def plant(resources: Resources) -> None:
        kept = [
            {**statement, "Action": [one for one in statement["Action"] if one != action]}
            if isinstance(statement["Action"], list)
            else statement
            for statement in _statements(resources, role)
        ]
        _of(resources, role)["Policies"][0]["PolicyDocument"].update(Statement=kept)

    return plant


def _variables(resources: Resources, name: str) -> dict[str, Any]:
    return _of(resources, name)["Environment"]["Variables"]


def _door(resources: Resources, **values: Any) -> None:
    _of(resources, "Gateway")["FunctionUrlConfig"].update(values)


def _bucket_starts_poller(resources: Resources) -> None:
    resources["Opened"] = {
        "Type": "AWS::Lambda::Permission",
        "Properties": {
            "Action": "lambda:InvokeFunction",
            "FunctionName": {"Ref": "TaskPoller"},
            "Principal": "s3.amazonaws.com",
        },
    }


def _everybody_invokes(resources: Resources) -> None:
    resources["Opened"] = {
        "Type": "AWS::Lambda::Permission",
        "Properties": {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": "Gateway"}, "Principal": "*"},
    }


_RESOURCE_ERRORS: dict[str, Callable[[Resources], None]] = {
    "plural of one": _set_tick("TaskPoller", ScheduleExpression="rate(1 minutes)"),
    "singular of two": _set_tick("Notifier", ScheduleExpression="rate(2 minute)"),
    "no such unit": _set_tick("Notifier", ScheduleExpression="rate(60 seconds)"),
    "five-field cron": _set_tick("Notifier", ScheduleExpression="cron(* * * * *)"),
    "slower tick": _set_tick("TaskPoller", ScheduleExpression="rate(5 minutes)"),
    "schedule switched off": _set_tick("TaskPoller", State="DISABLED"),
    "retries of a tick": _set_tick("TaskPoller", RetryPolicy={"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 60}),
    "retry policy forgotten": lambda resources: _tick(resources, "Notifier").pop("RetryPolicy"),
    "old ticks": _set_tick("Notifier", RetryPolicy={"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 600}),
    "age below the service's least": _set("Notifier", EventInvokeConfig={"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 30}),
    "retries of an async call": _set("Gateway", EventInvokeConfig={"MaximumRetryAttempts": 1}),
    "poller never started": lambda resources: _of(resources, "TaskPoller").pop("Events"),
    "one at a time": _set("TaskPoller", ReservedConcurrentExecutions=1),
    "a door that MCP clients cannot open": lambda resources: _door(resources, AuthType="AWS_IAM"),
    "no door": lambda resources: _of(resources, "Gateway").pop("FunctionUrlConfig"),
    "second door": _set("Notifier", FunctionUrlConfig={"AuthType": "AWS_IAM"}),
    "second open door": _set("TaskPoller", FunctionUrlConfig={"AuthType": "NONE"}),
    "an HTTP API beside the door": lambda resources: _of(resources, "Gateway").update(
        Events={"Api": {"Type": "HttpApi", "Properties": {"Path": "/{proxy+}", "Method": "ANY"}}}
    ),
    "another service let in": _bucket_starts_poller,
    "everybody let in beside the URL": _everybody_invokes,
    "misspelt property": _set("Gateway", Tiemout=60),
    "misspelt reference": _set("Gateway", Role={"Fn::GetAtt": ["GatewayRoll", "Arn"]}),
    "timeout of the poller": _set("TaskPoller", Timeout=60),
    "timeout over the service's limit": _set("TaskPoller", Timeout=1800),
    "memory of a size that is refused": _set("Gateway", MemorySize=64),
    "another machine": _set("Gateway", Architectures=["x86_64"]),
    "a runtime that is gone": _set("Notifier", Runtime="provided"),
    "a folder that no build makes": _set("Gateway", CodeUri="target/lambda/gateway-function"),
    "an unknown variable": lambda resources: _variables(resources, "Notifier").update(PUDU_SECRET="x"),
    "lease that outlives its holder": lambda resources: _variables(resources, "TaskPoller").update(PUDU_LEASE_SECONDS="180"),
    "lease of the notifier as of the poller": lambda resources: _variables(resources, "Notifier").update(PUDU_LEASE_SECONDS="120"),
    "default lease in a short function": lambda resources: _variables(resources, "Notifier").pop("PUDU_LEASE_SECONDS"),
    "notifier may unseal": _grant("NotifierRole", "kms:Decrypt", {"Fn::GetAtt": ["SealKey", "Arn"]}),
    "notifier reads blobs": _grant("NotifierRole", "s3:GetObject", {"Fn::Sub": "${Blobs.Arn}/threads/*"}),
    "poller reads blobs": _grant("TaskPollerRole", "s3:GetObject", {"Fn::Sub": "${Blobs.Arn}/threads/*"}),
    "every blob of the account": _grant("AgentRole", "s3:GetObject", "arn:aws:s3:::*"),
    "every model": _grant("AgentRole", "bedrock:InvokeModel", "*"),
    "gateway calls models": _grant("GatewayRole", "bedrock:InvokeModel", {"Ref": "BedrockModelArns"}),
    "an agent of another name": _set("Agent", FunctionName="agent"),
    "bucket open": lambda resources: _of(resources, "Blobs")["PublicAccessBlockConfiguration"].update(BlockPublicPolicy=False),
    "bucket not encrypted": lambda resources: _of(resources, "Blobs").pop("BucketEncryption"),
    "blobs that expire": lambda resources: _of(resources, "Blobs")["LifecycleConfiguration"]["Rules"][0].update(ExpirationInDays=30),
    "blobs deleted with their stack": lambda resources: resources["Blobs"].update(DeletionPolicy="Delete"),
    "bucket in plain text": lambda resources: resources.pop("BlobsPolicy"),
    "every action": _grant("GatewayRole", "dynamodb:*", {"Fn::GetAtt": ["Table", "Arn"]}),
    "every resource": _grant("GatewayRole", "dynamodb:GetItem", "*"),
    "deleting rows": _grant("NotifierRole", "dynamodb:DeleteItem", {"Fn::GetAtt": ["Table", "Arn"]}),
    "a payload that cannot be cleared": _revoke("TaskPollerRole", "dynamodb:DeleteItem"),
    "a claim that cannot be made": _revoke("NotifierRole", "dynamodb:UpdateItem"),
    "a list that cannot be read": _revoke("GatewayRole", "dynamodb:Query"),
    "notifier reads whole threads": _grant("NotifierRole", "dynamodb:Query", {"Fn::GetAtt": ["Table", "Arn"]}),
    "gateway reads every index": _grant("GatewayRole", "dynamodb:Query", {"Fn::Sub": "${Table.Arn}/index/*"}),
    "no such action": _grant("TaskPollerRole", "dynamodb:FetchItem", {"Fn::GetAtt": ["Table", "Arn"]}),
    "index not granted": lambda resources: _of(resources, "NotifierRole")["Policies"][0]["PolicyDocument"].update(
        Statement=[row for row in _statements(resources, "NotifierRole") if row["Sid"] != "DueRows"]
    ),
    "notifier reads parameters": _grant("NotifierRole", "ssm:GetParameters", _parameters("${ParameterPrefix}/${AWS::StackName}/*")),
    "parameters of every stack": _grant("GatewayRole", "ssm:GetParameters", _parameters("${ParameterPrefix}/*")),
    "every parameter": _grant("TaskPollerRole", "ssm:GetParameters", _parameters("/*")),
    "a list of parameters": _grant("GatewayRole", "ssm:GetParametersByPath", _parameters("${ParameterPrefix}/${AWS::StackName}/*")),
    "parameters that cannot be read": lambda resources: _of(resources, "TaskPollerRole")["Policies"][0]["PolicyDocument"].update(
        Statement=[row for row in _statements(resources, "TaskPollerRole") if row["Sid"] != "Parameters"]
    ),
    "parameters of another prefix": lambda resources: _variables(resources, "Gateway").update(PUDU_PARAMETER_PREFIX="/pudu"),
    "stdio whatever the operator says": lambda resources: _variables(resources, "TaskPoller").update(PUDU_STDIO="on"),
    "networks open whatever the operator says": lambda resources: _variables(resources, "Gateway").update(
        PUDU_EGRESS_ALLOW="10.0.0.0/8"
    ),
    "notifier invokes the poller": _grant("NotifierRole", "lambda:InvokeFunction", {"Fn::GetAtt": ["TaskPoller", "Arn"]}),
    "gateway invokes anybody": _grant("GatewayRole", "lambda:InvokeFunction", "*"),
    "nobody wakes the poller": lambda resources: _of(resources, "GatewayRole")["Policies"][0]["PolicyDocument"].update(
        Statement=[row for row in _statements(resources, "GatewayRole") if row["Sid"] != "Wake"]
    ),
    "the wrong function is woken": lambda resources: _variables(resources, "TaskPoller").update(
        PUDU_NOTIFIER_FUNCTION={"Ref": "TaskPoller"}
    ),
    "a number of its own": lambda resources: _variables(resources, "TaskPoller").update(PUDU_POLL_INTERVAL_SECONDS="60"),
    "managed policy": _set("NotifierRole", ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"]),
    "table deleted with its stack": lambda resources: resources["Table"].update(DeletionPolicy="Delete"),
    "table not encrypted": lambda resources: _of(resources, "Table").pop("SSESpecification"),
    "no recovery": lambda resources: _of(resources, "Table").pop("PointInTimeRecoverySpecification"),
    "index over an undeclared attribute": lambda resources: _of(resources, "Table")["AttributeDefinitions"].pop(),
    "index without the server": lambda resources: _of(resources, "Table")["GlobalSecondaryIndexes"][0].update(
        Projection={"ProjectionType": "KEYS_ONLY"}
    ),
    "key does not rotate": _set("SealKey", EnableKeyRotation=False),
    "key of another account": lambda resources: _of(resources, "SealKey")["KeyPolicy"]["Statement"][0].update(
        Principal={"AWS": "*"}
    ),
    "alarm gone": lambda resources: resources.pop("NotifierThrottles"),
    "rows put aside unseen": lambda resources: resources.pop("NotifierPutAside"),
    "words that nobody logs": _set("TaskPollerPutAside", FilterPattern='{ $.message = "a row was put away" }'),
    "count without an alarm": lambda resources: resources.pop("RowsPutAside"),
    "logs for ever": lambda resources: _of(resources, "GatewayLogs").pop("RetentionInDays"),
}

_PARAMETER_ERRORS: dict[str, Callable[[dict[str, Any]], None]] = {
    "processes started by default": lambda parameters: parameters["Stdio"].update(Default="on"),
    "networks open by default": lambda parameters: parameters["EgressAllow"].update(Default="10.0.0.0/8"),
    "a prefix that the service keeps": lambda parameters: parameters["ParameterPrefix"].update(Default="/aws/pudu"),
    "a parameter that nobody uses": lambda parameters: parameters.update(Forgotten={"Type": "String", "Default": ""}),
}

ERRORS = {
    **{name: ("Resources", plant) for name, plant in _RESOURCE_ERRORS.items()},
    **{name: ("Parameters", plant) for name, plant in _PARAMETER_ERRORS.items()},
}
