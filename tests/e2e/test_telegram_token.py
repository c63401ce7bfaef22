"""Two daemons with one Telegram token: the second one says who holds it, and the first goes on."""

from __future__ import annotations

from pathlib import Path

from fakes.geode_command import run_geode, serving
from fakes.telegram_town import telegram_environ, write_telegram_config

from channels.rehearsal.telegram import RehearsalTelegram


async def test_second_daemon_with_another_folder_ends_and_names_the_holder_st_03(
    tmp_path: Path,
) -> None:
    async with RehearsalTelegram() as telegram:
        environs = [telegram_environ(telegram, tmp_path / name) for name in ("first", "second")]
        for environ in environs:
            write_telegram_config(Path(environ["GEODE_HOME"]), telegram.base_url)
        async with serving(environs[0]) as first:
            await first.wait_line("telegram is up")

            ended = await run_geode(environs[1], "serve")

            assert ended.code != 0
            assert str(first.process.pid) in "".join(ended.sentences)
            assert telegram.bot_token not in ended.out + ended.err
            assert first.process.returncode is None
            assert not any("conflict" in line for line in first.lines)
