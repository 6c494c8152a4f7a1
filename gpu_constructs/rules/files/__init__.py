"""Files: what could not be read in what was given?"""
