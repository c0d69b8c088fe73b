"""Which old tool results may a model stop seeing in full, and when?"""
