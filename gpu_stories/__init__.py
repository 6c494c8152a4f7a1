"""Twelve apps that `gpu-constructs new` writes: see ``docs/gallery.md``.

``apps`` has the app of each story, ``tests`` what its author would ask of it, and ``beside`` what all of them get.
``prices.json`` is what their hosts cost, remade by ``make pictures``. Here they are linted, typed and run; the command
line reads them as texts and imports none of them. See ``docs/decisions/0055-stories-are-text.md``.
"""
