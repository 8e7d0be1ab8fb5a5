"""Files and corrections: what callers hand in and change, while processes die."""
