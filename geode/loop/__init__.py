"""One turn in six phases: the model proposes, the loop keeps the limits and the record."""
