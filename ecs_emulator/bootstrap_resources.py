"""Types that the CDK brings into every account, which moto 5.2.5 skips. They exist here and do nothing."""

from __future__ import annotations

from .resource import Properties, Region, Resource

__all__ = ["BucketPolicy", "Metadata"]


class BucketPolicy(Resource):
    """The policy of the bootstrap bucket: deny what does not come over TLS.

    moto would refuse every request to the bucket, because it reads no conditions, and so would AWS, because the
    emulator speaks plain HTTP.
    """

    type_name = "AWS::S3::BucketPolicy"
    create_only = frozenset({"Bucket"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> BucketPolicy:
        return cls(properties["Bucket"])

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        pass


class Metadata(Resource):
    """The note of the constructs in use that the CDK adds; nothing exists for it on AWS either."""

    type_name = "AWS::CDK::Metadata"

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Metadata:
        return cls(name)

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        pass
