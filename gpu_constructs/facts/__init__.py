"""What exists? Instance types with accelerators, their drivers and images, their quotas and prices, limits of AWS.

Data with a source and typed look-ups over it; no cloud library, no I/O but the package's own files::

    from gpu_constructs.facts import default_image, instance_type

    host = instance_type("g6.xlarge")            # an unknown name raises and says which it is near to
    host.gpus, host.gpu_memory_mib               # 1, 22888
    default_image(host).ssm_parameter            # the image whose driver fits
    choose(InstanceNeeds(gpus=Range(1, 4), models=("L4", "L40S")))   # by any fact and price, cheapest first

Where things are: `model` has the frozen values, `catalogue` the look-ups, with the types that users declare laid over
them, `declared` and `own_image` what they declare, `filters` what types can be chosen by, `names` the
form of names, `drivers` which NVIDIA driver drives which GPU and what it shows of the memory, `cuda` which CUDA a
container image has and what that needs, `image_table` the ECS images, `releases` which driver each release of them has,
`images` what they run on, `prices` list prices with their date, `gpu_features` what GPUs can do and which of their
errors are fatal, `aws_limits` what the services accept, launch and send, `servers` the model servers that people run,
`records` the data files' format, `values` how frozen values are declared, and `budget` how much is read at most. The
data is made by ``tools/build_catalogue.py`` and ``tools/build_prices.py``; ``data/image_releases.json`` and
``data/pinned_images.json`` are kept by hand.
"""

from gpu_constructs.facts.catalogue import RECORDED as RECORDED
from gpu_constructs.facts.catalogue import accelerated as accelerated
from gpu_constructs.facts.catalogue import families as families
from gpu_constructs.facts.catalogue import family as family
from gpu_constructs.facts.catalogue import general as general
from gpu_constructs.facts.catalogue import instance_type as instance_type
from gpu_constructs.facts.catalogue import known_type as known_type
from gpu_constructs.facts.catalogue import may_be_accelerated as may_be_accelerated
from gpu_constructs.facts.catalogue import may_exist as may_exist
from gpu_constructs.facts.catalogue import models as models
from gpu_constructs.facts.catalogue import regions as regions
from gpu_constructs.facts.declared import DeclaredInstanceType as DeclaredInstanceType
from gpu_constructs.facts.declared import declare_instance_types as declare_instance_types
from gpu_constructs.facts.drivers import DRIVER_SUPPORT as DRIVER_SUPPORT
from gpu_constructs.facts.drivers import Drivers as Drivers
from gpu_constructs.facts.drivers import driver_support as driver_support
from gpu_constructs.facts.drivers import drives as drives
from gpu_constructs.facts.filters import Choice as Choice
from gpu_constructs.facts.filters import InstanceNeeds as InstanceNeeds
from gpu_constructs.facts.filters import Offer as Offer
from gpu_constructs.facts.filters import Range as Range
from gpu_constructs.facts.filters import choose as choose
from gpu_constructs.facts.image_table import IMAGES as IMAGES
from gpu_constructs.facts.image_table import Image as Image
from gpu_constructs.facts.image_table import OperatingSystem as OperatingSystem
from gpu_constructs.facts.image_table import Verdict as Verdict
from gpu_constructs.facts.images import compatibility as compatibility
from gpu_constructs.facts.images import default_image as default_image
from gpu_constructs.facts.images import drivers_of as drivers_of
from gpu_constructs.facts.images import first_release as first_release
from gpu_constructs.facts.images import image as image
from gpu_constructs.facts.images import images_by_folder as images_by_folder
from gpu_constructs.facts.images import is_published as is_published
from gpu_constructs.facts.images import is_supported as is_supported
from gpu_constructs.facts.images import may_run as may_run
from gpu_constructs.facts.images import newest_release as newest_release
from gpu_constructs.facts.images import system_of_parameter as system_of_parameter
from gpu_constructs.facts.model import Accelerators as Accelerators
from gpu_constructs.facts.model import Architecture as Architecture
from gpu_constructs.facts.model import InstanceType as InstanceType
from gpu_constructs.facts.model import PurchaseClass as PurchaseClass
from gpu_constructs.facts.model import Vendor as Vendor
from gpu_constructs.facts.prices import on_demand_price as on_demand_price
from gpu_constructs.facts.releases import release_line as release_line
from gpu_constructs.facts.releases import release_number as release_number
from gpu_constructs.facts.releases import release_problem as release_problem
