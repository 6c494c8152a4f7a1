"""Account: can it have what the files ask for, did that come up, and what does a task wait for?

Only the modules that call AWS import boto3; they are loaded when a command needs them.
"""
