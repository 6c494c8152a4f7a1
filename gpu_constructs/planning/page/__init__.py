"""What does a plan look like? One HTML page with every host as slots with the tasks in them, which needs nothing else.

::

    from gpu_constructs.planning.page import page

    Path("plan.html").write_text(page(plan(fleet)), encoding="utf-8")

The same plan gives the same bytes. `document` is the page, `pool_section` a pool, `host_drawing` a host, `style` the
looks, and `markup` keeps names from being markup.
"""

from gpu_constructs.planning.page.document import page

__all__ = ["page"]
