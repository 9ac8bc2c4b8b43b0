"""The driver of the comparison, in parts: what is compared (catalogue), the programs that are run (process), whether
the cores were ours (quiet), how a problem is measured (measure), and what is made of the times (results, targets)."""
