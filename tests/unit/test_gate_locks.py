"""Locks keep call order, cannot deadlock, leave nothing behind, and outlast abandoned work."""

from __future__ import annotations

import asyncio

from fakes.gate_room import until

from geode.gate.locks import Hold, ResourceLocks


async def hold_of(locks: ResourceLocks, *keys: str) -> Hold:
    hold = await locks.acquire(keys, 5.0)
    assert hold is not None
    return hold


async def test_free_keys_are_taken_at_once_and_freed_entries_are_gone() -> None:
    locks = ResourceLocks()

    hold = await hold_of(locks, "b", "a", "b")

    assert hold.keys == ("a", "b")
    assert locks.keys_held == 2
    hold.release()
    assert locks.keys_held == 0


async def test_second_holder_waits_until_the_first_lets_go() -> None:
    locks = ResourceLocks()
    first = await hold_of(locks, "a")
    second = asyncio.create_task(hold_of(locks, "a"))
    await asyncio.sleep(0)

    assert not second.done()
    first.release()
    (await second).release()
    assert locks.keys_held == 0


async def test_waiting_ends_with_a_refusal_when_the_time_is_up() -> None:
    locks = ResourceLocks()
    first = await hold_of(locks, "a")

    assert await locks.acquire(["a", "b"], 0.01) is None
    assert locks.keys_held == 1
    first.release()
    assert locks.keys_held == 0


async def test_cancelled_waiter_leaves_the_queue_to_the_next() -> None:
    locks = ResourceLocks()
    first = await hold_of(locks, "a")
    second = asyncio.create_task(hold_of(locks, "a", "b"))
    third = asyncio.create_task(hold_of(locks, "b"))
    await asyncio.sleep(0)

    second.cancel()
    (await third).release()
    first.release()
    await asyncio.wait([second])
    assert locks.keys_held == 0


async def test_holders_of_a_shared_key_run_in_the_order_they_asked() -> None:
    locks = ResourceLocks()
    first = await hold_of(locks, "a")
    order: list[str] = []

    async def run(name: str, *keys: str) -> None:
        hold = await hold_of(locks, *keys)
        order.append(name)
        hold.release()

    async with asyncio.TaskGroup() as group:
        # "second" still waits for a when "third" asks for b; both share b, so third stays behind.
        group.create_task(run("second", "a", "b"))
        group.create_task(run("third", "b"))
        await asyncio.sleep(0)
        first.release()

    assert order == ["second", "third"]


async def test_crossed_keys_cannot_wait_for_each_other_in_a_circle() -> None:
    locks = ResourceLocks()
    done: list[int] = []

    async def run(number: int) -> None:
        keys = ["a", "b", "c"] if number % 2 else ["c", "a", "b"]
        hold = await hold_of(locks, *keys[: 1 + number % 3])
        await asyncio.sleep(0)
        done.append(number)
        hold.release()

    async with asyncio.TaskGroup() as group:
        for number in range(60):
            group.create_task(run(number))

    assert sorted(done) == list(range(60))
    assert locks.keys_held == 0


async def test_abandoned_work_keeps_its_keys_until_it_has_really_ended() -> None:
    locks = ResourceLocks()
    ended = asyncio.Event()
    hold = await hold_of(locks, "a")
    hold.keep_until(asyncio.create_task(ended.wait()))

    hold.release()

    assert await locks.acquire(["a"], 0.01) is None
    ended.set()
    await until(lambda: locks.keys_held == 0)
