"""The emulator by itself: what AWS does with templates and requests of anybody, without anything of this library."""
