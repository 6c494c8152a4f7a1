"""Clusters and services: do providers, strategies and services go together, and does the ECS API take them?"""
