"""``make smoke``: a small app in an account of your own, and what it shows of what only an account can prove."""
