"""What do the files say? The first step of reading: plain values, before anything in them is worked out.

What a path turns out to be (`assembly`: a template, a cloud assembly, a request), what a call of the AWS CLI is given
(`requests`), and how a text becomes a `document` (`json_text`, `yaml_text`) of plain values (`node`) with lines, and
that a template of a stack. Whether it is a plan of Terraform is asked there too.
"""

from gpu_constructs.template.documents.assembly import found_at, found_in
from gpu_constructs.template.documents.document import Document, Files, Source, Warned

__all__ = ["Document", "Files", "Source", "Warned", "found_at", "found_in"]
