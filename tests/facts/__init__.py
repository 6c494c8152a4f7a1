"""Tests of the facts: catalogue, drivers, images."""
