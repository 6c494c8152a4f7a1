"""Monitoring: do the GPU metrics that alarms and scaling policies read have values?"""
