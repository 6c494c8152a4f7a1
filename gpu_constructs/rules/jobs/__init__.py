"""Work that ends: does it start, and does it end?"""
