"""Expands the SAM template into plain CloudFormation, in memory, with the translator that AWS deploys with.

The linters of today check what they know and pass over SAM's own resources; only the expansion shows the real ones. Local code
folders become a fixed S3 address, since they exist only after a build. No network, no credentials.
"""

import logging
import os
from pathlib import Path
from typing import Any

# The translator asks boto for a region before it reads anything; no call is made with it.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.model.exceptions import InvalidDocumentException  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

# It keeps metrics for its own command line and complains at exit that nobody published them.
logging.getLogger("samtranslator").setLevel(logging.ERROR)

PLACE_OF_CODE = "s3://bucket/key"


class ExpansionError(Exception):
    """SAM refuses the template; says what and where."""


class _NoManagedPolicies:
    """The template names no managed policy, so there is none to look up."""

    def load(self) -> dict[str, str]:
        return {}


def read(path: Path) -> dict[str, Any]:
    """The template as SAM reads it, with `!Ref` and friends as `{"Ref": …}`."""
    return yaml_parse(path.read_text(encoding="utf-8"))


def expand(template: dict[str, Any]) -> dict[str, Any]:
    """The plain CloudFormation of `template`, which is changed on the way: give it a copy."""
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = PLACE_OF_CODE
    try:
        return transform(template, {}, _NoManagedPolicies())
    except InvalidDocumentException as error:
        causes = "; ".join(cause.message for cause in error.causes)
        raise ExpansionError(f"SAM cannot expand the template: {causes or error.message}") from error
