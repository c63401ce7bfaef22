"""The benchmark: every speed figure of GEODE beside the bare SDK loop, measured in the same run."""
