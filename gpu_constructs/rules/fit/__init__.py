"""Fit: does each task fit its hosts, and is there room for all copies of all tasks together?"""
