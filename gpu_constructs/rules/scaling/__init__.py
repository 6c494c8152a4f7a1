"""Scaling: can Auto Scaling and ECS add and remove hosts as these settings say?"""
