"""`[retention]`: how long what was recorded is kept."""

from __future__ import annotations

from pydantic import Field

from geode.settings_section import Section

DAYS_MAX = 36_500


class RetentionSettings(Section):
    """Days and bytes per store; what is not written is kept."""

    timeline_days: int | None = Field(default=90, ge=1, le=DAYS_MAX)
    """Older rows of turns that are over are pruned behind a recorded anchor."""
    timeline_bytes: int | None = Field(default=None, ge=1_000_000)
    """Above it the oldest rows are pruned too, whatever their age."""
    evidence_days: int | None = Field(default=30, ge=1, le=DAYS_MAX)
    files_days: int | None = Field(default=None, ge=1, le=DAYS_MAX)
    """Files of conversations in which nothing happened for so long, and that wait for nobody."""
