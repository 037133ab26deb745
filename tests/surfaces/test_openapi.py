"""The OpenAPI document is true, whatever schemathesis makes of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from jsonschema import Draft202012Validator

from cases import TORTURE
from hardwon import limits
from hardwon.surfaces.rest.openapi import IDEMPOTENCY_KEY, document
from serving import Served, served
from test_rest import seed

EXAMPLES = int(os.environ.get("HARDWON_SCHEMATHESIS", "400" if TORTURE else "3"))
COVERAGE = TORTURE or "HARDWON_SCHEMATHESIS" in os.environ
"""Whether the values at every bound are tried: bodies of megabytes, some minutes."""
RULES = "records have rules across their fields, which a JSON Schema does not tell"
LEFT_OUT = {"positive_data_acceptance": RULES}

STREAMS = "no schema to break, and of some wrong parameters nothing is left in an address"
LEFT_OUT_OF_STREAMS = {"negative_data_rejection": STREAMS}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("openapi")) as found:
        seed(found.memory)
        yield found


@pytest.fixture(scope="module")
def token(running: Served) -> str:
    return running.token()


REFUSALS = ["400", "401", "403", "404", "405", "408", "409", "413", "415", "422", "429"]
CHECKS = {"negative_data_rejection": {"expected-statuses": REFUSALS}}
CONFIG = {"checks": CHECKS, "phases": {"coverage": {"enabled": COVERAGE}}}
SETTINGS = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_answer_is_as_the_document_says(running: Served, token: str) -> None:
    # It takes two seconds to load, which every worker would do.
    import schemathesis
    from schemathesis.checks import CHECKS
    from schemathesis.generation.hypothesis import builder

    @schemathesis.serializer("application/x-ndjson")
    def _(_: Any, value: Any) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")

    def check(case: schemathesis.Case[Any]) -> None:
        stream = case.path.endswith("/import")
        left_out = [*LEFT_OUT, *LEFT_OUT_OF_STREAMS] if stream else [*LEFT_OUT]
        excluded: Any = [CHECKS.get_one(name) for name in left_out]
        headers = {"Authorization": f"Bearer {token}"}
        case.call_and_validate(base_url=running.url, headers=headers, excluded_checks=excluded)

    config = schemathesis.Config.from_dict(CONFIG)
    schema = schemathesis.openapi.from_dict(document(), config=config)
    mode = builder.HypothesisTestMode
    modes = [mode.EXAMPLES, mode.FUZZING, *([mode.COVERAGE] if COVERAGE else [])]
    how = builder.HypothesisTestConfig(schema.config, modes, explicit_settings=SETTINGS)
    operations: Any = schema.get_all_operations()
    tried, failed = 0, []
    for found in operations:
        operation = found.ok()
        tried += 1
        try:
            builder.create_test(operation=operation, test_func=check, config=how)()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  # the other operations are tried all the same
            failed.append(f"{operation.label}\n{error}")
    assert not failed, "\n\n".join(failed)
    assert tried > 70


def test_everything_that_is_referred_to_is_there_and_is_needed() -> None:
    components = document()["components"]
    sorts = ("schemas", "responses")
    there = {f"#/components/{sort}/{name}" for sort in sorts for name in components[sort]}
    assert set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document()))) == there


def test_what_is_written_by_hand_has_the_bounds_that_hold() -> None:
    parameters = document()["paths"]["/api/v1/projects/{project}/facts"]["post"]["parameters"]
    longest = {parameter["name"]: parameter["schema"]["maxLength"] for parameter in parameters}
    key_max = limits.IDEMPOTENCY_KEY_CHARS_MAX
    assert longest == {"project": limits.NAME_CHARS_MAX, IDEMPOTENCY_KEY: key_max}


def test_every_example_is_as_its_schema_says() -> None:
    checked = 0
    for methods in document()["paths"].values():
        for told in methods.values():
            shown = [each for each in told.get("parameters", ()) if "example" in each]
            shown += told.get("requestBody", {}).get("content", {}).values()
            for each in shown:
                schema = {**each["schema"], "components": document()["components"]}
                Draft202012Validator(schema).validate(each["example"])
                checked += 1
    assert checked > 80


def test_every_operation_says_how_it_can_fail() -> None:
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            assert set(told["responses"]) == {"200", "default"}, (path, method)
            assert told["summary"]
            assert told["operationId"]
