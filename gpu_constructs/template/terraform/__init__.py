"""What does a plan or a state of Terraform ask for? It becomes the template that would ask CloudFormation for the same.

Nothing else in the package knows Terraform: `plan` reads what ``terraform show -json`` writes, `links` follows what its
configuration refers to, `kinds` says which resource becomes which and how its arguments are called there, `writer`
writes one resource, with its `json_texts`, and `translation` the template. `sources` finds the line of a ``.tf`` file
behind a resource. Findings are put back into the words of Terraform by the same table (`words`).

https://developer.hashicorp.com/terraform/internals/json-format
"""

from gpu_constructs.template.terraform.translation import source_of

__all__ = ["source_of"]
