"""Images and user data that ECS takes: does AWS Batch take them, too?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind, Unknown, UserDataFormat
from gpu_constructs.hardware import Image, OperatingSystem
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_CONFIGURATION = "https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html"


@warning(
    "GPU105",
    question="does a new compute environment use another system than Amazon Linux 2?",
    because="since 2026-06-30 AWS Batch refuses new compute environments on its Amazon Linux 2 AMIs; existing ones "
    "keep running",
    source=_CONFIGURATION,
)
def not_amazon_linux_2(pool: Pool) -> Problems:
    image = _image_of_batch(pool)
    if image is not None and image.operating_system is OperatingSystem.AMAZON_LINUX_2:
        yield Problem(
            message=f"AWS Batch refuses new compute environments on {image.name} since 2026-06-30",
            fix=f"imageType ECS_AL2023{'_NVIDIA' if image.accelerator else ''}",
            property_name="ImageType",
        )


@warning(
    "GPU106",
    question="does the Amazon Linux 2023 GPU image of AWS Batch support the instance types?",
    because="AWS Batch lists p3 and g3 as unsupported on ECS_AL2023_NVIDIA, though the ECS image carries their driver",
    source=_CONFIGURATION,
)
def listed(pool: Pool) -> Problems:
    image = _image_of_batch(pool)
    unlisted = [each for each in pool.instance_types if each.traits.unsupported_by_batch]
    if image is not None and image.name == "al2023-gpu" and unlisted:
        yield Problem(
            message=f"AWS Batch does not support {or_list(unlisted)} on ECS_AL2023_NVIDIA",
            fix="a newer type, such as g6.xlarge",
            property_name="InstanceTypes",
            value=[each.name for each in unlisted],
        )


@error(
    "GPU107",
    question="is the user data of a compute environment a MIME multi-part archive?",
    because="AWS Batch merges the user data of a launch template with its own and takes MIME multi-part only",
    source="https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html",
)
def mergeable(pool: Pool) -> Problems:
    form = pool.user_data.format
    if pool.kind is PoolKind.BATCH and (form is UserDataFormat.SHELL or form is UserDataFormat.CLOUD_CONFIG):
        yield Problem(
            message=f"the user data is a {form.value}, and AWS Batch takes a MIME multi-part archive only",
            fix="a MIME multi-part archive, which is ec2.MultipartUserData in CDK",
            property_name="UserData",
        )


def _image_of_batch(pool: Pool) -> Image | None:
    """The image that AWS Batch itself provides for a compute environment."""
    if pool.kind is not PoolKind.BATCH or isinstance(pool.image, Unknown) or pool.image.release == "custom":
        return None
    return pool.image.image
