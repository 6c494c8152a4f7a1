"""Repositories of images in ECR: their generated names are in lower case, and they go with their images or not.

moto 5.2.5 takes the generated name as it is, refuses it, and knows no ``EmptyOnDelete``.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecr-repository.html. Not modelled:
policies, scans, rules for old images.
"""

from __future__ import annotations

from moto.ecr.models import ECRBackend, ecr_backends

from .resource import Properties, Region, Resource

__all__ = ["ImageRepository"]


def _repositories(region: Region) -> ECRBackend:
    return ecr_backends[region.account_id][region.name]


class ImageRepository(Resource):
    """One repository."""

    type_name = "AWS::ECR::Repository"
    name_property = "RepositoryName"
    attribute_names = frozenset({"Arn", "RepositoryUri"})
    create_only = frozenset({"EncryptionConfiguration", "RepositoryName"})
    goes_with_images = False

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ImageRepository:
        made = _repositories(region).create_repository(
            properties.get("RepositoryName") or name.lower(), None, {}, None, "", []
        )
        resource = cls(made.name, {"Arn": made.arn, "RepositoryUri": made.uri})
        resource.update(region, properties)
        return resource

    def update(self, region: Region, properties: Properties) -> None:
        self.goes_with_images = str(properties.get("EmptyOnDelete", False)).lower() == "true"

    def remove(self, region: Region) -> None:
        _repositories(region).delete_repository(self.physical_resource_id, force=self.goes_with_images)
