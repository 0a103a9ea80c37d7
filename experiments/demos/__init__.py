"""Demonstrations: each file is one, with what it computes and how it is told.

A demonstration has `SUMMARY`, a line that says what it shows; ``record(...)``, which computes
a JSON-able dict and knows nothing of screens; and ``steps(record, width)``, which tells the
record in small steps for a screen of that many columns. Where a run can turn out badly,
``outcome(record)`` returns an exit code and the reason.
"""
