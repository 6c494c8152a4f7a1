"""Hosts: can they start, run their image, and join their cluster as they are described?"""
