"""What limits a row that misses an aim: a bound, a profile. Shown below the table of misses."""

NOTES: dict[str, str] = {}  # key of the row -> a sentence or more
