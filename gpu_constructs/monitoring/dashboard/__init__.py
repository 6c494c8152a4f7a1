"""What does the dashboard of a monitored cluster show?

`widgets` are the kinds of widgets that CloudWatch has, `body` is what the dashboard has of them, and
`dashboard_resource` is the resource.
"""

__all__ = []
