"""The model room: one provider call in, one whole classified answer out."""
