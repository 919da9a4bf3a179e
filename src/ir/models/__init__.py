"""Which model files are on this machine, how do they get here, and how is a network run?"""
