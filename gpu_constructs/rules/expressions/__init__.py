"""Placement expressions: can ECS read them, and can a host satisfy them?"""
