"""Clusters and services: do providers, strategies and services belong together, and does ECS accept them?"""
