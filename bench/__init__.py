"""What the library costs beside the same apps written by hand in plain aws-cdk-lib; see README.md."""
