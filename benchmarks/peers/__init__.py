"""The same job by Postroom and by the queues people would otherwise use, in one run on the same servers."""
