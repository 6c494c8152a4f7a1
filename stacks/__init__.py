"""Reference stacks: each tells one story with the library and deploys as it is."""
