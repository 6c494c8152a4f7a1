"""What the tests of each app ask."""
