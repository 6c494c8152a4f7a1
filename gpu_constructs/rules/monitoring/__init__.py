"""Monitoring: do alarms, dashboards and rules on events see what they are meant to see?"""
