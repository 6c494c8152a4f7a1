"""What runs as users run it: the emulator, and the CDK CLI, our commands, linters and browsers as processes."""
