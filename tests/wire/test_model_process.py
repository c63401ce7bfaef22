"""The model APIs as a process of their own, driven over their control interface."""

from __future__ import annotations

import anthropic
import pytest
from fakes.model_clients import ask_claude

from channels.fields import objects_of, text_of
from channels.rehearsal.remote import RemoteControl, spawn_stand_in


@pytest.mark.timeout(60)
async def test_model_process_is_scripted_faulted_and_counted_from_outside() -> None:
    process, facts = await spawn_stand_in("model")
    try:
        async with (
            RemoteControl(text_of(facts, "control_url")) as control,
            anthropic.AsyncAnthropic(
                api_key=text_of(facts, "api_key"),
                base_url=text_of(facts, "anthropic_url"),
                max_retries=0,
            ) as client,
        ):
            await control.call("script", answers=[{"blocks": [{"type": "text", "text": "hi"}]}])
            await control.call("fault", kind="overloaded")
            with pytest.raises(anthropic.OverloadedError):
                await client.messages.create(**ask_claude())
            message = await client.messages.create(**ask_claude())
            ruled = await client.messages.create(**ask_claude("say bye"))
            counters = await control.call("counters")
            requests = objects_of(await control.call("requests"), "requests")
    finally:
        assert process.stdin is not None
        process.stdin.close()
        code = await process.wait()

    assert message.content[0].text == "hi"  # type: ignore[union-attr]
    assert ruled.content[0].text.startswith("bye")  # type: ignore[union-attr]
    assert counters["faults_taken"] == {"overloaded": 1}
    assert [text_of(one, "endpoint") for one in requests] == ["messages"] * 3
    assert code == 0
