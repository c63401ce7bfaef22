"""A stop becomes completion only here: structural check, judge, policy."""
