"""Account: what does AWS say of its instance types, what changed, and what does it not say?

Only the modules that call AWS import boto3; they are loaded when a command needs them.
"""

__all__ = []
