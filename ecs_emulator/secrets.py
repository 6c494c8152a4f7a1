"""Secrets of AWS Secrets Manager as resources of a stack; moto 5.2.5 has the calls and not the type.

Not modelled: rotation, replicas, policies, and that tasks read them.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-secretsmanager-secret.html
"""

from __future__ import annotations

import json
import uuid

from moto.secretsmanager.models import SecretsManagerBackend, secretsmanager_backends

from .resource import Properties, Region, Resource

__all__ = ["Secret"]


def _secrets(region: Region) -> SecretsManagerBackend:
    return secretsmanager_backends[region.account_id][region.name]


class Secret(Resource):
    """A secret, given or generated."""

    type_name = "AWS::SecretsManager::Secret"
    name_property = "Name"
    attribute_names = frozenset({"Id"})
    create_only = frozenset({"Name"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Secret:
        made = json.loads(
            _secrets(region).create_secret(
                name,
                _text(region, properties),
                None,
                properties.get("Description"),
                properties.get("Tags"),
                properties.get("KmsKeyId"),
                None,
                [],
                force_overwrite=False,
            )
        )
        return cls(made["ARN"], {"Id": made["ARN"]})

    def update(self, region: Region, properties: Properties) -> None:
        text = None if "GenerateSecretString" in properties else _text(region, properties)
        # moto takes a request without a token for one that it has answered.
        token, key = str(uuid.uuid4()), properties.get("KmsKeyId")
        _secrets(region).update_secret(self.physical_resource_id, text, None, token, key)

    def remove(self, region: Region) -> None:
        # "force-delete-without-recovery": https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1999
        _secrets(region).delete_secret(self.physical_resource_id, None, force_delete_without_recovery=True)


def _text(region: Region, properties: Properties) -> str | None:
    how: Properties | None = properties.get("GenerateSecretString")
    if how is None:
        return properties.get("SecretString")
    without = {each: bool(how.get(f"Exclude{each}")) for each in ("Numbers", "Punctuation", "Uppercase", "Lowercase")}
    answer = _secrets(region).get_random_password(
        int(how.get("PasswordLength", 32)),
        how.get("ExcludeCharacters", ""),
        exclude_numbers=without["Numbers"],
        exclude_punctuation=without["Punctuation"],
        exclude_uppercase=without["Uppercase"],
        exclude_lowercase=without["Lowercase"],
        include_space=bool(how.get("IncludeSpace")),
        require_each_included_type=bool(how.get("RequireEachIncludedType", True)),
    )
    password = json.loads(answer)["RandomPassword"]
    if key := how.get("GenerateStringKey"):
        return json.dumps({**json.loads(how["SecretStringTemplate"]), key: password})
    return str(password)
