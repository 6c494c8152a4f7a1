"""Fit: does a task fit its hosts, and do all copies of everything fit together?"""
