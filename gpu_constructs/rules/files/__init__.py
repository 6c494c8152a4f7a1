"""Files: what in them could not be read?"""
