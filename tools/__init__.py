"""Programs that make and check what is in this repository; not part of the package."""
