"""Task definitions: can ECS read what a task asks for, and does it mean what it seems to?"""
