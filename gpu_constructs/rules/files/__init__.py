"""Files: what in them could not be read, and do the GPU metrics that alarms and policies read have values?"""
